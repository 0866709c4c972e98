"""Needs: what a source asks machines for, and who already works on it."""

from msgspec import Struct

from remuda.model.times import Instant


class Need(Struct, frozen=True, gc=False):
    """
    The tasks of one class, as its source last told: equal units, each wanting one machine.

    While `stale_since` is set the source does not answer and the numbers are its last good ones: nothing shrinks on
    them.
    """

    unclaimed: int
    running: int
    stale_since: Instant | None = None
    #: since then the source cannot say who is idle, so nobody may be taken for it
    unsure_since: Instant | None = None


class Worker(Struct, frozen=True, gc=False):
    """What a source knows of a machine that takes its work."""

    #: when it got its job, or became free of the last one
    since: Instant
    job: str | None = None
    #: jobs it has taken
    uses: int = 0
    #: it was told to take no more work
    closed: bool = False
    #: when it first called, where names are used again: a machine made later than that is not this one
    connected_at: Instant | None = None


class Reading(Struct, frozen=True):
    """
    One look at a source: the need of each class, and the workers by machine name.

    For the classes `registering`, every machine that can take work is among the workers; one that is not, still boots.
    """

    needs: dict[str, Need]
    workers: dict[str, Worker]
    registering: frozenset[str] = frozenset()
