"""
Share a ceiling among its members.

Floors first (a busy machine never gives way), then guarantees, then priority, and within one priority weighted
max-min fairness over totals. The exact water level is a ratio of integers, so every CPU grants the same, and each
grant is within one machine of the exact share.
"""

from collections.abc import Sequence

from msgspec import Struct


class Member(Struct, frozen=True, gc=False):
    """One that shares a ceiling. Names are unique within it; a weight is at least 1."""

    name: str
    #: machines it would have if there were no ceiling
    wants: int
    #: machines that cannot be taken away
    floor: int = 0
    #: machines it can always have when it wants them
    guaranteed: int = 0
    priority: int = 0
    weight: int = 1


def share(limit: int, members: Sequence[Member]) -> tuple[int, ...]:
    """
    Grant each member a number of machines, in the order of the members.

    The grants add up to `min(limit, all wants and floors)` whenever the floors fit; when they do not, everyone
    keeps its floor and nobody gets more. Who gets what does not depend on the order; ties go by name.
    """
    grants = [member.floor for member in members]
    wants = [max(member.floor, member.wants) for member in members]
    if sum(wants) <= limit:
        return tuple(wants)
    guaranteed = [
        max(member.floor, min(member.wants, member.guaranteed)) if member.guaranteed else member.floor
        for member in members
    ]
    for caps in (guaranteed, wants):
        _serve_by_priority(limit - sum(grants), members, grants, caps)
    return tuple(grants)


def _serve_by_priority(left: int, members: Sequence[Member], grants: list[int], caps: list[int]) -> None:
    """Raise `grants` towards `caps` by `left` in all, if there is any left, higher priority first."""
    ranks: dict[int, list[int]] = {}
    for index, member in enumerate(members):
        if grants[index] < caps[index]:
            ranks.setdefault(member.priority, []).append(index)
    for priority in sorted(ranks, reverse=True):
        rank = ranks[priority]
        more = min(left, sum(caps[index] - grants[index] for index in rank))
        _fill(more, members, rank, grants, caps)
        left -= more


def _fill(left: int, members: Sequence[Member], rank: list[int], grants: list[int], caps: list[int]) -> None:
    """Raise the grants of one rank to the water level: weighted max-min fair, the odd machines by largest remainder."""
    if left <= 0:
        return
    total = left + sum(grants[index] for index in rank)
    rise, slope = _level(total, [(grants[index], caps[index], members[index].weight) for index in rank])
    remainders = []
    for index in rank:
        whole, remainder = divmod(rise * members[index].weight, slope)
        if whole >= caps[index]:
            whole = caps[index]
        elif whole < grants[index]:
            continue
        elif remainder:
            remainders.append((-remainder, members[index].name, index))
        left -= whole - grants[index]
        grants[index] = whole
    remainders.sort()
    for _, _, index in remainders[:left]:
        grants[index] += 1


def _level(total: int, tubs: list[tuple[int, int, int]]) -> tuple[int, int]:
    """
    The exact level, as a ratio, at which tubs of (base, cap, weight) hold `total` together.

    A tub holds its weight times the level, but never less than its base or more than its cap. `total` lies between all
    bases and all caps.
    """
    # Two different ratios with denominators up to w are at least 1/w² apart, so scaled by w² their whole parts
    # differ too: sorting by the whole part is exact.
    heaviest = max(weight for _, _, weight in tubs)
    scale = heaviest * heaviest
    bends = [(base * scale // weight, base, weight, True) for base, _, weight in tubs]
    bends += [(cap * scale // weight, cap, weight, False) for _, cap, weight in tubs]
    bends.sort()
    still, slope = sum(base for base, _, _ in tubs), 0
    for _, held, weight, starts in bends:  # pragma: no branch - with the last cap they hold the total
        if still * weight + slope * held >= total * weight:
            break
        if starts:
            still, slope = still - held, slope + weight
        else:
            still, slope = still + held, slope - weight
    return total - still, slope
