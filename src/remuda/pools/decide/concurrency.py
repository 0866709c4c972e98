"""What a CI organisation may run at once: tasks beyond its concurrency wait, whatever machines there are."""

from collections import defaultdict

from remuda.pools.decide.model import Policy, PoolPolicy, PoolSeen, Snapshot
from remuda.rules.ceilings import Member, share


def beyond_concurrency(seen: Snapshot, policy: Policy) -> dict[str, int]:
    """
    By pool, how many of its unclaimed tasks cannot run now; pools without such a bound are left out.

    It is shared as a ceiling is, and what runs counts as a part of its pool's share: a task that begins must not
    move the room of a task that another pool has a machine on its way for.
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
        members = [
            Member(
                pool.name,
                need.running + need.unclaimed,
                floor=need.running,
                priority=mine.priority,
                weight=mine.weight,
            )
            for (pool, mine), need in zip(group, needs, strict=True)
        ]
        for member, granted in zip(members, share(policy.concurrency[name], members), strict=True):
            beyond[member.name] = member.wants - granted
    return beyond
