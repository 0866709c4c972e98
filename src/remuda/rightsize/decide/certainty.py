"""Whether there is enough to go by: a day of a sample a minute, all of it, of late."""

from remuda.model.times import DAY, SECOND
from remuda.output.moments import age
from remuda.rightsize.decide import words
from remuda.rightsize.decide.case import Case
from remuda.rightsize.decide.findings import Telling
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.estimate.histogram import DAY_S


def is_provisional(case: Case) -> bool:
    """
    Whether the bounds are still too wide to act on.

    With samples: when they span less than 24 hours or, but for KRR's rule, are fewer than a day of a sample a minute.
    Of an advisor's word the age is not told; an upper bound of at most twice the target proves a day, as it is
    at least × (1 + 1 ÷ days) of it.
    """
    evidence = case.evidence
    if case.is_advice:
        estimate = evidence.estimate
        return estimate.upper_bound.memory_bytes > 2 * estimate.target.memory_bytes
    if evidence.first is None or evidence.last is None or evidence.last - evidence.first < DAY_S:
        return True
    return case.strategy != "krr" and evidence.confidence < 1


def tell_certainty(case: Case, told: Telling) -> None:
    """Everything that makes a person trust a number less."""
    evidence = case.evidence
    if is_provisional(case):
        _tell_provisional(case, told)
    if case.is_advice:
        told.find(
            "advice-only",
            "info",
            "",
            f"no samples, only what {evidence.origin} recommends",
            "samples of its use, for peaks and leaks",
            "give --prometheus or --usage",
        )
    if evidence.is_partial:
        told.find(
            "partial-evidence",
            "warning",
            "",
            "a part of the samples could not be read",
            "all of them",
            "read them again: until then nothing is lowered",
        )
    if evidence.oddities:
        told.find(
            "odd-samples",
            "info",
            "",
            "; ".join(evidence.oddities),
            "samples without gaps and oddities",
            "see what wrote them: the numbers rest on the others",
        )
    if evidence.last is not None and case.now - evidence.last > DAY_S:
        told.find(
            "old-evidence",
            "warning" if case.workload.replicas else "info",
            "",
            f"the last sample is of {words.moment(evidence.last)}, {age((case.now - evidence.last) * SECOND)} ago",
            "samples until now",
            "see remuda diagnose metrics" if case.workload.replicas else "nothing: it has no pods now",
        )


def _tell_provisional(case: Case, told: Telling) -> None:
    evidence = case.evidence
    wide = _width(evidence.estimate)
    if evidence.first is None or evidence.last is None:
        told.find(
            "under-a-day",
            "warning",
            "",
            f"nothing tells how much data {evidence.origin} rests on, and {wide}",
            "an upper bound of at most twice the target, which proves a day",
            "review again in a day, or give --prometheus or --usage",
        )
        return
    span = evidence.last - evidence.first
    words_there = (
        f"{age(span * SECOND)} of data with {words.counted(evidence.cpu_samples, 'sample')} of CPU,"
        f" {evidence.confidence:.3g} days of a sample a minute; {wide}"
    )
    fix = (
        f"review again after {words.moment(evidence.first + DAY_S)}"
        if span < DAY_S
        else "take more samples: a scrape a minute, or a longer --history"
    )
    told.find(
        "under-a-day",
        "warning",
        "",
        words_there,
        f"{age(DAY)} with a sample a minute",
        f"{fix}; until then it is left out of patches",
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
