"""
Use over time of many containers, by arrays: plots and days.

Samples are first brought together in cells, which are parts of a day (UTC) as long as a step of a plot; what follows
looks at those few. Samples may be in any order: a cell may then be there more than once.
"""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.rightsize.estimate.columns import Column, Columns, Floats, Ints
from remuda.rightsize.estimate.estimator import MOST_AMOUNT
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Day

MOST_STEPS = 400
#: how long a replica may take to fill its memory
FILLING_S = 3_600
#: every one is a part of a day
_STEPS = (60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, DAY_S)


class Grid(Struct, frozen=True):
    """Steps of a plot; the first begins at a multiple of their length, and the last has the end of the window in it."""

    begin: Second
    step: int
    count: int

    @property
    def cell_s(self) -> int:
        """How long cells are: a step, but never more than a day."""
        return min(self.step, DAY_S)

    def coarser(self, interval_s: float) -> "Grid":
        """With steps so long that samples at such intervals leave none of them empty, but of a day at most."""
        if self.step >= min(interval_s, DAY_S):
            return self
        fits = (each for each in _STEPS if each % self.step == 0 and each >= 1.5 * interval_s)
        return _grid(self.begin, self.begin + self.step * self.count, next(fits, DAY_S))


def grid(since: Second, now: Second) -> Grid:
    """The shortest steps of which at most `MOST_STEPS` reach from `since` to `now`."""
    now = max(since, now)
    for step in _STEPS:
        made = _grid(since, now, step)
        if made.count <= MOST_STEPS:
            return made
    return _grid(since, now, -(-(now - since) // (DAY_S * (MOST_STEPS - 1))) * DAY_S)


def _grid(since: Second, now: Second, step: int) -> Grid:
    first = since // step
    return Grid(first * step, step, max(1, -(-now // step) - first))


class Cells(Struct, frozen=True):
    """Samples of replicas that lie in the same cell; `owner` is the container, counted from the first of a block."""

    replica: Ints
    owner: Ints
    #: the number of the cell since 1970
    cell: Ints
    first: Ints
    last: Ints
    least: Floats
    most: Floats


def cells_of(columns: Columns, column: Column, begin: int, end: int, cell_s: int) -> Cells:
    """The cells of the containers from `begin` to before `end`, in the order of the samples."""
    first, stop = columns.replicas[[begin, end]].tolist()
    starts = column.starts[first : stop + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    times, values = column.times[rows], column.values[rows]
    starts = starts - rows.start
    cell = times // cell_s
    is_first = np.empty(len(times), np.bool_)
    is_first[1:] = cell[1:] != cell[:-1]
    is_first[starts[:-1][starts[:-1] < len(times)]] = True
    at = np.nonzero(is_first)[0]
    replica = np.searchsorted(starts, at, side="right") - 1
    return Cells(
        replica,
        np.searchsorted(columns.replicas[begin : end + 1] - first, replica, side="right") - 1,
        cell[at],
        _reduced(np.minimum, times, at),
        _reduced(np.maximum, times, at),
        _reduced(np.minimum, values, at),
        _reduced(np.maximum, values, at),
    )


def plotted(cells: Cells, containers: int, over: Grid) -> Floats:
    """For each container and step the highest of all replicas; -1 is a gap. Samples beside the steps are left out."""
    step = (cells.cell * over.cell_s - over.begin) // over.step
    # A window ends with its last second, which may be the first of another step.
    step = np.where(cells.first == over.begin + over.step * over.count, over.count - 1, step)
    is_in = (step >= 0) & (step < over.count)
    made = np.full(containers * over.count, -1.0)
    np.maximum.at(made, cells.owner[is_in] * over.count + step[is_in], cells.most[is_in])
    return made.reshape(containers, over.count)


def coarsened(plot: Floats, before: Grid, after: Grid) -> Floats:
    """A container's plot in longer steps."""
    step = (before.begin + before.step * np.arange(before.count) - after.begin) // after.step
    made = np.full(after.count, -1.0)
    np.maximum.at(made, step, plot)
    return made


def days_of(cells: Cells, containers: int, cell_s: int) -> list[tuple[Day, ...]]:
    """
    The days (UTC) of each container: the highest sample, and the least that a leak cannot hide.

    The least is the highest of what each replica never fell below, among those that were there for at least half as
    long that day as the one that was there longest; a replica's first hour, while it fills, does not count if it has
    more. So a leak of one replica shows, whatever the others do; memory that is collected in turns by many replicas does
    not look full all the time, as the highest at each moment would; and a pod that starts small, or lives for minutes,
    does not make a day look low or high. A restart shows as what it is: a drop.

    Days of which less than half was seen are left out, since their peaks and leasts are of other hours than those of
    the rest; where that is all days, they stay.
    """
    day = cells.cell // (DAY_S // cell_s)
    order = np.lexsort((cells.replica, day, cells.owner))
    owner, day, replica = cells.owner[order], day[order], cells.replica[order]
    at = _changes(owner, day, replica)
    first, last = _reduced(np.minimum, cells.first[order], at), _reduced(np.maximum, cells.last[order], at)
    most = _reduced(np.maximum, cells.most[order], at)
    of_all, of_settled = (
        _reduced(np.minimum, each[order], at)
        for each in (cells.least, np.where(_is_settled(cells), cells.least, np.inf))
    )
    least = np.where(np.isinf(of_settled), of_all, of_settled)
    owner, day = owner[at], day[at]
    at = _changes(owner, day)
    there_s = last - first
    longest = np.repeat(_reduced(np.maximum, there_s, at), np.diff([*at.tolist(), len(owner)]))
    seen_s = _reduced(np.maximum, last, at) - _reduced(np.minimum, first, at)
    rows = zip(
        owner[at].tolist(),
        (day[at] * DAY_S).tolist(),
        whole_up(_reduced(np.maximum, most, at)).tolist(),
        whole_up(_reduced(np.maximum, np.where(2 * there_s >= longest, least, -1.0), at)).tolist(),
        (2 * seen_s >= DAY_S).tolist(),
        strict=True,
    )
    found: list[list[tuple[Day, bool]]] = [[] for _ in range(containers)]
    for whose, begin, peak, lowest, is_seen in rows:
        found[whose].append((Day(begin, peak, lowest), is_seen))
    return [
        tuple(each for each, is_seen in days if is_seen) or tuple(each for each, _ in days) for days in found
    ]


def whole_up(values: Floats) -> Ints:
    """Rounded up, and not above the ceiling of amounts."""
    return np.ceil(np.minimum(values, float(MOST_AMOUNT))).astype(np.int64)


def _is_settled(cells: Cells) -> NDArray[np.bool_]:
    """For each cell, whether its replica was there before for as long as it may take to fill."""
    begun = np.full(int(cells.replica.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(begun, cells.replica, cells.first)
    settled: NDArray[np.bool_] = cells.first >= begun[cells.replica] + FILLING_S
    return settled


def _changes(*keys: Ints) -> Ints:
    """Where a run of equal keys begins."""
    is_first = np.ones(len(keys[0]), np.bool_)
    if len(is_first):
        is_first[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.nonzero(is_first)[0]


def _reduced(what: np.ufunc, values: NDArray[Any], at: Ints) -> Any:
    """Of each run of values that begins at `at`; `reduceat` does not take none."""
    return what.reduceat(values, at) if len(at) else values[:0]
