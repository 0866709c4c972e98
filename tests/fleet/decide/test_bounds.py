"""
A table that does not hold together stops a decision before a compiled kernel reads or writes beyond its end.

At the end, the tests of the kernels and of the judgement once more, with Numba checking every index of the compiled engine.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.fleet.builders import fleet_of, machines, need, shape, work_of

from remuda.errors import InvariantError
from remuda.fleet.decide.bounds import check_crediting, check_index, check_serving
from remuda.fleet.decide.serve import Groups, _group
from remuda.fleet.decide.work import Work
from remuda.fleet.policy import Policy, Quota, Rails

ROOT = Path(__file__).parents[3]
#: What goes through every kernel: fleets that stress each table, drawn worlds cycle by cycle, and the rules by example.
_TESTS = (
    "tests/fleet/decide/test_kernels.py",
    "tests/fleet/test_determinism.py::test_the_compiled_engine_gives_the_plans_of_the_reference",
    "tests/fleet/decide/test_destroying.py",
    "tests/fleet/decide/test_found_by_simulation.py",
    "tests/fleet/decide/test_special_lives.py",
)


def serving() -> tuple[Work, Groups]:
    """Two kinds, two quotas, two needs: the tables of all lengths differ."""
    rails = Rails(quotas=(Quota("p", 9), Quota("p", 8), Quota("q", 7)), spending={"p": 10**9})
    kinds = [shape(zone, provider=provider) for zone, provider in (("a", "p"), ("b", "q"))]
    fleet = fleet_of(*(machines(1, kind) for kind in kinds))
    work = work_of(fleet, need("n", 2), need("m", 3), policy=Policy(rails=rails))
    return work, _group(work)


@pytest.mark.parametrize(
    ("what", "column", "wrong"),
    [
        ("units of groups", 3, 0),
        ("list of kinds", 4, -1),
        ("list of kinds", 4, 1),
        ("profile of groups", 6, -1),
        ("profile of groups", 6, 1),
    ],
)
def test_a_row_of_a_group_that_points_nowhere_is_refused(what: str, column: int, wrong: int) -> None:
    work, groups = serving()
    check_serving(work, groups)
    groups.table[-1, column] = wrong
    with pytest.raises(InvariantError, match=what):
        check_serving(work, groups)


@pytest.mark.parametrize(
    ("what", "column", "wrong"),
    [("list of kinds", "starts", 3), ("eligible kind", "kinds", 2), ("units that fit", "fits", 0)],
)
def test_a_list_of_kinds_that_leaves_its_table_is_refused(what: str, column: str, wrong: int) -> None:
    work, groups = serving()
    getattr(groups, column)[-1] = wrong
    with pytest.raises(InvariantError, match=what):
        check_serving(work, groups)


def shorter(table: np.ndarray, axis: int) -> np.ndarray:
    return np.delete(table, 0, axis)


@pytest.mark.parametrize(
    ("what", "path", "axis"),
    [
        ("units that fit", "groups.fits", 0),
        ("free machines", "work.free", 0),
        ("free machines", "work.free", 1),
        ("wanted", "work.contenders", 0),
        ("counted by quotas", "work.limits.counts", 0),
        ("counted by quotas", "work.limits.counts", 1),
        ("bites of quotas", "work.limits.quota_bites", 0),
        ("bites of caps", "work.limits.money_bites", 0),
        ("allocatable", "work.fleet.kinds.allocatable", 0),
        ("allocatable", "work.fleet.kinds.allocatable", 1),
        ("units of profiles", "work.demand.profiles.unit", 1),
        ("price of kinds", "work.fleet.kinds.price", 0),
        ("interruption of kinds", "work.fleet.kinds.interruption", 0),
        ("provider of kinds", "work.fleet.kinds.provider", 0),
    ],
)
def test_a_table_that_is_too_short_is_refused(what: str, path: str, axis: int) -> None:
    work, groups = serving()
    *owners, name = path.split(".")
    owner: object = {"work": work, "groups": groups}[owners[0]]
    for each in owners[1:]:
        owner = getattr(owner, each)
    object.__setattr__(owner, name, shorter(getattr(owner, name), axis))
    with pytest.raises(InvariantError, match=what):
        check_serving(work, groups)


def test_a_provider_beyond_those_that_have_a_cap_is_refused() -> None:
    work, groups = serving()
    work.fleet.kinds.provider[0] = len(work.limits.money)
    with pytest.raises(InvariantError, match="provider of kinds"):
        check_serving(work, groups)


def credited(**wrong: np.ndarray) -> None:
    """Two machines of two kinds, two needs of two profiles; the last row is that of no need."""
    columns = {
        "state": np.zeros(2, np.int8),
        "kind": np.array([0, 1], np.int32),
        "need": np.array([-1, 1], np.int32),
        "row_of": np.array([0, 1, -1], np.int32),
        "profile": np.array([0, 1], np.int32),
        "fit": np.ones((2, 2), np.int64),
    }
    check_crediting(**(columns | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("kind", [0], "kind of machines"),
        ("kind", [0, 2], "kind of machines"),
        ("kind", [0, -1], "kind of machines"),
        ("need", [0], "need of machines"),
        ("need", [0, 2], "need of machines"),
        ("need", [0, -2], "need of machines"),
        ("row_of", [0, 2, -1], "row of needs"),
        ("row_of", [0, -2, -1], "row of needs"),
        ("row_of", [0, -1, 0], "the row of no need"),
        ("row_of", [0, -1, 1], "the row of no need"),
        ("profile", [0, 2], "profile of needs"),
        ("profile", [0, -1], "profile of needs"),
    ],
)
def test_columns_of_machines_and_needs_that_point_nowhere_are_refused(
    column: str, value: list[int], what: str
) -> None:
    credited()
    with pytest.raises(InvariantError, match=what):
        credited(**{column: np.array(value, np.int32)})


def test_an_index_is_from_nought_up_to_the_length() -> None:
    check_index("row", np.array([0, 4]), 5)
    check_index("row", np.zeros(0, np.int64), 0)
    with pytest.raises(InvariantError, match="row is 0 to 5, outside 0 to 4"):
        check_index("row", np.array([0, 5]), 5)


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
