"""What a container asks for in the end, what a pod reserves, and what is an advisor's word."""

import pytest
from tests.rightsize.decide.builders import MI, advice, evidence, size

from remuda.rightsize.decide.context import counted, is_advice, requested, reserved
from remuda.rightsize.snapshot import Ask, InitContainer, Size


def test_advice_is_an_estimate_of_an_advisor_without_samples() -> None:
    assert is_advice(advice())
    assert not is_advice(evidence())
    assert not is_advice(evidence(cpu_samples=0, memory_samples=0))
    assert not is_advice(evidence(origin="vpa shop/web", memory_samples=0))
    assert not is_advice(evidence(origin="vpa shop/web", cpu_samples=0))


def test_a_limit_alone_is_the_request_and_what_is_not_set_is_given() -> None:
    assert [requested(size(cpu_limit=7, memory_limit=9), "cpu"), requested(size(5, cpu_limit=7), "cpu")] == [
        7,
        5,
    ]
    assert requested(size(memory_limit=9), "memory") == 9 * MI
    assert requested(size(memory=3, memory_limit=9), "memory") == 3 * MI
    given = size(1, 2, 3, 4)
    assert counted(Size(), given) == given
    assert counted(size(cpu_limit=30), given) == Size(Ask(30, 2 * MI), Ask(30, 4 * MI))


@pytest.mark.parametrize(
    ("initial", "cores"),
    [
        pytest.param((), 150, id="the sum"),
        pytest.param((InitContainer("a", size(149)),), 150, id="one that asks for less"),
        pytest.param((InitContainer("a", size(151)),), 151, id="one that asks for more"),
        pytest.param(
            (InitContainer("a", size(101), ("side",)),), 151, id="beside a sidecar that runs by then"
        ),
        pytest.param(
            (InitContainer("a", size(151), ("other",)),), 151, id="beside one that asks for nothing"
        ),
        pytest.param(
            (InitContainer("a", size(160)), InitContainer("b", size(155))), 160, id="the most of two"
        ),
        pytest.param((InitContainer("a", Size(), ("main", "side")),), 170, id="with what is given to it"),
    ],
)
def test_a_pod_reserves_its_sum_or_more_while_an_init_container_runs(
    initial: tuple[InitContainer, ...], cores: int
) -> None:
    amounts = {"main": 100, "side": 50}
    assert reserved(amounts, initial, lambda size: size.requests.cpu_millicores, size(20)) == cores


def test_an_init_container_that_asks_for_nothing_adds_nothing_to_the_sidecars_beside_it() -> None:
    initial = (InitContainer("a", Size(), ("side",)),)
    assert reserved({"side": 50}, initial, lambda size: size.requests.cpu_millicores, Size()) == 50
