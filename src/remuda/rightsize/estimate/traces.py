"""How an estimate came about, number by number: the same steps as the estimator's, written down."""

from collections.abc import Sequence

from remuda.rightsize.estimate.estimator import MOST_AMOUNT, PARTS, factors, floors, padded, scaled
from remuda.rightsize.estimate.histogram import CPU, MEMORY, Buckets
from remuda.rightsize.evidence import Percentile, Trace

#: stands for an infinite factor, which JSON cannot say: it makes the ceiling of every amount but 0, as that would
UNBOUNDED = float(MOST_AMOUNT)


def traces(cpu: Sequence[int], memory: Sequence[int], days: float, containers: int) -> tuple[Trace, Trace]:
    """Of CPU in millicores and of memory in bytes, from the buckets that reach `PARTS`; -1 is none, without samples."""
    least = floors(containers)
    return (
        _trace(CPU, cpu, days, least.cpu_millicores),
        _trace(MEMORY, memory, days, least.memory_bytes),
    )


def _trace(buckets: Buckets, found: Sequence[int], days: float, floor: int) -> Trace:
    target, lower, upper = (
        _percentile(buckets, bucket, part, min(factor, UNBOUNDED), floor)
        for bucket, part, factor in zip(found, PARTS, factors(days), strict=True)
    )
    return Trace(target, lower, upper, floor)


def _percentile(buckets: Buckets, bucket: int, part: float, factor: float, floor: int) -> Percentile:
    first, end = (0, 0) if bucket < 0 else (buckets.firsts[bucket], buckets.answers[bucket])
    with_margin = padded(end)
    return Percentile(part, bucket, first, end, with_margin, factor, scaled(with_margin, factor, floor))
