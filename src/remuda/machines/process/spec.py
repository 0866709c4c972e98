"""What a process machine is made from, and what is seen of it."""

from enum import StrEnum

from msgspec import Struct

from remuda.model.machines import Ended
from remuda.model.times import Instant


class Limits(Struct, frozen=True, gc=False):
    """Resource limits of one machine; None is no limit. `memory` and `file_size` are bytes."""

    memory: int | None = None
    cpu_millis: int | None = None
    processes: int | None = None
    open_files: int | None = None
    file_size: int | None = None


class Means(StrEnum):
    """What keeps the jobs of a machine apart from other jobs and from Remuda's data, best first."""

    #: namespaces, and a user of its own
    USER = "user"
    #: namespaces, also one of users
    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"


class SeparationPolicy(StrEnum):
    """Whether jobs of a machine shall be separated from others."""

    #: by the best that this host allows
    AUTO = "auto"
    #: or else there shall be no machine
    REQUIRED = "required"
    NONE = "none"


class Separation(Struct, frozen=True, gc=False):
    """How the jobs of one machine are separated."""

    means: Means = Means.NONE
    #: the user that jobs get
    uid: int | None = None
    #: the directory that jobs cannot see, apart from their own below it
    cover: str = ""


class ProcessSpec(Struct, frozen=True, kw_only=True):
    """
    A machine to be made.

    `id` tells this machine from every other one that ever has the same name; making a machine twice with one id
    makes one machine.
    """

    name: str
    id: str
    pool: str
    template: str
    #: a machine without work for this long ends itself
    idle_timeout_ms: int | None = None
    #: an idle machine that Remuda has not spoken to for this long ends itself
    orphan_timeout_ms: int = 3_600_000
    limits: Limits = Limits()
    env: dict[str, str] = {}
    separation_policy: SeparationPolicy = SeparationPolicy.AUTO


class MachineFile(ProcessSpec, frozen=True, kw_only=True):
    """`machine.json`: all that the shim, and a Remuda started later, must know."""

    created_at: Instant
    socket: str
    #: the identity of the store that made it; empty for one of before there were identities
    store: str = ""
    #: the control group jobs enter, when there is one
    cgroup: str | None = None
    #: by the names of the resource module, without RLIMIT_
    rlimits: dict[str, int] = {}
    separation: Separation = Separation()


class ProcessMachine(Struct, frozen=True, gc=False):
    """One machine as it is now."""

    name: str
    pool: str
    template: str
    created_at: Instant
    ready_at: Instant | None = None
    pid: int | None = None
    ended: Ended | None = None


class ForeignMachine(Struct, frozen=True, gc=False):
    """A machine that another store made: kept, and left to itself."""

    name: str
    store: str
    created_at: Instant
    pid: int | None = None
    #: False only for one that said so, or that is over
    is_busy: bool = True
    ended: Ended | None = None
