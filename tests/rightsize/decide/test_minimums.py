"""What no estimate is below: the recommender's flags by default, and what the policy says of some."""

from typing import Any

import pytest
from tests.rightsize.decide.builders import MI, container, judge, memory_of, rules, steps_of, the, workload
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.model.quantities import Quantity
from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.estimate.usage import Replica, Sample
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.objects import MinimumsSpec, RightsizePolicySpec, WorkloadSpec

SMALL = container(memory=32, memory_limit=64)


def used(mebibytes: int, containers: int = 1) -> Evidence:
    """Eight days of so much, a sample a minute."""
    times = range(BEGIN, BEGIN + 8 * DAY, 60)
    one = Replica([Sample(at, 0.001) for at in times], [Sample(at, mebibytes * MI) for at in times])
    return summarize(
        columns_of([{"main": [one]}], [containers]), "samples", since=BEGIN, now=BEGIN + 8 * DAY
    )[0]


USED = used(10)


def minimums(**amounts: str) -> RightsizePolicySpec:
    return RightsizePolicySpec(
        minimums=MinimumsSpec(**{name: Quantity.parse(text) for name, text in amounts.items()})
    )


def of_some(**said: str) -> RightsizePolicySpec:
    amounts: dict[str, Any] = {
        name: Quantity.parse(text) if name.startswith("min_") else text for name, text in said.items()
    }
    return RightsizePolicySpec(workloads=(WorkloadSpec(**amounts),))


@pytest.mark.parametrize(
    ("policy", "request_mib"),
    [
        pytest.param(RightsizePolicySpec(), 250, id="the recommender's default"),
        pytest.param(minimums(pod_memory="100Mi"), 100, id="a smaller pod"),
        pytest.param(minimums(container_memory="40Mi"), 40, id="a container, whatever its pod"),
        pytest.param(minimums(pod_memory="0"), 23, id="none at all"),
        pytest.param(of_some(name="w*", min_memory="64Mi"), 64, id="some workloads"),
        pytest.param(of_some(container="main", min_memory="64Mi"), 64, id="some containers"),
        pytest.param(of_some(container="proxy", min_memory="64Mi"), 250, id="not of others"),
        pytest.param(of_some(namespace="other", min_memory="64Mi"), 250, id="not elsewhere"),
    ],
)
def test_a_small_container_gets_no_less_than_the_policy_says(
    policy: RightsizePolicySpec, request_mib: float
) -> None:
    made = judge(workload(SMALL), known=USED, policy=policy)
    assert memory_of(the(made))[0] == pytest.approx(request_mib, abs=2)


def test_containers_share_the_minimum_of_their_pod() -> None:
    both = workload(SMALL, container("proxy", memory=32, memory_limit=64))
    made = judge(both, known=used(10, 2), policy=minimums(pod_memory="120Mi", pod_cpu="80m"))
    assert memory_of(the(made))[0] == 60
    assert the(made).recommended.requests.cpu_millicores == 40


def test_what_has_no_samples_of_cpu_is_not_explained_by_its_floor() -> None:
    memory = [Sample(at, 10 * MI) for at in range(BEGIN, BEGIN + 8 * DAY, 60)]
    [known] = summarize(
        columns_of([{"main": [Replica([], memory)]}], [1]), "samples", since=BEGIN, now=BEGIN + 8 * DAY
    )
    one = the(judge(workload(SMALL), known=known))
    assert steps_of(one, "cpu")[0] == ("no samples", "its estimate is a pod's floor and says nothing")
    assert one.recommended.requests.cpu_millicores == 100


def test_who_said_so_is_reported() -> None:
    by_default = steps_of(the(judge(workload(SMALL), known=USED)), "memory")
    assert "not below this container's share of a pod's floor, 250Mi" in by_default[0][1]
    by_policy = steps_of(
        the(judge(workload(SMALL), known=USED, policy=minimums(container_memory="40Mi"))), "memory"
    )
    assert "not below the least that the policy says of it, 40Mi" in by_policy[0][1]


CRON = WorkloadId("shop", "CronJob", "report")


def runs(count: int) -> Evidence:
    """A run of ten minutes a day, 200 MiB each."""
    some = [
        Replica(
            [Sample(BEGIN + n * DAY + 60 * k, 0.2) for k in range(10)],
            [Sample(BEGIN + n * DAY + 60 * k, 200 * MI) for k in range(10)],
        )
        for n in range(count)
    ]
    return summarize(columns_of([{"main": some}]), "samples", since=BEGIN, now=BEGIN + 8 * DAY)[0]


def test_a_cron_job_is_sized_by_its_runs() -> None:
    asked = workload(container(memory=1024, memory_limit=1024), id=CRON, replicas=1)
    made = judge(asked, known=runs(8))
    one = the(made, "report")
    assert not one.is_provisional
    assert "under-a-day" not in rules(made)
    assert "sparse-samples" not in rules(made)
    assert (memory_of(one)[1] or 0) < 512
    assert steps_of(one, "certainty")[0][0] == "8 runs"


def test_a_cron_job_with_few_runs_is_not_sized_yet() -> None:
    asked = workload(container(memory=1024, memory_limit=1024), id=CRON, replicas=1)
    made = judge(asked, known=runs(4))
    assert the(made, "report").is_provisional
    [few] = [each for each in made.findings if each.rule == "under-a-day"]
    assert few.is_.startswith("4 runs in 3d;")
    assert few.should == "5 runs"


def test_what_runs_all_the_time_is_not_judged_by_its_pods() -> None:
    assert the(judge(known=runs(8))).is_provisional


def test_requests_are_whole_mebibytes_as_a_person_writes_them() -> None:
    request = the(judge(workload(SMALL), known=used(391))).recommended.requests.memory_bytes or 1
    assert request % MI == 0
    assert used(391).estimate.target.memory_bytes % MI


def test_who_uses_exactly_its_request_is_not_starved() -> None:
    """The lower bound has a margin of 15 %, and ends where a bucket does."""
    times = range(BEGIN, BEGIN + 8 * DAY, 60)
    one = Replica([Sample(at, 0.1) for at in times], [Sample(at, 100 * MI) for at in times])
    known = summarize(columns_of([{"main": [one]}]), "samples", since=BEGIN, now=BEGIN + 8 * DAY)[0]
    assert "starved" not in rules(judge(workload(container(cpu=100)), known=known))
    assert "starved" in rules(judge(workload(container(cpu=80)), known=known))


def test_the_first_that_the_policy_says_of_cpu_counts() -> None:
    said = [{"min_memory": "64Mi"}, {"min_cpu": "640m"}, {"min_cpu": "900m"}]
    specs = [WorkloadSpec(**{key: Quantity.parse(text) for key, text in each.items()}) for each in said]  # type: ignore[arg-type]
    made = judge(workload(SMALL), known=USED, policy=RightsizePolicySpec(workloads=tuple(specs)))
    assert the(made).recommended.requests.cpu_millicores == 640
    assert memory_of(the(made))[0] == 64
