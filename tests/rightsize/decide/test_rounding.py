"""Whole numbers: ratios and steps, always rounded up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.decide.builders import GI, MI, container, workload

from remuda.model.amount_texts import quantity
from remuda.rightsize.decide import words
from remuda.rightsize.decide.clamps import within_ratios
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.decide.rounding import round_up, scaled, step_of
from remuda.rightsize.snapshot import LimitRange


@pytest.mark.parametrize(
    ("amount", "rounded"),
    [
        pytest.param(0, 0, id="nothing"),
        pytest.param(1, 16 * MI, id="a byte is a step"),
        pytest.param(16 * MI, 16 * MI, id="a step stays"),
        pytest.param(16 * MI + 1, 32 * MI, id="a byte more is the next"),
        pytest.param(GI - 16 * MI + 1, GI, id="the last step below 1Gi ends there"),
        pytest.param(GI - 1, GI, id="a byte below 1Gi"),
        pytest.param(GI, GI, id="1Gi stays"),
        pytest.param(GI + 1, GI + 64 * MI, id="a byte above 1Gi"),
        pytest.param(8 * GI - 1, 8 * GI, id="a byte below 8Gi"),
        pytest.param(8 * GI, 8 * GI, id="8Gi stays"),
        pytest.param(8 * GI + 1, 8 * GI + 256 * MI, id="a byte above 8Gi"),
    ],
)
def test_memory_is_rounded_up_to_steps_that_grow(amount: int, rounded: int) -> None:
    assert round_up(amount) == rounded


def test_a_step_is_larger_from_1_and_8_gibibytes_on() -> None:
    sizes = (GI - 1, GI, 8 * GI - 1, 8 * GI)
    assert [step_of(size) // MI for size in sizes] == [16, 64, 64, 256]


@given(st.integers(0, 2**45), st.integers(0, 2**45))
def test_rounding_keeps_order_and_adds_less_than_a_step(one: int, other: int) -> None:
    assert one <= round_up(one) < one + step_of(one)
    assert round_up(round_up(one)) == round_up(one)
    assert round_up(min(one, other)) <= round_up(max(one, other))


@pytest.mark.parametrize(
    ("amount", "made"), [(10, 12), (11, 14), (1, 2), (0, 0), (10**18 + 1, 12 * 10**17 + 2)]
)
def test_a_ratio_is_exact_and_rounded_up(amount: int, made: int) -> None:
    assert scaled(amount, 12, 10) == made


@pytest.mark.parametrize(("limit", "ratio", "expected"), [(1000, 3.0, 334), (1000, 2.0, 500), (1, 1.5, 1)])
def test_a_request_that_a_ratio_asks_for_is_in_whole_mebibytes(
    limit: int, ratio: float, expected: int
) -> None:
    item = workload(container())
    made = within_ratios(
        0,
        limit * MI,
        [LimitRange("shop", "x", "Container", memory_ratio=ratio)],
        Explanation(item, item.containers[0]),
    )
    assert made == expected * MI


def test_amounts_of_krr_are_written_as_people_do() -> None:
    assert words.quantity(115_000_000) == quantity("memory", 115_000_000) == "115M"
