"""
Evidence of many containers from their samples: estimates with how they came about, percentiles, peaks, days and plots.

Containers are taken in blocks, and only what is reported of one is kept, so that memory does not grow with the samples.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.rightsize.estimate import cells
from remuda.rightsize.estimate.cells import Grid
from remuda.rightsize.estimate.columns import Column, Columns, Floats, Ints
from remuda.rightsize.estimate.engine import estimates_of, find_columns, in_blocks
from remuda.rightsize.estimate.estimator import MOST_AMOUNT, Estimate
from remuda.rightsize.estimate.floors import floors_of
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.strategies import Krr, Strategy, Vpa, between, rank
from remuda.rightsize.estimate.traces import traces
from remuda.rightsize.evidence import Day, Evidence, Floor, OomKill, Series

#: of what is used, in numbers that are shown beside an estimate
SHOWN_PART = 0.99
#: as many pairs of samples tell how far they are apart
_LOOKED_AT = 100
_Number = TypeVar("_Number", np.int64, np.float64)


def summarize(
    columns: Columns,
    origin: str,
    *,
    since: Second,
    now: Second,
    anomalies: Sequence[Sequence[str]] = (),
    partial: Sequence[bool] = (),
    strategy: Strategy | None = None,
) -> list[Evidence]:
    """
    What is known of each container, in their order; values must be finite.

    Plots are of the time from `since` to `now`, KRR's window ends `now`, and all else is of all samples. `anomalies` and
    `partial` have an entry for each container, or none. A strategy other than `vpa` and `krr` is asked about each
    container as if it were alone in its pod.
    """
    found = find_columns(columns)
    measured: list[_Measured] = [_NOTHING] * len(columns)
    over, krr = cells.grid(since, now), Krr(until=now)

    def work(begin: int, end: int) -> None:
        measured[begin:end] = _measure(columns, begin, end, over, krr)

    in_blocks(columns, work)
    rows = zip(
        measured,
        estimates_of(found, columns),
        found.cpu.tolist(),
        found.memory.tolist(),
        found.days(),
        columns.siblings.tolist(),
        strict=True,
    )
    made = []
    for n, (one, estimate, cpu, memory, days, siblings) in enumerate(rows):
        of_cpu, of_memory = traces(cpu, memory, days, siblings)
        made.append(
            Evidence(
                origin,
                estimate,
                krr=one.krr,
                other=_other(columns, n, strategy),
                replicas=one.replicas,
                cpu_samples=one.cpu.samples,
                memory_samples=one.memory.samples,
                first=min((each.first for each in (one.cpu, one.memory) if each.samples), default=None),
                last=max((each.last for each in (one.cpu, one.memory) if each.samples), default=None),
                confidence=days,
                cpu_p99=round(min(one.cpu.shown * 1000, MOST_AMOUNT)),
                cpu_peak=round(min(one.cpu.peak * 1000, MOST_AMOUNT)),
                memory_p99=_whole_up(one.memory.shown),
                memory_peak=_whole_up(one.memory.peak),
                memory_peak_at=one.memory.peak_at if one.memory.samples else None,
                days=one.days,
                kills=_kills(columns, n),
                cpu=of_cpu,
                memory=of_memory,
                series=one.series,
                anomalies=tuple(anomalies[n]) if anomalies else (),
                is_partial=bool(partial[n]) if partial else False,
                floors=one.floors,
            )
        )
    return made


class _Use(Struct, frozen=True):
    """Of one resource, by all replicas of a container."""

    samples: int = 0
    first: Second = 0
    last: Second = 0
    shown: float = 0.0
    peak: float = 0.0
    #: the last time it was seen
    peak_at: Second = 0


class _Measured(Struct, frozen=True):
    replicas: int
    cpu: _Use
    memory: _Use
    krr: Estimate | None
    days: tuple[Day, ...]
    series: Series | None
    floors: tuple[Floor, ...]


_NOTHING = _Measured(0, _Use(), _Use(), None, (), None, ())


def _measure(columns: Columns, begin: int, end: int, over: Grid, krr: Krr) -> list[_Measured]:
    """What is reported of the containers from `begin` to before `end`."""
    of_cpu = cells.cells_of(columns, columns.cpu, begin, end, over.cell_s)
    of_memory = cells.cells_of(columns, columns.memory, begin, end, over.cell_s)
    days = cells.days_of(of_memory, end - begin, over.cell_s)
    first, stop = columns.replicas[[begin, end]].tolist()
    renewed = {n - first: at for n, at in columns.renewed.items() if first <= n < stop}
    floors = floors_of(of_memory, end - begin, over, renewed)
    cpu_plots = cells.plotted(of_cpu, end - begin, over)
    memory_plots = cells.plotted(of_memory, end - begin, over)
    made = []
    for n, container in enumerate(range(begin, end)):
        first, stop = columns.replicas[container : container + 2].tolist()
        cpu, memory = (column.starts[first : stop + 1] for column in (columns.cpu, columns.memory))
        used = _use(columns.cpu, cpu), _use(columns.memory, memory)
        is_there = (np.diff(cpu) > 0) | (np.diff(memory) > 0)
        series = _series(columns, (cpu, memory), (cpu_plots[n], memory_plots[n]), over)
        krrs = _krr(columns, cpu, memory, used, krr)
        made.append(_Measured(int(is_there.sum()), *used, krrs, days[n], series, floors[n]))
    return made


def _use(column: Column, starts: Ints) -> _Use:
    rows = slice(int(starts[0]), int(starts[-1]))
    times, values = column.times[rows], column.values[rows]
    if not len(values):
        return _Use()
    peak = float(values.max())
    return _Use(
        len(values),
        int(times.min()),
        int(times.max()),
        _quantile(values, SHOWN_PART),
        peak,
        int(times[values == peak].max()),
    )


def _krr(columns: Columns, cpu: Ints, memory: Ints, used: tuple[_Use, _Use], krr: Krr) -> Estimate | None:
    """What `Krr.answer` would say; None where it lacks samples."""
    since = (krr.until or 0) - krr.window_s
    of_cpu, of_memory = used
    if of_cpu.first < since or of_memory.first < since:
        cores, of_cpu = _recent(columns.cpu, cpu, since)
        peaks, of_memory = _recent(columns.memory, memory, since)
        peak = max((float(each.max()) for each in peaks if len(each)), default=0.0)
    else:
        cores, peak = _by_replica(columns.cpu.values, cpu), of_memory.peak
    if krr.lacks("CPU", of_cpu.samples, of_cpu.last - of_cpu.first):
        return None
    if krr.lacks("memory", of_memory.samples, of_memory.last - of_memory.first):
        return None
    return krr.estimate(max(_quantile(each, krr.percentile) for each in cores if len(each)), peak)


def _recent(column: Column, starts: Ints, since: Second) -> tuple[list[Floats], _Use]:
    """Values of each replica since then, and how many over how long."""
    times = column.times[int(starts[0]) : int(starts[-1])]
    times = times[times >= since]
    values = [
        values[at >= since]
        for at, values in zip(
            _by_replica(column.times, starts), _by_replica(column.values, starts), strict=True
        )
    ]
    return values, _Use(len(times), int(times.min()), int(times.max())) if len(times) else _Use()


def _by_replica(values: NDArray[_Number], starts: Ints) -> list[NDArray[_Number]]:
    bounds = starts.tolist()
    return [values[begin:end] for begin, end in pairwise(bounds)]


def _quantile(values: Floats, part: float) -> float:
    """As `strategies.quantile` says, without putting all values in order."""
    below, above, share = rank(len(values), part)
    ordered = np.partition(values, below)
    low = float(ordered[below])
    return between(low, float(ordered[above:].min()) if above > below else low, share)


def _series(
    columns: Columns, starts: tuple[Ints, Ints], plots: tuple[Floats, Floats], over: Grid
) -> Series | None:
    """The plot, in steps that are longer where samples are far apart; None where nothing is in the window."""
    cpu, memory = plots
    if max(cpu.max(), memory.max()) < 0:
        return None
    apart = max(_interval(columns.cpu, starts[0]), _interval(columns.memory, starts[1]))
    longer = over.coarser(apart)
    if longer is not over:
        cpu, memory = (cells.coarsened(each, over, longer) for each in plots)
    return Series(longer.begin, longer.step, _numbers(np.rint(cpu * 1000)), _numbers(memory))


def _numbers(values: Floats) -> tuple[int | None, ...]:
    return tuple([None if each < 0 else each for each in cells.whole_up(values).tolist()])


def _interval(column: Column, starts: Ints) -> float:
    """How far apart samples are, in the middle of a few pairs; 0 where there are not two."""
    begin, end = int(starts[0]), int(starts[-1])
    if end - begin < 2:
        return 0.0
    at = np.arange(begin, end - 1, max(1, (end - begin - 1) // _LOOKED_AT))
    return float(np.sort(np.abs(column.times[at + 1] - column.times[at]))[len(at) // 2])


def _kills(columns: Columns, container: int) -> tuple[OomKill, ...]:
    first, stop = columns.oom.starts[columns.replicas[container : container + 2]].tolist()
    kills = zip(columns.oom.times[first:stop].tolist(), columns.oom.values[first:stop].tolist(), strict=True)
    return tuple(OomKill(at, _whole_up(requested)) for at, requested in sorted(kills))


def _other(columns: Columns, container: int, strategy: Strategy | None) -> Estimate | None:
    if strategy is None or isinstance(strategy, (Vpa, Krr)):
        return None
    return strategy.answer({"main": columns.replicas_of(container)}).estimates.get("main")


def _whole_up(amount: float) -> int:
    return int(cells.whole_up(np.array(amount)))
