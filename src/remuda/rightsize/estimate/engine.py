"""
Estimates of many containers at once, integer for integer what the reference says.

Containers know nothing of each other, so they are spread over threads; within one, sums are made in the order of the
samples. With Numba the loops are compiled; without it arrays do the work.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from remuda.errors import BadInput
from remuda.rightsize.estimate import arrays, kernels
from remuda.rightsize.estimate.columns import Columns, Ints
from remuda.rightsize.estimate.estimator import PARTS, Estimate, confidence, estimate_from, usage_of
from remuda.rightsize.estimate.histogram import CPU, MEMORY, Buckets
from remuda.rightsize.estimate.usage import Replica

#: over CPU and over memory
Loops: TypeAlias = tuple[Callable[..., None], Callable[..., None]]
#: samples that one thread takes at a time: enough to be worth it, few enough for the memory arrays need
_BLOCK = 400_000
#: from so many samples on compiled loops gain more than Numba takes to be loaded, which is over a second
_MANY = 4_000_000


class Found(Struct, frozen=True):
    """A row for each container: the buckets of CPU and memory that reach `PARTS`, -1 without samples."""

    cpu: Ints
    memory: Ints
    #: the first and the last time and the count of the CPU samples that were counted
    spans: Ints

    def days(self) -> list[float]:
        """The confidence of each container."""
        return [confidence(first, last, samples) for first, last, samples in self.spans.tolist()]


def estimate_columns(
    columns: Columns, engine: str = "", *, workers: int = 2, loops: Loops | None = None
) -> list[Estimate]:
    """
    What each container needs, in their order.

    `engine` is numpy, numba, or empty for the one that is faster for so many samples; `loops` are used instead of compiled ones.
    """
    return estimates_of(find_columns(columns, engine, workers=workers, loops=loops), columns)


def estimates_of(found: Found, columns: Columns) -> list[Estimate]:
    """What each container needs, from the buckets that were found."""
    return [
        estimate_from(of_cpu, of_memory, days, siblings)
        for of_cpu, of_memory, days, siblings in zip(
            _answers(CPU, found.cpu).tolist(),
            _answers(MEMORY, found.memory).tolist(),
            found.days(),
            columns.siblings.tolist(),
            strict=True,
        )
    ]


def find_columns(
    columns: Columns, engine: str = "", *, workers: int = 2, loops: Loops | None = None
) -> Found:
    """The buckets of each container, as `estimate_columns` finds them."""
    samples = len(columns.cpu.times) + len(columns.memory.times)
    if loops is None and (engine == "numba" or (not engine and samples >= _MANY)):
        loops = compiled()
    if loops is None and engine == "numba":
        raise BadInput("the engine numba needs Numba: pip install numba")
    count = len(columns)
    found = Found(*(np.zeros((count, 3), np.int64) for _ in range(3)))

    def work(begin: int, end: int) -> None:
        if loops is None:
            _with_arrays(columns, begin, end, found)
        else:
            _with_loops(loops, columns, begin, end, found)

    in_blocks(columns, work, workers)
    return found


def in_blocks(columns: Columns, work: Callable[[int, int], None], workers: int = 2) -> None:
    """Call `work` for runs of containers, from the first to before the second, in threads until all are done."""
    blocks = _blocks(columns)
    if len(blocks) < 2:
        for block in blocks:
            work(*block)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - a small review needs none

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, *block) for block in blocks]:
            done.result()


@cache
def compiled() -> Loops | None:
    """The loops over CPU and memory, compiled; None where Numba is missing."""
    try:
        import numba  # noqa: PLC0415 - arrays need only NumPy, and importing Numba takes half a second
    except ImportError:
        return None
    compile_: Callable[[Any], Any] = numba.njit(cache=True, nogil=True)
    return compile_(kernels.cpu_buckets), compile_(kernels.memory_buckets)


def _with_loops(loops: Loops, columns: Columns, begin: int, end: int, found: Found) -> None:
    parts = np.array(PARTS)
    of_cpu, of_memory = loops
    one, two, kills = columns.cpu, columns.memory, columns.oom
    of_cpu(
        begin, end, columns.replicas, one.starts, one.times, one.values,
        arrays.BUCKET_OF, len(CPU.firsts), arrays.POWERS, parts, found.cpu, found.spans,
    )  # fmt: skip
    of_memory(
        begin, end, columns.replicas, two.starts, two.times, two.values, kills.starts, kills.times, kills.values,
        np.array(MEMORY.firsts), arrays.POWERS, parts, found.memory,
    )  # fmt: skip


def _with_arrays(columns: Columns, begin: int, end: int, found: Found) -> None:
    found.cpu[begin:end] = arrays.cpu_buckets(columns, begin, end, PARTS, found.spans)
    found.memory[begin:end] = arrays.memory_buckets(columns, begin, end, PARTS)
    for container in arrays.odd_cpu(columns, begin, end):
        usage = usage_of(Replica(each.cpu) for each in columns.replicas_of(container))
        found.cpu[container] = [usage.cpu.bucket(part) for part in PARTS]
        found.spans[container] = (usage.first or 0, usage.last or 0, usage.count)
    for container in arrays.odd_memory(columns, begin, end):
        usage = usage_of(Replica((), each.memory, each.oom) for each in columns.replicas_of(container))
        found.memory[container] = [usage.memory.bucket(part) for part in PARTS]


def _answers(buckets: Buckets, found: Ints) -> Ints:
    """What percentiles in these buckets answer; 0 without samples."""
    return np.where(found < 0, 0, np.array(buckets.answers)[found])


def _blocks(columns: Columns) -> list[tuple[int, int]]:
    """Containers in runs of about equally many samples."""
    samples = columns.cpu.starts[columns.replicas] + columns.memory.starts[columns.replicas]
    bounds = np.searchsorted(samples, np.arange(0, int(samples[-1]), _BLOCK)).tolist()
    cuts = sorted({0, *bounds, len(columns)})
    return [(begin, end) for begin, end in pairwise(cuts)]
