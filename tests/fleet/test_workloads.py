"""Workloads are exactly what they are defined to be."""

from collections import Counter

import numpy as np
import pytest

from remuda.errors import BadInput
from remuda.fleet import states
from remuda.fleet.workloads import SIZES
from remuda.fleet.workloads.build import build
from remuda.fleet.workloads.churn import Churn, ChurnDelta
from remuda.fleet.workloads.workload import GIB, Workload
from remuda.model.labels import Operator, Requirement
from remuda.model.shapes import DOLLAR, INSTANCE_TYPE, CapacityType, Shape

TYPES = ["a3-highgpu-8g", "m6i.large", "c6i.4xlarge", "n2-standard-32", "r6i.xlarge"]
FULL = [
    {"nvidia.com/gpu": 8},
    {"cpu": 2_000, "memory": 8 * GIB},
    {"cpu": 16_000, "memory": 32 * GIB},
    {"cpu": 32_000, "memory": 128 * GIB},
    {"cpu": 4_000, "memory": 32 * GIB},
]


@pytest.fixture(scope="module")
def realistic() -> Workload:
    return build("realistic", 60_000)


def shape_of(workload: Workload, machine: int) -> Shape:
    return workload.fleet.kinds.shapes[int(workload.fleet.kind[machine])]


def type_asked(workload: Workload, row: int) -> str:
    profile = workload.demand.profiles.all[int(workload.demand.profile[row])]
    (requirement,) = profile.requirements
    assert requirement == Requirement(INSTANCE_TYPE, Operator.IN, requirement.values)
    return requirement.values[0]


def unit_asked(workload: Workload, row: int) -> dict[str, int]:
    return dict(workload.demand.profiles.all[int(workload.demand.profile[row])].unit)


def counts_of(workload: Workload) -> np.ndarray:
    return workload.fleet.census.by_kind_and_state(len(workload.fleet.kinds))


@pytest.mark.parametrize("name", SIZES)
def test_a_workload_holds_its_machines_and_every_need_is_its_own(name: str) -> None:
    workload = build(name, 1_200)
    assert len(workload.fleet) == 1_200
    assert counts_of(workload).sum() == 1_200
    assert len(set(workload.demand.code.tolist())) == len(workload.demand) > 0
    assert set(workload.demand.cluster.tolist()) == set(range(len(workload.names.clusters)))
    assert set(workload.demand.interruption_penalty.tolist()) == {8_192 * DOLLAR}
    assert set(workload.demand.reclamation_penalty.tolist()) == {8_192 * DOLLAR}
    assert set(workload.demand.arrival.tolist()) == {0}
    for shape in workload.fleet.kinds.shapes:
        assert (shape.price, shape.interruption, shape.capacity_type) == (0, 0, CapacityType.BARE_METAL)


@pytest.mark.parametrize("name", ["aggregate-cold", "one-to-one-cold"])
def test_a_cold_machine_is_idle_and_of_type_and_zone_by_its_number(name: str) -> None:
    workload = build(name, 2_000)
    for machine in (0, 1, 2, 3, 4, 5, 16, 1_999):
        shape = shape_of(workload, machine)
        assert shape.instance_type == TYPES[machine % 5]
        assert shape.allocatable == FULL[machine % 5]
        assert shape.zone == "abc"[machine % 3]
    assert set(workload.fleet.state.tolist()) == {states.IDLE}
    assert set(workload.fleet.cluster.tolist()) == {-1}
    assert (workload.expected.actions, workload.expected.unmet) == (2_000, 0)


@pytest.mark.parametrize(("name", "each"), [("aggregate-warm", 40), ("one-to-one-warm", 1_000)])
def test_a_warm_machine_is_what_its_need_asks_for(name: str, each: int) -> None:
    workload = build(name, 2_000)
    rows = workload.demand.row_of()
    for machine in (0, 1, 7, 41, 999, 1_000, 1_001, 1_999):
        cluster, place = divmod(machine, each)
        row = int(rows[workload.fleet.need[machine]])
        assert workload.fleet.cluster[machine] == cluster == workload.demand.cluster[row]
        assert workload.fleet.priority[machine] == 1_000 + place % 10 * 1_000 == workload.demand.priority[row]
        assert shape_of(workload, machine).instance_type == TYPES[(cluster + place) % 5]
        assert shape_of(workload, machine).zone == "abc"[machine % 3]
        assert type_asked(workload, row) == TYPES[(cluster + place) % 5]
        assert unit_asked(workload, row) == FULL[(cluster + place) % 5]
    assert set(workload.fleet.state.tolist()) == {states.CONFIGURED}
    held = np.bincount(rows[workload.fleet.need], minlength=len(workload.demand))
    assert held.tolist() == workload.demand.count.tolist()
    assert (workload.expected.actions, workload.expected.unmet) == (0, 0)


@pytest.mark.parametrize("name", ["aggregate-warm", "aggregate-cold"])
def test_an_aggregate_workload_has_fifty_clusters_of_ten_needs(name: str) -> None:
    workload = build(name, 5_000)
    assert len(workload.names.clusters) == 50
    assert len(workload.demand) == 500
    assert set(workload.demand.count.tolist()) == {10}
    profiles = zip(workload.demand.cluster.tolist(), workload.demand.profile.tolist(), workload.demand.priority.tolist(), strict=True)  # fmt: skip
    assert len(set(profiles)) == 500


@pytest.mark.parametrize("name", ["one-to-one-warm", "one-to-one-cold"])
def test_a_one_to_one_workload_has_a_need_for_every_machine(name: str) -> None:
    workload = build(name, 3_000)
    assert len(workload.names.clusters) == 3
    assert len(workload.demand) == 3_000
    assert set(workload.demand.count.tolist()) == {1}


def test_a_size_that_does_not_divide_has_all_its_machines_and_says_what_can_be_done() -> None:
    workload = build("one-to-one-cold", 1_003)
    assert len(workload.fleet) == len(workload.demand) == 1_003
    asked = Counter(type_asked(workload, row) for row in range(1_003))
    there = Counter(shape_of(workload, machine).instance_type for machine in range(1_003))
    assert workload.expected.actions == sum(min(asked[name], there[name]) for name in TYPES)


def test_the_realistic_archetypes_have_their_shares(realistic: Workload) -> None:
    workload = realistic
    assert len(workload.fleet) == 60_000
    assert len(workload.names.clusters) == 50
    assert len(workload.demand) == 50_000
    racks = Counter[str]()
    for kind, count in enumerate(counts_of(workload)[:, states.IDLE].tolist()):
        racks[workload.fleet.kinds.shapes[kind].labels["rack"].rpartition("-")[0]] += count
    weights = {"gpu-training": 5, "gpu-inference": 15, "cpu-batch": 35, "cpu-service": 30, "memory-db": 10, "critical-realtime": 5}  # fmt: skip
    assert racks == {f"rack-{name}": weight * 600 for name, weight in weights.items()}
    assert Counter(workload.demand.priority.tolist()) == {
        1_000_000: 2_500,
        # the places of inference are 5 to 19 of every hundred: one more is odd
        1_000: 2_500 + 4_000 + 15_000 + 5_000,
        100: 3_500 + 17_500,
    }
    together = sum(
        workload.demand.profiles.all[profile].same == "rack" for profile in workload.demand.profile.tolist()
    )
    assert together == 2_500 + 5_000
    assert (workload.expected.actions, workload.expected.unmet) == (50_000, 0)


@pytest.mark.parametrize(
    ("machine", "instance_type", "zone", "size", "rack"),
    [
        pytest.param(0, "a3-highgpu-8g", "a", {"nvidia.com/gpu": 8}, "rack-gpu-training-0", id="the first"),
        pytest.param(7, "a3-highgpu-8g", "b", {"nvidia.com/gpu": 16}, "rack-gpu-training-7", id="training"),
        pytest.param(300 + 9, "a2-highgpu-1g", "a", {"nvidia.com/gpu": 2}, "rack-gpu-inference-1", id="inference"),
        pytest.param(1_200 + 11, "n2-standard-32", "c", {"cpu": 32_000, "memory": 64 * GIB}, "rack-cpu-batch-3", id="batch"),
        pytest.param(3_300 + 5, "m6i.2xlarge", "c", {"cpu": 4_000, "memory": 16 * GIB}, "rack-cpu-service-5", id="service"),
        pytest.param(5_100 + 5, "r6i.2xlarge", "b", {"cpu": 8_000, "memory": 128 * GIB}, "rack-memory-db-5", id="database"),
        pytest.param(5_999, "m6i.2xlarge", "c", {"cpu": 16_000, "memory": 32 * GIB}, "rack-critical-realtime-3", id="the last"),
    ],
)  # fmt: skip
def test_a_realistic_machine(
    machine: int, instance_type: str, zone: str, size: dict[str, int], rack: str
) -> None:
    shape = shape_of(build("realistic", 6_000), machine)
    assert (shape.instance_type, shape.zone, shape.allocatable) == (instance_type, zone, size)
    assert shape.labels == {"rack": rack}


@pytest.mark.parametrize(
    ("cluster", "place", "instance_type", "size", "priority"),
    [
        pytest.param(0, 4, "a3-highgpu-8g", {"nvidia.com/gpu": 8}, 1_000, id="training"),
        pytest.param(3, 105, "a2-highgpu-1g", {"nvidia.com/gpu": 2}, 1_000, id="inference, odd"),
        pytest.param(3, 106, "a3-highgpu-1g", {"nvidia.com/gpu": 1}, 100, id="inference, even"),
        pytest.param(1, 20, "n2-standard-32", {"cpu": 4_000, "memory": 8 * GIB}, 100, id="batch begins"),
        pytest.param(1, 54, "c6i.4xlarge", {"cpu": 16_000, "memory": 32 * GIB}, 100, id="batch ends"),
        pytest.param(49, 955, "m6i.xlarge", {"cpu": 16_000, "memory": 64 * GIB}, 1_000, id="service"),
        pytest.param(2, 85, "r6i.2xlarge", {"cpu": 4_000, "memory": 64 * GIB}, 1_000, id="database"),
        pytest.param(2, 99, "m6i.2xlarge", {"cpu": 16_000, "memory": 32 * GIB}, 1_000_000, id="critical"),
    ],
)
def test_a_realistic_need(
    realistic: Workload, cluster: int, place: int, instance_type: str, size: dict[str, int], priority: int
) -> None:
    workload = realistic
    row = cluster * 1_000 + place
    assert workload.demand.cluster[row] == cluster
    assert type_asked(workload, row) == instance_type
    assert unit_asked(workload, row) == size
    assert workload.demand.priority[row] == priority


def test_gangs_are_of_five_sizes_and_three_priorities() -> None:
    workload = build("gangs")
    assert len(workload.fleet) == 60_000
    assert len(workload.fleet.kinds) == 750
    assert set(counts_of(workload)[:, states.IDLE].tolist()) == {80}
    shape = shape_of(workload, 80 * 5 + 79)
    assert shape.labels == {"rack": "rack-000005"}
    assert shape.zone == "c"
    assert shape.allocatable == {"cpu": 16_000, "memory": 64 * GIB}
    assert len(workload.demand) == len(workload.names.clusters) == 2_000
    assert workload.demand.count[:6].tolist() == [4, 8, 16, 32, 64, 4]
    assert workload.demand.count.sum() == 49_600
    assert workload.demand.priority[:4].tolist() == [1_000, 2_000, 3_000, 1_000]
    (profile,) = workload.demand.profiles.all
    assert profile.same == "rack"


def test_one_pool_has_a_need_for_every_fifth_machine() -> None:
    workload = build("one-pool", 1_000)
    assert len(workload.demand) == len(workload.names.clusters) == 200
    assert set(workload.demand.count.tolist()) == {1}
    assert set(workload.demand.priority.tolist()) == {1_000}
    assert shape_of(workload, 13).labels == {"rack": "rack-mem-5"}
    assert shape_of(workload, 13).allocatable == {"cpu": 4_000, "memory": 32 * GIB}
    assert {shape.zone for shape in workload.fleet.kinds.shapes} == {"a"}
    assert {shape.instance_type for shape in workload.fleet.kinds.shapes} == {"r6i.2xlarge"}
    assert (workload.expected.actions, workload.expected.unmet) == (200, 0)


def test_preempt_has_one_more_cluster_above_all_others() -> None:
    workload = build("preempt", 5_000)
    assert len(workload.names.clusters) == 51
    assert len(workload.demand) == 510
    assert workload.demand.cluster[500:].tolist() == [50] * 10
    assert workload.demand.count[500:].tolist() == [20] * 10
    assert workload.demand.priority[500:].tolist() == [100_000] * 10
    assert [type_asked(workload, 500 + place) for place in range(10)] == TYPES * 2
    assert set(workload.fleet.state.tolist()) == {states.CONFIGURED}
    assert workload.policy.rails.preempt_percent is None
    assert workload.expected.actions == 200


def test_a_delta_of_churn_changes_one_machine_and_one_need_in_a_hundred() -> None:
    workload = build("churn", 50_000)
    fleet, demand = workload.fleet, workload.demand
    before = demand.count.copy()
    assert workload.changes is not None
    revisions = fleet.revision, demand.revision
    delta = workload.changes.delta(fleet, demand)
    assert (fleet.revision, demand.revision) == revisions
    delta.apply(fleet, demand, 7)
    table = counts_of(workload).sum(axis=0)
    assert table[states.FAILED] == 93
    assert table[states.IDLE] == 125 + 187
    assert len(fleet) == 50_000 + delta.grows == 50_000 + 187 - 94
    assert fleet.row("churned-00000186") >= 0
    assert (demand.count != before).sum() == 5
    assert (before - demand.count)[demand.count != before].tolist() == [1] * 5
    expected = delta.expected(fleet, demand)
    assert expected.actions is not None
    assert 125 + 187 - 5 <= expected.actions <= 125 + 187 + 5
    assert expected.unmet == 0


def test_needs_that_asked_for_less_ask_again_for_what_they_had() -> None:
    workload = build("churn", 5_000)
    fleet, demand = workload.fleet, workload.demand
    before = demand.count.tolist()
    assert workload.changes is not None
    for _ in range(2):
        workload.changes.delta(fleet, demand).apply(fleet, demand, 7)
    assert demand.count.tolist() == before


def test_the_same_seed_draws_the_same_changes() -> None:
    workload = build("churn", 5_000)

    def drawn(seed: int) -> ChurnDelta:
        return Churn(seed).delta(workload.fleet, workload.demand)

    assert drawn(1).idle == drawn(1).idle
    assert drawn(1).idle != drawn(2).idle


@pytest.mark.parametrize("name", ["preempt", "realistic"])
def test_replacing_makes_everything_as_new_and_counts_anew(name: str) -> None:
    workload = build(name, 6_000)
    fleet, demand = workload.fleet, workload.demand
    kind, counts = fleet.kind.copy(), counts_of(workload).copy()
    fleet.change(np.arange(100), states.FAILED, 5, cluster=-1, need=-1)
    fleet.kind[:] = 0
    demand.recount(np.arange(10), np.full(10, 77))
    demand.priority[:] = 3
    before = fleet.revision, demand.revision
    workload.replace()
    assert fleet.kind.tolist() == kind.tolist()
    assert (counts_of(workload) == counts).all()
    assert fleet.since[:100].tolist() == [0] * 100
    assert demand.count.tolist() == workload.asked.count.tolist()
    assert demand.priority.tolist() == workload.asked.priority.tolist()
    assert fleet.revision > before[0]
    assert demand.revision > before[1]
    demand.count[0] = 99
    assert workload.asked.count[0] != 99


def test_renewed_machines_were_never_heard_of() -> None:
    workload = build("aggregate-warm", 500)
    old = workload.fleet
    workload.renew([f"other-{number}" for number in range(500)])
    assert workload.fleet is not old
    assert workload.fleet.incarnation != old.incarnation
    assert workload.fleet.row("other-499") == 499
    assert workload.fleet.row("machine-00000000") == -1
    assert workload.fleet.cluster.tolist() == old.cluster.tolist()
    assert len(workload.demand) == 500


@pytest.mark.parametrize(
    ("name", "machines", "message"),
    [
        pytest.param("warm", 10, "there is no workload 'warm': choose one of aggregate-warm", id="a name"),
        pytest.param("gangs", 0, "a workload of 0 machines", id="no machines"),
    ],
)
def test_what_is_no_workload_is_refused(name: str, machines: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build(name, machines)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("machines", [1, 7])
def test_the_smallest_workloads_are_workloads(name: str, machines: int) -> None:
    workload = build(name, machines)
    assert len(workload.fleet) == machines
    assert len(workload.demand) > 0
