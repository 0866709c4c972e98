"""Whether there is enough to go by: a day of a sample a minute, all of it, of late."""

from remuda.model.times import DAY, SECOND
from remuda.output.moments import age
from remuda.rightsize.decide import words
from remuda.rightsize.decide.context import ContainerContext
from remuda.rightsize.decide.estimates import LEAST_RUNS, SELDOM, by_runs
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.estimate.estimator import (
    DAILY_SAMPLES,
    FLOOR_BYTES,
    FLOOR_MILLICORES,
    Amounts,
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
    Of an advisor's word the age is not told; an upper bound of at most twice the target proves a day, as it is
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
        explanation.find(
            "advice-only",
            "info",
            "",
            f"no samples, only what {evidence.origin} recommends",
            "samples of its use, for peaks and leaks",
            "give --prometheus or --usage",
        )
    if evidence.is_partial:
        explanation.find(
            "partial-evidence",
            "warning",
            "",
            "a part of the samples could not be read, or cannot be told from those of others",
            "all of them, and no others",
            "read them again: until then nothing is lowered",
        )
    if evidence.anomalies:
        explanation.find(
            "odd-samples",
            "info",
            "",
            "; ".join(evidence.anomalies),
            "samples without gaps and oddities",
            "see what wrote them: the numbers rest on the others",
        )
    if evidence.last is not None and context.now - evidence.last > DAY_S:
        explanation.find(
            "old-evidence",
            "warning" if context.workload.replicas else "info",
            "",
            f"the last sample is of {words.moment(evidence.last)}, {age((context.now - evidence.last) * SECOND)} ago",
            "samples until now",
            "see remuda diagnose metrics" if context.workload.replicas else "nothing: it has no pods now",
        )


def _explain_provisional(context: ContainerContext, explanation: Explanation) -> None:
    evidence = context.evidence
    wide = _width(evidence.estimate)
    if evidence.first is None or evidence.last is None:
        explanation.find(
            "under-a-day",
            "warning",
            "",
            f"nothing tells how much data {evidence.origin} rests on, and "
            + ("it has no bounds: both are its target" if _is_unbounded(evidence.estimate) else wide),
            "an upper bound above the target and of at most twice the target, which proves a day",
            "review again in a day, or give --prometheus or --usage",
        )
        return
    span = evidence.last - evidence.first
    samples = "no samples" if not evidence.cpu_samples else words.counted(evidence.cpu_samples, "sample")
    if span < DAY_S:
        there = f"{age(span * SECOND)} of data with {samples} of CPU, {evidence.confidence:.3g} days of a sample a minute"
        should = f"{age(DAY)} with a sample a minute"
        fix = f"review again after {words.moment(evidence.first + DAY_S)}"
    elif is_by_runs(context):
        there = f"{words.counted(evidence.replicas, 'run')} in {age(span * SECOND)}"
        should, fix = f"{LEAST_RUNS} runs", "review with a longer --history"
    else:
        there, fix = _few(context, span, samples)
        should = f"{DAILY_SAMPLES:.0f} samples of CPU, as many as a day has with one a minute"
    explanation.find(
        "under-a-day",
        "warning",
        "",
        f"{there}; {wide}",
        should,
        f"{fix}; until then it is left out of patches",
    )


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
    every = age(max(1, span // evidence.cpu_samples) * SECOND)
    longer = "review with a longer --history"
    explanation.find(
        "sparse-samples",
        "info",
        "",
        f"{words.counted(evidence.cpu_samples, 'sample')} of CPU in {age(span * SECOND)}, one in {every}"
        + (f" of all {evidence.replicas} replicas together" if evidence.replicas > 1 else "")
        + f": they count as {evidence.confidence:.3g} days, and the upper bound is × {factor:.4g} for that, where"
        f" {age(span * SECOND)} alone make it × {of_time:.4g}: {factor / of_time - 1:.0%} wider",
        "a sample a minute",
        f"{longer}, if it runs seldom"
        if context.workload.id.kind in SELDOM
        else f"scrape every minute; if it does not run all the time, {longer}",
    )


def _few(context: ContainerContext, span: int, samples: str) -> tuple[str, str]:
    """What there is, and what to do, where samples are few though they reach back far enough."""
    there = f"{samples} of CPU in {age(span * SECOND)}"
    if not context.evidence.cpu_samples:
        return (
            f"{there}: by these it is counted how much is known",
            "let CPU be sampled as well, see remuda diagnose metrics",
        )
    longer = "review with a longer --history"
    if context.evidence.krr is not None:
        longer += ", or with --strategy krr, which goes by the peak"
    if context.workload.id.kind in SELDOM:
        return f"{there}: it runs seldom", longer
    return (
        f"{there}: it runs seldom, or is scraped seldom",
        f"take more samples: a scrape a minute, if it runs all the time; if it does not, {longer}",
    )


def _width(estimate: Estimate) -> str:
    lower, upper = estimate.lower_bound, estimate.upper_bound
    return (
        f"CPU is between {words.cpu(lower.cpu_millicores)} and {words.cpu(upper.cpu_millicores)}"
        f" ({_times(lower, upper, 'cpu')}), memory between {words.memory(lower.memory_bytes)} and"
        f" {words.memory(upper.memory_bytes)} ({_times(lower, upper, 'memory')})"
    )


def _times(lower: Amounts, upper: Amounts, resource: str) -> str:
    low, high = (
        (lower.cpu_millicores, upper.cpu_millicores)
        if resource == "cpu"
        else (lower.memory_bytes, upper.memory_bytes)
    )
    return f"× {high / low:.3g}" if low else "no lower bound"
