"""The data directory: where it is, and that one process alone holds it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.datadir import DataDir, default_data_dir, refuse_shared
from remuda.errors import BadInput

LINUX = pytest.mark.skipif(sys.platform == "darwin", reason="the place is the platform's")


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        pytest.param({"HOME": "/h", "REMUDA_DATA_DIR": "/here"}, "/here", id="what is set for it wins"),
        pytest.param(
            {"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/remuda", id="the user's own place", marks=LINUX
        ),
        pytest.param({"HOME": "/h"}, "/h/.local/share/remuda", id="the platform's place", marks=LINUX),
        pytest.param(
            {"HOME": "/h", "REMUDA_DATA_DIR": "", "XDG_DATA_HOME": ""},
            "/h/.local/share/remuda",
            id="empty is not set",
            marks=LINUX,
        ),
    ],
)
def test_the_default_is_found_in_the_environment(environ: dict[str, str], place: str) -> None:
    assert default_data_dir(environ) == Path(place)


def test_a_relative_place_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_data_dir({"REMUDA_DATA_DIR": "data"}) == tmp_path / "data"
    held = DataDir(Path("data"))
    assert held.path == tmp_path / "data"
    held.release()


def test_it_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    held = DataDir(tmp_path / "a" / "b")
    assert held.path.stat().st_mode & 0o777 == 0o700
    assert (held.path / "lock").read_text() == f"{os.getpid()}\n"
    held.release()


def test_a_second_holder_is_refused_with_the_first_ones_pid(tmp_path: Path) -> None:
    held = DataDir(tmp_path)
    with pytest.raises(
        BadInput, match=rf"in use by another remuda \(pid {os.getpid()}\); stop that one, or choose"
    ):
        DataDir(tmp_path)
    held.release()
    DataDir(tmp_path).release()


@pytest.mark.slow
def test_a_holder_that_is_killed_lets_go_and_its_children_do_not_hold_on(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time; from pathlib import Path; from remuda.datadir import DataDir\n"
        "held = DataDir(Path(sys.argv[1]))\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(BadInput, match=rf"\(pid {holder.pid}\)"):
            DataDir(tmp_path)
        holder.kill()
        holder.wait()
        DataDir(tmp_path).release()
    finally:
        os.kill(child, 9)
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_lock_file_with_garbage_in_it_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"\xff" * 100)
    held = DataDir(tmp_path)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    held.release()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_text("a file"), id="a file is in its place"),
        pytest.param(
            lambda path: (path / "lock").mkdir(parents=True), id="a directory is in the lock's place"
        ),
    ],
)
def test_a_place_that_cannot_be_used_is_reported(tmp_path: Path, make: object) -> None:
    place = tmp_path / "data"
    make(place)  # type: ignore[operator]
    with pytest.raises(
        BadInput, match=f"the data directory {place} cannot be used: .*; choose another with --data-dir"
    ):
        DataDir(place)


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("whole")
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    (place / "lock").symlink_to(victim)
    with pytest.raises(BadInput, match="lock is a link, and links are not followed"):
        DataDir(place)
    assert victim.read_text() == "whole"


def stat_of(mode: int, uid: int) -> os.stat_result:
    return os.stat_result((0o40000 | mode, 1, 1, 1, uid, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "owner", "we", "refused"),
    [
        pytest.param(0o700, 1000, 1000, "", id="our own"),
        pytest.param(0o755, 1000, 1000, "", id="others may look"),
        pytest.param(0o775, 1000, 1000, "chmod go-w /d", id="a group may write"),
        pytest.param(0o707, 1000, 1000, "mode 0707", id="everybody may write"),
        pytest.param(0o700, 65534, 0, "belongs to user 65534, and we are user 0", id="another's, and we are root"),
        pytest.param(0o700, 1001, 1000, "chown 1000 /d", id="another's"),
        pytest.param(0o2775, 0, 65532, "", id="a volume of a cluster, lent to our group"),
        pytest.param(0o2777, 0, 65532, "can be written by others", id="a volume for everybody"),
        pytest.param(0o770, 0, 0, "can be written by others", id="root's own, with a group"),
    ],
)  # fmt: skip
def test_a_directory_that_others_may_write_is_refused(mode: int, owner: int, we: int, refused: str) -> None:
    if not refused:
        refuse_shared(Path("/d"), stat_of(mode, owner), we)
        return
    with pytest.raises(BadInput, match=refused):
        refuse_shared(Path("/d"), stat_of(mode, owner), we)


def test_it_is_refused_before_anything_is_written_there(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(BadInput, match="can be written by others"):
        DataDir(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["jobs", "machines"])
def test_a_directory_of_ours_that_is_a_link_to_another_is_refused(tmp_path: Path, name: str) -> None:
    place, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    place.mkdir(mode=0o700)
    elsewhere.mkdir()
    (place / name).symlink_to(elsewhere)
    with pytest.raises(BadInput, match=f"{name} is a link, and links are not followed"):
        DataDir(place)


@pytest.mark.parametrize(
    "name", ["remuda.db", "remuda.db-wal", "remuda.db-shm", "lock", "jobs", "machines", "web-token"]
)
def test_a_store_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("of somebody else")
    (place / name).symlink_to(elsewhere)
    with pytest.raises(BadInput, match=f"{name} is a link, and links are not followed"):
        DataDir(place)
    assert [each.name for each in place.iterdir()] == [name], "nothing was written there"
