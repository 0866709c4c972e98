"""What matters most comes first; what is wasted is counted."""

from random import Random

import msgspec
import pytest
from tests.rightsize.decide.builders import (
    MI,
    NOW,
    container,
    days,
    evidence,
    judge,
    memory_of,
    size,
    the,
    the_workload,
    workload,
)

from remuda.model.workloads import WorkloadId
from remuda.rightsize.decide.order import ordered
from remuda.rightsize.decide.waste import waste_of
from remuda.rightsize.evidence import Evidence
from remuda.rightsize.objects import Price, PricesSpec, RightsizePolicySpec
from remuda.rightsize.review import ContainerReview, Waste, WorkloadReview
from remuda.rightsize.snapshot import Ask, Container, InitContainer, Size, Workload

PRICED = RightsizePolicySpec(prices=PricesSpec(Price(0.04), Price(0.005), "EUR"))
LEAK = evidence(days=days([300, 310, 320, 330, 340, 350, 360, 370]))


def named(name: str, part: Container, replicas: int = 1, namespace: str = "shop") -> Workload:
    return workload(part, id=WorkloadId(namespace, "Deployment", name), replicas=replicas)


def test_risk_comes_first_then_waste_then_names() -> None:
    kept = container(memory=500, memory_limit=672)
    workloads = [
        named("b-kept", kept),
        named("a-kept", kept),
        named("little", container(memory=600)),
        named("much", container(memory=2000, memory_limit=2000)),
        named("starved", container(cpu=10)),
        named("leak", container()),
        named("oom", container(memory=200, memory_limit=200)),
        named("worse", container(memory=100, memory_limit=100)),
    ]
    known = {(each.id, "main"): LEAK if each.id.name == "leak" else evidence() for each in workloads}
    Random(1).shuffle(workloads)
    made = judge(*workloads, known=known)
    order = ["worse", "oom", "leak", "starved", "much", "little", "a-kept", "b-kept"]
    assert [each.name for each in made.workloads] == order


def test_a_workload_is_at_the_gravest_risk_of_its_containers() -> None:
    parts = [container("fine"), container("starved", cpu=10), container("oom", memory=200, memory_limit=200)]
    for some in (parts, parts[::-1]):
        assert the_workload(judge(workload(*some))).risk == "will-oom"
    assert the_workload(judge(workload(*parts[:2]))).risk == "starved"


def test_without_prices_shares_of_cores_and_memory_are_added() -> None:
    cores = named("cores", container(cpu=1100, memory=500, memory_limit=672))
    memory = named("memory", container(memory=1524, memory_limit=1524))
    # 1000m of 1200m are a larger share than 1024Mi of 2024Mi
    assert [each.name for each in judge(cores, memory).workloads] == ["cores", "memory"]
    assert [each.name for each in judge(cores, memory, policy=PRICED).workloads] == ["cores", "memory"]
    dear = RightsizePolicySpec(prices=PricesSpec(Price(0.001), Price(0.5)))
    assert [each.name for each in judge(cores, memory, policy=dear).workloads] == ["memory", "cores"]


def test_waste_is_what_all_replicas_request_beyond_the_recommendation() -> None:
    made = judge(named("web", container(cpu=1100, memory=1524, memory_limit=2000), 3), policy=PRICED)
    waste = the_workload(made).waste
    assert (waste.cpu_millicores, waste.memory_bytes) == (3000, 3 * 1024 * MI)
    assert waste.monthly == pytest.approx(730 * (3 * 0.04 + 3 * 0.005))
    assert (made.waste, made.currency) == (waste, "EUR")


@pytest.mark.parametrize(
    ("wasted", "order"),
    [
        pytest.param(201, ["cores", "bytes"], id="more than a fifth of all cores"),
        pytest.param(200, ["bytes", "cores"], id="a fifth of both: by name"),
    ],
)
def test_shares_are_of_what_all_replicas_request(wasted: int, order: list[str]) -> None:
    """Ten replicas of 100m are 1000m; what asks for no CPU or no memory adds nothing to the whole."""
    cores = ContainerReview("main", size(100), size(100), "keep")
    some = ContainerReview("main", Size(Ask(None, 500)), Size(Ask(None, 500)), "keep")
    made = ordered(
        [
            WorkloadReview("shop", "Deployment", "cores", 10, None, (cores,), waste=Waste(wasted)),
            WorkloadReview("shop", "Deployment", "bytes", 2, None, (some,), waste=Waste(0, 200)),
        ]
    )
    assert [each.name for each in made] == order


def test_what_is_not_set_counts_as_nothing() -> None:
    assert waste_of([ContainerReview("new", Size(), size(50), "raise")], 1, None) == Waste(-50)
    assert waste_of([ContainerReview("gone", size(20), Size(), "lower")], 1, None) == Waste(20)


def test_what_an_init_container_is_given_stays_reserved() -> None:
    part = ContainerReview("main", size(300), size(50), "lower", defaults=size(100))
    assert waste_of([part], 2, None, [InitContainer("setup")]) == Waste(2 * (300 - 100))
    assert waste_of([part], 2, None) == Waste(2 * (300 - 50))
    assert waste_of([], 2, None) == Waste()


def test_without_prices_there_is_no_money() -> None:
    made = judge()
    assert (made.waste.monthly, made.currency) == (None, "")


def test_what_is_missing_is_waste_below_zero() -> None:
    waste = the_workload(judge(named("web", container(cpu=50, memory=400, memory_limit=400), 2))).waste
    assert (waste.cpu_millicores, waste.memory_bytes) == (-100, -200 * MI)


def test_a_limit_alone_counts_as_request() -> None:
    waste = the_workload(judge(named("web", container(memory=None, memory_limit=1500)))).waste
    assert waste.memory_bytes == 1000 * MI


def test_the_whole_is_the_sum() -> None:
    made = judge(named("a", container()), named("b", container(cpu=10)), named("c", container(), 4))
    assert made.waste.memory_bytes == sum(each.waste.memory_bytes for each in made.workloads)
    assert made.waste.cpu_millicores == sum(each.waste.cpu_millicores for each in made.workloads)


def young() -> Evidence:
    return evidence(first=NOW - 60, confidence=0.01)


@pytest.mark.parametrize(
    ("before", "known", "verdict"),
    [
        pytest.param(container(), evidence(), "lower", id="all goes down"),
        pytest.param(container(memory=300, memory_limit=300), evidence(), "raise", id="all goes up"),
        pytest.param(container(memory=300), evidence(), "raise", id="the request goes up, the limit down"),
        pytest.param(container(cpu=50), evidence(), "raise", id="CPU goes up, memory down"),
        pytest.param(container(cpu=None, memory=500, memory_limit=672), evidence(), "raise", id="CPU is not set"),
        pytest.param(container(memory=500, memory_limit=None), evidence(), "lower", id="a limit where there was none"),
        pytest.param(container(memory=500, memory_limit=672, cpu_limit=500), evidence(), "raise", id="a CPU limit goes"),
        pytest.param(container(cpu_limit=500), evidence(), "lower", id="all goes down, and a CPU limit goes"),
        pytest.param(container(memory=500, memory_limit=672), evidence(), "keep", id="it is right"),
        pytest.param(container(cpu=91, memory=455, memory_limit=620), evidence(), "keep", id="less than a tenth away"),
        pytest.param(container(cpu=111, memory=540, memory_limit=740), evidence(), "keep", id="also above"),
        pytest.param(container(memory=500, memory_limit=610), evidence(), "raise", id="a limit a tenth away"),
        pytest.param(container(memory=560, memory_limit=672), evidence(), "lower", id="a request a tenth away"),
        pytest.param(container(cpu=112, memory=500, memory_limit=672), evidence(), "lower", id="CPU a tenth away"),
        pytest.param(container(memory=500, memory_limit=672), young(), "keep", id="young and right"),
        pytest.param(
            container(memory=500, memory_limit=650), evidence(peak=600), "raise", id="a limit near, below what is needed"
        ),
        pytest.param(
            container(cpu=95, memory=500, memory_limit=672), evidence(cpu=(100, 96, 120)), "raise", id="near, below its bounds"
        ),
        pytest.param(
            container(cpu=105, memory=500, memory_limit=672), evidence(cpu=(100, 96, 104)), "lower", id="near, above its bounds"
        ),
        pytest.param(
            container(memory=490, memory_limit=672), evidence((500, 495, 560)), "raise", id="memory near, below its bounds"
        ),
    ],
)  # fmt: skip
def test_one_word_for_all_values_of_a_container(before: Container, known: Evidence, verdict: str) -> None:
    one = the(judge(workload(before), known=known))
    assert one.verdict == verdict
    assert (one.recommended == one.now) is (verdict == "keep")


@pytest.mark.parametrize(
    ("memory", "limit", "verdict"),
    [
        (672, 672, "keep"),
        (650, 650, "keep"),
        (740, 740, "keep"),
        (672, 700, "lower"),
        (672, None, "lower"),
        (600, 600, "raise"),
    ],
)
def test_tiers_0_to_2_keep_what_is_near_only_when_request_and_limit_are_the_same(
    memory: int, limit: int | None, verdict: str
) -> None:
    assert the(judge(workload(container(memory=memory, memory_limit=limit), tier="1"))).verdict == verdict


@pytest.mark.parametrize(
    ("first", "beside", "saved"),
    [
        pytest.param(0, 0, 464, id="without any, all that is lowered is saved"),
        pytest.param(1700, 0, 300, id="what it asks for stays reserved"),
        pytest.param(3000, 0, 0, id="one that asks for more than the rest: nothing is saved"),
        pytest.param(1700, 200, 300, id="beside the sidecar that runs by then"),
    ],
)
def test_an_init_container_reserves_what_it_asks_for(first: int, beside: int, saved: int) -> None:
    side = Container("side", Size(Ask(1, beside * MI), Ask(None, beside * MI)), is_sidecar=True)
    item = msgspec.structs.replace(
        workload(container(memory=2000, memory_limit=2000), replicas=2),
        initial=(InitContainer("setup", Size(Ask(0, first * MI)), ("side",) if beside else ()),),
    )
    item = msgspec.structs.replace(item, containers=(*item.containers, side) if beside else item.containers)
    policy = RightsizePolicySpec(default_tier=0)
    made = judge(item, known={(item.id, "main"): evidence(memory=(1200, 1100, 1260))}, policy=policy)
    assert memory_of(the(made)) == (1536, 1536)
    assert the_workload(made).waste.memory_bytes == 2 * saved * MI
