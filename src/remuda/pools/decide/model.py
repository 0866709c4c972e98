"""What `decide` works on: the snapshot it sees, the memory it keeps, the policy it follows, the actions it returns."""

from typing import TypeAlias

from msgspec import Struct, field

from remuda.model.machines import Machine
from remuda.model.needs import Need
from remuda.model.plans import Action, Operation
from remuda.model.times import MINUTE, Instant
from remuda.rules.windows import Window


class Override(Struct, frozen=True, gc=False):
    """
    What an operator set by hand; it holds until cleared and beats the pool's own words, but no ceiling.

    `finish_rollout` is the template whose rollout was ordered at once: while it is the pool's template, machines of
    any other one that were made by `finish_rollout_at` go now, busy or not. Later ones were never meant.
    """

    min: int | None = None
    max: int | None = None
    paused: bool = False
    draining: bool = False
    finish_rollout: str | None = None
    finish_rollout_at: Instant = 0

    def removes(self, machine: Machine) -> bool:
        """True for a machine that the ordered rollout is to remove."""
        return (
            self.finish_rollout is not None
            and machine.ended is None
            and machine.template != self.finish_rollout
            and machine.created_at <= self.finish_rollout_at
        )


class PoolSeen(Struct, frozen=True, gc=False):
    """One pool's part of the world. No need means its source has not answered yet."""

    name: str
    need: Need | None
    machines: tuple[Machine, ...] = ()
    override: Override = Override()
    #: why its machines cannot be seen, while they cannot: they are as they were last seen
    blind: str = ""
    #: they were never seen, and may be any number
    unseen: bool = False


class Create(Action, frozen=True, kw_only=True, tag="create"):
    """
    Make a machine. `expects` is the digest of the template the pool must still have.

    The target is a free slot of the pool; the machine's name comes from the operation's id.
    """

    pool: str


class Close(Action, frozen=True, kw_only=True, tag="close"):
    """
    Tell a machine to take no more work. `expects` is the state that it was seen in.

    An idle one then goes. One that is busy, and would take the next job otherwise, ends after the job it has by then.
    """

    pool: str


class Delete(Action, frozen=True, kw_only=True, tag="delete"):
    """
    Remove a machine that has no work. `expects` is its identity, so that a namesake is safe.

    Only with `even_busy`, which an operator alone can order, does it also end a job. With `gently` nobody is asked
    whether there is one: the machine is one that ends it first.
    """

    pool: str
    even_busy: bool = False
    gently: bool = False


PoolAction: TypeAlias = Create | Close | Delete


class Snapshot(Struct, frozen=True):
    """All pools at one moment, sorted by name, and the operations under way or just ended."""

    pools: tuple[PoolSeen, ...] = ()
    operations: tuple[Operation[PoolAction], ...] = ()


class PoolMemory(Struct, frozen=True, gc=False):
    """What a pool remembers. Losing it only delays what destroys."""

    #: falling steps (since, wanted) that the scale-down delay still holds against
    wanted: tuple[tuple[Instant, int], ...] = ()
    #: machine → first reading in a row that found it idle; kept only where the idle window is not zero
    idle_since: dict[str, Instant] = field(default_factory=dict)
    #: machines in a row that did not become ready
    failures: int = 0
    failed_at: Instant = 0
    retry_at: Instant = 0
    #: machines that failed, were counted and are still to be seen; each name with its identity
    failed: tuple[str, ...] = ()
    #: what is known of the last failure
    failure: str = ""
    #: since when machines that must go stay because nobody says whether they work
    unsure_since: Instant = 0
    #: machines that are up and unknown to their source, each name with its identity → the first such reading
    unheard_since: dict[str, Instant] = field(default_factory=dict)


class Memory(Struct, frozen=True):
    """Pool name → what it remembers."""

    pools: dict[str, PoolMemory] = field(default_factory=dict)


class Bounds(Struct, frozen=True, gc=False):
    """A minimum, a maximum and warm spares, as a count or as a percentage of the load."""

    min: int
    max: int
    headroom: int = 0
    headroom_percent: int = 0


class Hours(Struct, frozen=True, gc=False):
    """Bounds that hold while a window is open."""

    window: Window
    bounds: Bounds


class PoolPolicy(Struct, frozen=True, gc=False):
    """A pool's settings as plain numbers."""

    name: str
    job_class: str
    #: digest of the effective template; machines carry it
    template: str
    bounds: Bounds
    hours: tuple[Hours, ...] = ()
    max_surge: int | None = None
    scale_down_delay: int = 0
    natural: bool = False
    idle_window: int = 0
    boot_timeout: int = 10 * MINUTE
    ceiling: str | None = None
    guaranteed: int = 0
    priority: int = 0
    weight: int = 1
    #: where its needs come from; for telling alone
    source: str = ""
    #: whose concurrency bounds how many of its tasks run at once
    organisation: str | None = None
    #: its machines take one job after another, and can be told to take no more while they are busy
    reused: bool = False


class Policy(Struct, frozen=True):
    """All pools, by name, and the ceilings and the concurrency they share."""

    pools: dict[str, PoolPolicy] = field(default_factory=dict)
    ceilings: dict[str, int] = field(default_factory=dict)
    #: pools that are there but have a problem: until it is mended, nothing is made or taken away
    broken: tuple[str, ...] = ()
    #: tasks that an organisation may run at once
    concurrency: dict[str, int] = field(default_factory=dict)
