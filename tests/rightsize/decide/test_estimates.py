"""Of what runs to an end, each run counts as a day."""

import msgspec
import pytest
from tests.rightsize.decide.builders import WEB, container, evidence, workload

from remuda.model.quantities import Quantity
from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide.estimates import adjusted, by_runs
from remuda.rightsize.estimate.estimator import MOST_AMOUNT, Amounts
from remuda.rightsize.estimate.traces import UNBOUNDED
from remuda.rightsize.evidence import Percentile, Trace
from remuda.rightsize.objects import MinimumsSpec, RightsizePolicySpec

JOB = WorkloadId("shop", "CronJob", "report")


@pytest.mark.parametrize(
    ("identity", "runs", "confidence", "is_by_runs"),
    [
        pytest.param(JOB, 0, 0.0, False, id="no run"),
        pytest.param(JOB, 1, 0.01, True, id="one run of a few minutes"),
        pytest.param(JOB, 3, 3.0, True, id="as many runs as days"),
        pytest.param(JOB, 3, 3.01, False, id="runs of more than a day"),
        pytest.param(WEB, 9, 0.01, False, id="what does not run to an end"),
    ],
)
def test_runs_count_where_they_say_more_than_samples(
    identity: WorkloadId, runs: int, confidence: float, is_by_runs: bool
) -> None:
    known = evidence(replicas=runs, confidence=confidence)
    assert by_runs(workload(id=identity), known) is is_by_runs


@pytest.mark.parametrize(
    ("days", "padded", "factor", "upper"),
    [
        pytest.param(2.0, 100, 1.5, 150, id="half as much again with two days"),
        pytest.param(0.0, 100, UNBOUNDED, MOST_AMOUNT, id="without any, the most there is"),
        pytest.param(0.0, 0, UNBOUNDED, 0, id="of nothing, nothing"),
    ],
)
def test_an_upper_bound_is_wider_for_fewer_days_and_never_infinite(
    days: float, padded: int, factor: float, upper: int
) -> None:
    one = Percentile(0.9, 3, 0, padded, padded, 1.0, padded)
    trace = Trace(one, one, one, 0)
    known = msgspec.structs.replace(evidence(), cpu=trace, memory=trace, confidence=days)
    none = MinimumsSpec(pod_cpu=Quantity(0), pod_memory=Quantity(0))
    made = adjusted(workload(), container(), known, RightsizePolicySpec(minimums=none))
    assert made.cpu is not None
    assert made.cpu.upper_bound.factor == factor
    assert made.estimate.upper_bound == Amounts(upper, upper)
    assert made.estimate.target == Amounts(padded, padded)
