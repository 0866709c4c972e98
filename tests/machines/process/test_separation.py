"""What a hostile job can do to the jobs beside it, to the shims and to Remuda: tried, as root and as an ordinary user."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.machines.process.hostile import RIGHTS, SCRIPT, attack
from tests.machines.process.stand_in import Machine, Remuda, eventually, output, run, sh

from remuda.errors import Unavailable
from remuda.machines.process import kernel, landlock
from remuda.machines.process.separation import (
    BLOCK,
    FIRST_UID,
    describe,
    describe_landlock,
    find_means,
    separate,
)
from remuda.machines.process.spec import Limits, Means, Separation, SeparationPolicy

ORDINARY = 61_999
pytestmark = pytest.mark.slow
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")


def as_ordinary(means: Means, *more: str) -> set[str]:
    """What the hostile job of an ordinary user could do."""
    command = [sys.executable, "-m", "tests.machines.process.hostile", means, str(ORDINARY), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@is_root
async def test_a_hostile_job_with_a_user_of_its_own_can_do_nothing_to_others(tmp_path: Path) -> None:
    assert await attack(tmp_path, Means.USER) == RIGHTS


@is_root
def test_a_hostile_job_of_an_ordinary_user_can_do_nothing_to_others_from_its_namespaces() -> None:
    assert as_ordinary(Means.NAMESPACES) == RIGHTS


@is_root
@pytest.mark.skipif(
    landlock.version() < landlock.SIGNALS_SINCE, reason="the kernel's Landlock knows no signals"
)
def test_where_only_landlock_is_to_be_had_a_hostile_job_can_still_see_the_control_socket_and_no_more() -> (
    None
):
    assert as_ordinary(Means.LANDLOCK) == RIGHTS | {"see the control socket"}


@is_root
def test_what_a_hostile_job_tries_works_where_nothing_separates_it() -> None:
    """The attacks are real: each of them works when it is not kept from working."""
    tried = {line.split('"')[1] for line in SCRIPT.splitlines() if line.startswith("can ")}
    kept_by_the_shim = {"read the shim's environment", "read the shim's memory", "see the shim's files"}
    not_in_the_way = {
        "uncover the data",
        "uncover the data in a namespace of its own",
        "become root",
    }
    assert as_ordinary(Means.NONE) == tried - kept_by_the_shim - not_in_the_way


@is_root
@pytest.mark.parametrize("means", [Means.USER, Means.NAMESPACES])
async def test_a_job_that_kills_all_it_can_kills_only_itself(tmp_path: Path, means: Means) -> None:
    """The guard is for the host: as root without separation this would end everything."""
    script = f'[ "$(id -u)" -ge {ORDINARY} ] && kill -9 -1; echo tried'
    found = await attack(tmp_path, means, script) if means is Means.USER else as_ordinary(means, script)
    assert "tried" in found


@is_root
@pytest.mark.parametrize("means", [Means.USER, Means.NAMESPACES])
async def test_a_limit_of_processes_holds_without_a_control_group(tmp_path: Path, means: Means) -> None:
    script = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); echo $i; done"
    found = (
        await attack(tmp_path, means, script, Limits(processes=20))
        if means is Means.USER
        else as_ordinary(means, script, "20")
    )
    # The shell itself is one of the twenty.
    assert max(int(line) for line in found if line.isdigit()) == 19


@is_root
def test_the_best_separation_that_works_is_found_by_trying() -> None:
    assert find_means() is Means.USER


def test_a_trial_that_does_not_end_says_nothing_of_the_host(tmp_path: Path) -> None:
    endless = tmp_path / "probe.py"
    endless.write_text("import signal; signal.pause()")
    with pytest.raises(Unavailable, match=r"took longer than 0\.2 s: the host is too busy"):
        find_means(str(endless), 0.2)


def test_a_user_of_its_own_is_never_one_of_an_account_or_of_another_machine(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    first = separate(Means.USER, SeparationPolicy.AUTO, tmp_path, 7, ()).uid
    assert first is not None
    assert FIRST_UID <= first < 2**31
    second = separate(Means.USER, SeparationPolicy.AUTO, tmp_path, 7, {first}).uid
    assert second == first + 1
    assert separate(Means.USER, SeparationPolicy.AUTO, tmp_path, 7 + BLOCK, ()).uid == first, (
        "as late as possible again"
    )
    made = separate(Means.USER, SeparationPolicy.AUTO, tmp_path, 7, (), is_account=lambda uid: uid == first)
    assert made.uid == second


def test_what_no_other_user_can_pass_is_covered_whole() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # all above is open to everybody
        home = Path(place) / "home"
        private = home / "share" / "remuda"
        private.mkdir(parents=True)
        Path(place).chmod(0o755)
        home.chmod(0o700)
        assert separate(Means.USER, SeparationPolicy.AUTO, private, 1, ()).cover == str(home)
        home.chmod(0o711)
        private.chmod(0o755)
        assert separate(Means.USER, SeparationPolicy.AUTO, private, 1, ()).cover == str(private)
        expected = Separation(Means.NAMESPACES, None, str(private))
        assert separate(Means.NAMESPACES, SeparationPolicy.AUTO, private, 1, ()) == expected


def test_separation_can_be_required_and_done_without(tmp_path: Path) -> None:
    assert separate(Means.NONE, SeparationPolicy.AUTO, tmp_path, 1, ()) == Separation()
    assert separate(Means.USER, SeparationPolicy.NONE, tmp_path, 1, ()) == Separation()
    with pytest.raises(Unavailable, match="requires that jobs are separated"):
        separate(Means.NONE, SeparationPolicy.REQUIRED, tmp_path, 1, ())


def test_what_is_not_separated_is_said() -> None:
    assert "whatever its user can" in describe(Separation())
    assert "2000200199" in describe(Separation(Means.USER, 2_000_200_199, "/x"))
    assert describe_landlock(7, True) == (
        "Landlock: a job cannot read or trace other processes or signal them or open Remuda's files,"
        " and the control API refuses it"
    )
    assert "it can signal other processes of its user and open Remuda's files" in describe_landlock(2, False)


@is_root
@pytest.mark.parametrize(
    ("script", "status", "code", "printed"),
    [
        pytest.param("echo out; exit 7", "exited", 7, b"out\n", id="its exit code is the job's"),
        pytest.param("kill -SEGV $$", "signaled", 139, b"", id="a signal is the job's"),
        pytest.param("kill -KILL $$", "signaled", 137, b"", id="also the one that nobody can catch"),
        pytest.param(
            "sleep 600 & setsid sleep 600 & echo up", "exited", 0, b"up\n", id="what it left is ended"
        ),
        pytest.param(
            "id -u; id -G", "exited", 0, b"2000200200\n2000200200\n", id="it has its own user and group alone"
        ),
        pytest.param(
            "grep -E 'Uid|Gid|CapPrm|CapEff' /proc/self/status",
            "exited",
            0,
            b"Uid:\t2000200200\t2000200200\t2000200200\t2000200200\n"
            b"Gid:\t2000200200\t2000200200\t2000200200\t2000200200\n"
            b"CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n",
            id="it has no way back to another user, and no rights",
        ),
        pytest.param("pwd -P; ls -A $HOME", "exited", 0, None, id="its home is its own"),
    ],
)
def test_a_separated_job_ends_as_any_other(
    hold: Callable[..., Machine],
    remuda: Remuda,
    tmp_path: Path,
    script: str,
    status: str,
    code: int,
    printed: bytes,
) -> None:
    machine = hold(separation=user(tmp_path))
    order = sh(tmp_path, "j", script)
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == (status, code), result
    expected = f"{machine.directory}/work\ntmp\n".encode() if printed is None else printed
    assert output(order) == expected


@is_root
@pytest.mark.parametrize("means", ["user", "namespaces"])
@pytest.mark.parametrize("rlimits", [{}, {"NOFILE": 64, "DATA": 4 << 20}])
def test_the_first_process_of_a_job_is_not_the_jobs_and_leaves_it_only_its_output(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path, means: str, rlimits: dict[str, int]
) -> None:
    separation = user(tmp_path) if means == "user" else {"means": means, "cover": str(tmp_path)}
    hold(separation=separation, rlimits=rlimits)
    script = (
        "echo $$; ls /proc/self/fd | wc -l; readlink /proc/self/fd/0; ls /proc/1/fd 2>&1 | tail -1; ulimit -n"
    )
    order = sh(tmp_path, "j", script if means == "user" else script.replace("2>&1", ">/dev/null"))
    remuda.order("m", order)
    assert remuda.result("j")["status"] == "exited"
    pid, files, stdin, *rest = output(order).decode().splitlines()
    # The list itself is open while it is read.
    assert (pid, files, stdin) == ("2", "4", "/dev/null")
    assert (means == "namespaces") or "denied" in rest[0]
    assert not rlimits or rest[-1] == "64"


_LOOK = "readlink /proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/user; ls /proc | grep -c '^[0-9]'"


@is_root
@pytest.mark.parametrize("means", ["user", "namespaces"])
def test_the_next_job_of_a_machine_finds_nothing_of_the_last(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path, means: str
) -> None:
    """They follow each other in one namespace of processes, which is empty, and have mounts and IPC of their own."""
    hold(separation=user(tmp_path) if means == "user" else {"means": means, "cover": str(tmp_path)})
    left = "touch left; ipcmk -Q >/dev/null; setsid sleep 600 & sleep 600 &"
    scripts = (f"{_LOOK}; {left}", f"{_LOOK}; ls -A; ipcs -q | grep -c 0x")
    first, second = (sh(tmp_path, f"j{number}", script) for number, script in enumerate(scripts))
    for order in (first, second):
        remuda.order("m", order)
        remuda.result(order["job"]["id"])
    before, after = (output(order).decode().splitlines() for order in (first, second))
    pids, ipc, users, seen = before
    assert after == [pids, after[1], users, seen, "tmp", "0"]
    # A number may come again; what was made under it is gone.
    assert os.readlink("/proc/self/ns/ipc") not in (ipc, after[1])  # noqa: PTH115
    if means == "user":
        assert users == os.readlink("/proc/self/ns/user")  # noqa: PTH115


@is_root
def test_the_next_job_of_a_machine_sees_what_was_mounted_meanwhile_and_nothing_holds_it(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation=user(tmp_path))
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # where a job can look
        Path(place).chmod(0o755)
        for number, is_mounted in enumerate((False, True, False)):
            if is_mounted:
                kernel.mount("tmpfs", place, "tmpfs", 0, "mode=0755")
                (Path(place) / "seen").touch()
            order = sh(tmp_path, f"j{number}", f"ls {place}")
            try:
                remuda.order("m", order)
                remuda.result(f"j{number}")
            finally:
                if is_mounted:
                    subprocess.run(["umount", place], check=True)
            assert output(order) == (b"seen\n" if is_mounted else b"")


@is_root
@pytest.mark.parametrize("moment", ["between two jobs", "while one runs"])
def test_a_machine_whose_first_process_is_killed_gets_another(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path, moment: str
) -> None:
    machine = hold(separation=user(tmp_path))
    order = sh(
        tmp_path, "j", "echo up" if moment == "between two jobs" else "setsid sleep 600 & echo up; sleep 600"
    )
    remuda.order("m", order)
    eventually(lambda: output(order) == b"up\n")
    if moment == "between two jobs":
        remuda.result("j")
    pid = machine.process.pid
    (init,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    os.kill(init, signal.SIGKILL)
    result = remuda.result("j")
    expected = ("exited", 0) if moment == "between two jobs" else ("signaled", 137)
    assert (result["status"], result["exit_code"]) == expected
    assert not of_user(2_000_200_200)
    eventually(lambda: not Path(f"/proc/{init}").exists())
    remuda.order("m", sh(tmp_path, "k", "exit 3"))
    assert remuda.result("k")["exit_code"] == 3


@is_root
def test_a_job_that_will_not_end_is_made_to_and_the_machine_goes_on(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation=user(tmp_path))
    order = sh(tmp_path, "j", "trap '' TERM; echo up; while :; do sleep 0.1; done", timeout_ms=300)
    remuda.order("m", order)
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("timeout", 137)
    assert not of_user(2_000_200_200)
    remuda.order("m", sh(tmp_path, "k", "exit 3"))
    assert remuda.result("k")["exit_code"] == 3


@is_root
def test_a_job_that_cannot_start_does_not_keep_the_next_one_from_starting(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation=user(tmp_path))
    remuda.order("m", run(tmp_path, "j", "/no/such/command" * 8_000))
    assert remuda.result("j")["status"] == "unstartable"
    large = {"LARGE": "x" * 100_000, "NAME": "\n"}
    order = sh(tmp_path, "k", 'printf %s "$LARGE$NAME" | wc -c', env=large)
    remuda.order("m", order)
    assert remuda.result("k")["exit_code"] == 0
    assert output(order) == b"100001\n"


@pytest.mark.parametrize("clone", [None, kernel.CLONE])
def test_a_fork_into_no_new_namespace_is_a_fork(clone: int | None) -> None:
    """In a process of its own: this one has threads."""
    script = f"""
import os
from remuda.machines.process.kernel import fork_into
pid = fork_into(0, {clone})
if not pid:
    import json  # what guards imports is not left locked
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
try:
    fork_into(0x800, {clone})  # of two that belong together, one
except OSError as problem:
    print(problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert "Invalid argument: 'clone'" in done.stdout


@is_root
def test_a_command_is_not_looked_for_where_its_user_may_not_go(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation=user(tmp_path))
    # Of the first process of its namespace, which is root's.
    remuda.order("m", run(tmp_path, "j", "no-such-command", env={"PATH": "/usr/bin:/proc/1/cwd:/bin"}))
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("unstartable", 127)
    assert "was not found" in result["detail"]


@is_root
def test_a_separated_job_is_asked_to_end_before_it_is_made_to(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation=user(tmp_path))
    order = sh(tmp_path, "j", "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.05; done")
    remuda.order("m", order)
    eventually(lambda: output(order) == b"up\n")
    remuda.cancel("j")
    result = remuda.result("j")
    assert (result["status"], result["exit_code"]) == ("cancelled", 5)
    assert output(order).startswith(b"up\n")
    assert output(order).endswith(b"asked\n")


@is_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_separated_job_dies_with_its_shim_and_with_all_it_started(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path, number: int
) -> None:
    machine = hold(separation=user(tmp_path))
    order = sh(tmp_path, "j", "env -i setsid sleep 6543 & echo up; exec sleep 6544")
    remuda.order("m", order)
    eventually(lambda: output(order) == b"up\n")
    eventually(lambda: len(of_user(2_000_200_200)) == 2)
    os.kill(machine.process.pid, number)
    machine.wait()
    eventually(lambda: not of_user(2_000_200_200))


@is_root
def test_a_separation_that_was_promised_and_cannot_be_had_fails_the_job(
    hold: Callable[..., Machine], remuda: Remuda, tmp_path: Path
) -> None:
    hold(separation={**user(tmp_path), "cover": str(tmp_path / "nowhere")})
    remuda.order("m", sh(tmp_path, "j", "echo ran"))
    result = remuda.result("j")
    assert result["status"] == "unstartable"
    assert result["detail"].startswith("being separated from other jobs: ")


def user(cover: Path) -> dict[str, object]:
    """A user of its own, in a directory that others may not pass to."""
    return {
        "means": "user",
        "uid": 2_000_200_200,
        "cover": separate(Means.USER, SeparationPolicy.AUTO, cover, 1, ()).cover,
    }


def of_user(uid: int) -> list[str]:
    """What runs as a user."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if process.stat().st_uid == uid:
                    found.append(process.name)
    return found
