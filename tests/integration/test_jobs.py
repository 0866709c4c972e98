"""Jobs through the command line: their output, their codes, their secrets and everything odd about them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import DEADLINE_S, Place, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


@pytest.mark.parametrize(
    ("script", "out", "code"),
    [
        pytest.param("echo hello", "hello\n", 0, id="a job that succeeds"),
        pytest.param("echo no; exit 42", "no\n", 42, id="a job that fails, with its own code"),
        pytest.param("echo a; echo b >&2", "a\nb\n", 0, id="both streams in their order"),
        pytest.param("kill -9 $$", "", 137, id="a job ended by a signal"),
        pytest.param("", "", 0, id="an empty script"),
    ],
)
def test_waiting_streams_the_output_and_ends_with_the_jobs_code(
    shared: Place, script: str, out: str, code: int
) -> None:
    ran = shared.cli("submit", "test/shell", "--wait", "--", "sh", "-c", script)
    assert (ran.code, ran.out) == (code, out)


def test_waiting_goes_on_over_a_kill_and_a_restart(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    script = f"echo first; while [ ! -e {flag} ]; do sleep 0.05; done; echo last; exit 6"
    command = [
        sys.executable,
        "-m",
        "remuda",
        "submit",
        "test/shell",
        "--data-dir",
        str(running.data),
        "--wait",
    ]
    with subprocess.Popen(
        [*command, "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiter:
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == b"first\n"
        running.kill()
        flag.touch()
        running.start()
        out, err = waiter.communicate(timeout=DEADLINE_S)
    assert (out, waiter.returncode) == (b"last\n", 6)
    assert b"remuda is away; job 1 goes on" in err


def test_an_interrupted_wait_leaves_the_job_and_says_how_to_end_it(shared: Place) -> None:
    command = [
        sys.executable,
        "-m",
        "remuda",
        "submit",
        "test/shell",
        "--data-dir",
        str(shared.data),
        "--wait",
    ]
    with subprocess.Popen(
        [*command, "--", "sh", "-c", "echo $REMUDA_JOB; sleep 600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as waiter:
        assert waiter.stdout is not None
        number = int(waiter.stdout.readline())
        waiter.send_signal(signal.SIGINT)
        _, err = waiter.communicate(timeout=DEADLINE_S)
    assert waiter.returncode == 130
    assert f"remuda jobs cancel {number}" in err.decode()
    assert shared.job(number).state == "running"
    assert shared.cli("jobs", "cancel", str(number)).code == 0
    assert shared.wait_end(number).state == "cancelled"


def test_a_failed_job_is_retried_as_often_as_it_may_be(shared: Place) -> None:
    script = 'echo "try $REMUDA_ATTEMPT"; test $REMUDA_ATTEMPT = 3'
    ran = shared.cli("submit", "test/shell", "--wait", "--retries", "2", "--", "sh", "-c", script)
    assert (ran.code, ran.out) == (0, "try 1\ntry 2\ntry 3\n")
    number = max(shared.jobs())
    assert shared.cli("jobs", "logs", str(number), "--attempt", "2").out == "try 2\n"
    assert "3 of at most 3" in shared.cli("jobs", "show", str(number)).out


def test_a_job_that_runs_too_long_is_ended_with_all_it_started(shared: Place) -> None:
    script = "sleep 600 & sleep 601"
    ran = shared.cli("submit", "test/shell", "--wait", "--timeout", "300ms", "--", "sh", "-c", script)
    assert ran.code == 143
    assert "timeout" in ran.err
    number = max(shared.jobs())
    assert shared.job(number).attempts[0].status == "timeout"
    assert shared.job_processes(number) == []


def test_higher_priority_runs_first_and_equals_in_their_order(shared: Place) -> None:
    ran, flag = shared.home / "order", shared.home / "order-go"
    script = f"while [ ! -e {flag} ]; do sleep 0.02; done"
    shared.wait_idle(1, "one")
    blocker = shared.submit("sh", "-c", script, job_class="test/one")
    shared.wait_running(blocker)
    numbers = [
        shared.submit("sh", "-c", f"echo {name} >> {ran}", job_class="test/one", priority=priority)
        for name, priority in (("low", -1), ("a", 0), ("b", 0), ("high", 7))
    ]
    answer = shared.cli("why", "job", str(numbers[0])).out
    assert "ahead of it: 3" in answer
    flag.touch()
    for number in numbers:
        shared.wait_end(number)
    assert ran.read_text().split() == ["high", "a", "b", "low"]


def test_a_job_that_waits_is_cancelled_at_once_and_one_that_runs_is_ended(shared: Place) -> None:
    shared.wait_idle(1, "one")
    runs = shared.submit("sleep", "600", job_class="test/one")
    shared.wait_running(runs)
    waits = shared.submit("sleep", "601", job_class="test/one")
    ran = shared.cli("jobs", "cancel", str(waits), "99999", str(runs))
    assert ran.code == 1
    assert "there is no job 99999" in ran.err
    assert ran.out == f"job {waits} is cancelled\njob {runs} is cancelled\n"
    assert shared.job(waits).attempts == ()
    ended = shared.wait_end(runs)
    assert (ended.state, ended.attempts[-1].status) == ("cancelled", "cancelled")
    again = shared.cli("jobs", "cancel", str(runs))
    assert (again.code, again.out) == (0, f"job {runs} has ended already: cancelled\n")
    assert shared.wait_end(shared.submit("true", job_class="test/one")).state == "succeeded"


def test_an_ended_job_can_be_run_once_more(shared: Place) -> None:
    number = shared.submit("sh", "-c", "test $REMUDA_ATTEMPT = 2")
    assert shared.wait_end(number).state == "failed"
    assert shared.cli("jobs", "retry", str(number)).out == f"job {number} waits again\n"
    eventually(lambda: shared.job(number).state == "succeeded", "the second try")
    assert len(shared.job(number).attempts) == 2


def test_environment_variables_reach_the_job_and_only_those(shared: Place) -> None:
    ran = shared.cli(
        "submit",
        *("test/shell", "--wait", "--env", "A=1 = 2", "--env", "EMPTY=", "--", "env"),
        env={"OUTSIDE": "not-for-jobs"},
    )
    lines = ran.out.splitlines()
    assert "A=1 = 2" in lines
    assert "EMPTY=" in lines
    assert "OUTSIDE" not in ran.out
    assert f"HOME={shared.data}" in ran.out


def test_a_secret_reaches_the_job_and_nothing_else(running: Place) -> None:
    running.wait_idle(2)
    secret = "s3cr3t-planted-value-8271"
    file = running.home / "token"
    file.write_text(secret + "\n")
    script = 'echo "len ${#TOKEN}"; echo "it is $TOKEN"; printf "%s" "$TOKEN" | cut -c1-10; echo $TOKEN >&2; sleep 1'
    command = ["submit", "test/shell", "--wait", "--secret-env", f"TOKEN={file}", "--", "sh", "-c", script]
    ran = running.cli(*command)
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [f"len {len(secret)}", "it is ***"]
    assert secret not in ran.out + ran.err

    number = max(running.jobs())
    answer = [
        running.cli("jobs", "show", str(number), "-o", "json").out,
        running.cli("jobs", "logs", str(number)).out,
        running.cli("jobs", "list").out,
        running.cli("why", "job", str(number)).out,
        running.cli("top").out,
        running.log,
    ]
    assert str(file) in answer[0]
    assert not any(secret in text for text in answer)
    assert holders(running.data, secret.encode()) == []


def test_while_a_job_runs_its_secret_is_in_no_command_line_and_no_file(running: Place) -> None:
    running.wait_idle(2)
    secret = "s3cr3t-planted-value-5566"
    file = running.home / "token"
    file.write_text(secret)
    number = running.submit("sh", "-c", "sleep 600", secret_files={"TOKEN": str(file)})
    (pid, *_) = eventually(lambda: running.job_processes(number), "the job's process")
    assert secret.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    commands = [
        path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)
    ]
    assert not any(secret.encode() in command for command in commands)
    assert holders(running.data, secret.encode()) == []
    shim = running.shims()[running.job(number).attempts[0].machine]
    assert secret.encode() not in Path(f"/proc/{shim}/environ").read_bytes()


def holders(root: Path, planted: bytes) -> list[Path]:
    """Every file below a directory that holds the bytes."""
    return [path for path in root.rglob("*") if path.is_file() and planted in path.read_bytes()]


def test_a_secret_file_that_went_away_is_a_failed_job_with_its_reason(shared: Place) -> None:
    file = shared.home / "passing"
    file.write_text("value")
    flag = shared.home / "passing-go"
    shared.wait_idle(1, "one")
    blocker = shared.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.02; done", job_class="test/one")
    shared.wait_running(blocker)
    number = shared.submit("true", job_class="test/one", secret_files={"TOKEN": str(file)})
    file.unlink()
    flag.touch()
    ended = shared.wait_end(number)
    assert (ended.state, ended.attempts[0].status) == ("failed", "unstartable")
    assert ended.attempts[0].detail == f"secret TOKEN cannot be read from {file}: No such file or directory"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(["test/shell"], "say CLASS and the command, as in: remuda submit", id="no command"),
        pytest.param(["test/shell", "--", ""], "the command is empty", id="an empty command"),
        pytest.param(["test/shel", "--", "x"], "no pool serves class test/shel", id="an unknown class"),
        pytest.param(
            ["test/shell", "--timeout", "10 minutes", "--", "x"],
            "'10 minutes' is not a duration: write a number and a unit, like 90s",
            id="a duration in words",
        ),
        pytest.param(["test/shell", "--timeout", "0", "--", "x"], "must be more than 0", id="no time at all"),
        pytest.param(["test/shell", "--env", "A", "--", "x"], "--env wants K=V, found 'A'", id="no value"),
        pytest.param(
            ["test/shell", "--env", "1=2", "--", "x"], "no name for an environment", id="a bad name"
        ),
        pytest.param(["test/shell", "--retries", "-1", "--", "x"], "not in the range", id="negative retries"),
        pytest.param(["test/shell", "--priority", "x", "--", "x"], "not a valid integer", id="no number"),
        pytest.param(
            ["test/shell", "--secret-env", "A=/nope", "--", "x"], "/nope cannot be read", id="no secret file"
        ),
        pytest.param(["test/shell", "--secret-env", "A=/", "--", "x"], "cannot be read", id="a directory"),
        pytest.param(
            ["test/shell", "ls", "-l"], "The job's command comes after --", id="options without a mark"
        ),
        pytest.param(
            ["test/shell", "--", "echo", "x" * 100_000, *["y" * 100_000] * 12],
            "the job is too large: its command and variables have 1269 KiB, and may have 1024 KiB together",
            id="a huge command",
        ),
    ],
)
def test_a_job_that_cannot_be_is_refused(shared: Place, words: list[str], answer: str) -> None:
    before = len(shared.jobs())
    ran = shared.cli("submit", *words)
    assert ran.code == 2
    assert answer in ran.err
    assert len(shared.jobs()) == before


@pytest.mark.parametrize(
    ("command", "code", "answer"),
    [
        pytest.param(["no-such-command"], 127, "'no-such-command' was not found", id="not there"),
        pytest.param(["/etc/passwd"], 126, "not executable", id="not executable"),
        pytest.param(["/"], 126, "not executable", id="a directory"),
    ],
)
def test_a_command_that_cannot_run_is_a_failed_job_with_its_reason(
    shared: Place, command: list[str], code: int, answer: str
) -> None:
    ran = shared.cli("submit", "test/shell", "--wait", "--", *command)
    assert ran.code == code
    assert answer in ran.err


def test_a_long_command_line_runs(shared: Place) -> None:
    number = shared.submit("sh", "-c", "echo $# ${#1}", "sh", *["y" * 1_000] * 500)
    assert shared.wait_end(number).state == "succeeded"
    assert shared.output(number) == b"500 1000\n"
    assert "…" in shared.cli("jobs", "list").out


def test_binary_output_comes_back_as_it_is(shared: Place) -> None:
    number = shared.submit("printf", "a\\000b\\377\\033[2Jc")
    shared.wait_end(number)
    assert shared.output(number) == b"a\0b\xff\x1b[2Jc"


def test_a_hundred_megabytes_of_output_are_capped_and_cost_no_memory(running: Place) -> None:
    running.wait_idle(2)
    process = running.processes[-1].pid
    before = resident_kib(process)
    number = running.submit(
        "sh", "-c", "yes 0123456789012345678901234567890 | head -c 100000000; echo; echo end"
    )
    ended = running.wait_end(number)
    assert ended.state == "succeeded"
    size = 0
    last = b""
    for piece in running.remuda.stream(f"/v1/jobs/{number}/logs"):
        size += len(piece)
        last = (last + piece)[-100:]
    assert 16 * 1024 * 1024 < size < 17 * 1024 * 1024
    assert last.endswith(b"\nend\n")
    assert resident_kib(process) - before < 24 * 1024
    assert running.wait_end(running.submit("true")).state == "succeeded"


def resident_kib(pid: int) -> int:
    """Memory a process holds now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def test_a_deleted_machine_directory_is_a_lost_machine_and_everything_else_goes_on(running: Place) -> None:
    view = running.wait_idle(2)
    name = view.machines[0].name
    subprocess.run(["rm", "-r", str(running.data / "machines" / name)], check=True)
    numbers = [running.submit("true", retries=1) for _ in range(4)]
    for number in numbers:
        assert running.wait_end(number).state == "succeeded"
    running.wait_idle(2)
    eventually(lambda: name not in running.shims(), "the end of its shim")


def test_a_machine_directory_deleted_under_a_job_is_reported_in_the_job(running: Place) -> None:
    running.wait_idle(2)
    flag = running.home / "go"
    number = running.submit("sh", "-c", f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 3")
    machine = running.wait_running(number).attempts[0].machine
    subprocess.run(["rm", "-r", str(running.data / "machines" / machine)], check=True)
    flag.touch()
    ended = running.wait_end(number)
    assert ended.state == "failed"
    running.wait_idle(2)
    eventually(lambda: machine not in running.shims(), "the end of its shim")
    assert running.wait_end(running.submit("true")).state == "succeeded"


def test_output_of_jobs_is_read_from_the_files_when_nothing_runs(running: Place) -> None:
    number = running.submit("sh", "-c", "echo kept; exit 3")
    running.wait_end(number)
    running.stop()
    assert running.cli("jobs", "logs", str(number)).out == "kept\n"
    assert running.cli("jobs", "logs", "-f", str(number)).out == "kept\n"
    shown = running.cli("jobs", "show", str(number))
    assert "exited" in shown.out
    refused = running.cli("submit", "test/shell", "--", "true")
    assert refused.code == 1
    assert "start one with `remuda up FILE…`" in refused.err


def test_jobs_are_cancelled_and_retried_by_class_pool_and_state(shared: Place) -> None:
    shared.wait_idle(1, "one")
    runs = shared.submit("sleep", "600", job_class="test/one")
    shared.wait_running(runs)
    waits = [shared.submit("true", job_class="test/one") for _ in range(3)]
    asked = shared.cli("jobs", "cancel", "--class", "test/one", "--state", "waiting")
    assert asked.code == 2
    assert "Cancel 3 jobs (waiting, class test/one)? Say --yes" in asked.err
    both = shared.cli("jobs", "cancel", str(runs), "--class", "test/one")
    assert "say either the numbers of jobs, or which by --state, --class or --pool" in both.err
    unfit = shared.cli("jobs", "cancel", "--class", "test/one", "--state", "failed", "--yes")
    assert "--state failed: cancel is for jobs that are waiting, running" in unfit.err
    done = shared.cli("jobs", "cancel", "--pool", "one", "--state", "waiting", "--yes")
    assert (done.code, done.out) == (0, "3 jobs are cancelled\n")
    assert shared.job(runs).state == "running"
    again = shared.cli("jobs", "retry", "--pool", "one", "--state", "cancelled", "--yes", "-q")
    assert [int(line) for line in again.out.split()][-3:] == waits
    shared.cli("jobs", "cancel", "--pool", "one", "--yes")
    assert shared.wait_end(runs).state == "cancelled"
    assert shared.cli("jobs", "cancel", "--pool", "one", "--yes").out == "there is no such job\n"


def test_whoever_waits_behind_a_queue_hears_how_long_it_is(shared: Place) -> None:
    flag = shared.home / "queue-go"
    shared.wait_idle(1, "one")
    first = shared.submit("sh", "-c", f"until [ -e {flag} ]; do sleep 0.05; done", job_class="test/one")
    shared.wait_running(first)
    shared.submit("true", job_class="test/one")
    command = [sys.executable, "-m", "remuda", "submit", "test/one", "--data-dir", str(shared.data), "--wait"]
    with subprocess.Popen(
        [*command, "--", "echo", "my turn"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as waiter:
        assert waiter.stderr is not None
        line = waiter.stderr.readline().decode()
        flag.touch()
        out, _ = waiter.communicate(timeout=DEADLINE_S)
    assert " waits, 1 ahead of it; `remuda why job " in line
    assert (out, waiter.returncode) == (b"my turn\n", 0)


def test_data_on_stdin_is_refused_instead_of_dropped(shared: Place) -> None:
    before = len(shared.jobs())
    ran = shared.cli("submit", "test/shell", "--", "cat", stdin="precious")
    assert ran.code == 2
    assert "there is data on stdin, and a job reads nothing from there" in ran.err
    assert len(shared.jobs()) == before


def test_a_job_with_a_key_is_handed_in_once(shared: Place) -> None:
    words = ("submit", "test/shell", "--key", "nightly", "--", "true")
    first, second = shared.cli(*words), shared.cli(*words)
    number = first.out.split()[1]
    assert second.out.startswith(f"job {number} was handed in before with this key")


def test_a_file_of_jobs_is_handed_in_with_one_request(shared: Place) -> None:
    lines = '{"class": "test/shell", "command": ["echo", "a"], "timeout": "10m"}\n\n{"class": "test/one", "command": ["true"]}'
    ran = shared.cli("submit", "--from", "-", "-q", stdin=lines)
    numbers = [int(line) for line in ran.out.split()]
    assert [shared.wait_end(number).job_class for number in numbers] == ["test/shell", "test/one"]
    assert shared.job(numbers[0]).spec.timeout == 600_000
    before = len(shared.jobs())
    bad = '{"class": "test/shell", "comand": ["a"]}\nno\n{"class": "test/shell", "command": ["a"], "timeout": "soon"}'
    ran = shared.cli("submit", "--from", "-", stdin=bad)
    assert ran.code == 2
    assert "-:1: Object contains unknown field `comand`" in ran.err
    assert "-:2: it is not JSON" in ran.err
    assert "-:3: timeout: 'soon' is not a duration" in ran.err
    assert len(shared.jobs()) == before
    alone = shared.cli("submit", "--from", "-", "--wait", stdin=lines)
    assert "--from stands alone" in alone.err


def test_a_job_that_is_too_large_is_refused_in_plain_words(shared: Place) -> None:
    ran = shared.cli("submit", "test/shell", "--", "echo", *(["x" * 100_000] * 11))
    assert ran.code == 2
    assert "the job is too large: its command and variables have 1074 KiB, and may have 1024 KiB" in ran.err


def test_a_list_that_stops_says_how_to_see_more(shared: Place) -> None:
    for _ in range(3):
        shared.submit("true")
    ran = shared.cli("jobs", "list", "--most", "2")
    last = ran.out.splitlines()[-1].split()[0]
    assert f"are not shown; --before {last} shows the next" in ran.err
    listed = shared.cli("jobs", "list", "--most", "1", "--before", last, "-q")
    assert (listed.out, listed.err) == (f"{int(last) - 1}\n", "")
