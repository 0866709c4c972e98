"""
Shortfalls: for each need that is not met how much is missing, since when, and why.

Needs that are alike have the same reason, so it is found once for all of them.
"""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.causes import Supply, why
from remuda.fleet.decide.work import Work
from remuda.fleet.plan import Shortfall
from remuda.model.plans import Reason

Ints = NDArray[np.int64]


def shortfalls(work: Work) -> tuple[NDArray[np.int32], Ints]:
    """Say what is missing and why; the numbers of those needs, ascending, and since when each misses something."""
    rows = work.order[work.unmet[work.order] > 0]
    demand = work.demand
    code = demand.code[rows]
    if not len(rows):
        return code, rows
    since = _since(work, code)
    supply = Supply(work)
    alike, first = _alike(work, rows, supply)
    causes = [why(supply, row) for row in rows[first].tolist()]
    columns = (rows.tolist(), code.tolist(), work.unmet[rows].tolist(), since.tolist(), alike)
    subject = demand.names.subject
    for row, need, units, start, place in zip(*columns, strict=True):
        name, terms = causes[place]
        if name == "need.capped-by-rail":
            terms = {**terms, "machines": work.withheld[row]}
        work.shortfalls.append(Shortfall(need, units, start, Reason(name, subject(need), terms)))
    by_code = np.argsort(code, kind="stable")
    return code[by_code], since[by_code]


def _since(work: Work, code: NDArray[np.int32]) -> Ints:
    """Since when each need misses something: as remembered, else now. A clock that was set back does not go below it."""
    known = work.memory.unmet
    if not len(known):
        return np.full(len(code), work.now, np.int64)
    place = np.minimum(np.searchsorted(known, code), len(known) - 1)
    return np.where(known[place] == code, np.minimum(work.memory.unmet_since[place], work.now), work.now)


def _alike(work: Work, rows: Ints, supply: Supply) -> tuple[list[int], list[int]]:
    """For each need its place among those with different reasons, and a need for each of these."""
    demand = work.demand
    profile = demand.profile[rows]
    plain = demand.profiles.plain[profile]
    unmet = work.unmet[rows]
    columns = (
        profile,
        demand.priority[rows],
        np.where(plain, 0, demand.count[rows]),
        np.where(plain, 0, unmet),
        unmet <= supply.backing_units()[profile],
        np.minimum(_column(rows, work.withheld), 1),
        np.where(_column(rows, work.awaited) >= unmet, unmet, 0),
    )
    places: dict[tuple[int, ...], int] = {}
    alike: list[int] = []
    first: list[int] = []
    for place, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        found = places.setdefault(values, len(first))
        alike.append(found)
        if found == len(first):
            first.append(place)
    return alike, first


def _column(rows: Ints, values: dict[int, int]) -> Ints:
    if not values:
        return np.zeros(len(rows), np.int64)
    return np.array([values.get(row, 0) for row in rows.tolist()], np.int64)
