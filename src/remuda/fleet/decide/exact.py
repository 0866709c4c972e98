"""
The best there is, where few needs contend for few machines.

Serving needs in order is nearly best for a large fleet and can be poor for a small one: a dear machine taken because a
cheap one was given to a need that had other choices. Where a handful of needs and machines have nothing to do with all
others, every way to share them is looked at, within a budget.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide import domains, gangs
from remuda.fleet.decide.costs import costs
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, SPECULATIVE, TIERS, Work

Ints = NDArray[np.int64]
#: What a way to share costs, compared in this order: units missing by priority, machines on their way out that must be
#: waited for, what must be bought, machines that must be waited for, what idle machines cost; for special needs, which
#: no count of units keeps from taking more than they need, how many machines.
Price: TypeAlias = tuple[int, ...]
#: (place among the needs, tier, kind, machines)
Part: TypeAlias = tuple[int, int, int, int]

_MOST_NEEDS = 6
_MOST_MACHINES = 10
_MOST_STEPS = 30_000
_MOST_COMPONENTS = 16


@dataclass(slots=True)
class _Search:
    """One component: its needs in order, what each could use, what there is, and the best way found so far."""

    rows: list[int]
    levels: list[int]
    missing: list[int]
    #: by need: (tier, kind, fit, cost), cheapest per unit first
    options: list[list[tuple[int, int, int, int]]]
    #: by need: for a special one, what it lacks with the parts it is given
    lacks: list[Callable[[list[Part]], int] | None]
    left: dict[tuple[int, int], int]
    best: Price
    best_way: list[Part] | None = None
    steps: int = 0
    way: list[Part] = field(default_factory=list)

    def price(self, short: list[int], spent: list[int], parts: list[Part]) -> Price:
        """What a way costs that leaves so much missing and spends so much of each tier."""
        machines = sum(part[3] for part in parts if self.lacks[part[0]] is not None)
        return (*short, spent[DRAINING], spent[SPECULATIVE], spent[COMING], spent[IDLE], machines)


def refine(work: Work, asked: Ints) -> None:
    """Replace what was given in small components by the best way to share them; `asked` is what was missing before."""
    demand, fit = work.demand, work.fit
    allotted = work.picks.table()
    by_kind = work.free.sum(axis=0)
    if len(allotted):
        by_kind = by_kind + np.bincount(allotted[:, 3], allotted[:, 1] * allotted[:, 2], len(by_kind)).astype(
            np.int64
        )
    for parts in work.waiting.values():
        for _, kind, number in parts:
            by_kind[kind] += number
    profiles = np.unique(demand.profile[work.order])
    usable = (fit[profiles] > 0) & (by_kind > 0)
    if not usable.any():
        return
    label = _components(usable)
    need_label = np.zeros(len(fit), np.int64)
    need_label[profiles] = label
    of_need = need_label[demand.profile[work.order]]
    limited = work.limits.counts.any(axis=0) | (work.limits.money[work.fleet.kinds.provider] >= 0)
    done = 0
    for number in np.unique(of_need).tolist():
        places = np.flatnonzero(of_need == number)
        kinds = np.flatnonzero(usable[label == number].any(axis=0))
        if (
            len(places) > _MOST_NEEDS
            or not len(kinds)
            or by_kind[kinds].sum() > _MOST_MACHINES
            or limited[kinds].any()
            or not all(_can_be_judged(work, row) for row in work.order[places].tolist())
        ):
            continue
        done += 1
        if done > _MOST_COMPONENTS:
            return
        _refine_one(work, places, kinds, allotted, asked)


def _can_be_judged(work: Work, row: int) -> bool:
    """True for needs of which a set of machines says how much they lack: no sums, and gangs only before they begin."""
    profile = work.demand.profiles.all[int(work.demand.profile[row])]
    if profile.by_sum:
        return False
    return not profile.same or (row not in work.holdings and row not in work.adopted and profile.is_level)


def _components(usable: NDArray[np.bool_]) -> Ints:
    """For each profile the least profile it is connected with over kinds both could use."""
    label = np.arange(len(usable))
    far = len(usable)
    while True:
        by_kind = np.where(usable, label[:, None], far).min(axis=0)
        reached = np.where(usable, by_kind[None, :], far).min(axis=1)
        joined: Ints = np.minimum(label, reached)
        if (joined == label).all():
            return joined
        label = joined


def _refine_one(work: Work, places: Ints, kinds: Ints, allotted: Ints, asked: Ints) -> None:
    demand = work.demand
    rows = [int(work.order[place]) for place in places]
    parts = _allotted(work, places, rows, allotted)
    left = {
        (tier, kind): int(work.free[tier, kind]) for tier in range(TIERS) for kind in kinds.tolist() if work.free[tier, kind]
    }  # fmt: skip
    for _, tier, kind, number in parts:
        left[tier, kind] = left.get((tier, kind), 0) + number
    priorities = demand.priority[rows].tolist()
    distinct = sorted(set(priorities), reverse=True)
    options = []
    for row in rows:
        here = []
        for tier, kind in sorted(left):
            units = int(work.fit[demand.profile[row], kind])
            if units:
                cost = int(costs(work, np.array([kind]), demand.interruption_penalty[row : row + 1])[0])
                here.append((tier, kind, units, cost))
        options.append(
            sorted(here, key=lambda option: (option[0], option[3] * 100_000 // option[2], option[1]))
        )
    levels = [distinct.index(one) for one in priorities]
    missing = asked[rows].tolist()
    search = _Search(rows, levels, missing, options, [_judge(work, row) for row in rows], left, ())
    short = [0] * len(distinct)
    for level, row, most in zip(levels, rows, missing, strict=True):
        gang = bool(demand.profiles.all[int(demand.profile[row])].same)
        short[level] += most if gang and work.unmet[row] else int(work.unmet[row])
    spent = [0] * TIERS  # pragma: no mutate - a start that seems dearer only makes the search look longer
    for index, tier, kind, number in parts:
        cost = next(option[3] for option in options[index] if option[:2] == (tier, kind))
        spent[tier] += number * (cost if tier in {IDLE, SPECULATIVE} else 1)
    search.best = search.price(short, spent, parts)
    _try_need(search, 0, [0] * len(distinct), [0] * TIERS)
    if search.best_way is not None:
        _rewrite(work, places, search)


def _allotted(work: Work, places: Ints, rows: list[int], allotted: Ints) -> list[Part]:
    """What the needs of a component were given, and what is held back for them."""
    parts: list[Part] = []
    index = {place: number for number, place in enumerate(places.tolist())}
    mine = allotted[np.isin(allotted[:, 0], places)] if len(allotted) else allotted
    for first, needs, each, kind, tier in mine.tolist():
        parts.extend((index[place], tier, kind, each) for place in range(first, first + needs))
    for number, row in enumerate(rows):
        parts.extend((number, tier, kind, held) for tier, kind, held in work.waiting.get(row, ()))
    return parts


def _judge(work: Work, row: int) -> Callable[[list[Part]], int] | None:
    """What a special need lacks with some machines; all of it for a gang that they do not complete."""
    number = int(work.demand.profile[row])
    if work.demand.profiles.plain[number]:
        return None
    gang = bool(work.demand.profiles.all[number].same)
    before = work.held_by_kind(row)
    known: dict[tuple[tuple[int, int], ...], int] = {}

    def lacks(parts: list[Part]) -> int:
        key = tuple((kind, machines) for _, _, kind, machines in parts)
        found = known.get(key)
        if found is None:
            held = before.copy()
            for kind, machines in key:
                held[kind] += machines
            rules = gangs if gang else domains
            found = rules.missing(work, row, held)
            if gang and found:
                found = int(work.demand.count[row])
            known[key] = found
        return found

    return lacks


def _try_need(search: _Search, index: int, short: list[int], spent: list[int]) -> None:
    """Try every way to serve the needs from `index` on."""
    price = search.price(short, spent, search.way)
    if price >= search.best:
        return
    if index == len(search.rows):
        search.best, search.best_way = price, list(search.way)
        return
    _try_option(search, index, 0, search.missing[index], short, spent)


def _try_option(
    search: _Search, index: int, option: int, missing: int, short: list[int], spent: list[int]
) -> None:
    """Try every number of machines of each sort for one need, many first."""
    search.steps += 1
    if search.steps > _MOST_STEPS:
        return
    lacks = search.lacks[index]
    if option == len(search.options[index]) or (missing <= 0 and lacks is None):
        if lacks is not None:
            mine = [part for part in search.way if part[0] == index]
            missing = lacks(mine)
            if mine and missing >= search.missing[index]:
                return  # what helps nothing is not given: a part of a gang would be started that cannot be completed
        level = search.levels[index]
        short[level] += max(missing, 0)
        _try_need(search, index + 1, short, spent)
        short[level] -= max(missing, 0)
        return
    tier, kind, fit, cost = search.options[index][option]
    there = search.left[tier, kind]
    each = cost if tier in {IDLE, SPECULATIVE} else 1
    most = -(-(missing if lacks is None else search.missing[index]) // fit)
    for count in range(min(there, most), -1, -1):
        if count:
            search.left[tier, kind] -= count
            spent[tier] += count * each
            search.way.append((index, tier, kind, count))
        _try_option(search, index, option + 1, missing - count * fit, short, spent)
        if count:
            search.way.pop()
            spent[tier] -= count * each
            search.left[tier, kind] += count


def _rewrite(work: Work, places: Ints, search: _Search) -> None:
    """Give the component what the best way says instead."""
    picks = work.picks
    mine = set(places.tolist())
    for pick, first in enumerate(picks.first):
        if first in mine:
            work.free[picks.tier[pick], picks.kind[pick]] += picks.needs[pick] * picks.each[pick]
            picks.each[pick] = 0
    for row in search.rows:
        for tier, kind, number in work.waiting.pop(row, ()):
            work.free[tier, kind] += number
            if tier == IDLE:
                work.held_back[kind] -= number
    work.candidates.clear()
    for index, row in enumerate(search.rows):
        parts = [part for part in search.best_way or () if part[0] == index]
        lacks = search.lacks[index]
        if lacks is None:
            units = sum(count * int(work.fit[work.demand.profile[row], kind]) for _, _, kind, count in parts)
            work.unmet[row] = max(0, search.missing[index] - units)
        else:
            work.unmet[row] = lacks(parts)
        allotted = [part[1:] for part in parts]
        if work.demand.profiles.all[int(work.demand.profile[row])].same and allotted:
            allotted = gangs.held_until_complete(work, row, allotted)
        for tier, kind, count in allotted:
            picks.add(int(places[index]), 1, count, kind, tier)
            work.free[tier, kind] -= count
