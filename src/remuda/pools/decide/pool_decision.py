"""One pool on its way through the steps of a decision."""

from collections.abc import Sequence

from msgspec import Struct

from remuda.model.machines import Machine
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import PoolMemory, PoolPolicy, PoolSeen
from remuda.pools.decide.target import Wish


class Room(Struct, frozen=True, gc=False):
    """A ceiling, and what all pools under it take of it."""

    ceiling: str
    limit: int
    #: machines that take up room
    taken: int
    #: machines with a job
    busy: int


class PoolDecision(Struct, gc=False):
    """What was seen of a pool, its settings, and what each step made of them. `memory` is the one after."""

    seen: PoolSeen
    policy: PoolPolicy
    census: Census
    wish: Wish
    memory: PoolMemory
    #: what it asks its ceiling for: what it wants, or less when it could not make it anyway, and all that stay busy
    asks: int
    #: of these, what it does not want for the delay alone
    firm: int
    #: what it aims for, after its ceiling had its say
    target: int
    #: how many machines it may make now
    may_create: int
    #: tasks that its organisation may run at once
    concurrency: int | None = None
    #: machines that must go while nobody says whether they work
    possibly_busy: Sequence[Machine] = ()
    #: the ceiling it is under, if it is under one
    room: Room | None = None
    #: what it gets of that
    grant: int = 0  # pragma: no mutate - it is read only where there is a room, and set with it

    @property
    def floor(self) -> int:
        """Busy machines that nobody can tell to take no more jobs: they keep their place until they end."""
        return 0 if self.policy.reused else len(self.census.busy)
