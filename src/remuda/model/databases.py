"""How a database server is that keeps a store or a queue."""

from msgspec import Struct

from remuda.model.times import Instant


class ServerCondition(Struct, frozen=True):
    """What there is to say about a server, and about the schema of ours in it."""

    version: str
    #: the quickest answer of a few
    round_trip_ms: float
    #: how far its clock is ahead of ours
    ahead_ms: int
    connections: int
    most_connections: int
    #: it only repeats what another one does
    is_standby: bool
    synchronous_commit: str
    #: the standbys that a commit waits for, as the server names them
    synchronous_standbys: str
    #: standbys that follow it, as far as we may see
    standbys: int
    autovacuum: bool
    #: rows of ours that are kept, and that are dead and take room until a vacuum
    live_rows: int
    dead_rows: int
    bytes: int
    #: whether our user may make tables in the schema, which an upgrade does
    may_create: bool
    #: who has the seat of a store, and since when; nothing where nobody does
    holder: str = ""
    held_since: Instant | None = None
