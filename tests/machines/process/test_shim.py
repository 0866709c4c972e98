import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.machines.process.stand_in import (
    JSON,
    Machine,
    Remuda,
    eventually,
    is_alive,
    output,
    reply,
    run,
    sh,
)

from remuda.machines.process import shim
from remuda.machines.process.lease import steady, write_lease
from remuda.machines.process.records import boot, read_json, start_time

pytestmark = pytest.mark.slow
Hold = Callable[..., Machine]


def pid_in(path: Path) -> int:
    return int(eventually(lambda: path.read_text().strip() if path.exists() else "", f"a pid in {path}"))


def test_a_machine_says_who_holds_it_and_when_it_became_ready(hold: Hold, remuda: Remuda) -> None:
    before = time.time_ns() // 1_000_000
    machine = hold()
    first = eventually(lambda: remuda.asks("/m/next"))[0]
    assert first == {"id": "id-m", "secret": "", "finished": None, "leaving": False, "ran": 0}
    eventually((machine.directory / "ready.json").exists)
    assert before <= machine.read("ready.json")["at"] <= time.time_ns() // 1_000_000
    pid = machine.process.pid
    assert machine.read("shim.json") == {"pid": pid, "start": start_time(pid), "boot": boot()}


def test_a_shim_loads_nothing_that_is_slow_or_not_of_the_standard_library() -> None:
    code = f"import sys; sys.path.append({str(Path(shim.__file__).parents[3])!r}); import remuda.machines.process.shim; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"asyncio", "subprocess", "http", "logging", "typing", "pathlib", "threading", "shutil"}
    names = set(loaded.stdout.split())
    assert not names & heavy
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names | {"__main__", "remuda"}


@pytest.mark.parametrize(
    ("script", "status", "exit_code", "printed"),
    [
        pytest.param(
            "echo out; echo err >&2", "exited", 0, b"out\nerr\n", id="both outputs are kept in order"
        ),
        pytest.param("exit 7", "exited", 7, b"", id="the exit code is the job's"),
        pytest.param("kill -SEGV $$", "signaled", 139, b"", id="a signal is 128 and its number"),
        pytest.param("cat", "exited", 0, b"", id="there is nothing to read"),
        pytest.param("ls -A . tmp; pwd", "exited", 0, None, id="the work directory is its own"),
    ],
)
def test_a_job_runs(
    hold: Hold,
    remuda: Remuda,
    tmp_path: Path,
    script: str,
    status: str,
    exit_code: int,
    printed: bytes | None,
) -> None:
    machine = hold()
    order = sh(tmp_path, "j", script)
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"], result["detail"]) == (status, exit_code, "")
    assert output(order) == (
        f".:\ntmp\n\ntmp:\n{machine.directory}/work\n".encode() if printed is None else printed
    )
    assert result["output_bytes"] == len(output(order))
    assert result["started_at"] <= result["finished_at"]


def test_a_result_is_written_down_until_remuda_is_known_to_have_it(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    remuda.order("m", run(tmp_path, "j", "true"))
    remuda.order("m", run(tmp_path, "k", "true"))
    result = remuda.result("k")
    written = eventually(lambda: read_json(str(tmp_path / "attempt-k-1.json")))
    assert written == result, "nobody answered for a while"
    assert not (tmp_path / "attempt-j-1.json").exists(), "the next job was the answer"


def test_a_job_has_a_clean_environment_in_which_its_own_words_win(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    machine = hold(env={"A": "pool", "B": "pool", "HOME": "/pool", "REMUDA_MACHINE_ID": "forged"})
    order = run(tmp_path, "j", "env", env={"B": "job", "C": "job"}, secrets={"C": "secret value"})
    remuda.order("m", order)
    remuda.result("j")
    seen = dict(line.split("=", 1) for line in output(order).decode().splitlines())
    work = f"{machine.directory}/work"
    expected = {"A": "pool", "B": "job", "C": "***", "HOME": "/pool", "TMPDIR": f"{work}/tmp"}
    expected |= {"REMUDA_JOB": "j", "REMUDA_ATTEMPT": "1", "REMUDA_MACHINE": "m", "REMUDA_MACHINE_ID": "id-m"}
    assert seen == expected | {
        "REMUDA_MACHINE_DIR": str(machine.directory),
        "PATH": seen["PATH"],
        "LANG": seen["LANG"],
    }


def test_a_job_gets_default_signals_and_few_open_files(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    order = sh(tmp_path, "j", "grep -E '^Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd | wc -l")
    remuda.order("m", order)
    remuda.result("j")
    blocked, ignored, files = output(order).decode().splitlines()
    assert int(blocked.split()[1], 16) == 0
    # 32 and 33 belong to the C library, which lets nobody set them: whoever started us may have ignored them.
    assert int(ignored.split()[1], 16) & ~(0b11 << 31) == 0
    assert int(files) == 4  # with the directory that ls reads


def test_secrets_split_over_writes_are_masked_in_output_and_detail(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    order = sh(tmp_path, "j", "printf 'x hunt'; sleep 0.2; printf 'er22 y'", secrets={"P": "hunter22"})
    remuda.order("m", order)
    remuda.result("j")
    assert output(order) == b"x *** y"
    remuda.order("m", run(tmp_path, "k", "/bin/hunter22", secrets={"P": "hunter22"}))
    assert "hunter22" not in json.dumps(remuda.result("k"))


def test_much_output_is_cut_and_little_memory_used(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold()
    order = sh(tmp_path, "j", "yes | head -c 100000000; echo the end", output_limit=1_000_000)
    remuda.order("m", order)
    result = remuda.result("j")
    kept = output(order)
    assert result["output_bytes"] == 100_000_008
    assert len(kept) < 1_000_000 + 70_000
    assert b"bytes left out]\n" in kept
    assert kept.endswith(b"y\nthe end\n")
    status = Path(f"/proc/{machine.process.pid}/status").read_text()
    peak_kib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak_kib < 40_000


@pytest.mark.parametrize(
    ("command", "exit_code", "words"),
    [
        pytest.param(("no-such-command",), 127, "'no-such-command' was not found", id="not in PATH"),
        pytest.param(("/no/such/command",), 127, "was not found", id="no such file"),
        pytest.param(("/etc/passwd",), 126, "is not executable", id="not executable"),
        pytest.param(("/etc",), 126, "is not executable", id="a directory"),
        pytest.param(("echo", "a\0b"), 127, "null byte", id="a NUL byte"),
        pytest.param((), 127, "could not be started", id="no command at all"),
    ],
)
def test_a_command_that_cannot_start_says_why(
    hold: Hold, remuda: Remuda, tmp_path: Path, command: tuple[str, ...], exit_code: int, words: str
) -> None:
    hold()
    remuda.order("m", run(tmp_path, "j", *command))
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("unstartable", exit_code)
    assert words in result["detail"]
    remuda.order("m", run(tmp_path, "k", "true"))
    assert remuda.result("k")["status"] == "exited"


def test_each_job_finds_its_work_directory_empty_whatever_the_one_before_did(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    machine = hold()
    deep = "for i in $(seq 1500); do mkdir d && cd d || exit 1; done"
    for job, script in {
        "deep": deep,
        "locked": "mkdir -p a/b; touch a/b/c tmp/d; chmod 0 a/b; chmod 500 a .",
        "moved": f"cd / && rmdir {machine.directory}/work/tmp {machine.directory}/work && ln -s / {machine.directory}/work",
        "last": "ls -A . tmp",
    }.items():
        remuda.order("m", order := sh(tmp_path, job, script))
        assert remuda.result(job)["exit_code"] == 0, output(order)
    assert output(order) == b".:\ntmp\n\ntmp:\n"


def test_a_job_that_takes_too_long_is_asked_to_end(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    order = sh(tmp_path, "j", "trap 'echo asked; exit 0' TERM; echo on; sleep 600 & wait", timeout_ms=300)
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("timeout", 143)
    assert output(order) == b"on\nasked\n"


def test_a_cancelled_job_that_will_not_end_is_made_to(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    order = sh(tmp_path, "j", "trap '' TERM; echo $$ > pid; echo on; while :; do sleep 0.1; done")
    remuda.order("m", order)
    eventually(lambda: remuda.asks("/m/watch"))
    remuda.cancel("j")
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("cancelled", 137)
    assert remuda.asks("/m/watch")[0] == {"job": "j", "attempt": 1, "store": "", "secret": ""}


def test_a_daemon_is_gone_when_the_job_is_over(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    note = tmp_path / "daemon"
    daemon = f"(trap '' TERM HUP; exec sleep 600) & echo $! > {note}.part; mv {note}.part {note}"
    (tmp_path / "daemon.sh").write_text(daemon)
    script = f"(setsid sh {tmp_path}/daemon.sh &); while ! test -e {note}; do sleep 0.01; done"
    remuda.order("m", sh(tmp_path, "j", script))
    assert remuda.result("j")["status"] == "exited"
    assert not is_alive(pid_in(note))


def test_a_grandchild_that_keeps_the_output_open_does_not_delay_the_end(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    note = tmp_path / "child"
    order = sh(tmp_path, "j", f"(trap '' HUP; sleep 600) & echo $! > {note}; echo done; exit 4")
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("exited", 4)
    assert result["finished_at"] - result["started_at"] < 30_000
    assert output(order) == b"done\n"
    assert not is_alive(pid_in(note))


def test_many_processes_that_start_others_are_all_gone(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    notes = tmp_path / "pids"
    script = f"spin() {{ while :; do sleep 0.02 & echo $! >> {notes}; wait; done; }}; for i in 1 2 3 4 5; do spin & done; sleep 0.3"
    remuda.order("m", sh(tmp_path, "j", script))
    assert remuda.result("j")["detail"] == ""
    assert not any(is_alive(int(pid)) for pid in notes.read_text().split())


def test_a_process_that_becomes_another_all_the_time_is_caught(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    beat = tmp_path / "beat"
    hop = f"import os\nwhile True:\n    if os.fork(): os._exit(0)\n    open({str(beat)!r}, 'w').close()"
    script = f'"{sys.executable}" -I -S -c "{hop}" & while ! test -e {beat}; do sleep 0.01; done'
    remuda.order("m", sh(tmp_path, "j", script))
    assert remuda.result("j")["detail"] == ""
    beat.unlink()
    time.sleep(0.1)
    assert not beat.exists()


def test_a_finish_is_handed_in_when_remuda_comes_back(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    order = sh(tmp_path, "j", f"while ! test -e {tmp_path}/go; do sleep 0.02; done; echo after")
    remuda.order("m", order)
    eventually(lambda: remuda.asks("/m/watch"))
    remuda.stop()
    (tmp_path / "go").touch()
    eventually((tmp_path / "attempt-j-1.json").exists)
    assert remuda.finished == []
    remuda.start()
    assert remuda.result("j")["exit_code"] == 0
    assert output(order) == b"after\n"
    remuda.order("m", run(tmp_path, "k", "true"))
    remuda.result("k")
    assert [each["job"] for each in remuda.finished] == ["j", "k"]


def test_a_finish_is_repeated_until_it_is_answered(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    refusals = iter(
        [reply({}, "503 Busy"), b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"]
    )
    remuda.override = lambda _path, body: next(refusals, None) if body.get("finished") else None
    remuda.order("m", run(tmp_path, "j", "true"))
    remuda.result("j")
    assert [bool(body["finished"]) for body in remuda.asks("/m/next")] == [False, True, True, True, True]


def test_an_attempt_that_was_run_is_not_run_again(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold()
    order = sh(tmp_path, "j", f"echo ran >> {tmp_path}/count")
    for _ in range(2):
        remuda.order("m", order)
    remuda.order("m", sh(tmp_path, "j", f"echo ran >> {tmp_path}/count", attempt=2))
    eventually(lambda: len(remuda.finished) == 3)
    assert [each["attempt"] for each in remuda.finished] == [1, 1, 2]
    assert remuda.finished[0] == remuda.finished[1]
    assert (tmp_path / "count").read_text() == "ran\nran\n"


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        pytest.param([{"do": "end"}], "closed", id="told while idle"),
        pytest.param([{"do": "wait"}, {"do": "end"}], "closed", id="told while idle, later"),
        pytest.param(["job", {"do": "end"}], "finished", id="told after its work"),
        pytest.param(["job", {"do": "wait"}, {"do": "end"}], "closed", id="told when its work was long over"),
    ],
)
def test_a_machine_ends_when_told(
    hold: Hold, remuda: Remuda, tmp_path: Path, answers: list[JSON | str], code: str
) -> None:
    machine = hold()
    for answer in answers:
        remuda.order("m", run(tmp_path, "j", "true") if isinstance(answer, str) else answer)
    assert machine.end()["code"] == code


def test_a_machine_that_remuda_does_not_know_ends(hold: Hold, remuda: Remuda) -> None:
    remuda.override = lambda _path, _body: reply({"do": "end"}, "404 Not Found")
    assert hold().end()["code"] == "closed"


def test_an_idle_machine_asks_to_leave(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold(idle_timeout_ms=300)
    remuda.order("m", sh(tmp_path, "j", "sleep 0.5"))
    assert machine.end()["code"] == "idle"
    assert remuda.result("j")["status"] == "exited"
    assert [body["leaving"] for body in remuda.asks("/m/next")] == [False, False, True]


def test_a_machine_that_asks_to_leave_takes_the_job_it_was_just_given(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    given = run(tmp_path, "j", "true")
    once = iter([reply(given)])
    remuda.override = lambda _path, body: next(once, None) if body["leaving"] else None
    machine = hold(idle_timeout_ms=50)
    assert remuda.result("j")["status"] == "exited"
    assert machine.end()["code"] == "idle"


def test_an_idle_machine_without_remuda_ends_in_the_end(hold: Hold, remuda: Remuda) -> None:
    machine = hold(orphan_timeout_ms=400)
    eventually(lambda: remuda.asks("/m/next"))
    remuda.stop()
    end = machine.end()
    assert end["code"] == "orphaned"


def test_a_busy_machine_without_remuda_works_on(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold(orphan_timeout_ms=300)
    remuda.order("m", order := sh(tmp_path, "j", "sleep 1; echo done"))
    eventually(lambda: remuda.asks("/m/watch"))
    remuda.stop()
    end = machine.end()
    assert end["code"] == "orphaned"
    assert output(order) == b"done\n"
    result = json.loads((tmp_path / "attempt-j-1.json").read_text())
    assert result["exit_code"] == 0
    assert end["at"] - result["finished_at"] >= 250, "it waits for Remuda to hear of the job"


def test_a_terminated_shim_ends_its_job_and_says_so(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold()
    remuda.order("m", sh(tmp_path, "j", f"echo $$ > {tmp_path}/pid; exec sleep 600"))
    job = pid_in(tmp_path / "pid")
    machine.process.terminate()
    assert machine.end()["code"] == "closed"
    assert not is_alive(job)
    (result,) = remuda.finished
    assert (result["status"], result["exit_code"]) == ("killed", 143)


def test_a_killed_shim_takes_its_job_along(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold()
    remuda.order("m", sh(tmp_path, "j", f"echo $$ > {tmp_path}/pid; exec sleep 600"))
    job = pid_in(tmp_path / "pid")
    machine.process.kill()
    machine.wait()
    eventually(lambda: not is_alive(job), "the job to be gone")
    assert not (machine.directory / "end.json").exists()


def test_a_second_shim_leaves_the_machine_to_the_first(hold: Hold, remuda: Remuda) -> None:
    machine = hold()
    eventually(lambda: remuda.asks("/m/next"))
    second = machine.start()
    assert second.wait(60) == shim.HELD
    assert machine.read("shim.json")["pid"] == machine.process.pid
    assert machine.process.poll() is None


def test_a_shim_that_cannot_read_its_machine_says_so(tmp_path: Path, hold: Hold) -> None:
    machine = hold()
    machine.process.kill()
    machine.wait()
    (machine.directory / "machine.json").write_text("{")
    machine.process = machine.start()
    assert machine.end()["code"] == "boot"


def test_a_deleted_machine_gives_its_job_back_with_the_reason_and_ends(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    machine = hold()
    eventually((machine.directory / "ready.json").exists)
    subprocess.run(["rm", "-rf", machine.directory], check=True)
    remuda.order("m", run(tmp_path, "j", "true"))
    result = remuda.result("j")
    assert result["status"] == "returned"
    assert result["detail"] == "the directory of machine m was deleted before the job could start"
    assert machine.wait() == 0
    assert not machine.directory.exists()


def test_a_deleted_work_directory_is_made_again(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    machine = hold()
    remuda.order("m", run(tmp_path, "j", "true"))
    remuda.result("j")
    subprocess.run(["rm", "-rf", machine.directory / "work"], check=True)
    remuda.order("m", run(tmp_path, "k", "true"))
    assert remuda.result("k")["status"] == "exited"


def test_a_deleted_place_for_its_files_does_not_stop_a_job(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    order = sh(tmp_path / "deleted", "j", "echo hello; exit 5")
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"], result["detail"]) == ("exited", 5, "")
    assert output(order) == b"hello\n"


def test_a_place_for_its_files_that_cannot_be_made_does_not_stop_a_job(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    (tmp_path / "file").touch()
    remuda.order("m", sh(tmp_path / "file", "j", "echo hello; exit 5"))
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("exited", 5)
    assert "output was not kept" in result["detail"]


def test_limits_are_applied(hold: Hold, remuda: Remuda, tmp_path: Path) -> None:
    hold(rlimits={"AS": 512 * 1024**2, "NOFILE": 123, "FSIZE": 1024**2, "NPROC": 4_000})
    order = sh(
        tmp_path,
        "j",
        "exec 2> /dev/null; ulimit -n; ulimit -v; ulimit -p; head -c 2000000 /dev/zero > big; echo $?; wc -c < big",
    )
    remuda.order("m", order)
    remuda.result("j")
    assert output(order).split() == [b"123", b"524288", b"4000", b"153", b"1048576"]


def test_a_job_that_eats_the_memory_of_its_group_is_told_apart(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    group = tmp_path / "group"
    group.mkdir()
    (group / "cgroup.procs").touch()
    (group / "memory.events").write_text("oom 0\noom_kill 1\n")
    hold(cgroup=str(group))
    remuda.order(
        "m", sh(tmp_path, "j", f"printf 'oom 1\\noom_kill 2\\n' > {group}/memory.events; kill -9 $$")
    )
    assert "ran out of memory" in remuda.result("j")["detail"]
    remuda.order("m", run(tmp_path, "k", "true"))
    assert remuda.result("k")["detail"] == ""


def test_signals_meant_for_a_terminal_do_not_end_a_machine(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    machine = hold()
    eventually((machine.directory / "ready.json").exists)
    for number in (signal.SIGHUP, signal.SIGINT):
        os.kill(machine.process.pid, number)
    remuda.order("m", run(tmp_path, "j", "true"))
    assert remuda.result("j")["status"] == "exited"


def test_an_order_of_another_store_is_run_though_it_has_the_numbers_of_the_last(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    """Numbers start over in a new store; only within one store is the same number the same job."""
    hold()
    for store, code in (("sa", 0), ("sb", 7)):
        order = sh(tmp_path, "j", f"exit {code}", store=store)
        remuda.order("m", order)
        eventually(lambda store=store: [item for item in remuda.finished if item["store"] == store])  # type: ignore[misc]
    assert [(item["store"], item["exit_code"]) for item in remuda.finished] == [("sa", 0), ("sb", 7)]
    assert remuda.asks("/m/next")[-1]["ran"] == 2


def leased(directory: Path, order: JSON, tenure: str = "t1") -> JSON:
    lease = {"file": str(directory / "lease"), "tenure": tenure}
    return {**order, "job": {**order["job"], "lease": lease}}


def test_a_job_of_a_shared_queue_goes_on_while_its_lease_is_renewed_and_is_stopped_when_it_is_not(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    write_lease(str(tmp_path / "lease"), "t1", steady(), 600)
    order = sh(tmp_path, "j", f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done")
    remuda.order("m", leased(tmp_path, order))
    job = pid_in(tmp_path / "pid")
    remuda.stop()
    assert is_alive(job), "it holds without Remuda"
    write_lease(str(tmp_path / "lease"), "t1", steady() - 600, 600.0)
    eventually(lambda: not is_alive(job), "the job to be killed, though it ignores SIGTERM")
    written = tmp_path / "attempt-j-1.json"
    eventually(written.exists, "the result to be written")
    result = json.loads(written.read_text())
    assert (result["status"], result["exit_code"]) == ("killed", 137)
    assert "lease" in result["detail"]


def test_a_job_whose_host_has_begun_another_lease_is_killed(
    hold: Hold, remuda: Remuda, tmp_path: Path
) -> None:
    hold()
    write_lease(str(tmp_path / "lease"), "t1", steady(), 600)
    remuda.order("m", leased(tmp_path, sh(tmp_path, "j", f"echo $$ > {tmp_path}/pid; exec sleep 600")))
    job = pid_in(tmp_path / "pid")
    write_lease(str(tmp_path / "lease"), "t2", steady(), 600)
    eventually(lambda: not is_alive(job), "the job to be gone")


@pytest.mark.parametrize(
    ("tenure", "age"),
    [pytest.param("t2", 0, id="of another lease"), pytest.param("t1", 60, id="of one that is over")],
)
def test_a_job_is_not_begun_without_its_lease(
    hold: Hold, remuda: Remuda, tmp_path: Path, tenure: str, age: float
) -> None:
    hold()
    write_lease(str(tmp_path / "lease"), tenure, steady() - age, 60)
    remuda.order("m", leased(tmp_path, sh(tmp_path, "j", f"touch {tmp_path}/began")))
    eventually(lambda: remuda.finished)
    assert remuda.finished[0]["status"] == "returned"
    assert "lease" in str(remuda.finished[0]["detail"])
    assert not (tmp_path / "began").exists()
