"""
Exchanges: when a need finds nothing left, one served before it may do as well with another machine.

A path leads from a kind the need could use, over machines given away in this decision whose needs could do with other
kinds, to a kind of which some are free. Along it each need moves one step, and nobody loses anything.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.limits import bought, buyable
from remuda.fleet.decide.work import SPECULATIVE, TIERS, Work

if TYPE_CHECKING:
    from remuda.fleet.decide.serve import Groups

Ints = NDArray[np.int64]
#: Paths looked for in one decision; beyond, a need stays unmet until the next.
_MOST_SEARCHES = 2_000


@dataclass(frozen=True, slots=True)
class _Step:
    """The machine of `kind` that pick `pick` gives up comes from here; `before` leads back to the need that is short."""

    kind: int
    pick: int
    before: "_Step | None"


def exchange(work: Work, groups: "Groups", short: Ints, served: Ints) -> None:
    """Serve what is short in these groups along paths, cheapest end first, and count down what is missing."""
    if not len(work.picks.kind):
        return
    dead = np.zeros(len(work.fleet.kinds), np.bool_)
    by_kind = work.picks.by_kind()
    searches = 0  # pragma: no mutate - one of thousands more or less
    for group in short.tolist():
        _, first, needs, _, row, _, _ = groups.table[group].tolist()
        here = slice(groups.starts[row], groups.starts[row + 1])
        kinds, fits = groups.kinds[here], groups.fits[here]
        place = first + int(served[group, 0])
        while place < first + needs and searches < _MOST_SEARCHES:
            if dead[kinds].all():
                break
            searches += 1
            missing = int(work.unmet[work.order[place]])
            found = _search(work, kinds, dead, by_kind)
            if found is None:
                break
            step, kind, tier = found
            start = step
            while start.before is not None:
                start = start.before
            fit = int(fits[np.flatnonzero(kinds == start.kind)[0]])
            known = len(work.picks.kind)
            _move(work, step, kind, tier, place)
            for pick in range(known, len(work.picks.kind)):
                by_kind.setdefault(work.picks.kind[pick], []).append(pick)
            work.unmet[work.order[place]] = max(0, missing - fit)
            if work.unmet[work.order[place]] == 0:
                place += 1


def _search(
    work: Work, kinds: Ints, dead: NDArray[np.bool_], by_kind: dict[int, list[int]]
) -> tuple[_Step, int, int] | None:
    """The shortest path from these kinds to a free machine: its last step, and the kind and tier that is free."""
    picks = work.picks
    seen = dead.copy()
    frontier: list[tuple[int, _Step | None]] = [(int(kind), None) for kind in kinds if not seen[kind]]
    seen[kinds] = True
    visited = [kind for kind, _ in frontier]
    fit = work.fit
    while frontier:
        ahead: list[tuple[int, _Step | None]] = []
        for kind, before in frontier:
            for pick in by_kind.get(kind, ()):
                if picks.each[pick] == 0:
                    continue
                row = int(work.order[picks.first[pick]])
                profile = int(work.demand.profile[row])
                if not work.demand.profiles.plain[profile]:
                    continue
                useful = min(int(fit[profile, kind]), int(work.demand.count[row]))
                others = np.flatnonzero(fit[profile] >= useful)
                step = _Step(kind, pick, before)
                for other in others.tolist():
                    for tier in range(TIERS):
                        if work.free[tier, other] > 0 and (tier != SPECULATIVE or buyable(work, other) > 0):
                            return step, other, tier
                    if not seen[other]:
                        seen[other] = True
                        visited.append(other)
                        ahead.append((other, step))
        frontier = ahead
    dead[visited] = True
    return None


def _move(work: Work, step: _Step, kind: int, tier: int, place: int) -> None:
    """Carry a path out: the last need takes what is free, each before it what the next gave up, the short one the rest."""
    picks = work.picks
    work.exchanged = True
    work.free[tier, kind] -= 1
    if tier == SPECULATIVE:
        bought(work, kind, 1)
    here: _Step | None = step
    while here is not None:
        pick = here.pick
        tier_before = picks.tier[pick]
        if picks.needs[pick] > 1:
            picks.needs[pick] -= 1
            taker = picks.first[pick] + picks.needs[pick]
            picks.add(taker, 1, picks.each[pick] - 1, picks.kind[pick], tier_before)
        else:
            picks.each[pick] -= 1
            taker = picks.first[pick]
        picks.add(taker, 1, 1, kind, tier)
        kind, tier = here.kind, tier_before
        here = here.before
    picks.add(place, 1, 1, kind, tier)


def give_back(work: Work, asked: Ints) -> None:
    """Take back what plain needs were given and can do without, now that an exchange gave them a larger machine."""
    if not work.exchanged:
        return
    table = work.picks.table()
    profile = work.demand.profile[work.order[table[:, 0]]]
    table = table[(table[:, 1] == 1) & work.demand.profiles.plain[profile]]
    place = table[:, 0]
    units = work.fit[work.demand.profile[work.order[place]], table[:, 3]] * table[:, 2]
    total = np.bincount(place, units, len(work.order)).astype(np.int64)
    over = np.where(np.bincount(place, minlength=len(work.order)) > 1, total - asked[work.order], 0)
    if not (over > 0).any():
        return
    picks = work.picks
    for pick in range(len(picks.kind) - 1, -1, -1):
        first, kind, tier = picks.first[pick], picks.kind[pick], picks.tier[pick]
        if picks.needs[pick] != 1:
            continue
        fit = int(work.fit[work.demand.profile[work.order[first]], kind])
        back = min(picks.each[pick], max(0, int(over[first])) // fit)
        over[first] -= back * fit
        picks.each[pick] -= back
        work.free[tier, kind] += back
        if tier == SPECULATIVE:
            bought(work, kind, -back)
