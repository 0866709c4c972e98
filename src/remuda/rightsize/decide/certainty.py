"""Whether there is enough to go by: a day of a sample a minute, all of it, of late."""

from remuda.model.plans import Term
from remuda.model.times import SECOND
from remuda.output.moments import age
from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.estimates import LEAST_RUNS, SELDOM, by_runs
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.estimate.estimator import (
    DAILY_SAMPLES,
    FLOOR_BYTES,
    FLOOR_MILLICORES,
    Estimate,
)
from remuda.rightsize.estimate.histogram import DAY_S

#: × the target; a wider upper bound of little data is no recommendation
_WIDEST = 4
#: of the days between the first sample and the last: with less confidence, it is not time that makes bounds wide
_DENSE = 0.75


def is_provisional(context: ContainerContext) -> bool:
    """
    Whether the bounds are still too wide to act on.

    With samples: when they span less than 24 hours or, but for KRR's rule, are fewer than a day of a sample a minute.
    Of an advisor's word the age is not reported; an upper bound of at most twice the target proves a day, as it is
    at least × (1 + 1 ÷ days) of it. Without bounds it proves nothing.
    """
    evidence = context.evidence
    if context.is_advice:
        estimate = evidence.estimate
        is_wide = estimate.upper_bound.memory_bytes > 2 * estimate.target.memory_bytes
        return is_wide or _is_unbounded(estimate)
    if evidence.first is None or evidence.last is None or evidence.last - evidence.first < DAY_S:
        return True
    least = LEAST_RUNS if is_by_runs(context) else 1
    return context.strategy != "krr" and evidence.confidence < least


def is_by_runs(context: ContainerContext) -> bool:
    """Whether it is judged by its runs."""
    return (
        context.strategy == "vpa"
        and context.evidence.cpu is not None
        and by_runs(context.workload, context.evidence)
    )


def _is_unbounded(estimate: Estimate) -> bool:
    """Whether an advisor's word has no bounds: they are the target. Only what is held up by the floor has such ones."""
    target = estimate.target
    is_above = target.cpu_millicores > FLOOR_MILLICORES or target.memory_bytes > FLOOR_BYTES
    return is_above and estimate.lower_bound == target == estimate.upper_bound


def is_too_wide(context: ContainerContext, estimate: Estimate) -> bool:
    """
    Whether the upper bound of memory says nothing yet: little data, and more than four times the target.

    Confidence alone makes it × (1 + 1 ÷ days), which is 4 with eight hours: what is wider is made of missing data, not
    of use. With enough data a wide bound is one that was measured.
    """
    upper, target = estimate.upper_bound.memory_bytes, estimate.target.memory_bytes
    return context.strategy != "krr" and is_provisional(context) and upper > _WIDEST * target


def explain_wide(estimate: Estimate, what: str, explanation: Explanation) -> None:
    """Say what becomes of memory whose upper bound says nothing."""
    upper, target = estimate.upper_bound.memory_bytes, estimate.target.memory_bytes
    explanation.step(
        "certainty",
        what,
        f"the upper bound, {words.memory(upper)}, is more than {_WIDEST} × the target, {words.memory(target)}:"
        " that comes from too little data, not from use",
    )


def explain_certainty(context: ContainerContext, explanation: Explanation) -> None:
    """Everything that makes a person trust a number less."""
    evidence = context.evidence
    if is_provisional(context):
        _explain_provisional(context, explanation)
    else:
        _explain_sparse(context, explanation)
    if context.is_advice:
        explanation.find("advice-only", "info", origin=evidence.origin)
    if evidence.is_partial:
        explanation.find("partial-evidence", "warning")
    if evidence.anomalies:
        explanation.find("odd-samples", "info", anomalies="; ".join(evidence.anomalies))
    if evidence.last is not None and context.now - evidence.last > DAY_S:
        explanation.find(
            "old-evidence",
            "warning" if context.workload.replicas else "info",
            last=words.moment(evidence.last),
            age=age((context.now - evidence.last) * SECOND),
            idle=not context.workload.replicas,
        )


def _explain_provisional(context: ContainerContext, explanation: Explanation) -> None:
    evidence = context.evidence
    terms: dict[str, Term]
    if evidence.first is None or evidence.last is None:
        terms = {"origin": evidence.origin}
        terms |= {"unbounded": True} if _is_unbounded(evidence.estimate) else _width(evidence.estimate)
        explanation.find("under-a-day", "warning", **terms)
        return
    span = evidence.last - evidence.first
    samples = words.counted(evidence.cpu_samples, "sample") if evidence.cpu_samples else "no samples"
    if span < DAY_S:
        until = words.moment(evidence.first + DAY_S)
        terms = {"samples": samples, "confidence": f"{evidence.confidence:.3g}", "until": until}
    elif is_by_runs(context):
        terms = {"runs": evidence.replicas, "least_runs": LEAST_RUNS, "longer": True}
    else:
        terms = {"few": samples, "least_samples": int(DAILY_SAMPLES), **_few(context)}
    explanation.find("under-a-day", "warning", span=age(span * SECOND), **terms, **_width(evidence.estimate))


def _explain_sparse(context: ContainerContext, explanation: Explanation) -> None:
    """Samples that reach back far enough, and are so far apart that they count for less; KRR does not count them."""
    evidence = context.evidence
    if context.strategy == "krr" or is_by_runs(context) or evidence.first is None or evidence.last is None:
        return
    span = evidence.last - evidence.first
    days = span / DAY_S
    if not evidence.cpu_samples or evidence.confidence >= _DENSE * days:
        return
    factor, of_time = 1 + 1 / evidence.confidence, 1 + 1 / days
    explanation.find(
        "sparse-samples",
        "info",
        samples=evidence.cpu_samples,
        span=age(span * SECOND),
        every=age(max(1, span // evidence.cpu_samples) * SECOND),
        replicas=evidence.replicas if evidence.replicas > 1 else None,
        confidence=f"{evidence.confidence:.3g}",
        factor=f"{factor:.4g}",
        of_time=f"{of_time:.4g}",
        wider=f"{factor / of_time - 1:.0%}",
        seldom=context.workload.id.kind in SELDOM,
    )


def _few(context: ContainerContext) -> dict[str, Term]:
    """Why samples are few though they reach back far enough."""
    if not context.evidence.cpu_samples:
        return {"unsampled": True}
    why = "seldom" if context.workload.id.kind in SELDOM else "sparse"
    return {why: True, "longer": True, "krr": context.evidence.krr is not None}


def _width(estimate: Estimate) -> dict[str, Term]:
    lower, upper = estimate.lower_bound, estimate.upper_bound
    return {
        "cpu_lower": words.cpu(lower.cpu_millicores),
        "cpu_upper": words.cpu(upper.cpu_millicores),
        "cpu_width": _times(lower.cpu_millicores, upper.cpu_millicores),
        "memory_lower": words.memory(lower.memory_bytes),
        "memory_upper": words.memory(upper.memory_bytes),
        "memory_width": _times(lower.memory_bytes, upper.memory_bytes),
    }


def _times(lower: int, upper: int) -> str:
    return f"× {upper / lower:.3g}" if lower else "no lower bound"
