"""Which tests stay together when they are shared out."""

from pathlib import Path

from tests.spread import SINGLY, unit

ROOT = Path(__file__).parents[1]


def test_tests_of_a_file_stay_together_and_long_ones_that_share_nothing_go_singly() -> None:
    assert unit("tests/kube/test_lease.py::test_a[b::c]") == unit("tests/kube/test_lease.py::test_b")
    assert unit("tests/sim/test_fleet.py::test_a[20]") != unit("tests/sim/test_fleet.py::test_a[60]")


def test_what_goes_singly_is_there() -> None:
    assert all((ROOT / place).exists() for place in SINGLY)
