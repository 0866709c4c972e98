"""The tests of the kernels and of the judgement once more, with Numba checking every index of the compiled engine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: What goes through every kernel: fleets that stress each table, drawn worlds cycle by cycle, and the rules by example.
_TESTS = (
    "tests/fleet/decide/test_kernels.py",
    "tests/fleet/test_determinism.py::test_the_compiled_engine_gives_the_plans_of_the_reference",
    "tests/fleet/decide/test_destroying.py",
    "tests/fleet/decide/test_found_by_simulation.py",
    "tests/fleet/decide/test_special_lives.py",
)


@pytest.mark.slow
def test_no_compiled_kernel_leaves_its_tables() -> None:
    # Kernels that check are compiled once for a tree: Numba compiles anew what was changed, and keeps them apart by place.
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(ROOT / ".cache" / "numba-that-checks-bounds"),
        "FLEET_ENGINE": "numba",
    }
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", *_TESTS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
