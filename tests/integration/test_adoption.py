"""A separated job outlives the Remuda that started it: the next one takes it over, as separated as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.adoption import adopt
from tests.machines.process.hostile import RIGHTS
from tests.processes import place

from remuda.machines.process import landlock

ORDINARY = 61_998
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="only root can become other users"
    ),
]


def as_ordinary(means: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.integration.adoption", means, str(ORDINARY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def check(found: dict[str, Any], uid: str) -> None:
    assert found["is_adopted"], found
    assert found["victim"] == ["failed", 7, 1], "its own end, and no second attempt"
    assert found["output"] == ["kept", "home", uid]


def test_a_job_with_a_user_of_its_own_is_taken_over(tmp_path: Path) -> None:
    with place() as made:
        shared = made.home.with_name(f"{made.home.name}-shared")
        shared.mkdir(mode=0o755)
        try:
            found = adopt(made, shared)
        finally:
            for left in shared.iterdir():
                left.unlink()
            shared.rmdir()
    uid = found["separation"].partition("(")[2].partition(")")[0]
    assert "each machine has a user of its own" in found["separation"]
    check(found, uid)
    assert set(found["could"]) == RIGHTS
    for new in found["new"]:
        assert "each machine has a user of its own" in new
        assert f"({uid})" not in new, "no two machines share a user, also not with one that was taken over"


def test_a_job_in_namespaces_is_taken_over() -> None:
    found = as_ordinary("namespaces")
    assert "each machine has namespaces of its own" in found["separation"]
    check(found, str(ORDINARY))
    assert set(found["could"]) == RIGHTS


@pytest.mark.skipif(
    landlock.version() < landlock.SIGNALS_SINCE, reason="the kernel's Landlock knows no signals"
)
def test_a_job_that_only_landlock_separates_is_taken_over() -> None:
    found = as_ordinary("landlock")
    assert found["separation"].startswith(
        "Landlock: a job cannot read or trace other processes or signal them"
    )
    check(found, str(ORDINARY))
    assert set(found["could"]) == RIGHTS | {"see the control socket"}
