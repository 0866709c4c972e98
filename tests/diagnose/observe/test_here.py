"""Looking at a data directory: what the file system, the kernel and a page say."""

import fcntl
import os
import socket
from pathlib import Path

import pytest

from remuda.diagnose.observe.here import holder, in_use, page_problem, strangers, unfit
from remuda.ledger.ballast import room
from remuda.loop.probes import HealthServer


def test_what_is_ours_is_no_stranger(tmp_path: Path) -> None:
    for name in (
        "remuda.db",
        "remuda.db-wal",
        "remuda.db.v2.backup",
        "lock",
        "ballast",
        "remuda.log",
        "ports.json",
    ):
        (tmp_path / name).touch()
    (tmp_path / "machines").mkdir()
    assert strangers(tmp_path) == []
    (tmp_path / "notes.txt").touch()
    assert strangers(tmp_path) == ["notes.txt"]
    assert strangers(tmp_path / "none") == []


def test_a_directory_that_others_may_write_is_unfit(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert unfit(tmp_path) == ""
    tmp_path.chmod(0o777)
    assert "can be written by others (mode 0777)" in unfit(tmp_path)
    tmp_path.chmod(0o700)
    (tmp_path / "remuda.db").symlink_to("elsewhere")
    assert "is a link" in unfit(tmp_path)


def test_room_is_counted_where_there_is_a_disk(tmp_path: Path) -> None:
    free, _ = room(tmp_path)
    assert free is not None
    assert free > 0
    assert room(tmp_path / "none") == (None, None)


def test_who_holds_a_directory_is_what_the_kernel_lists(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    lock = tmp_path / "lock"
    lock.write_text("1\n")
    assert holder(tmp_path) is None
    inode = lock.stat().st_ino
    locks = tmp_path / "locks"
    locks.write_text(
        f"1: POSIX  ADVISORY  WRITE 7 08:01:{inode} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 8 08:01:9{inode} 0 EOF\n"
        f"3: -> FLOCK  ADVISORY  WRITE 9 08:01:{inode} 0 EOF\n"
        f"4: FLOCK  ADVISORY  WRITE 4242 08:01:{inode} 0 EOF\n"
    )
    assert holder(tmp_path, locks) == 4242


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this kernel lists no locks")
def test_a_lock_that_is_held_is_found(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert holder(tmp_path) in {os.getpid(), None}  # a container may hide whose it is


def test_a_port_that_somebody_listens_at_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        assert in_use(number) == "address already in use"
    assert in_use(number) == ""


@pytest.mark.slow
def test_what_a_page_for_probes_says_is_what_is_wrong_with_it() -> None:
    pages = {
        "/ready": lambda: (200, "application/json", b"{}"),
        "/live": lambda: (503, "application/json", b'{"problems": ["loop pools is stuck"]}'),
        "/odd": lambda: (500, "text/plain", b"oh"),
        "/sign-in": lambda: (401, "text/html", b"who are you?"),
    }
    server = HealthServer("127.0.0.1", 0, pages)
    try:
        assert page_problem("127.0.0.1", server.port, "/ready") == ""
        assert page_problem("127.0.0.1", server.port, "/live") == "/live answers 503: loop pools is stuck"
        assert page_problem("127.0.0.1", server.port, "/sign-in") == "", (
            "a dashboard is well that asks for a token"
        )
        assert page_problem("127.0.0.1", server.port, "/odd") == "/odd answers 500: oh"
    finally:
        server.close()
    assert "/ready does not answer: " in page_problem("127.0.0.1", server.port, "/ready")
