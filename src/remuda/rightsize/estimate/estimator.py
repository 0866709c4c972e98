"""
The estimator of the recommender of the Vertical Pod Autoscaler 1.8, exact to the integer: the reference.

CPU samples go into one histogram, the highest memory of each 24 hours into another; all replicas share both. A percentile
with a margin is the target. The bounds are scaled by how little is known, and the pod's floor is shared by its containers.
Every step ends in a whole number, cut towards zero.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct

from remuda.rightsize.estimate import gomath
from remuda.rightsize.estimate.histogram import CPU, DAY_S, MEMORY, Histogram, Second
from remuda.rightsize.estimate.usage import Pod, Replica

#: percentiles of the target, the lower and the upper bound
PARTS = (0.9, 0.5, 0.95)
MARGIN = 0.15
CPU_WEIGHT, MEMORY_WEIGHT = 0.1, 1.0
FLOOR_MILLICORES, FLOOR_BYTES = 25, 250 * 1024 * 1024
#: samples a day that make a full day of confidence
DAILY_SAMPLES = 1440.0
MOST_AMOUNT = 100_000_000_000_000
OOM_RATIO, OOM_BYTES = 1.2, 100 * 1024 * 1024
#: what Go makes of no number; less than every floor
_NO_NUMBER = -(2**63)


class Amounts(Struct, frozen=True):
    """Of both resources."""

    cpu_millicores: int
    memory_bytes: int


#: of a pod, by default
FLOOR = Amounts(FLOOR_MILLICORES, FLOOR_BYTES)


class Estimate(Struct, frozen=True, rename="camel"):
    """What a container needs, and between which bounds a request need not be changed."""

    target: Amounts
    lower_bound: Amounts
    upper_bound: Amounts


class Usage:
    """What all replicas of a container used."""

    __slots__ = ("count", "cpu", "first", "last", "memory")

    def __init__(self) -> None:
        self.cpu = Histogram(CPU)
        self.memory = Histogram(MEMORY)
        #: of CPU samples only; memory does not make an estimate more certain
        self.count = 0
        self.first: Second | None = None
        self.last: Second | None = None

    def add_cpu(self, millicores: int, at: Second) -> None:
        """Count a sample of CPU."""
        self.cpu.add(millicores, CPU_WEIGHT, at)
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        self.count += 1

    def merge(self, other: "Usage") -> None:
        """Count all samples of another."""
        self.cpu.merge(other.cpu)
        self.memory.merge(other.memory)
        self.first = min((at for at in (self.first, other.first) if at is not None), default=None)
        self.last = max((at for at in (self.last, other.last) if at is not None), default=None)
        self.count += other.count


class Peaks:
    """
    The highest memory of a replica in windows of 24 hours that begin with its first sample.

    A peak is counted at the end of its window, which may be up to a day ahead. A higher one replaces it; but where the
    first sample of a window was 0, nothing does.
    """

    __slots__ = ("_last", "_oom", "_usage", "_used", "_window_end")

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._window_end: Second | None = None
        self._last: Second | None = None
        self._used = self._oom = 0

    def add(self, amount: int, at: Second, *, is_oom: bool = False) -> None:
        """Look at a sample; one from before the last is left out."""
        if not is_oom and self._last is not None and at < self._last:
            return
        self._last = at
        end = at if self._window_end is None else self._window_end
        memory = self._usage.memory
        if at < end:
            highest = max(self._used, self._oom)
            if highest == 0 or amount <= highest:
                return
            memory.subtract(highest, MEMORY_WEIGHT, end)
        else:
            end += ((at - end) // DAY_S + 1) * DAY_S
            self._used = self._oom = 0
        self._window_end = end
        memory.add(amount, MEMORY_WEIGHT, end)
        if is_oom:
            self._oom = amount
        else:
            self._used = amount

    def add_oom(self, requested: int, at: Second) -> None:
        """Look at a OOM kill as a sample of more than was used; one that is a day late is left out."""
        if self._last is not None and at < self._last - DAY_S:
            return
        used = max(requested, self._used)
        self.add(max(used + OOM_BYTES, whole(used * OOM_RATIO)), at, is_oom=True)


def add_replica(usage: Usage, replica: Replica) -> None:
    """Count all samples of a replica. CPU samples that are not later than the one before are left out."""
    last = None
    for at, cores in replica.cpu:
        if last is None or at > last:
            usage.add_cpu(whole(cores * 1000.0), at)
            last = at
    peaks = Peaks(usage)
    for at, is_oom, value in in_time(replica):
        if is_oom:
            peaks.add_oom(whole(value), at)
        else:
            peaks.add(whole(value), at)


def in_time(replica: Replica) -> Iterator[tuple[Second, bool, float]]:
    """Memory samples in their order, and before each the kills that were earlier."""
    kills = sorted(replica.oom, key=lambda kill: kill.at)
    taken = 0
    for at, value in replica.memory:
        while taken < len(kills) and kills[taken].at < at:
            yield kills[taken].at, True, kills[taken].value
            taken += 1
        yield at, False, value
    yield from ((at, True, value) for at, value in kills[taken:])


def usage_of(replicas: Iterable[Replica]) -> Usage:
    """What the replicas of a container used, one after the other."""
    usage = Usage()
    for replica in replicas:
        add_replica(usage, replica)
    return usage


def estimate(usages: Mapping[str, Usage]) -> dict[str, Estimate]:
    """What each container of a pod needs."""
    return {
        name: estimate_from(
            [usage.cpu.percentile(part) for part in PARTS],
            [usage.memory.percentile(part) for part in PARTS],
            confidence(usage.first, usage.last, usage.count),
            len(usages),
        )
        for name, usage in usages.items()
    }


def estimate_pod(pod: Pod) -> dict[str, Estimate]:
    """What each container of a pod needs, from its samples."""
    return estimate({name: usage_of(replicas) for name, replicas in pod.items()})


def confidence(first: Second | None, last: Second | None, count: int) -> float:
    """How many days of a sample a minute are known, at most the days between the first and the last."""
    if first is None or last is None:
        return 0.0
    return min(float((last - first) * 1_000_000_000) / (DAY_S * 1e9), count / DAILY_SAMPLES)


def estimate_from(cpu: Sequence[int], memory: Sequence[int], days: float, containers: int) -> Estimate:
    """The estimate of a container, one of so many in its pod, from its percentiles at `PARTS` and its confidence."""
    least = floors(containers)
    return Estimate(
        *(
            Amounts(
                scaled(padded(of_cpu), factor, least.cpu_millicores),
                scaled(padded(of_memory), factor, least.memory_bytes),
            )
            for of_cpu, of_memory, factor in zip(cpu, memory, factors(days), strict=True)
        )
    )


def floors(containers: int, of_pod: Amounts = FLOOR) -> Amounts:
    """What none of so many containers of a pod gets less than."""
    share = 1.0 / containers
    return Amounts(whole(of_pod.cpu_millicores * share), whole(of_pod.memory_bytes * share))


def factors(days: float) -> tuple[float, float, float]:
    """What so many days of confidence make of the percentiles at `PARTS`; without any, the last is infinite."""
    return (
        1.0,
        gomath.power(1.0 + (0.001 / days if days else inf), -2),
        1.0 + (1.0 / days if days else inf),
    )


def padded(amount: int) -> int:
    """With the margin."""
    return amount + whole(amount * MARGIN)


def scaled(amount: int, factor: float, least: int) -> int:
    """So many times an amount, and not below the floor."""
    return max(least, whole(amount * factor))


def whole(amount: float) -> int:
    """A computed amount as a whole one: cut towards zero and held between 0 and the ceiling."""
    if amount > MOST_AMOUNT:
        return MOST_AMOUNT
    if amount != amount:  # noqa: PLR0124 - only NaN is not itself
        return _NO_NUMBER
    return int(max(amount, 0.0))
