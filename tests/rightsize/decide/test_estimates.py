"""Of what runs to an end, each run counts as a day."""

import pytest
from tests.rightsize.decide.builders import WEB, evidence, workload

from remuda.rightsize.decide.estimates import by_runs
from remuda.rightsize.snapshot import WorkloadId

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
