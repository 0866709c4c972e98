"""
What pools that share a ceiling get of it.

Shares bound what a pool aims for; free room bounds what it may make at this moment, because a machine on its way out
takes its place until it is gone. What is wanted comes before what a scale-down delay alone keeps.
"""

from collections import defaultdict
from collections.abc import Sequence

from remuda.pools.decide.model import Policy
from remuda.pools.decide.pool_decision import PoolDecision, Room
from remuda.rules.ceilings import Member, share


def share_ceilings(cases: list[PoolDecision], policy: Policy) -> None:
    """Lower targets and creations to what the ceilings allow; pools without one are left as they are."""
    groups: dict[str, list[PoolDecision]] = defaultdict(list)
    for case in cases:
        ceiling = case.policy.ceiling
        if ceiling is not None and ceiling in policy.ceilings:
            groups[ceiling].append(case)
    for name, group in groups.items():
        _share_one(name, policy.ceilings[name], group)


def _share_one(name: str, limit: int, group: list[PoolDecision]) -> None:
    taken = busy = 0
    for case in group:
        taken += case.census.taking_room
        busy += len(case.census.busy)
    grants: Sequence[int] = [case.asks for case in group]
    if sum(grants) > limit:  # pragma: no mutate - shares of exactly the limit are what was asked for
        grants = share(limit, [_member(case, case.firm, case.floor) for case in group])
        # Where nobody keeps anything for a delay alone, sharing again would change nothing.
        if any(case.firm < case.asks for case in group):  # pragma: no mutate - only saves time
            firm = zip(group, grants, strict=True)
            grants = share(limit, [_member(case, case.asks, granted) for case, granted in firm])
    room = Room(name, limit, taken, busy)
    makeable = 0  # pragma: no mutate - one that nobody makes is shared out to nobody
    for case, grant in zip(group, grants, strict=True):
        case.room, case.grant = room, grant
        if grant != case.target:
            case.target = min(case.target, grant)
        if case.may_create:
            case.may_create = max(0, min(case.may_create, grant - case.census.live))
            makeable += case.may_create
    if makeable and any(case.seen.unseen for case in group):
        # Nobody knows how much room is left.
        for case in group:
            case.may_create = 0
    elif makeable and taken + makeable > limit:
        _share_free_places(limit, group)


def _share_free_places(limit: int, group: list[PoolDecision]) -> None:
    """Not all fit now: places that are still taken come free later, those that are free are shared alike."""
    members = [
        _member(case, case.census.taking_room + case.may_create, case.census.taking_room) for case in group
    ]
    for case, places in zip(group, share(limit, members), strict=True):
        case.may_create = places - case.census.taking_room


def _member(case: PoolDecision, wants: int, floor: int) -> Member:
    policy = case.policy
    return Member(
        name=case.seen.name,
        wants=wants,
        floor=floor,
        guaranteed=case.wish.promised,
        priority=policy.priority,
        weight=policy.weight,
    )
