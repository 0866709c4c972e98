"""What `remuda diagnose host` makes of what a host allows."""

from typing import Any

import pytest

from remuda.diagnose.decide.host import CONTROLLERS, judge_host
from remuda.diagnose.host import Hold, Host, Limit, ProcessPool
from remuda.model.checks import CheckResult

GOOD: dict[str, Any] = {
    "means": "user",
    "separation": "each machine has a user of its own",
    "is_root": True,
    "control_groups": "/sys/fs/cgroup/remuda",
    "controllers": CONTROLLERS,
}
NOTHING = {"means": "none", "separation": "none: a job can do to others whatever its user can"}


def judged(**facts: Any) -> dict[str, CheckResult]:
    return {item.check: item for item in judge_host(Host(**(GOOD | facts)))}


def limited(name: str, how: str, hold: Hold) -> ProcessPool:
    return ProcessPool("shell", limits=(Limit(name, how, hold),))


def test_a_host_that_separates_and_limits_has_no_problem() -> None:
    found = judged(pools=(limited("memory", "control group", "whole"),))
    assert {item.verdict for item in found.values()} == {"ok"}
    assert found["separation"].evidence == ("each machine has a user of its own",)
    assert found["limits"].evidence == ("memory of pool shell: control group",)


def test_without_pools_nothing_is_said_of_their_limits() -> None:
    found = judged(pools=(), controllers=())["limits"]
    assert (found.verdict, found.message) == ("ok", "no pool was given, so that no limit could be judged")
    pool = limited("memory", "control group", "whole")
    assert (
        judged(pools=(pool,), controllers=())["limits"].message
        == "no pool sets a limit that is not enforced here"
    )


@pytest.mark.parametrize(
    ("facts", "message", "evidence", "fix"),
    [
        pytest.param(
            NOTHING | {"is_linux": False},
            "nothing separates jobs",
            "none: a job can",
            "run it on Linux",
            id="no Linux",
        ),
        pytest.param(
            NOTHING, "nothing separates jobs", "none: a job can", "CAP_SYS_ADMIN", id="root in a container"
        ),
        pytest.param(
            NOTHING | {"is_root": False, "forbidding": ("user.max_user_namespaces=0",)},
            "nothing separates jobs",
            "none: a job can",
            "permit namespaces of users: user.max_user_namespaces=0 forbids them",
            id="a setting of the kernel",
        ),
        pytest.param(
            NOTHING | {"is_root": False},
            "nothing separates jobs",
            "none: a job can",
            "as root",
            id="unknown why",
        ),
        pytest.param(
            NOTHING | {"pools": (ProcessPool("safe", "required"),)},
            "nothing separates jobs",
            "pool safe must have it and so can make no machine",
            "CAP_SYS_ADMIN",
            id="a pool that needs it",
        ),
        pytest.param(
            {
                "means": "landlock",
                "separation": "Landlock: a job cannot read",
                "gaps": ("signal other processes of its user",),
            },
            "jobs are separated in part",
            "Landlock: a job cannot read",
            "Linux 6.12",
            id="an old Landlock",
        ),
        pytest.param(
            {"means": "landlock", "separation": "Landlock", "gaps": ("open Remuda's files, because …",)},
            "jobs are separated in part",
            "Landlock",
            "--data-dir",
            id="data that Landlock cannot cover",
        ),
        pytest.param(
            {"pools": (ProcessPool("a", "none"), ProcessPool("b", "none"), ProcessPool("c"))},
            "jobs of 2 pools are not separated, as the pool says",
            "pools a, b say separation: none",
            "leave out separation: none",
            id="pools that do not want it",
        ),
    ],
)
def test_a_lack_of_separation_is_a_problem_with_what_would_help(
    facts: dict[str, Any], message: str, evidence: str, fix: str
) -> None:
    found = judged(**facts)["separation"]
    assert found.verdict == "problem"
    assert message in found.message
    assert any(evidence in line for line in found.evidence)
    assert any(fix in line for line in found.fix)


def test_what_could_not_be_tried_is_unknown_and_no_problem() -> None:
    found = judged(**NOTHING, trouble="it took longer than 20 s")["separation"]
    assert (found.verdict, found.evidence) == ("unknown", ("it took longer than 20 s",))


@pytest.mark.parametrize(
    ("pool", "facts", "message", "fix"),
    [
        (
            limited("cpu", "not enforced: …", "none"),
            {},
            "1 limit not enforced",
            "passes on too few controllers",
        ),
        (
            limited("cpu", "not enforced: …", "none"),
            {"control_groups": ""},
            "1 limit not enforced",
            "Delegate=yes",
        ),
        (
            limited("memory", "each process for itself", "part"),
            {"controllers": ("cpu",)},
            "limits hold for each process alone",
            "(it has cpu)",
        ),
        (limited("cpu", "not enforced: …", "none"), {"is_linux": False}, "1 limit not enforced", "on Linux"),
    ],
)
def test_a_limit_that_does_not_hold_is_a_problem(
    pool: ProcessPool, facts: dict[str, Any], message: str, fix: str
) -> None:
    found = judged(**({"controllers": ()} | facts), pools=(pool,))["limits"]
    assert (found.verdict, found.message) == ("problem", message)
    assert found.evidence == (f"{pool.limits[0].name} of pool shell: {pool.limits[0].how}",)
    assert any(fix in line for line in found.fix)


def test_missing_controllers_are_no_problem_while_no_pool_needs_them() -> None:
    found = judged(controllers=("cpu",))["limits"]
    assert found.verdict == "ok"
    assert "there is no control group with memory, pids" in found.evidence[0]
