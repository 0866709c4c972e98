"""Worlds and evidence that show only what matters. Memory is in MiB, CPU in millicores, days are counted from the first."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.model import findings as model
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide import review
from remuda.rightsize.decide.tiers import NO_POLICY, SizingTiers
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.evidence import Day, Evidence, Floor
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.report.findings import with_findings
from remuda.rightsize.review import ContainerReview, Finding, Review, WorkloadReview
from remuda.rightsize.snapshot import Ask, Container, Size, Snapshot, Workload

MI, GI = 2**20, 2**30
NOW = BEGIN + 8 * DAY
WEB = WorkloadId("shop", "Deployment", "web")


def size(
    cpu: int | None = None,
    memory: int | None = None,
    cpu_limit: int | None = None,
    memory_limit: int | None = None,
) -> Size:
    return Size(Ask(cpu, _bytes(memory)), Ask(cpu_limit, _bytes(memory_limit)))


def container(
    name: str = "main",
    cpu: int | None = 100,
    memory: int | None = 1024,
    cpu_limit: int | None = None,
    memory_limit: int | None = 1024,
    *,
    others: Mapping[str, str] | None = None,
    is_sidecar: bool = False,
) -> Container:
    return Container(name, size(cpu, memory, cpu_limit, memory_limit), dict(others or {}), is_sidecar)


def workload(
    *containers: Container,
    id: WorkloadId = WEB,  # noqa: A002 - as the field
    replicas: int = 2,
    surge: int = 1,
    tier: str | None = None,
    usage: str | None = None,
) -> Workload:
    """`tier` and `usage` are the labels of its tier and its class."""
    written = {"tier": tier, "remuda.dev/usage": usage}
    labels = {key: value for key, value in written.items() if value is not None}
    return Workload(id, containers or (container(),), labels, replicas, surge)


def estimate(
    memory: tuple[int, int, int] = (500, 450, 560), cpu: tuple[int, int, int] = (100, 80, 120)
) -> Estimate:
    """Target, lower and upper bound."""
    target, lower, upper = (Amounts(cores, used * MI) for cores, used in zip(cpu, memory, strict=True))
    return Estimate(target, lower, upper)


def days(least: Sequence[int], peak: Sequence[int] | None = None) -> tuple[Day, ...]:
    """A day each, of MiB."""
    peaks = peak or [400] * len(least)
    return tuple(
        Day(BEGIN + n * DAY, high * MI, low * MI)
        for n, (low, high) in enumerate(zip(least, peaks, strict=True))
    )


def floors(least: Sequence[int], step: int = DAY, begin: int = BEGIN) -> tuple[Floor, ...]:
    """Of one replica, of MiB."""
    return (Floor(begin, step, tuple(each * MI for each in least)),)


def evidence(
    memory: tuple[int, int, int] = (500, 450, 560),
    cpu: tuple[int, int, int] = (100, 80, 120),
    peak: int = 400,
    **fields: Any,
) -> Evidence:
    """Eight days of a sample a minute of one replica, even, and enough for any strategy; of other days, what they say."""
    of_days = fields.get("days", days([300] * 8))
    fields.setdefault("floors", floors([day.least // MI for day in of_days]))
    krr = Amounts(90, 115 * peak * MI // 100)
    made = Evidence(
        "samples use.json",
        estimate(memory, cpu),
        krr=Estimate(krr, krr, krr),
        replicas=1,
        cpu_samples=11_520,
        memory_samples=11_520,
        first=BEGIN,
        last=NOW,
        confidence=8.0,
        memory_p99=peak * MI,
        memory_peak=peak * MI,
        memory_peak_at=NOW - DAY,
        days=of_days,
    )
    return msgspec.structs.replace(made, **fields)


def advice(
    memory: tuple[int, int, int] = (500, 450, 560), cpu: tuple[int, int, int] = (100, 80, 120)
) -> Evidence:
    """An advisor's word."""
    return Evidence("vpa shop/web", estimate(memory, cpu))


def judge(
    *workloads: Workload,
    known: Mapping[tuple[WorkloadId, str], Evidence] | Evidence | None = None,
    policy: RightsizePolicySpec | None = None,
    strategy: str = "vpa",
    tiers: SizingTiers = NO_POLICY,
    **snapshot: Any,
) -> Review:
    """A review of workloads; evidence alone is that of every container."""
    all_workloads = workloads or (workload(),)
    if isinstance(known, Evidence) or known is None:
        one = known or evidence()
        known = {(each.id, part.name): one for each in all_workloads for part in each.containers}
    made, findings = review(
        Snapshot(NOW * 1000, "files", all_workloads, **snapshot),
        known,
        policy or RightsizePolicySpec(),
        strategy=strategy,
        usage="use.json",
        history_s=8 * DAY,
        tiers=tiers,
    )
    assert msgspec.json.decode(msgspec.json.encode(findings), type=tuple[model.Finding, ...]) == findings
    worded = with_findings(made, findings)
    for each in worded.findings:
        assert "-" not in re.split(r"[ ,;:()]+", f"{each.is_} {each.should} {each.fix}"), "a term is missing"
    return worded


def the_workload(made: Review, name: str = "web") -> WorkloadReview:
    return next(each for each in made.workloads if each.name == name)


def the(made: Review, name: str = "web", part: str = "main") -> ContainerReview:
    return next(each for each in the_workload(made, name).containers if each.name == part)


def found(made: Review, rule: str) -> Finding:
    """The one finding of a rule."""
    [one] = [each for each in made.findings if each.rule == rule]
    return one


def rules(made: Review) -> set[str]:
    return {each.rule for each in made.findings}


def steps_of(one: ContainerReview, label: str) -> list[tuple[str, str]]:
    """Text and remark of the steps with a label."""
    return [(step.text, step.remark) for step in one.steps if step.label == label]


def memory_of(one: ContainerReview) -> tuple[float | None, float | None]:
    """Request and limit that are recommended."""
    return _mib(one.recommended.requests.memory_bytes), _mib(one.recommended.limits.memory_bytes)


def _mib(amount: int | None) -> float | None:
    return None if amount is None else amount / MI


def _bytes(amount: int | None) -> int | None:
    return None if amount is None else amount * MI
