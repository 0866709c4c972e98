import os
import subprocess
from pathlib import Path

import pytest
from tests.machines.process.stand_in import eventually

from remuda.machines.process.records import (
    is_at,
    read_json,
    remove_tree,
    start_time,
    take_lock,
    write_json,
)


def test_a_process_has_a_start_time_until_it_ends() -> None:
    process = subprocess.Popen(["sleep", "600"])
    begun = start_time(process.pid)
    assert begun is not None
    assert start_time(process.pid) == begun
    process.kill()
    eventually(lambda: start_time(process.pid) is None, "a zombie to have no start time")
    process.wait()
    assert start_time(process.pid) is None


def test_a_lock_is_held_by_one_and_only_while_it_is_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert take_lock(str(path)) is None
    path.touch()
    lock = take_lock(str(path))
    assert lock is not None
    assert take_lock(str(path)) is None
    path.rename(tmp_path / "moved")
    assert not is_at(lock, str(path))
    path.touch()
    assert not is_at(lock, str(path))
    os.close(lock)


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"\xff", b"1"])
def test_what_is_no_object_reads_as_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "f").write_bytes(text)
    assert read_json(str(tmp_path / "f")) is None
    assert read_json(str(tmp_path / "missing")) is None


def test_an_object_is_written_whole(tmp_path: Path) -> None:
    write_json(str(tmp_path / "f"), {"a": "\xe4"}, sync=True)
    assert read_json(str(tmp_path / "f")) == {"a": "\xe4"}
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_a_tree_is_removed_and_what_links_lead_to_is_not(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "tree" / "locked").mkdir(parents=True)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "tree" / "locked").chmod(0)
    remove_tree(str(tmp_path / "tree"))
    remove_tree(str(tmp_path / "tree"))
    assert [each.name for each in tmp_path.rglob("*")] == ["kept", "file"]
    with pytest.raises(OSError, match="could not be removed"):
        remove_tree("/proc/self")
