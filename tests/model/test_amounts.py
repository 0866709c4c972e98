"""Amounts of resources, read."""

from remuda.model.amounts import amounts


def test_what_is_no_quantity_is_left_out() -> None:
    assert amounts({"cpu": "0.5", "memory": "1Gi", "pods": 3, "x": "much", "y": None}) == {
        "cpu": 500,
        "memory": 2**30,
        "pods": 3,
    }
