"""One pool on its way through the steps of a decision."""

from msgspec import Struct

from remuda.pools.decide.census import Census
from remuda.pools.decide.target import Wish
from remuda.pools.decide.world import PoolMemory, PoolPolicy, PoolSeen


class Case(Struct, gc=False):
    """What was seen of a pool, its settings, and what each step made of them. `memory` is the one after."""

    seen: PoolSeen
    policy: PoolPolicy
    census: Census
    wish: Wish
    memory: PoolMemory
    #: what it asks its ceiling for: what it wants, or less when it could not make it anyway
    asks: int
    #: what it aims for, after its ceiling had its say
    target: int
    #: how many machines it may make now
    may_create: int
    #: tasks that its organisation may run at once
    concurrency: int | None = None
    ceiling: str | None = None
    limit: int | None = None
    #: what the other members of the ceiling take up
    others: int = 0
    grant: int | None = None
    #: busy machines of all members of the ceiling
    busy_under_ceiling: int = 0
