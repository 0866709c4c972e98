"""What a CI organisation may run at once: tasks beyond its concurrency wait, whatever machines there are."""

from collections import defaultdict

from remuda.pools.decide.world import Policy, PoolPolicy, PoolSeen, Snapshot
from remuda.rules.ceilings import Member, share


def beyond_concurrency(seen: Snapshot, policy: Policy) -> dict[str, int]:
    """
    By pool, how many of its unclaimed tasks cannot run now; pools without such a bound are left out.

    What runs is counted over all pools of the organisation; the rest is shared as a ceiling is.
    """
    if not policy.concurrency:
        return {}
    groups: dict[str, list[tuple[PoolSeen, PoolPolicy]]] = defaultdict(list)
    for pool in seen.pools:
        mine = policy.pools.get(pool.name)
        if mine is not None and mine.organisation in policy.concurrency and pool.need is not None:
            groups[mine.organisation].append((pool, mine))
    beyond = {}
    for name, group in groups.items():
        needs = [pool.need for pool, _ in group if pool.need is not None]
        room = max(0, policy.concurrency[name] - sum(need.running for need in needs))
        members = [
            Member(pool.name, need.unclaimed, priority=mine.priority, weight=mine.weight)
            for (pool, mine), need in zip(group, needs, strict=True)
        ]
        for member, granted in zip(members, share(room, members), strict=True):
            beyond[member.name] = member.wants - granted
    return beyond
