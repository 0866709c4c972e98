"""
Estimates of many containers at once, integer for integer what the reference says.

Containers know nothing of each other, so they are spread over threads; within one, sums are made in the order of the
samples. With Numba the loops are compiled; without it arrays do the work.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from remuda.errors import BadInput
from remuda.rightsize import arrays, kernels
from remuda.rightsize.columns import Columns, Ints
from remuda.rightsize.estimator import PARTS, Estimate, confidence, estimate_from, usage_of
from remuda.rightsize.histogram import CPU, MEMORY, Buckets

#: over CPU and over memory
Loops: TypeAlias = tuple[Callable[..., None], Callable[..., None]]
#: samples that one thread takes at a time: enough to be worth it, few enough for the memory arrays need
_BLOCK = 400_000


def estimate_columns(
    columns: Columns, engine: str = "", *, workers: int = 2, loops: Loops | None = None
) -> list[Estimate]:
    """
    What each container needs, in their order.

    `engine` is numpy, numba, or empty for the faster of what is there; `loops` are used instead of compiled ones.
    """
    if loops is None and engine != "numpy":
        loops = compiled()
    if loops is None and engine == "numba":
        raise BadInput("the engine numba needs Numba: pip install numba")
    count = len(columns)
    # For each container: the amounts of the percentiles, and the first and last time and the count of CPU samples.
    cpu, memory, spans = (np.zeros((count, 3), np.int64) for _ in range(3))

    def work(begin: int, end: int) -> None:
        if loops is None:
            _with_arrays(columns, begin, end, cpu, memory, spans)
        else:
            _with_loops(loops, columns, begin, end, cpu, memory, spans)

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, *block) for block in _blocks(columns)]:
            done.result()
    return [
        estimate_from(of_cpu, of_memory, confidence(first, last, samples), siblings)
        for of_cpu, of_memory, (first, last, samples), siblings in zip(
            cpu.tolist(), memory.tolist(), spans.tolist(), columns.siblings.tolist(), strict=True
        )
    ]


@cache
def compiled() -> Loops | None:
    """The loops over CPU and memory, compiled; None where Numba is missing."""
    try:
        import numba  # noqa: PLC0415 - arrays need only NumPy, and importing Numba takes half a second
    except ImportError:
        return None
    compile_: Callable[[Any], Any] = numba.njit(cache=True, nogil=True)
    return compile_(kernels.cpu_buckets), compile_(kernels.memory_buckets)


def _with_loops(
    loops: Loops,
    columns: Columns,
    begin: int,
    end: int,
    cpu: Ints,
    memory: Ints,
    spans: Ints,
) -> None:
    parts = np.array(PARTS)
    of_cpu, of_memory = loops
    one, two, kills = columns.cpu, columns.memory, columns.oom
    of_cpu(
        begin, end, columns.replicas, one.starts, one.times, one.values,
        arrays.BUCKET_OF, len(CPU.firsts), arrays.POWERS, parts, cpu, spans,
    )  # fmt: skip
    of_memory(
        begin, end, columns.replicas, two.starts, two.times, two.values, kills.starts, kills.times, kills.values,
        np.array(MEMORY.firsts), arrays.POWERS, parts, memory,
    )  # fmt: skip
    cpu[begin:end] = _answers(CPU, cpu[begin:end])
    memory[begin:end] = _answers(MEMORY, memory[begin:end])


def _with_arrays(columns: Columns, begin: int, end: int, cpu: Ints, memory: Ints, spans: Ints) -> None:
    is_odd = arrays.odd(columns, begin, end)
    cpu[begin:end] = _answers(CPU, arrays.cpu_buckets(columns, begin, end, PARTS, spans))
    memory[begin:end] = arrays.memory_buckets(columns, begin, end, PARTS)
    for container in (np.nonzero(is_odd)[0] + begin).tolist():
        usage = usage_of(columns.replicas_of(container))
        cpu[container] = [usage.cpu.percentile(part) for part in PARTS]
        memory[container] = [usage.memory.percentile(part) for part in PARTS]
        spans[container] = (usage.first or 0, usage.last or 0, usage.count)


def _answers(buckets: Buckets, found: Ints) -> Ints:
    """What percentiles in these buckets answer; 0 without samples."""
    return np.where(found < 0, 0, np.array(buckets.answers)[found])


def _blocks(columns: Columns) -> list[tuple[int, int]]:
    """Containers in runs of about equally many samples."""
    samples = columns.cpu.starts[columns.replicas] + columns.memory.starts[columns.replicas]
    bounds = np.searchsorted(samples, np.arange(0, int(samples[-1]), _BLOCK)).tolist()
    cuts = sorted({0, *bounds, len(columns)})
    return [(begin, end) for begin, end in pairwise(cuts)]
