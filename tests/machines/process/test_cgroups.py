import os
import subprocess
from pathlib import Path

import pytest
from tests.machines.process.stand_in import eventually, is_alive

from remuda.machines.process.cgroups import Cgroups, find_cgroups, find_own_group, remove_group
from remuda.machines.process.spec import Limits


@pytest.mark.parametrize(
    ("cgroup", "mount", "expected"),
    [
        pytest.param(
            "0::/a/b\n", "/ /sys/fs/cgroup rw - cgroup2 x", "/sys/fs/cgroup/a/b", id="one hierarchy"
        ),
        pytest.param(
            "4:memory:/m\n0::/\n",
            "/ /sys/fs/cgroup/unified rw - cgroup2 x",
            "/sys/fs/cgroup/unified",
            id="hybrid",
        ),
        pytest.param("0::/a/b\n", "/a /mnt/cg rw shared:4 - cgroup2 x", "/mnt/cg/b", id="a part is mounted"),
        pytest.param("0::/ab\n", "/a /mnt/cg rw - cgroup2 x", None, id="another part is mounted"),
        pytest.param("0::/../x\n", "/ /sys/fs/cgroup rw - cgroup2 x", None, id="outside what can be seen"),
        pytest.param("4:memory:/m\n", "/ /sys/fs/cgroup rw - cgroup2 x", None, id="only version 1"),
        pytest.param("0::/a\n", "/ /sys/fs/cgroup rw - tmpfs x", None, id="not mounted"),
    ],
)
def test_the_own_group_is_found(tmp_path: Path, cgroup: str, mount: str, expected: str | None) -> None:
    (tmp_path / "cgroup").write_text(cgroup)
    (tmp_path / "mountinfo").write_text(f"21 1 0:20 / /proc rw - proc proc rw\n30 21 0:26 {mount}\n")
    assert find_own_group(tmp_path) == (None if expected is None else Path(expected))


def test_a_host_without_groups_has_none(tmp_path: Path) -> None:
    found = find_cgroups(tmp_path)
    assert found == Cgroups()
    assert found.create("x", Limits(memory=1)) is None


def test_a_group_that_may_not_be_made_is_no_group(tmp_path: Path) -> None:
    assert Cgroups(tmp_path / "missing").create("x", Limits()) is None


def test_limits_are_written_where_the_kernel_has_them(tmp_path: Path) -> None:
    group = tmp_path / "remuda-x"
    group.mkdir()
    for name in ("memory.max", "memory.oom.group", "cpu.max"):
        (group / name).touch()
    made = Cgroups(tmp_path).create("x", Limits(memory=1024, cpu_millis=1_500, processes=9))
    assert made == str(group)
    written = {each.name: each.read_text() for each in group.iterdir()}
    assert written == {"memory.max": "1024", "memory.oom.group": "1", "cpu.max": "150000 100000"}


def test_a_real_group_ends_with_everything_in_it() -> None:
    """Only on hosts that permit groups."""
    cgroups = find_cgroups()
    if cgroups.parent is None:
        pytest.skip("no cgroup v2 may be made here")
    made = cgroups.create(f"test-{os.getpid()}", Limits())
    assert made is not None
    group = Path(made)
    inner = group / "made-by-a-job"
    inner.mkdir()
    process = subprocess.Popen(["sh", "-c", f"echo $$ > {inner}/cgroup.procs; exec env -i sleep 600"])
    eventually(lambda: str(process.pid) in (inner / "cgroup.procs").read_text().split())

    remove_group(group)

    assert process.wait(60) == -9
    assert not is_alive(process.pid)
    assert not group.exists()
    remove_group(group)
