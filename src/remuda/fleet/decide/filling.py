"""Choose machines for a number of units, when domains must reach one level and may not pass another."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.candidates import Candidates
from remuda.fleet.profiles import MOST_UNITS

Ints = NDArray[np.int64]
#: A level no domain passes.
ANY = 1 << 60


def fill(offer: Candidates, free: Ints, have: Ints, low: int, high: int, want: int) -> Ints:
    """
    How many machines of each entry to take, best entries first.

    `have` are the units of each domain there are. Every domain is brought to `low`, and what is above counts up to
    `high`, until the domains together have `want`. What cannot be reached is left; the caller looks at what it got.
    """
    levels: list[int] = have.tolist()
    slack = want - sum(min(max(level, low), high) for level in levels)
    lacking = sum(max(0, low - level) for level in levels)
    taken = [0] * len(offer)
    rows = zip(offer.group.tolist(), free.tolist(), offer.fit.tolist(), strict=True)
    for entry, (domain, machines, fit) in enumerate(rows):
        if slack <= 0 and not lacking:
            break
        level = levels[domain]
        must = max(0, low - level)
        useful = must + max(0, min(high - level - must, slack))
        take = min(machines, useful // fit)
        if take <= 0:
            continue
        taken[entry] = take
        units = take * fit
        levels[domain] = level + units
        lacking -= min(units, must)
        slack -= max(0, units - must)
    got = np.array(taken, np.int64)
    if (slack > 0 or lacking) and not offer.single:
        _fill_rest(offer, free - got, got, levels, low, high, slack)
    return got


def _fill_rest(
    offer: Candidates, left: Ints, got: Ints, levels: list[int], low: int, high: int, slack: int
) -> None:
    """What is missing is less than a whole machine of most kinds: take what costs least for the units it is used for."""
    level = np.array(levels, np.int64)
    while True:
        must = np.maximum(0, low - level)
        room = must + np.maximum(0, np.minimum(high - level - must, slack))
        useful = np.minimum(offer.fit, room[offer.group])
        open_ = np.flatnonzero((left > 0) & (useful > 0))
        if not len(open_):
            return
        used = useful[open_]
        rank = np.lexsort(
            (offer.fit[open_] - used, offer.cost[open_] * MOST_UNITS // used, offer.tier[open_])
        )
        best = int(open_[rank[0]])
        domain, fit = int(offer.group[best]), int(offer.fit[best])
        take = max(1, min(int(left[best]), int(room[domain]) // fit))
        units = min(take * fit, int(room[domain]))
        left[best] -= take
        got[best] += take
        level[domain] += take * fit
        slack -= max(0, units - int(must[domain]))


def pour(offer: Candidates, free: Ints, have: Ints, high: int, want: int) -> Ints:
    """
    How many machines of each entry to take when domains should be level and need not be.

    Among entries of one tier and cost per unit the lowest domains come first; a better entry goes before a lower domain.
    """
    got = np.zeros(len(offer), np.int64)
    level = have.copy()
    missing = want - int(np.minimum(level, high).sum())
    price = offer.cost * MOST_UNITS // offer.fit
    edges = np.flatnonzero(np.diff(offer.tier) | np.diff(price)) + 1 if len(offer) else np.zeros(0, np.int64)
    for run in np.split(np.arange(len(offer)), edges):
        if missing <= 0 or not len(run):
            break
        group = offer.group[run]
        units = np.bincount(group, weights=free[run] * offer.fit[run], minlength=len(level)).astype(np.int64)
        goal = level + _levelled(level, np.minimum(units, np.maximum(0, high - level)), missing)
        for entry, domain in zip(run.tolist(), group.tolist(), strict=True):
            short = int(goal[domain] - level[domain])
            if short <= 0 or missing <= 0:
                continue
            take = min(int(free[entry]), -(-short // int(offer.fit[entry])))
            before = min(int(level[domain]), high)
            level[domain] += take * int(offer.fit[entry])
            missing -= min(int(level[domain]), high) - before
            got[entry] = take
    return got


def _levelled(level: Ints, room: Ints, amount: int) -> Ints:
    """How to pour an amount so that the lowest rise first, none by more than its room; the odd rest in order."""
    if int(room.sum()) <= amount:
        return room
    low, high = int(level.min()), int((level + room).max())
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.clip(middle - level, 0, room).sum()) <= amount:
            low = middle
        else:
            high = middle - 1
    poured: Ints = np.clip(low - level, 0, room)
    rest = amount - int(poured.sum())
    more = np.flatnonzero((poured < room) & (level + poured == low))[:rest]
    poured[more] += 1
    return poured
