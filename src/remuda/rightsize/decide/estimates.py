"""
An estimate under the policy's minimums, and of what runs to an end by its runs.

The recommender counts samples as days: what runs for ten minutes a day has a day of them after 144 days. Of a Job or a CronJob
each run counts as a day instead, since it shows all that a run needs.
"""

from msgspec.structs import replace

from remuda.rightsize.decide.tiers import minimum_of
from remuda.rightsize.estimate.estimator import Amounts, Estimate, factors, scaled
from remuda.rightsize.estimate.traces import UNBOUNDED
from remuda.rightsize.evidence import Evidence, Percentile, Trace
from remuda.rightsize.objects import RightsizePolicySpec
from remuda.rightsize.snapshot import Container, Workload

#: what runs to an end, and then not for a while
SELDOM = frozenset({"Job", "CronJob"})
#: as many runs are enough to go by
LEAST_RUNS = 5


def by_runs(workload: Workload, evidence: Evidence) -> bool:
    """Whether its runs say more than its samples do."""
    return workload.id.kind in SELDOM and evidence.replicas >= max(1, evidence.confidence)


def adjusted(
    workload: Workload, container: Container, evidence: Evidence, policy: RightsizePolicySpec
) -> Evidence:
    """The same evidence with the estimate that the policy's minimums and its runs make; of an advisor's word as it is."""
    if evidence.cpu is None or evidence.memory is None:
        return evidence
    least, _ = minimum_of(workload, container.name, policy)
    days = float(evidence.replicas) if by_runs(workload, evidence) else evidence.confidence
    cpu, memory = (
        _trace(evidence.cpu, days, least.cpu_millicores),
        _trace(evidence.memory, days, least.memory_bytes),
    )
    estimate = Estimate(
        *(
            Amounts(of_cpu.amount, of_memory.amount)
            for of_cpu, of_memory in zip(_parts(cpu), _parts(memory), strict=True)
        )
    )
    return replace(evidence, estimate=estimate, cpu=cpu, memory=memory, confidence=days)


def _trace(trace: Trace, days: float, floor: int) -> Trace:
    target, lower, upper = (
        replace(
            each, factor=min(factor, UNBOUNDED), amount=scaled(each.padded, min(factor, UNBOUNDED), floor)
        )
        for each, factor in zip(_parts(trace), factors(days), strict=True)
    )
    return Trace(target, lower, upper, floor)


def _parts(trace: Trace) -> tuple[Percentile, Percentile, Percentile]:
    return trace.target, trace.lower_bound, trace.upper_bound
