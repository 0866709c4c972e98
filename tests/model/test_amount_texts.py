"""Amounts as they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.amount_texts import amount_text, amounts_text, bytes_text, exact_text, figure, quantity
from remuda.model.amounts import KVM, amount

GIB = 2**30


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 2000, "2 CPU"),
        ("cpu", 1500, "1.5 CPU"),
        ("cpu", 1_200_000, "1,200 CPU"),
        ("memory", 3 * 2**29, "1.5Gi memory"),
        ("memory", 2**40, "1Ti memory"),
        ("memory", 12, "12 memory"),
        ("memory", -3 * GIB, "-3Gi memory"),
        ("ephemeral-storage", 32 * 2**20, "32Mi ephemeral storage"),
        ("hugepages-2Mi", 2**21, "2Mi hugepages-2Mi"),
        ("pods", 2048, "2048 pods"),
        (KVM, 1, f"1 {KVM}"),
    ],
)
def test_an_amount_stands_in_a_sentence(resource: str, value: int, text: str) -> None:
    assert amount_text(resource, value) == text


def test_some_or_all_amounts_are_listed() -> None:
    both = {"memory": GIB, "cpu": 500, "pods": 1}
    assert amounts_text(both) == "1Gi memory, 0.5 CPU, 1 pods"
    assert amounts_text(both, ("cpu", "memory", "storage")) == "0.5 CPU, 1Gi memory"
    assert amounts_text(both, ()) == amounts_text({}) == "nothing"


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 587, "587m"),
        ("cpu", 2000, "2"),
        ("memory", 512 * 2**20, "512Mi"),
        ("memory", 500_000_000, "500M"),
        ("memory", 2_000_000_000, "2G"),
        ("memory", 2048, "2Ki"),
        ("memory", 1, "1"),
        ("storage", 0, "0"),
        ("nvidia.com/gpu", 1024, "1024"),
    ],
)
def test_a_quantity_is_as_one_writes_it(resource: str, value: int, text: str) -> None:
    assert quantity(resource, value) == text


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("memory", 0, "0"),
        ("memory", 3 * GIB, "3Gi"),
        ("memory", 1536 * 2**20, "1536Mi"),
        ("memory", 1_000_000, "1000000 (1.0Mi)"),
    ],
)
def test_an_amount_that_a_person_checks_is_exact(resource: str, value: int, text: str) -> None:
    assert exact_text(resource, value) == text


@given(st.sampled_from(["cpu", "memory", "pods", "example.com/x"]), st.integers(0, 2**50))
def test_a_quantity_is_exact(resource: str, value: int) -> None:
    assert amount(resource, quantity(resource, value)) == value


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("memory", 54 * GIB + 730_000_000, "54.68"),
        ("memory", 1024 * GIB, "1,024.00"),
        ("ephemeral-storage", 0, "0.00"),
        ("pods", 1100, "1,100"),
        ("memory", None, "-"),
    ],
)
def test_a_figure_is_a_number_of_cores_gibibytes_or_pieces(
    resource: str, value: int | None, text: str
) -> None:
    assert figure(resource, value) == text


def test_bytes_are_of_the_largest_unit_that_they_fill() -> None:
    assert [bytes_text(value) for value in (1023, 1536, 2**20, 2**40)] == ["1023", "1.5Ki", "1Mi", "1Ti"]
