"""
Machines that must go while nobody says whether they work.

A pool that drains or is not configured any more may outlive what its source reports of it: the class is deleted, the
token revoked, the service down. So may a machine that was made for another class than its pool has now. Where powering
a machine off lets it end its job first, that is how it goes. It is not done at once but after the time in which a
machine must be heard of: an answer is the better way, a short silence is common, and a drain may be called off.
"""

from remuda.model.machines import Machine
from remuda.model.times import Instant
from remuda.pools.decide.census import Census
from remuda.pools.decide.model import PoolMemory, PoolPolicy, PoolSeen


def possibly_busy(seen: PoolSeen, policy: PoolPolicy, census: Census) -> list[Machine]:
    """The machines that must go, look idle, and may as well be busy."""
    if not census.idle or seen.override.paused:
        return []
    need = seen.need
    is_fresh = need is not None and need.stale_since is None and need.unsure_since is None
    if seen.override.draining or not policy.template:
        return list(census.idle) if not is_fresh else [machine for machine in census.idle if machine.unsure]
    if not census.unsure or not is_fresh or policy.natural:
        return []
    # The source reports the pool's class, so these are of another one.
    return [machine for machine in census.idle if machine.unsure and machine.template != policy.template]


def possibly_busy_since(before: PoolMemory, now: Instant) -> Instant:
    """Since when nobody has said whether they work; a clock that jumped back must not stretch it."""
    return min(before.unsure_since or now, now)


def ends_at(memory: PoolMemory, policy: PoolPolicy) -> Instant:
    """When machines that may be busy are powered off."""
    return memory.unsure_since + policy.boot_timeout
