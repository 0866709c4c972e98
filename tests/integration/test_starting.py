"""What keeps `remuda up` from starting, and what a full store does to one that runs."""

import json
import os
import socket
import sqlite3
import sys
from pathlib import Path

import pytest
from tests.processes import Place, eventually, pool

from remuda.errors import Unavailable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]

PORTS = ("--health-port", "0", "--live-port", "0")


def test_a_second_remuda_on_the_same_data_directory_names_the_first_one(running: Place) -> None:
    running.wait_idle(2)
    before = sorted(running.shims().items())
    second = running.cli("up", str(running.file), *PORTS)
    assert second.code == 2
    assert f"in use by another remuda (pid {running.processes[-1].pid})" in second.err
    assert sorted(running.shims().items()) == before
    assert running.health("ready")[0] == 200


def test_the_next_remuda_may_start_when_the_first_was_killed(running: Place) -> None:
    running.kill()
    running.start()


@pytest.mark.parametrize("option", ["--health-port", "--live-port"])
def test_a_health_port_in_use_keeps_remuda_from_starting(here: Place, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = here.cli("up", str(here.file), *PORTS, option, port)
    assert ran.code == 2
    assert f"port {port}" in ran.err
    assert "in use" in ran.err
    assert not (here.data / "control.sock").exists()
    assert here.shims() == {}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        pytest.param("file/d", "Not a directory", id="below a file"),
        pytest.param("x" * 120, "too long for a Unix socket", id="too long a path for a socket"),
    ],
)
def test_a_data_directory_that_cannot_be_used_is_reported(here: Place, where: str, message: str) -> None:
    (here.home / "file").touch()
    ran = here.cli("up", str(here.file), *PORTS, "--data-dir", str(here.home / where))
    assert ran.code == 2
    assert message in ran.err
    assert "--data-dir" in ran.err
    assert "Traceback" not in ran.err


def test_a_damaged_store_is_refused_and_left_as_it_is(here: Place) -> None:
    here.data.mkdir()
    store = here.data / "remuda.db"
    store.write_bytes(os.urandom(8192))
    before = store.read_bytes()
    for words in (("up", str(here.file), *PORTS), ("pools", "list"), ("jobs", "list")):
        ran = here.cli(*words)
        assert ran.code == 2
        assert f"{store} is damaged" in ran.err
        assert "move it away" in ran.err
    assert store.read_bytes() == before
    assert here.shims() == {}


def test_a_store_torn_in_its_middle_is_refused(running: Place) -> None:
    running.wait_idle(2)
    running.stop()
    store = running.data / "remuda.db"
    data = bytearray(store.read_bytes())
    data[4096 : len(data) - 4096] = os.urandom(len(data) - 8192)
    store.write_bytes(data)
    ran = running.cli("up", str(running.file), *PORTS)
    assert ran.code == 2
    assert "is damaged" in ran.err


def test_a_store_of_a_newer_remuda_is_refused(running: Place) -> None:
    running.stop()
    with sqlite3.connect(running.data / "remuda.db") as store:
        store.execute("PRAGMA user_version = 999")
    store.close()
    for words in (("up", str(running.file), *PORTS), ("pools", "list")):
        ran = running.cli(*words)
        assert ran.code == 2
        assert "store version 999" in ran.err
        assert "newer remuda" in ran.err


def test_a_database_of_another_program_is_refused(here: Place) -> None:
    here.data.mkdir()
    with sqlite3.connect(here.data / "remuda.db") as store:
        store.execute("CREATE TABLE theirs (x)")
    store.close()
    ran = here.cli("up", str(here.file), *PORTS)
    assert ran.code == 2
    assert "another program" in ran.err


def test_a_dry_run_shows_the_plan_and_leaves_no_trace(here: Place) -> None:
    ran = here.cli("up", str(here.file), "--dry-run", "-o", "json")
    assert ran.code == 0
    assert len(json.loads(ran.out)["actions"]) == 2
    assert not here.data.exists()


def test_a_dry_run_beside_a_running_remuda_changes_nothing(running: Place) -> None:
    running.wait_idle(2)
    other = running.home / "other.json"
    other.write_text(json.dumps(pool(min=3, max=3)))
    ran = running.cli("up", str(other), "--dry-run")
    assert ran.code == 0
    assert "makes a machine: it lacks 1 of 3" in ran.out
    assert len(running.shims()) == 2
    assert running.health("ready")[0] == 200


def test_a_full_store_refuses_jobs_with_a_clear_error_and_goes_on_when_there_is_space(here: Place) -> None:
    command = [sys.executable, str(Path(__file__).with_name("kill_at.py")), str(here.file), str(here.data)]
    process = here.launch([*command, "--most-bytes", str(512 * 1024)])
    here.wait_ready(process)
    here.wait_idle(2)
    ran = here.mark("ran")
    flag = here.home / "go"
    busy = here.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; echo {'x' * 10} >> {ran}")
    here.wait_running(busy)
    accepted = list[int]()
    with pytest.raises(Unavailable, match="its disk or quota is full; free some space"):
        while len(accepted) < 100:
            env = {"PADDING": "y" * 20_000}
            accepted.append(here.submit("sh", "-c", f"echo $REMUDA_JOB >> {ran}", env=env))
    refused = here.cli("submit", "test/shell", "--env", "PADDING=" + "z" * 60_000, "--", "true")
    assert refused.code == 1
    assert "quota is full" in refused.err
    assert process.poll() is None
    assert here.health("live")[0] == 200
    assert here.cli("jobs", "list").code == 0
    assert here.cli("pools", "list").code == 0

    flag.touch()  # the running job ends while its end may not fit into the store
    eventually(lambda: "x" in ran.read_text(), "the end of the job")
    here.kill()
    here.start()
    for number in (busy, *accepted):
        ended = here.wait_end(number)
        assert (ended.state, len(ended.attempts)) == ("succeeded", 1)
    assert sorted(ran.read_text().split()) == sorted([*map(str, accepted), "x" * 10])
    assert here.wait_end(here.submit("true")).state == "succeeded"
