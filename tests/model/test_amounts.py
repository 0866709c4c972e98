"""Amounts of resources, read and told."""

import pytest

from remuda.model.amounts import KVM, amounts, told_amount


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("cpu", 2000, "2 CPU"),
        ("cpu", 1500, "1500m CPU"),
        ("memory", 3 * 2**29, "1.5Gi memory"),
        ("memory", 2**40, "1Ti memory"),
        ("memory", 12, "12 memory"),
        ("pods", 2048, "2048 pods"),
        (KVM, 1, f"1 {KVM}"),
    ],
)
def test_an_amount_is_told_as_a_person_writes_it(name: str, value: int, told: str) -> None:
    assert told_amount(name, value) == told


def test_what_is_no_quantity_is_left_out() -> None:
    assert amounts({"cpu": "0.5", "memory": "1Gi", "pods": 3, "x": "much", "y": None}) == {
        "cpu": 500,
        "memory": 2**30,
        "pods": 3,
    }
