"""Preempt for needs whose domains or sums count: one victim after the other, and only such as bring the need further."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide import domains, sums
from remuda.fleet.decide.preemptions import Preemptions
from remuda.fleet.decide.victims import Ranking, Victims
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, Work
from remuda.model.shapes import MILLION

Ints = NDArray[np.int64]
#: What a need still misses when it has so many machines by kind.
Missing = Callable[[Ints], int]
#: More than any need misses.
_UNBOUNDED = 1 << 40  # pragma: no mutate - any number that no need misses


def preempt_one_by_one(preemptions: Preemptions, row: int, held: Ints) -> None:
    """Take victims for a spread, a separation by domain or a sum; `held` is what it has already, by kind."""
    work = preemptions.work
    number, priority = int(work.demand.profile[row]), int(work.demand.priority[row])
    profile = work.demand.profiles.all[number]
    if profile.by_sum and profile.same:
        _complete_sum(preemptions, row, held)
        return
    missing = _missing_sum(work, row) if profile.by_sum else _missing_units(work, row)
    lacks = missing(held)
    if preemptions.coming.any():
        held, rest = _await(preemptions, held, missing)
        if rest < lacks:
            work.awaited[row] = lacks - rest
            lacks = rest
    if lacks <= 0:
        return
    ranking = preemptions.victims.ranking(
        work, number, priority, _UNBOUNDED if profile.by_sum else lacks, preemptions.most
    )
    while lacks > 0:
        lot = _next(preemptions.victims, ranking, held, missing)
        if lot < 0:
            return
        held = held + members(preemptions.victims, lot)
        room = preemptions.room
        preemptions.take(row, lot, 1, ranking, _UNBOUNDED)
        gained, lacks = lacks - missing(held), missing(held)
        if preemptions.room < room:
            work.unmet[row] = max(0, int(work.unmet[row]) - gained)


def members(victims: Victims, lot: int) -> Ints:
    """Machines by kind that one take of a lot takes."""
    last = int(victims.start[lot + 1]) if lot + 1 < len(victims.start) else len(victims.kind)
    here = slice(int(victims.start[lot]), last)
    kinds = np.zeros(victims.kinds, np.int64)
    np.add.at(kinds, victims.kind[here], victims.each[here])
    return kinds


class Allotted:
    """What special needs hold, with what this decision has given them so far."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._picks: Ints | None = None

    def to(self, row: int) -> Ints:
        """Machines by kind."""
        work = self._work
        if self._picks is None:
            self._picks = work.picks.table()
        place = int(np.flatnonzero(work.order == row)[0])
        picks = self._picks
        mine = picks[(picks[:, 0] <= place) & (place < picks[:, 0] + picks[:, 1])]
        held = work.held_by_kind(row)
        np.add.at(held, mine[:, 3], mine[:, 2])
        return held


def _missing_units(work: Work, row: int) -> Missing:
    layout, count = domains.layout_of(work, row), int(work.demand.count[row])
    return lambda held: max(0, count - layout.usable(held))


def _missing_sum(work: Work, row: int, inside: NDArray[np.bool_] | None = None) -> Missing:
    asked = sums.sum_of(work, row)
    counts = work.fit[work.demand.profile[row]] > 0
    if inside is not None:
        counts &= inside
    return lambda held: MILLION - asked.met(asked.have(np.where(counts, held, 0)))


def _next(victims: Victims, ranking: Ranking, held: Ints, missing: Missing) -> int:
    """The first lot in a ranking with which less is missing; −1 for none."""
    lacks = missing(held)
    idle: set[int] = set()
    for lot in ranking.order:
        kind = int(victims.kind[victims.start[lot]])
        if not victims.left[lot] or (kind in idle and not victims.whole[lot]):
            continue
        if missing(held + members(victims, lot)) < lacks:
            return lot
        idle.add(kind)
    return -1


def _await(preemptions: Preemptions, held: Ints, missing: Missing) -> tuple[Ints, int]:
    """Count what is about to be reclaimed, as far as it helps; what the need has then, and what it misses."""
    held, lacks = held.copy(), missing(held)
    for kind in np.flatnonzero(preemptions.coming > 0).tolist():
        while preemptions.coming[kind]:
            held[kind] += 1
            after = missing(held)
            if after >= lacks:
                held[kind] -= 1
                break
            preemptions.coming[kind] -= 1
            lacks = after
    return held, lacks


def _complete_sum(preemptions: Preemptions, row: int, held: Ints) -> None:
    """Take victims for a sum that must be in one domain: in the first that can be completed, or none."""
    work, victims = preemptions.work, preemptions.victims
    number, priority = int(work.demand.profile[row]), int(work.demand.priority[row])
    codes, values = work.fleet.kinds.domains(work.demand.profiles.all[number].same)
    fits = work.fit[number] > 0
    mine = np.unique(codes[(held > 0) & fits & (codes >= 0)])
    ranking = victims.ranking(work, number, priority, _UNBOUNDED, preemptions.most)
    there = work.free[[IDLE, COMING, DRAINING]].sum(axis=0)
    for domain in mine.tolist() or range(len(values)):
        inside = (codes == domain) & fits
        missing = _missing_sum(work, row, inside)
        have = np.where(inside, held + there + preemptions.coming, 0)
        lots: list[int] = []
        size = 0
        before = list(victims.left)
        while missing(have):
            lot = _next(victims, ranking, have, missing)
            if lot < 0:
                break
            victims.left[lot] -= 1
            have = have + members(victims, lot)
            lots.append(lot)
            size += victims.size[lot]
        victims.left[:] = before
        if missing(have) or (preemptions.most is not None and size > preemptions.most):
            continue
        if size > preemptions.room:
            preemptions.keep_back(row, size)
            return
        fit = np.where(inside, work.fit[number], 0)
        for lot in lots:
            preemptions.take(row, lot, 1, ranking, _UNBOUNDED, fit)
        preemptions.set_aside(inside)
        if lots:
            work.unmet[row] = 0
        else:
            work.awaited[row] = int(work.unmet[row])
        return
