"""Which engine decides: the interpreted one where it is done before Numba would be loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.fleet.decide.engine import NUMPY, choose, fitting

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("machines", "needs", "kinds", "engine"),
    [
        pytest.param(100, 1, 1, "numpy", id="a small fleet"),
        pytest.param(20_000, 100, 100, "numpy", id="up to the bounds"),
        pytest.param(20_001, 1, 1, "numba", id="many machines"),
        pytest.param(100, 100, 101, "numba", id="many needs of many kinds"),
    ],
)
def test_compiled_kernels_are_worth_it_for_many_machines_or_many_needs_of_many_kinds(
    machines: int, needs: int, kinds: int, engine: str
) -> None:
    assert fitting(machines, needs * kinds).name == engine


def test_without_numba_the_reference_decides_unless_numba_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert choose.__wrapped__() is NUMPY
    with pytest.raises(BadInput, match="needs Numba"):
        choose.__wrapped__("numba")
    with pytest.raises(BadInput, match="there is no engine 'abacus'"):
        choose("abacus")


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
