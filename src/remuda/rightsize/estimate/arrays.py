"""
The estimator's loops as operations on whole arrays, for where Numba is missing.

Sums are still made in the order of the samples: `bincount` adds one after the other. What arrays cannot express is reported
by `odd_cpu` and `odd_memory` and left to the reference: kills, times that do not increase, and histories of over a hundred days.
"""

from math import ldexp

import numpy as np
from numpy.typing import NDArray

from remuda.rightsize.estimate.columns import Column, Columns, Floats, Ints
from remuda.rightsize.estimate.estimator import CPU_WEIGHT, MEMORY_WEIGHT, MOST_AMOUNT
from remuda.rightsize.estimate.gomath import LEAST_POWER, LN2_HI, LN2_LO, P1, P2, P3, P4, P5
from remuda.rightsize.estimate.histogram import (
    CPU,
    DAY_S,
    EPSILON,
    HALF_LIFE_S,
    MEMORY,
    MOST_HALF_LIVES,
    Histogram,
    rounded_reference,
)

#: bits that an amount leaves in 63
_WINDOW_BITS = 63 - MOST_AMOUNT.bit_length()
#: 2 to the power of LEAST_POWER and up, as far as a weight can grow
POWERS: Floats = np.array([ldexp(1.0, n) for n in range(LEAST_POWER, MOST_HALF_LIVES + 2)])
#: the bucket of each whole amount of CPU that is in none but the last
BUCKET_OF: NDArray[np.uint8] = np.repeat(
    np.arange(len(CPU.firsts), dtype=np.uint8), [*np.diff(np.array(CPU.firsts)), 1]
)


def odd_cpu(columns: Columns, begin: int, end: int) -> list[int]:
    """The containers from `begin` to before `end` whose CPU is for the reference."""
    found = []
    for container in range(begin, end):
        first, stop = columns.replicas[container : container + 2].tolist()
        cpu = _rows(columns.cpu, first, stop)
        if _goes_back(columns.cpu, first, stop, 1) or (
            cpu.stop > cpu.start
            and columns.cpu.times[cpu].max()
            > rounded_reference(int(columns.cpu.times[cpu.start])) + MOST_HALF_LIVES * HALF_LIFE_S
        ):
            found.append(container)
    return found


def odd_memory(columns: Columns, begin: int, end: int) -> list[int]:
    """Those whose memory is."""
    found = []
    for container in range(begin, end):
        first, stop = columns.replicas[container : container + 2].tolist()
        has_kills = columns.oom.starts[first] < columns.oom.starts[stop]
        if has_kills or _goes_back(columns.memory, first, stop, 0):
            found.append(container)
    return found


def cpu_buckets(columns: Columns, begin: int, end: int, parts: tuple[float, ...], spans: Ints) -> Ints:
    """The buckets of the percentiles of each container, -1 without samples; `spans` get their rows."""
    rows = _rows(columns.cpu, *columns.replicas[[begin, end]].tolist())
    times, owner = columns.cpu.times[rows], _owners(columns, columns.cpu, begin, end)
    count = np.bincount(owner, minlength=end - begin)
    starts = np.concatenate(([0], np.cumsum(count)))[:-1]
    is_there = count > 0
    spans[begin:end] = 0
    spans[begin:end, 2] = count
    if not len(times):
        return np.full((end - begin, len(parts)), -1, np.int64)
    spans[begin:end, 0][is_there] = np.minimum.reduceat(times, starts[is_there])
    spans[begin:end, 1][is_there] = np.maximum.reduceat(times, starts[is_there])
    half = HALF_LIFE_S // 2
    references = (times[np.minimum(starts, len(times) - 1)] + half) // HALF_LIFE_S * HALF_LIFE_S
    weights = CPU_WEIGHT * decay(times - references[owner])
    amounts = np.minimum(columns.cpu.values[rows] * 1000.0, float(CPU.firsts[-1])).astype(np.int64)
    buckets = len(CPU.firsts)
    cells = owner * buckets + BUCKET_OF[amounts]
    by_bucket = np.asarray(np.bincount(cells, weights, (end - begin) * buckets), np.float64)
    totals = np.asarray(np.bincount(owner, weights, end - begin), np.float64)
    return _percentiles(by_bucket.reshape(-1, buckets), totals, parts)


def memory_buckets(columns: Columns, begin: int, end: int, parts: tuple[float, ...]) -> Ints:
    """The buckets of the percentiles of each container; arrays find the peaks, and the reference counts those few."""
    first, stop = columns.replicas[[begin, end]].tolist()
    rows = _rows(columns.memory, first, stop)
    times, owner = columns.memory.times[rows], _owners(columns, columns.memory, begin, end)
    histograms = [Histogram(MEMORY) for _ in range(end - begin)]
    if len(times):
        starts = columns.memory.starts[first : stop + 1] - rows.start
        lengths = np.diff(starts)
        begun = np.repeat(times[np.minimum(starts[:-1], len(times) - 1)], lengths)
        replica = np.repeat(np.arange(stop - first), lengths)
        day = (times - begun) // DAY_S
        is_first = np.ones(len(times), np.bool_)
        is_first[1:] = (replica[1:] != replica[:-1]) | (day[1:] != day[:-1])
        window = np.cumsum(is_first)
        amounts = np.minimum(columns.memory.values[rows], float(MOST_AMOUNT)).astype(np.int64)
        # The highest so far in its window: a later window outranks every amount. Too many windows leave no bits for
        # amounts, and then their ranks do.
        ranks = amounts if window[-1] >> _WINDOW_BITS == 0 else np.unique(amounts, return_inverse=True)[1]
        highest = np.maximum.accumulate((window << (63 - _WINDOW_BITS if ranks is amounts else 32)) | ranks)
        is_peak = is_first.copy()
        is_peak[1:] |= (highest[1:] > highest[:-1]) & (amounts[np.nonzero(is_first)[0]] > 0)[window[1:] - 1]
        at = np.nonzero(is_peak)[0]
        buckets = np.searchsorted(MEMORY.firsts, amounts[at], side="right")
        is_same = np.zeros(len(at), np.bool_)
        is_same[1:] = (buckets[1:] == buckets[:-1]) & ~is_first[at][1:]
        last, is_settled = 0, False
        for whose, amount, window_end, is_new, same in zip(
            owner[at].tolist(),
            amounts[at].tolist(),
            (begun[at] + (day[at] + 1) * DAY_S).tolist(),
            is_first[at].tolist(),
            is_same.tolist(),
            strict=True,
        ):
            if is_new:
                histograms[whose].add(amount, MEMORY_WEIGHT, window_end)
            # What rises all the time has thousands of peaks in one bucket: once nothing changes, nothing will.
            elif not (same and is_settled):
                is_changed = histograms[whose].replace(last, amount, MEMORY_WEIGHT, window_end)
                is_settled = same and not is_changed
            last = amount
    return np.array([[each.bucket(part) for part in parts] for each in histograms], np.int64)


def decay(seconds: Ints) -> Floats:
    """What samples so long after their reference weigh, as `gomath.exp2` computes it."""
    x = (seconds * 1_000_000_000).astype(np.float64) / (HALF_LIFE_S * 1e9)
    whole = np.trunc(x + np.where(x > 0, 0.5, -0.5))
    part = x - whole
    hi = part * LN2_HI
    lo = -part * LN2_LO
    r = hi - lo
    t = r * r
    c = r - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
    y = 1 - ((lo - (r * c) / (2 - c)) - hi)
    power = np.clip(whole, LEAST_POWER, MOST_HALF_LIVES + 1).astype(np.int64)
    return np.where(x < LEAST_POWER, 0.0, y * POWERS[power - LEAST_POWER])


def _percentiles(weights: Floats, totals: Floats, parts: tuple[float, ...]) -> Ints:
    there = weights >= EPSILON
    last = weights.shape[1] - 1
    low = np.where(there.any(axis=1), there.argmax(axis=1), last)
    high = np.where(there.any(axis=1), last - there[:, ::-1].argmax(axis=1), 0)
    index = np.arange(weights.shape[1])
    reached = np.cumsum(np.where(index >= low[:, None], weights, 0.0), axis=1)
    found = np.empty((len(weights), len(parts)), np.int64)
    for number, part in enumerate(parts):
        enough = (reached >= (part * totals)[:, None]) & (index >= low[:, None])
        bucket = np.where(enough.any(axis=1), np.minimum(enough.argmax(axis=1), high), high)
        found[:, number] = np.where(there.any(axis=1), bucket, -1)
    return found


def _owners(columns: Columns, column: Column, begin: int, end: int) -> Ints:
    """The container of each sample, counted from `begin`."""
    samples = column.starts[columns.replicas[begin : end + 1]]
    return np.repeat(np.arange(end - begin), np.diff(samples))


def _rows(column: Column, first: int, stop: int) -> slice:
    return slice(int(column.starts[first]), int(column.starts[stop]))


def _goes_back(column: Column, first: int, stop: int, least: int) -> bool:
    """Whether the times of a replica increase by less than `least` somewhere."""
    rows = _rows(column, first, stop)
    steps = np.diff(column.times[rows])
    between = column.starts[first + 1 : stop] - rows.start - 1
    steps[between[(between >= 0) & (between < len(steps))]] = least
    return bool((steps < least).any())
