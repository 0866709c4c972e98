"""
Victims: the configured machines that a need of higher priority could be given, and what taking each would cost.

Machines that nothing distinguishes for a preemptor are one class: equal kind, and holders of equal priority and penalties.
A gang is taken whole or not at all, so its classes are one lot; every other class is a lot of its own.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide.costs import wastes
from remuda.fleet.decide.work import Work
from remuda.fleet.plan import Op
from remuda.model.shapes import MILLION
from remuda.model.times import SECOND
from remuda.model.units import PINNED

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: Cells up to which classes are counted in a table; beyond, they are sorted.
_DENSE = 1 << 22  # pragma: no mutate - both ways give the same classes; only how soon differs
#: Rankings kept at once; making one again gives the same.
_RANKINGS = 512


@dataclass(slots=True)
class Ranking:
    """Lots in the order one sort of preemptor takes them, with units gained and cost per take; `at` is how far it got."""

    order: list[int]
    units: Ints
    cost: Ints
    #: what the cost is above the score, so that none is negative
    offset: int
    pinned: Mask
    at: int = 0


@dataclass(slots=True)
class Victims:
    """Columns by class (sorted by lot), by lot and by group of holders; `left` counts the takes each lot still allows."""

    rows: Ints
    #: class of each of `rows`
    where: Ints
    #: demand row of the need that each of `rows` serves; −1 where nobody asks for it
    holder: Ints
    group: Ints
    kind: Ints
    count: Ints
    #: machines of the class that one take of its lot takes
    each: Ints
    lot: Ints
    #: by lot
    start: Ints
    whole: list[bool]
    size: list[int]
    left: list[int]
    #: by group
    priority: Ints
    interruption: Ints
    reclamation: Ints
    #: how many kinds there are
    kinds: int
    rankings: dict[tuple[int, int, int], Ranking] = field(default_factory=dict)
    best: dict[tuple[int, int], int] = field(default_factory=dict)

    def ranking(self, work: Work, profile: int, priority: int, rest: int, most: int | None) -> Ranking:
        """
        The lots for preemptors that miss `rest` units, the least cost for each unit gained first.

        A lot with a pinned penalty comes after all others; one larger than `most` machines does not come at all.
        """
        fit = work.fit[profile]
        cap = self.best.get((profile, priority))
        if cap is None:
            cap = self.best[profile, priority] = int(max(self._units(fit).max(initial=0), 1))
        key = (profile, priority, min(rest, cap))
        found = self.rankings.get(key)
        if found is None:
            if len(self.rankings) >= _RANKINGS:
                self.rankings.clear()
            found = self.rankings[key] = self._rank(work, profile, priority, key[2], most)
        return found

    def following(self, ranking: Ranking) -> int:
        """The next lot in a ranking that is left; −1 for none."""
        order, left = ranking.order, self.left
        while ranking.at < len(order):
            if left[order[ranking.at]]:
                return order[ranking.at]
            ranking.at += 1
        return -1

    def costs(self, work: Work, profile: int, priority: int, cap: int) -> tuple[Ints, int, Mask]:
        """What taking one machine of each class costs this preemptor, how far that is above its score, and what is pinned."""
        weights = work.policy.weights
        gap = priority - self.priority
        widest = max(int(gap.max(initial=0)), 0)
        cost = (
            weights.drain * (graces(work, gap) // SECOND)
            + _share(weights.interruption, self.interruption)
            + _share(weights.reclamation, self.reclamation)
            + weights.gap * (widest - gap)
        )
        use = np.minimum(work.fit[profile], cap)
        waste = weights.waste * wastes(work.fleet.kinds.allocatable, work.demand.profiles.unit[profile], use)
        pinned = (self.interruption >= PINNED) | (self.reclamation >= PINNED)
        return cost[self.group] + waste[self.kind], weights.gap * widest, pinned[self.group]

    def _units(self, fit: Ints) -> Ints:
        if not len(self.start):
            return np.zeros(0, np.int64)
        return np.add.reduceat(fit[self.kind] * self.each, self.start)

    def _rank(self, work: Work, profile: int, priority: int, cap: int, most: int | None) -> Ranking:
        units = self._units(work.fit[profile])
        if not len(units):
            return Ranking([], units, units, 0, np.zeros(0, np.bool_))
        of_class, offset, pinned = self.costs(work, profile, priority, cap)
        cost = np.add.reduceat(of_class * self.each, self.start)
        lower = self.priority[self.group[self.start]] < priority
        fits = lower & (units > 0) & (np.array(self.left) > 0)
        if most is not None:
            fits &= ~np.array(self.whole) | (np.array(self.size) <= most)
        lots = np.flatnonzero(fits)
        gain = np.minimum(units[lots], cap)
        whole, part = np.divmod(cost[lots], gain)
        last = pinned[self.start]
        order = np.lexsort((lots, self.kind[self.start[lots]], part * 1_000 // gain, whole, last[lots]))
        return Ranking(lots[order].tolist(), units, cost, offset, last)


def find_victims(work: Work, off_limits: Ints) -> Victims:
    """All that may be taken, for the highest priority that misses something; `off_limits` are rows that may not."""
    fleet, demand = work.fleet, work.demand
    highest = int(demand.priority[work.unmet > 0].max())
    usable = (fleet.state == states.CONFIGURED) & (fleet.not_before <= work.now)
    usable[off_limits] = False
    for block in work.blocks:
        if block.op is Op.ADOPT:
            usable[block.rows] = False
    holder = demand.row_of()[fleet.need]
    holder[work.held.rows] = work.held.need
    group, priority, interruption, reclamation, gang = _groups(work, highest)
    rows = np.flatnonzero(usable)
    mine = holder[rows].astype(np.int64)
    of = group[mine]
    stray = np.flatnonzero(mine < 0)
    if len(stray):
        stamped, place = np.unique(fleet.priority[rows[stray]].astype(np.int64), return_inverse=True)
        of[stray] = np.where(stamped < highest, len(priority) + np.arange(len(stamped)), -1)[place]
        zero = np.zeros(len(stamped), np.int64)
        priority = np.concatenate([priority, stamped])
        interruption, reclamation = (
            np.concatenate([interruption, zero]),
            np.concatenate([reclamation, zero]),
        )
        gang = np.concatenate([gang, zero - 1])
    if (of < 0).any():
        lower = of >= 0
        rows, mine, of = rows[lower], mine[lower], of[lower]
    kinds = len(fleet.kinds)
    keys, where, count = _classes(of * kinds + fleet.kind[rows], len(priority) * kinds)
    of_class, kind = keys // kinds, keys % kinds
    stay = _complete(work, of_class, count, gang)
    if not stay.all():
        place = np.cumsum(stay) - 1
        here = stay[where]
        rows, mine, where = rows[here], mine[here], place[where[here]]
        of_class, kind, count = of_class[stay], kind[stay], count[stay]
    whole = gang[of_class] >= 0
    begins = np.ones(len(of_class), np.bool_)
    begins[1:] = ~whole[1:] | (of_class[1:] != of_class[:-1])
    start = np.flatnonzero(begins)
    each = np.where(whole, count, 1)
    return Victims(
        rows, where, mine, of_class, kind, count, each, np.cumsum(begins) - 1, start, whole[start].tolist(),
        (np.add.reduceat(each, start) if len(start) else each).tolist(), np.where(whole, 1, count)[start].tolist(),
        priority, interruption, reclamation, len(fleet.kinds),
    )  # fmt: skip


def graces(work: Work, gap: Ints) -> Ints:
    """The grace for each gap of priorities, in milliseconds."""
    found = np.full(len(gap), work.policy.grace, np.int64)
    for above, grace in reversed(work.policy.graces):
        found[gap > above] = grace
    return found


def _share(weight: int, penalty: Ints) -> Ints:
    """So many parts per million of a penalty, in steps that stay within 64 bits."""
    sums = np.minimum(penalty, PINNED)
    share: Ints = sums // MILLION * weight + sums % MILLION * weight // MILLION
    return share


def _groups(work: Work, highest: int) -> tuple[NDArray[np.int64], Ints, Ints, Ints, Ints]:
    """For each need its group (−1 at or above `highest`; one entry more for none), and what each group is like."""
    demand = work.demand
    lower = np.flatnonzero(demand.priority < highest)
    gangs = np.array([bool(one.same) for one in demand.profiles.all], np.bool_)
    gang = gangs[demand.profile[lower]] if len(gangs) else np.zeros(0, np.bool_)
    code = np.zeros(len(lower), np.int64)
    for column in (demand.priority, demand.interruption_penalty, demand.reclamation_penalty):
        values = column[lower]
        if len(values) and values.min() != values.max():
            distinct = np.unique(values)
            wide = int(code.max()) >= 1 << 31  # pragma: no mutate - far enough from 2⁶³
            code = np.unique(code, return_inverse=True)[1] if wide else code  # pragma: no mutate - the same
            code = code * len(distinct) + np.searchsorted(distinct, values)
    if gang.any():
        code[gang] = code.max() + np.cumsum(gang)[gang]
    distinct, first = np.unique(code, return_index=True)
    group = np.full(len(demand) + 1, -1, np.int64)
    group[lower] = np.searchsorted(distinct, code)
    example = lower[first]
    return (
        group,
        demand.priority[example].astype(np.int64),
        demand.interruption_penalty[example],
        demand.reclamation_penalty[example],
        np.where(gang[first], example, -1),
    )


def _classes(key: Ints, cells: int) -> tuple[Ints, Ints, Ints]:
    """The distinct keys ascending, the place of each key among them, and how often each occurs."""
    if cells > _DENSE:
        keys, where, count = np.unique(key, return_inverse=True, return_counts=True)
        return keys, where, count
    table = np.bincount(key, minlength=cells)
    keys = np.flatnonzero(table)
    place = np.zeros(cells, np.int64)
    place[keys] = np.arange(len(keys))
    return keys, place[key], table[keys]


def _complete(work: Work, group: Ints, count: Ints, gang: Ints) -> Mask:
    """
    False for the classes of gangs that cannot be taken whole now, because some machine of theirs cannot.

    Those that were just completed are left alone too: what they were given is on its way to them.
    """
    stay = np.ones(len(group), np.bool_)
    if not (gang >= 0).any():
        return stay
    taken = np.zeros(len(gang), np.int64)
    np.add.at(taken, group, count)
    held = np.bincount(work.held.need, minlength=len(work.demand))
    held[work.order[work.unmet[work.order] == 0]] = -1
    held[list(work.adopted)] = -1
    whole = np.where(gang >= 0, taken == held[gang], True)
    result: Mask = whole[group]
    return result
