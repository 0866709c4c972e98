"""How an estimate came about, in steps: samples, percentiles, buckets, margin, confidence, floor."""

from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext, Resource
from remuda.rightsize.decide.estimates import by_runs
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.tiers import minimum_of
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.evidence import Evidence, Percentile, Trace
from remuda.rightsize.snapshot import Workload


def estimate_of(evidence: Evidence, strategy: str) -> Estimate | None:
    """What the strategy that was asked for says; None when it says nothing."""
    if strategy == "vpa":
        return evidence.estimate
    return evidence.krr if strategy == "krr" else evidence.other


def explain_samples(workload: Workload, evidence: Evidence, explanation: Explanation) -> None:
    """Which samples there are."""
    if evidence.first is None or evidence.last is None:
        explanation.step("samples", "none: an estimate alone", evidence.origin)
        return
    explanation.step(
        "samples",
        f"{evidence.cpu_samples} of CPU and {evidence.memory_samples} of memory by"
        f" {words.counted(evidence.replicas, 'replica')}",
        f"{words.moment(evidence.first)} to {words.moment(evidence.last)}, {evidence.origin}",
    )
    if by_runs(workload, evidence):
        explanation.step(
            "certainty",
            words.counted(evidence.replicas, "run"),
            "each counts as a day: the fewer, the wider the bounds: the upper one is × (1 + 1 ÷ runs)",
        )
        return
    explanation.step(
        "certainty",
        f"{evidence.confidence:.4g} days of a sample a minute",
        "the fewer, the wider the bounds: the upper one is × (1 + 1 ÷ days)",
    )


def explain_estimate(
    context: ContainerContext, estimate: Estimate, resource: Resource, explanation: Explanation
) -> None:
    """The three numbers of a resource, each with its bucket."""
    evidence = context.evidence
    if context.strategy == "krr":
        _explain_krr(estimate.target, resource, explanation)
        return
    trace = evidence.cpu if resource == "cpu" else evidence.memory
    if trace is None or context.strategy != "vpa":
        _explain_plain(context, estimate, resource, explanation)
        return
    if trace.target.bucket < 0:
        explanation.step(resource, "no samples", "its estimate is a pod's floor and says nothing")
        return
    for name, percentile in (
        ("target", trace.target),
        ("lower bound", trace.lower_bound),
        ("upper bound", trace.upper_bound),
    ):
        explanation.step(
            resource,
            f"{name} {words.writer_of(resource)(percentile.amount)}",
            _how(
                percentile,
                trace,
                resource,
                minimum_of(context.workload, context.container.name, context.policy)[1],
            ),
        )


def _how(percentile: Percentile, trace: Trace, resource: Resource, minimum: str) -> str:
    write = words.writer_of(resource)
    bucket = f"bucket {percentile.bucket}, from {write(percentile.first)} to {write(percentile.end)}"
    parts = [f"p{percentile.part * 100:g} is the end of {bucket}", f"with 15 % {write(percentile.padded)}"]
    if percentile.factor != 1:
        parts.append(f"× {percentile.factor:.6g} for certainty")
    if percentile.amount == trace.floor:
        parts.append(f"not below {minimum}, {write(trace.floor)}")
    return ", ".join(parts)


def _explain_krr(amounts: Amounts, resource: Resource, explanation: Explanation) -> None:
    if resource == "cpu":
        explanation.step(
            "cpu",
            f"KRR {words.cpu(amounts.cpu_millicores)}",
            "the highest of the replicas' p95, at least 10m",
        )
    else:
        explanation.step(
            "memory",
            f"KRR {words.memory(amounts.memory_bytes)}",
            "the highest sample with 15 %, rounded up to whole megabytes, at least 100 of them",
        )


def _explain_plain(
    context: ContainerContext, estimate: Estimate, resource: Resource, explanation: Explanation
) -> None:
    who = "as the VerticalPodAutoscaler says" if context.is_advice else f"by the strategy {context.strategy}"
    for name, amounts in (
        ("target", estimate.target),
        ("lower bound", estimate.lower_bound),
        ("upper bound", estimate.upper_bound),
    ):
        amount = amounts.cpu_millicores if resource == "cpu" else amounts.memory_bytes
        explanation.step(resource, f"{name} {words.writer_of(resource)(amount)}", who)
