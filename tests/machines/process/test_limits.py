import pytest

from remuda.machines.process.limits import enforcement, rlimits
from remuda.machines.process.sandbox import OWN_PROCESSES
from remuda.machines.process.spec import Limits, Means

ALL = Limits(memory=5, cpu_millis=6, processes=7, open_files=8, file_size=9)
CONTROLLERS = frozenset({"memory", "cpu", "pids"})


@pytest.mark.parametrize(
    ("means", "processes"),
    [
        pytest.param(Means.USER, {"NPROC": 7}, id="a user of its own has a count of its own"),
        pytest.param(Means.NAMESPACES, {"NPROC": 7 + OWN_PROCESSES}, id="one of a namespace is ours"),
        pytest.param(Means.LANDLOCK, {}, id="a count of all processes of a user is no limit of a machine"),
        pytest.param(Means.NONE, {}, id="nor is it without separation"),
    ],
)
def test_limits_that_no_controller_enforces_are_left_to_the_shim(
    means: Means, processes: dict[str, int]
) -> None:
    assert rlimits(ALL, frozenset(), means) == {"DATA": 5, **processes, "NOFILE": 8, "FSIZE": 9}
    assert ("not enforced" not in enforcement(ALL, frozenset(), means)["processes"]) == bool(processes)
    assert rlimits(ALL, CONTROLLERS, means) == {"NOFILE": 8, "FSIZE": 9}


def test_how_each_limit_is_enforced_is_said_of_those_that_are_set() -> None:
    assert enforcement(Limits(), frozenset(), Means.NONE) == {}
    found = enforcement(ALL, frozenset(), Means.NONE)
    assert list(found) == ["memory", "cpu", "processes", "openFiles", "fileSize"]
    assert found["memory"].startswith("each process for itself")
    assert found["cpu"] == "not enforced: no control group with the cpu controller may be made here"
    assert enforcement(ALL, CONTROLLERS, Means.NONE)["cpu"] == "control group"
