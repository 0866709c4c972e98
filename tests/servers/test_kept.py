import errno
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.servers.found import ServersError
from tests.servers.kept import Kept
from tests.servers.loopback import Port

pytestmark = pytest.mark.slow

DEADLINE_S = 30.0
SLEEP = ("sleep", "600")
#: starts two processes, one of them from a thread that ends, and says where they are
STARTER = """
import threading, time
from tests.servers.kept import Kept
kept = Kept()
kept.start("one", ["sleep", "600"], lambda: True)
thread = threading.Thread(target=kept.start, args=("two", ["sh", "-c", "sleep 600; true"], lambda: True))
thread.start()
thread.join()
print(kept.directory, *(process.pid for process in kept.processes.values()), flush=True)
time.sleep(600)
"""


def is_running(pid: int) -> bool:
    """False also for a zombie, which nobody may reap where process 1 does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in {"", "Z"}


def wait_gone(pids: list[int], directory: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while (left := [pid for pid in pids if is_running(pid)]) or directory.exists():
        assert time.monotonic() < deadline, f"still there: processes {left}, {directory}"
        time.sleep(0.02)


@pytest.fixture
def kept() -> Iterator[Kept]:
    running = Kept()
    yield running
    running.close()


def test_closing_ends_every_process_and_removes_the_directory(kept: Kept) -> None:
    kept.start("one", SLEEP, lambda: True)
    child = kept.directory / "child"
    kept.start(
        "two",
        ["sh", "-c", "sleep 600 & echo $! > child; wait"],
        lambda: child.is_file() and child.stat().st_size > 0,
    )
    pids = [int(child.read_text()), *(process.pid for process in kept.processes.values())]
    assert all(is_running(pid) for pid in pids)
    kept.close()
    wait_gone(pids, kept.directory)
    kept.close()


def test_a_process_outlives_the_thread_that_started_it(kept: Kept) -> None:
    thread = threading.Thread(target=kept.start, args=("one", SLEEP, lambda: True))
    thread.start()
    thread.join()
    with pytest.raises(subprocess.TimeoutExpired):
        kept.processes["one"].wait(0.2)


def test_a_starter_that_is_killed_leaves_no_process_and_no_directory() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as starter:
        assert starter.stdout is not None
        directory, *pids = starter.stdout.readline().split()
        assert all(is_running(int(pid)) for pid in pids)
        starter.kill()
    wait_gone([int(pid) for pid in pids], Path(directory))


def test_a_process_that_exits_early_is_an_error_with_the_end_of_its_log(kept: Kept) -> None:
    with pytest.raises(ServersError, match=r"one exited with 3 before it was ready\n  no such flag"):
        kept.start("one", ["sh", "-c", "echo no such flag; exit 3"], lambda: False)


def test_a_held_port_is_given_to_no_one_but_a_server_that_shares_it() -> None:
    port = Port()
    at = ("127.0.0.1", port.number)
    with socket.socket() as stranger, pytest.raises(OSError, match="in use") as refused:
        stranger.bind(at)
    assert refused.value.errno == errno.EADDRINUSE
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(at)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(at)
        server.listen()
        for _ in range(20):
            with socket.create_connection(at), server.accept()[0]:
                pass
    port.close()
