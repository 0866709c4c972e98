"""Which engine decides: the interpreted one where it is done before Numba would be loaded."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fleet.builders import demand_of, fleet_of, machines, need, shape

from remuda.fleet.decide.engine import NUMPY, choose, fitting

ROOT = Path(__file__).parents[3]


def test_a_small_fleet_needs_no_compiled_kernels() -> None:
    fleet = fleet_of(machines(100, shape()))
    assert fitting(fleet, demand_of(fleet, need())) is NUMPY


@pytest.mark.slow
def test_many_machines_are_worth_compiled_kernels() -> None:
    fleet = fleet_of(machines(20_001, shape()))
    assert fitting(fleet, demand_of(fleet, need())) is choose()


def test_many_needs_of_many_kinds_are_worth_compiled_kernels() -> None:
    fleet = fleet_of(*(machines(1, shape(rack=f"r{number}")) for number in range(101)))
    demand = demand_of(fleet, *(need(f"n{number}") for number in range(100)))
    assert fitting(fleet, demand) is choose()


@pytest.mark.slow
def test_a_decision_on_small_files_does_not_load_numba() -> None:
    script = """
import sys
from remuda.cli.tree import main
sys.argv = ["remuda", "fleet", "plan", "--inventory", "examples/fleet-inventory.yaml", "--demand", "examples/fleet-demand.yaml"]
try:
    main()
except SystemExit:
    pass
print("numba" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("False True\n")
