"""Kill -9 of anything at any step: no job is lost, none silently runs twice, no machine is leaked."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.processes import DEADLINE_S, Place, eventually, pool

from remuda.control.client import Remuda
from remuda.errors import Unavailable
from remuda.model.jobs import Submit, Submitted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]

KILL_AT = str(Path(__file__).with_name("kill_at.py"))
STEPS = {
    "loop.decided": (1, 3, 8),
    "loop.recorded": (1, 3, 8),
    "loop.acting": (1, 2, 4),
    "loop.acted": (1, 2, 4),
    "queue.submitted": (1, 2, 3),
    "queue.exchanged": (1, 3, 5),
    "queue.forgot": (1, 2),
}
JOBS = 5


class Load:
    """Jobs handed in from the side, each exactly once, whatever happens to remuda meanwhile."""

    def __init__(self, here: Place) -> None:
        self.ids: dict[int, int] = {}
        self._ran = here.mark("ran")
        self._here = here
        self._thread = threading.Thread(target=self._submit, daemon=True)
        self._thread.start()

    def _submit(self) -> None:
        for index in range(JOBS):
            until = time.monotonic() + 2 * DEADLINE_S
            while time.monotonic() < until and index not in self.ids:
                try:
                    self.ids[index] = self._hand_in(index)
                except Unavailable:
                    time.sleep(0.05)

    def _hand_in(self, index: int) -> int:
        script = (
            f'echo "$REMUDA_JOB $REMUDA_ATTEMPT" >> {self._ran}; echo out-{index}-$REMUDA_ATTEMPT; sleep 0.3;'
            f" exit $(( {index} == 1 ? (REMUDA_ATTEMPT == 1) : {index} ))"
        )
        body = Submit(
            job_class="test/shell",
            command=("sh", "-c", script),
            retries=int(index == 1),
            idempotency=f"key-{index}",
        )
        return Remuda(self._here.data, None, lambda: ()).post("/v1/jobs", body, Submitted).job

    def is_done(self) -> bool:
        """True when every job was taken in and has ended."""
        jobs = self._here.jobs()
        return len(self.ids) == JOBS and all(
            number in jobs and jobs[number].state.is_end for number in self.ids.values()
        )

    def check(self) -> None:
        """Each job ran once an attempt, every attempt is recorded, with its exit code and its output."""
        self._thread.join(DEADLINE_S)
        jobs = self._here.jobs()
        assert sorted(jobs) == sorted(self.ids.values())
        expected = []
        for index, number in self.ids.items():
            tries = 2 if index == 1 else 1
            expected += [f"{number} {attempt}" for attempt in range(1, tries + 1)]
            codes = [1, 0] if index == 1 else [index]
            found = [(attempt.status, attempt.exit_code) for attempt in jobs[number].attempts]
            assert found == [("exited", code) for code in codes]
            assert jobs[number].state == ("succeeded" if codes[-1] == 0 else "failed")
            printed = "".join(f"out-{index}-{attempt}\n" for attempt in range(1, tries + 1))
            assert self._here.output(number) == printed.encode()
        assert sorted(self._ran.read_text().splitlines()) == sorted(expected)


def check_no_leak(here: Place) -> None:
    """Every shim belongs to a listed machine; after a drain nothing is left."""
    eventually(
        lambda: set(here.shims()) == {m.name for m in here.pools().machines if m.state != "ended"},
        "shims and machines being the same",
    )
    here.remuda.post("/v1/pools/shell/drain", {}, dict)
    eventually(lambda: not here.pools().machines and not here.shims(), "an empty pool")
    assert here.job_processes() == []
    assert list((here.data / "machines").iterdir()) == []


@pytest.mark.parametrize(
    ("step", "nth"),
    [pytest.param(step, nth, id=f"{step} for time {nth}") for step, times in STEPS.items() for nth in times],
)
def test_remuda_killed_at_a_step_twice_loses_and_repeats_nothing(here: Place, step: str, nth: int) -> None:
    command = [sys.executable, KILL_AT, str(here.file), str(here.data), "--step", step, "--nth", str(nth)]
    first = here.launch(command)
    load = Load(here)
    assert first.wait(DEADLINE_S) == -signal.SIGKILL

    second = here.launch(command)
    eventually(lambda: second.poll() is not None or load.is_done(), "a second kill or the end of all jobs")
    second.kill()
    assert second.wait() == -signal.SIGKILL, here.log

    here.start()
    eventually(load.is_done, "the end of all jobs")
    load.check()
    check_no_leak(here)


def test_jobs_and_machines_outlive_a_kill_and_are_adopted(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"echo before; while [ ! -e {flag} ]; do sleep 0.05; done; exit 7")
    running.wait_running(number)
    eventually(lambda: running.output(number) == b"before\n", "output")
    before = running.shims()

    running.kill()
    flag.touch()
    held = running.job(number)  # from the store, as nothing runs
    assert held.state == "running"
    running.start()

    ended = running.wait_end(number)
    assert [(a.number, a.status, a.exit_code) for a in ended.attempts] == [(1, "exited", 7)]
    idle = {name: pid for name, pid in before.items() if name != ended.attempts[0].machine}
    assert idle.items() <= running.shims().items()


def test_a_job_that_ends_while_nothing_runs_is_not_lost(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; echo done; exit 3")
    running.wait_running(number)
    running.kill()
    flag.touch()
    eventually(lambda: [*(running.data / "jobs").glob(f"*-{number}-1.json")], "the result of the job")
    running.start()
    assert running.wait_end(number).attempts[-1].exit_code == 3
    assert running.output(number) == b"done\n"


def test_a_graceful_stop_leaves_machines_and_jobs_for_the_next_start(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 5")
    running.wait_running(number)
    before = running.shims()
    assert running.stop() == 0
    assert "remuda is down" in running.log
    assert not (running.data / "control.sock").exists()
    assert running.shims() == before
    flag.touch()
    running.start()
    assert running.wait_end(number).attempts[-1].exit_code == 5


@pytest.mark.parametrize(
    ("retries", "state", "statuses"),
    [
        pytest.param(1, "succeeded", ["lost", "exited"], id="with a retry left the job runs again"),
        pytest.param(0, "failed", ["lost"], id="without one it has failed"),
    ],
)
def test_a_shim_killed_during_a_job_is_an_attempt_that_is_lost(
    running: Place, retries: int, state: str, statuses: list[str]
) -> None:
    running.wait_idle(2)
    number = running.submit("sh", "-c", "test $REMUDA_ATTEMPT = 2 || sleep 600", retries=retries)
    machine = running.wait_running(number).attempts[0].machine
    os.kill(running.shims()[machine], signal.SIGKILL)
    ended = running.wait_end(number)
    assert ended.state == state
    assert [attempt.status for attempt in ended.attempts] == statuses
    assert ended.attempts[0].detail is not None
    assert ended.attempts[0].detail.startswith(f"machine {machine} died")
    running.wait_idle(2)
    eventually(lambda: not running.job_processes(), "the end of what the job started")


def test_a_shim_killed_while_nothing_runs_is_an_attempt_that_is_lost(running: Place) -> None:
    running.wait_idle(2)
    number = running.submit("sleep", "600", retries=0)
    machine = running.wait_running(number).attempts[0].machine
    running.kill()
    os.kill(running.shims()[machine], signal.SIGKILL)
    running.start()
    assert [a.status for a in running.wait_end(number).attempts] == ["lost"]
    eventually(lambda: not running.job_processes(), "the end of what the job started")


def test_a_job_killed_from_outside_has_failed_by_that_signal(running: Place) -> None:
    running.wait_idle(2)
    number = running.submit("sh", "-c", "echo on; exec sleep 600")
    eventually(lambda: running.output(number), "the job's first line")
    (pid,) = running.job_processes(number)  # it does not know its own: it may have a namespace of processes
    os.kill(pid, signal.SIGKILL)
    ended = running.wait_end(number)
    assert [(a.status, a.exit_code) for a in ended.attempts] == [("signaled", 137)]
    assert "ended by SIGKILL" in running.cli("jobs", "list").out


def test_a_stranger_with_a_recycled_pid_is_never_touched(running: Place) -> None:
    running.wait_idle(2)
    running.kill()
    name, pid = min(running.shims().items())
    os.kill(pid, signal.SIGKILL)
    stranger = subprocess.Popen(["sleep", "600"])
    running.processes.insert(0, stranger)
    record = running.data / "machines" / name / "shim.json"
    printed = json.loads(record.read_bytes())
    eventually(lambda: name not in running.shims(), "the end of the shim")
    record.write_text(json.dumps({**printed, "pid": stranger.pid}))

    running.start()
    view = running.wait_idle(2)
    assert name not in {machine.name for machine in view.machines}
    running.remuda.post("/v1/pools/shell/drain", {}, dict)
    eventually(lambda: not running.pools().machines, "an empty pool")
    assert stranger.poll() is None


def test_a_daemon_that_left_its_session_ends_with_its_job(running: Place) -> None:
    running.wait_idle(2)
    number = running.submit("sh", "-c", "setsid -f sleep 600; echo started")
    assert running.wait_end(number).state == "succeeded"
    eventually(lambda: not running.job_processes(), "the end of the daemon")


def test_machines_of_a_pool_that_is_gone_are_let_go_after_a_kill(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 4")
    running.wait_running(number)
    running.kill()
    running.write(pool("other", min=1, max=1))
    running.start()
    flag.touch()
    assert running.wait_end(number).attempts[-1].exit_code == 4
    eventually(lambda: {m.pool for m in running.pools().machines} == {"other"}, "only the other pool")
    running.wait_idle(1, "other")
