"""What a diagnosis finds on this very host, and what it makes of a kernel's settings."""

import sys
from pathlib import Path

import pytest
import yaml
from tests.processes import pool

from remuda.backends.process_questions import look_at_host
from remuda.jobs import JOBS
from remuda.machines.process.separation import find_means
from remuda.objects.load import Objects

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the other systems separate nothing")


def loaded(tmp_path: Path, *pools: dict[str, object]) -> Objects:
    file = tmp_path / "pools.yaml"
    file.write_text(yaml.safe_dump_all(pools))
    found = JOBS.load((str(file),))
    assert found.problems == ()
    return found.objects


@pytest.mark.slow
def test_pools_of_processes_are_judged_by_what_works_here(tmp_path: Path) -> None:
    limits = {"memory": "64Mi", "cpu": 1, "openFiles": 64}
    objects = loaded(
        tmp_path,
        pool(provider={"process": {"limits": limits}}, min=0, max=1),
        pool("bare", provider={"process": {"separation": "none"}}, min=0, max=1),
    )
    found = look_at_host(objects, tmp_path)
    assert found.means == find_means()
    assert found.separation
    shell, bare = found.pools
    assert (shell.name, shell.separation, bare.separation) == ("shell", "auto", "none")
    holds = {limit.name: limit.hold for limit in shell.limits}
    assert holds == {
        "memory": "whole" if "memory" in found.controllers else "part",
        "cpu": "whole" if "cpu" in found.controllers else "none",
        "openFiles": "whole",
    }


def test_settings_that_forbid_namespaces_are_named(tmp_path: Path) -> None:
    for name, value in {"user/max_user_namespaces": "0\n", "kernel/unprivileged_userns_clone": "1\n"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(value)
    assert look_at_host(Objects(), tmp_path, tmp_path).forbidding == ("user.max_user_namespaces=0",)
