"""Samples as cAdvisor and kube-state-metrics give them, and what Prometheus must make of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from remuda.model.workloads import WorkloadId
from remuda.rightsize.snapshot import Container, Snapshot, Workload

DAY = 86_400
#: the end of the history: long ago, and no multiple of anything but a minute
NOW = 1_760_000_040
BEGIN = NOW - 8 * DAY
INTERVAL = 30
#: scrapes are not at the steps
OFFSET = 7


def workload(namespace: str, kind: str, name: str, *containers: str, replicas: int = 1) -> Workload:
    """A workload without sizes."""
    return Workload(WorkloadId(namespace, kind, name), tuple(map(Container, containers)), replicas=replicas)


def snapshot(*workloads: Workload, **more: object) -> Snapshot:
    """Only workloads."""
    return Snapshot(NOW * 1000, "test", workloads, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Scraped:
    """One series: scrapes from `begin` to `end`, without those in `gaps`."""

    metric: str
    namespace: str
    pod: str
    container: str
    value: Callable[[int], float]
    begin: int = BEGIN - 3600
    end: int = NOW
    gaps: tuple[tuple[int, int], ...] = ()
    labels: str = ""
    interval: int = INTERVAL

    def samples(self) -> list[tuple[int, float]]:
        first = -(-(self.begin - OFFSET) // self.interval) * self.interval + OFFSET
        return [
            (at, self.value(at))
            for at in range(first, self.end + 1, self.interval)
            if not any(gap[0] < at <= gap[1] for gap in self.gaps)
        ]

    def lines(self) -> Iterator[str]:
        labels = f'namespace="{self.namespace}",pod="{self.pod}",container="{self.container}"{self.labels}'
        for at, value in self.samples():
            yield f"{self.metric}{{{labels}}} {value!r} {at}"


def lines(every: Iterable[Scraped]) -> Iterator[str]:
    """All of them as OpenMetrics wants it: metric by metric."""
    for scraped in sorted(every, key=lambda scraped: scraped.metric):
        yield from scraped.lines()


def peaks(scraped: Sequence[Scraped], window: int, step: int = 60) -> list[tuple[int, float]]:
    """The most of each window, over all these series."""
    found: dict[int, float] = {}
    for series in scraped:
        samples = series.samples()
        for at, value in samples:
            first = -(-at // step) * step
            for seen in range(first, at + window, step):
                if BEGIN <= seen <= NOW:
                    found[seen] = max(value, found.get(seen, value))
    return sorted(found.items())


def rates(scraped: Sequence[Scraped], window: int, step: int = 60) -> list[tuple[int, float]]:
    """What Prometheus' `rate` makes of a counter, the most of all these series."""
    found: dict[int, float] = {}
    for series in scraped:
        samples = series.samples()
        low = high = 0
        for at in range(-(-BEGIN // step) * step, NOW + 1, step):
            while high < len(samples) and samples[high][0] <= at:
                high += 1
            while low < high and samples[low][0] <= at - window:
                low += 1
            if high - low >= 2:
                rate = _rate(samples[low:high], at - window, at)
                found[at] = max(rate, found.get(at, rate))
    return sorted(found.items())


def _rate(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    (first, least), (last, most) = samples[0], samples[-1]
    grown = most - least
    for before, after in pairwise(samples):
        if after[1] < before[1]:
            grown += before[1]
    seen = last - first
    average = seen / (len(samples) - 1)
    to_begin, to_end = float(first - begin), float(end - last)
    if to_begin >= average * 1.1:
        to_begin = average / 2
    if grown > 0 and least >= 0:
        # a counter is never below zero
        to_begin = min(to_begin, seen * (least / grown))
    if to_end >= average * 1.1:
        to_end = average / 2
    return grown * ((seen + to_begin + to_end) / seen) / (end - begin)
