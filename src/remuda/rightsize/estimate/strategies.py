"""
Ways to an estimate. Each answers for a whole pod, because what a container gets may depend on its siblings.

`vpa` is the recommender's: decaying histograms and bounds. `krr` is KRR's simple rule: a percentile and a peak over a
window, without decay, for people who know its numbers.
"""

from collections.abc import Sequence
from math import ceil
from typing import Protocol

from msgspec import Struct, field

from remuda.rightsize.estimate.estimator import Amounts, Estimate, estimate_pod
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.estimate.usage import Pod, Replica, Sample


class Answer(Struct, frozen=True):
    """Estimates by container, and what a person must know to believe them or to miss one."""

    estimates: dict[str, Estimate]
    #: container → why it has no estimate, or one without evidence
    lacking: dict[str, str] = field(default_factory=dict)


class Strategy(Protocol):
    """How estimates are made."""

    def answer(self, pod: Pod) -> Answer:
        """What each container of the pod needs."""
        ...


class Vpa(Struct, frozen=True):
    """The recommender's estimator, exact to the integer."""

    def answer(self, pod: Pod) -> Answer:
        """An estimate for every container: without samples the floor, as the recommender says."""
        return Answer(estimate_pod(pod), lacking_samples(pod))


class Krr(Struct, frozen=True):
    """
    KRR's simple rule, of the last 14 days of samples.

    CPU is the highest of the replicas' percentiles, memory the highest sample with a buffer; both are rounded up and not
    below a minimum. It knows no bounds: all three numbers are the same.
    """

    window_s: int = 14 * DAY_S
    percentile: float = 0.95
    buffer_percent: int = 15
    least_samples: int = 100
    least_span_s: int = 3 * 3600
    least_millicores: int = 10
    least_bytes: int = 100_000_000
    #: memory is in whole megabytes
    step_bytes: int = 1_000_000
    #: when the window ends; with the pod's last sample where it is None
    until: Second | None = None

    def answer(self, pod: Pod) -> Answer:
        """Estimates of containers with samples enough; the others are reported as lacking."""
        until = self.until
        if until is None:
            until = max(
                (sample.at for replicas in pod.values() for each in replicas for sample in _all(each)),
                default=0,
            )
        since = until - self.window_s
        estimates, lacking = {}, {}
        for name, replicas in pod.items():
            cpu = [_since(each.cpu, since) for each in replicas]
            memory = [_since(each.memory, since) for each in replicas]
            lacks = self.lacks("CPU", *_spread(cpu)) or self.lacks("memory", *_spread(memory))
            if lacks:
                lacking[name] = lacks
                continue
            estimates[name] = self.estimate(
                max(quantile([sample.value for sample in each], self.percentile) for each in cpu if each),
                max(sample.value for each in memory for sample in each),
            )
        return Answer(estimates, lacking)

    def estimate(self, cores: float, peak: float) -> Estimate:
        """What the rule makes of the highest percentile of CPU and the highest memory."""
        buffered = peak * (1 + self.buffer_percent / 100)
        amounts = Amounts(
            max(self.least_millicores, ceil(cores * 1000)),
            max(self.least_bytes, ceil(buffered / self.step_bytes) * self.step_bytes),
        )
        return Estimate(amounts, amounts, amounts)

    def lacks(self, what: str, samples: int, span_s: int) -> str:
        """Why so many samples over so long are too few, in words; nothing when they are enough."""
        if samples >= self.least_samples and span_s >= self.least_span_s:
            return ""
        return (
            f"is left out: krr needs {self.least_samples} samples of {what} over {self.least_span_s // 3600} hours, "
            f"and there {'is' if samples == 1 else 'are'} {samples} over {span_s / 3600:.1f}; --strategy vpa answers with less"
        )


STRATEGIES: dict[str, Strategy] = {"vpa": Vpa(), "krr": Krr()}


def lacking_samples(pod: Pod) -> dict[str, str]:
    """Containers without any sample, with what `vpa` makes of that."""
    return {
        name: "has no samples: its numbers are the floor of a pod, shared by its containers"
        for name, replicas in pod.items()
        if all(replica.is_empty for replica in replicas)
    }


def quantile(values: list[float], part: float) -> float:
    """The quantile as Prometheus computes it: between the two values beside its rank."""
    ordered = sorted(values)
    below, above, share = rank(len(ordered), part)
    return between(ordered[below], ordered[above], share)


def rank(count: int, part: float) -> tuple[int, int, float]:
    """Where a quantile of so many ordered values is: the places beside it, and how far it is from the first."""
    place = part * (count - 1)
    below = int(place)
    return below, min(below + 1, count - 1), place - below


def between(low: float, high: float, share: float) -> float:
    """The value that is so far from the first."""
    return low * (1 - share) + high * share


def _all(replica: Replica) -> list[Sample]:
    return [*replica.cpu, *replica.memory]


def _since(samples: Sequence[Sample], since: Second) -> list[Sample]:
    return [sample for sample in samples if sample.at >= since]


def _spread(series: Sequence[Sequence[Sample]]) -> tuple[int, int]:
    """How many samples there are, and over how many seconds."""
    times = [sample.at for samples in series for sample in samples]
    return len(times), max(times) - min(times) if times else 0
