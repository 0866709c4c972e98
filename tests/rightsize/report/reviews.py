"""
A review to show, keep, compare and patch: a risk, a leak, a provisional one, a sidecar, a GPU, an HPA, no evidence.

Estimates are the estimator's own, from the percentiles that each container is given.
"""

from collections.abc import Callable, Sequence
from math import pi, sin
from typing import Literal

import msgspec
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR

from remuda.output.steps import Step
from remuda.rightsize.decide.waste import total_of, waste_of
from remuda.rightsize.estimate.estimator import MARGIN, PARTS, Estimate, estimate_from, whole
from remuda.rightsize.estimate.histogram import CPU, MEMORY, Buckets
from remuda.rightsize.evidence import Day, Evidence, OomKill, Percentile, Series, Trace
from remuda.rightsize.objects import Price, PricesSpec
from remuda.rightsize.review import ContainerReview, Finding, Review, UsageClass, WorkloadReview
from remuda.rightsize.snapshot import Ask, Size

MI, GI = 2**20, 2**30
DAYS = 8
#: 2026-01-09
AT = (BEGIN + DAYS * DAY) * 1000
SOURCE = "https://cluster.example:6443"
PRICES = PricesSpec(Price(0.02), Price(0.0035), "EUR")
USAGE = "http://prometheus.example:9090"

_PROMETHEUS = f"prometheus {USAGE}"


def size(
    cpu: int | None = None,
    memory: int | None = None,
    cpu_limit: int | None = None,
    memory_limit: int | None = None,
) -> Size:
    """Millicores and MiB."""
    in_bytes = [None if each is None else each * MI for each in (memory, memory_limit)]
    return Size(Ask(cpu, in_bytes[0]), Ask(cpu_limit, in_bytes[1]))


def daily(low: int, high: int) -> Callable[[int], int]:
    """Use that rises and falls once a day."""
    return lambda hour: round(low + (high - low) * (1 - sin(2 * pi * (hour % 24 + 6) / 24)) / 2)


def evidence(
    cpu: Callable[[int], int],
    memory: Callable[[int], int],
    *,
    hours: int = DAYS * 24,
    containers: int = 1,
    kills: tuple[OomKill, ...] = (),
    gaps: Sequence[int] = (),
    is_partial: bool = False,
    anomalies: tuple[str, ...] = (),
) -> Evidence:
    """Evidence of millicores and MiB by hour, of two replicas."""
    begin = BEGIN + DAYS * DAY - hours * HOUR
    cpus = [None if hour in gaps else cpu(hour) for hour in range(hours)]
    memories = [None if hour in gaps else memory(hour) * MI for hour in range(hours)]
    seen_cpu = sorted(value for value in cpus if value is not None)
    seen = sorted(value for value in memories if value is not None)
    ends = [
        [_end(buckets, values, part) for part in PARTS]
        for buckets, values in ((CPU, seen_cpu), (MEMORY, seen))
    ]
    confidence = hours / 24
    estimate = estimate_from(ends[0], ends[1], confidence, containers)
    days = [
        Day(begin + n * HOUR, max(values), min(values))
        for n in range(0, hours, 24)
        if (values := [value for value in memories[n : n + 24] if value is not None])
    ]
    peak = seen[-1]
    krr = estimate.target.__class__(_at(seen_cpu, 0.95), whole(peak * 1.15))
    return Evidence(
        origin=_PROMETHEUS,
        estimate=estimate,
        krr=Estimate(krr, krr, krr) if hours > 3 else None,
        replicas=2,
        cpu_samples=len(seen_cpu) * 120,
        memory_samples=len(seen) * 120,
        first=begin,
        last=begin + hours * HOUR,
        confidence=confidence,
        cpu_p99=_at(seen_cpu, 0.99),
        cpu_peak=seen_cpu[-1],
        memory_p99=_at(seen, 0.99),
        memory_peak=peak,
        memory_peak_at=begin + memories.index(peak) * HOUR,
        days=tuple(days),
        kills=kills,
        cpu=_trace(CPU, ends[0], estimate, confidence, 25 // containers, "cpu_millicores"),
        memory=_trace(MEMORY, ends[1], estimate, confidence, 250 * MI // containers, "memory_bytes"),
        series=Series(begin, HOUR, tuple(cpus), tuple(memories)),
        anomalies=anomalies,
        is_partial=is_partial,
    )


def _at(values: Sequence[int], part: float) -> int:
    return values[min(len(values) - 1, int(len(values) * part))]


def _end(buckets: Buckets, values: Sequence[int], part: float) -> int:
    return buckets.answers[buckets.find(_at(values, part))]


def _trace(
    buckets: Buckets,
    ends: Sequence[int],
    estimate: Estimate,
    days: float,
    floor: int,
    name: Literal["cpu_millicores", "memory_bytes"],
) -> Trace:
    factors = (1.0, (1 + 0.001 / days) ** -2, 1 + 1 / days)
    amounts = (estimate.target, estimate.lower_bound, estimate.upper_bound)
    target, lower, upper = (
        Percentile(
            part,
            bucket := buckets.answers.index(end),
            buckets.firsts[bucket],
            end,
            end + whole(end * MARGIN),
            factor,
            getattr(amount, name),
        )
        for part, end, factor, amount in zip(PARTS, ends, factors, amounts, strict=True)
    )
    return Trace(target, lower, upper, floor)


def stepped(memory: int, *, factor: int = 120) -> int:
    """A memory upper bound in bytes times a factor in percent, rounded up to the steps of the house."""
    whole_ = -(-memory * factor // 100)
    step = 16 * MI if whole_ < GI else 64 * MI if whole_ < 8 * GI else 256 * MI
    return -(-whole_ // step) * step


def by_rule(found: Evidence, *, factor: int = 120, equal: bool = False) -> Size:
    """What the rule of the Vertical Pod Autoscaler with its multiplier gives; `equal` is tiers 0 to 2."""
    most = stepped(found.estimate.upper_bound.memory_bytes, factor=factor)
    target = found.estimate.target
    return Size(
        Ask(target.cpu_millicores, most if equal else min(target.memory_bytes, most)), Ask(None, most)
    )


def by_krr(found: Evidence) -> Size | None:
    """What KRR's rule gives."""
    if found.krr is None:
        return None
    target = found.krr.target
    return Size(Ask(target.cpu_millicores, target.memory_bytes), Ask(None, target.memory_bytes))


def steps(found: Evidence, factor: int, usage_class: UsageClass) -> tuple[Step, ...]:
    """A few of the lines that a number is explained with."""
    assert found.memory is not None
    upper = found.memory.upper_bound
    return (
        Step("samples", f"{found.memory_samples:,} of memory, {found.cpu_samples:,} of CPU", found.origin),
        Step(
            "upper",
            f"p95 is in bucket {upper.bucket}, which ends at {upper.end:,}",
            f"× 1.15 × {upper.factor:.3f} = {upper.amount:,}",
        ),
        Step("class", f"{usage_class}: × {factor / 100}", "daily peaks vary little"),
    )


def sample_review() -> Review:
    """Seven workloads of three namespaces, risk first, in a world with prices."""
    made = (_checkout(), _cart(), _trainer(), _front(), _front_state(), _fresh(), _report())
    workloads = tuple(
        msgspec.structs.replace(item, waste=waste_of(item.containers, item.replicas, PRICES)) for item in made
    )
    return Review(
        at=AT,
        source=SOURCE,
        usage=USAGE,
        strategy="vpa",
        history=DAYS * DAY,
        workloads=workloads,
        findings=FINDINGS,
        waste=total_of([item.waste for item in workloads], PRICES),
        currency="EUR",
        is_partial=True,
    )


def changed(review: Review, name: str, /, **fields: object) -> Review:
    """The review with other fields of the workload of that name, the first of them."""
    found = next(item for item in review.workloads if item.name == name)
    other = msgspec.structs.replace(found, **fields)
    workloads = tuple(other if item is found else item for item in review.workloads)
    return msgspec.structs.replace(review, workloads=workloads)


FINDINGS = (
    Finding(
        "will-oom",
        "error",
        "Deployment shop/checkout",
        "spec.template.spec.containers[app].resources.limits.memory",
        "512Mi; it was OOM-killed once in 8d, and used up to 511Mi",
        "at least 816Mi",
        "raise the memory limit as recommended before the next peak",
    ),
    Finding(
        "leak",
        "error",
        "StatefulSet shop/cart",
        "spec.template.spec.containers[cart].resources.limits.memory",
        "the least memory of a day grows by 29Mi a day, and reaches the limit of 1Gi by 2026-01-25",
        "level",
        "find what is never freed; a higher limit only puts it off",
    ),
    Finding(
        "hpa",
        "info",
        "Deployment web/front",
        "spec.template.spec.containers[front].resources.requests.cpu",
        "HorizontalPodAutoscaler front scales by it, up to 10 pods",
        "left as it is",
        "to change it, change the HPA's target with it",
    ),
    Finding(
        "partial",
        "warning",
        "StatefulSet web/front",
        "spec.template.spec.containers[front]",
        "a part of the samples could not be read",
        "all of them",
        "look at what Prometheus says, and review again",
    ),
    Finding(
        "provisional",
        "warning",
        "Deployment web/fresh",
        "spec.template.spec.containers[fresh]",
        "6h of data; the upper bound is 5 × the 95th percentile",
        "24h",
        "review again on 2026-01-10",
    ),
    Finding(
        "no-evidence",
        "warning",
        "CronJob batch/report",
        "spec.jobTemplate.spec.template.spec.containers[report]",
        "there are no samples of it in 8d",
        "some",
        "check that it runs, and that Prometheus scrapes its node",
    ),
)


def _checkout() -> WorkloadReview:
    kill = OomKill(BEGIN + 5 * DAY + 15 * HOUR, 512 * MI)
    app = evidence(
        daily(180, 700),
        lambda hour: 120 if hour == 135 else daily(380, 511)(hour),
        containers=2,
        kills=(kill,),
    )
    proxy = evidence(daily(8, 30), daily(40, 60), containers=2)
    return WorkloadReview(
        "shop", "Deployment", "checkout", 4, 1,
        (
            ContainerReview(
                "app",
                size(500, 512, 1000, 512),
                by_rule(app, equal=True),
                "raise",
                risk="will-oom",
                vpa_rule=by_rule(app, equal=True),
                krr_rule=by_krr(app),
                steps=(*steps(app, 120, "stable"), Step("kill", "1 kill at 512Mi asks for 614Mi", "less than it is")),
                rules=("will-oom",),
                evidence=app,
            ),
            ContainerReview(
                "proxy",
                size(40, 160, None, 160),
                size(40, 160, None, 160),
                "keep",
                is_sidecar=True,
                vpa_rule=by_rule(proxy, equal=True),
                krr_rule=by_krr(proxy),
                steps=steps(proxy, 120, "stable"),
                evidence=proxy,
            ),
        ),
        risk="will-oom",
    )  # fmt: skip


def _cart() -> WorkloadReview:
    found = evidence(daily(60, 140), lambda hour: 380 + hour * 29 // 24 + hour % 24)
    now = size(200, 512, None, 1024)
    return WorkloadReview(
        "shop", "StatefulSet", "cart", 2, 3,
        (
            ContainerReview(
                "cart",
                now,
                now,
                "leave",
                risk="leak",
                vpa_rule=by_rule(found),
                krr_rule=by_krr(found),
                steps=(*steps(found, 120, "stable"), Step("leak", "grows by 29Mi a day", "memory is left as it is")),
                rules=("leak",),
                evidence=found,
            ),
        ),
        risk="leak",
    )  # fmt: skip


def _trainer() -> WorkloadReview:
    found = evidence(daily(2_000, 3_400), daily(9_000, 11_500))
    return WorkloadReview(
        "ml", "Deployment", "trainer", 1, None,
        (
            ContainerReview(
                "trainer",
                size(8_000, 65_536, 16_000, 65_536),
                by_rule(found, factor=130),
                "lower",
                usage_class="gpu",
                others={"nvidia.com/gpu": "1"},
                vpa_rule=by_rule(found, factor=130),
                krr_rule=by_krr(found),
                steps=steps(found, 130, "gpu"),
                evidence=found,
            ),
        ),
    )  # fmt: skip


def _front() -> WorkloadReview:
    found = evidence(daily(90, 300), daily(150, 210), gaps=range(60, 72))
    rule = by_rule(found)
    return WorkloadReview(
        "web", "Deployment", "front", 6, 2,
        (
            ContainerReview(
                "front",
                size(400, 1_024, None, 1_024),
                Size(Ask(400, rule.limits.memory_bytes), rule.limits),
                "lower",
                vpa_rule=rule,
                krr_rule=by_krr(found),
                steps=(*steps(found, 120, "stable"), Step("hpa", "CPU is left at 400m", "HPA front scales by it")),
                rules=("hpa",),
                evidence=found,
            ),
        ),
    )  # fmt: skip


def _front_state() -> WorkloadReview:
    """It has the name of a Deployment."""
    found = evidence(
        daily(20, 30),
        daily(200, 230),
        is_partial=True,
        anomalies=("12 samples were no number, and left out",),
    )
    now = size(50, 300, None, 512)
    return WorkloadReview(
        "web", "StatefulSet", "front", 1, 3,
        (
            ContainerReview(
                "front", now, now, "keep", vpa_rule=by_rule(found), krr_rule=by_krr(found),
                steps=steps(found, 120, "stable"), rules=("partial",), evidence=found,
            ),
        ),
    )  # fmt: skip


def _fresh() -> WorkloadReview:
    found = evidence(daily(100, 200), daily(300, 360), hours=6)
    return WorkloadReview(
        "web", "Deployment", "fresh", 2, 3,
        (
            ContainerReview(
                "fresh",
                size(),
                by_rule(found, factor=130),
                "raise",
                usage_class="volatile",
                is_provisional=True,
                vpa_rule=by_rule(found, factor=130),
                krr_rule=by_krr(found),
                steps=steps(found, 130, "volatile"),
                rules=("provisional",),
                evidence=found,
            ),
        ),
    )  # fmt: skip


def _report() -> WorkloadReview:
    now = size(250, 256, 500, 512)
    return WorkloadReview(
        "batch", "CronJob", "report", 1, 4,
        (
            ContainerReview(
                "report", now, now, "leave", rules=("no-evidence",),
                steps=(Step("samples", "none", "it is left as it is"),),
            ),
        ),
    )  # fmt: skip
