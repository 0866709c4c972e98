"""Samples of a pod within a span of time alone, and how many there were before and after it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter

from msgspec import Struct

from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.estimate.usage import Pod, Replica, Sample, Samples

_at = attrgetter("at")


class Cut(Struct, frozen=True):
    """What is left of a pod, and what is not."""

    pod: Pod
    #: samples and kills before the span
    older: int
    #: container → what of it is after the span, in words
    future: dict[str, tuple[str, ...]]


def cut(pod: Pod, since: Second, until: Second) -> Cut:
    """Only what is from `since` to `until`, both with them; every container and replica stays, if empty."""
    made: dict[str, list[Replica]] = {}
    older = 0
    future = {}
    for name, replicas in pod.items():
        made[name] = []
        later = {"samples of CPU": 0, "samples of memory": 0, "kills": 0}
        for replica in replicas:
            parts = []
            for what, samples in zip(later, (replica.cpu, replica.memory, replica.oom), strict=True):
                kept, before, after = _within(samples, since, until)
                parts.append(kept)
                older += before
                later[what] += after
            made[name].append(Replica(*parts))
        if any(later.values()):
            future[name] = tuple(
                f"{what} that were left out: {count:,} in the future"
                for what, count in later.items()
                if count
            )
    return Cut(made, older, future)


def _within(samples: Sequence[Sample], since: Second, until: Second) -> tuple[Sequence[Sample], int, int]:
    """Those within, and how many are before and after."""
    if not samples:
        return samples, 0, 0
    # which samples are, and kills need not be
    ordered = samples if isinstance(samples, Samples) else sorted(samples, key=_at)
    first, end = bisect_left(ordered, since, key=_at), bisect_right(ordered, until, key=_at)
    return ordered[first:end], first, len(ordered) - end
