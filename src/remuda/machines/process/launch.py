"""
Starting a job's main process, and ending everything it started.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import sys
import time

from remuda.machines.process.kernel import SET_CHILD_SUBREAPER, SET_PDEATHSIG, hide_memory, prctl
from remuda.machines.process.landlock import restrict, version
from remuda.machines.process.records import remove_tree, write_text
from remuda.machines.process.sandbox import (
    STARTED,
    acting_as,
    become,
    die_with_shim,
    enter,
    fork_init,
    reap_all,
)

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

UNKILLABLE_S = 10.0  # a process in uninterruptible sleep must not hold the result of a job for ever
PRIVATE_DIRECTORY = 0o40700


class StartError(Exception):
    """The job could not be started, with the exit code a shell would give and a sentence."""

    def __init__(self, exit_code: int, detail: str) -> None:
        super().__init__(detail)
        self.exit_code, self.detail = exit_code, detail


def become_reaper() -> bool:
    """Inherit all processes below this one whose parents end; False where that is not possible."""
    return prctl(SET_CHILD_SUBREAPER, 1)


def prepare_work(directory: str, uid: int | None = None) -> None:
    """Give the next job, and the user that it gets, an empty work directory."""
    work, temporary = f"{directory}/work", f"{directory}/work/tmp"
    try:
        if _is_fresh(work, temporary):
            return
        if os.path.lexists(work):
            remove_tree(work)
        for path in (work, temporary):
            os.mkdir(path, 0o700)  # noqa: PTH102
            if uid is not None:
                os.chown(path, uid, uid)
    except OSError as problem:
        raise StartError(127, f"the work directory could not be emptied: {problem}") from problem


def _is_fresh(work: str, temporary: str) -> bool:
    try:
        modes = {os.lstat(work).st_mode, os.lstat(temporary).st_mode}
        return modes == {PRIVATE_DIRECTORY} and os.listdir(work) == ["tmp"] and not os.listdir(temporary)  # noqa: PTH208
    except OSError:
        return False


def launch(order: dict[str, Any], machine: dict[str, Any], directory: str) -> tuple[int, int, int]:
    """
    Start a job in its own session, separated as the machine says.

    Returns its pid, the reading end of its output, and the one of what reports its end where the pid is that of its `init`
    (else -1); once the command runs, or raises `StartError` with what kept it from running. A separation that the machine was
    made with and that cannot be had now is such a reason: whoever uses up what it takes must not be let in.
    """
    start = _Start(order, machine, directory)
    output, output_in = os.pipe()
    try:
        pid, report = _begin_boxed(start, output_in) if start.is_boxed else (_begin(start, output_in), -1)
    except StartError:
        os.close(output)
        raise
    finally:
        os.close(output_in)
    os.set_blocking(output, False)
    return pid, output, report


class _Start:
    """What a job is started with. All that can be done before a fork is: whatever the child touches must be copied for it."""

    def __init__(self, order: dict[str, Any], machine: dict[str, Any], directory: str) -> None:
        separation = machine.get("separation") or {}
        self.means, self.uid, self.cover = (
            separation.get("means"),
            separation.get("uid"),
            separation.get("cover", ""),
        )
        self.is_boxed = self.means in {"user", "namespaces"}
        self.command, self.environment = order["command"], _environment(order, machine, directory)
        self.limits = _limits(machine["rlimits"])
        self.cgroup, self.work = machine["cgroup"], f"{directory}/work"
        self.own = (
            (os.getuid(), os.getgid()) if self.uid is None else None
        )  # nobody has any in a new namespace
        self.doing = ""

    def enter(self) -> None:
        """Go where the job shall be; called in the child."""
        self.doing = "leaving the shim's session"
        signal.set_wakeup_fd(-1)
        os.setsid()
        if self.cgroup:
            self.doing = "entering its control group"
            write_text(f"{self.cgroup}/cgroup.procs", "0")
        self.doing = "being separated from other jobs"
        if self.is_boxed:
            enter(self.cover, self.work, self.own)
        elif self.means == "landlock":
            restrict(self.cover, self.work, version())
        self.doing = "entering the work directory"
        os.chdir(self.work)

    def explain(self, problem: BaseException) -> bytes:
        """What kept a job from running, for who waits for it."""
        if isinstance(problem, StartError):
            return json.dumps([problem.exit_code, problem.detail]).encode()
        code, detail = _explain(problem, str(self.command[:1])[1:-1])
        return json.dumps([code, f"{self.doing}: {problem}" if self.doing else detail]).encode()


def _begin(start: _Start, output_in: int, *, is_inside: bool = False) -> int:
    """Fork a process that becomes the job; its pid. `is_inside` where the caller is where the job shall be."""
    report, report_in = os.pipe()
    above = os.getpid()
    pid = _forked(os.fork, (report, report_in))
    if not pid:
        try:
            if is_inside:
                os.setsid()
            else:
                start.enter()
            if prctl(SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != above:
                os._exit(127)
            os.dup2(output_in, 1)
            os.dup2(output_in, 2)
            start.doing = "limiting its resources"
            for kind, limit in start.limits:
                resource.setrlimit(kind, (limit, limit))
            if start.uid is not None:
                start.doing = "becoming a user of its own"
                become(start.uid)
            start.doing = ""
            _execute(start.command, start.environment, os.execve)
        except BaseException as problem:  # noqa: BLE001 - the child has no one above it: all it can do is report
            os.write(report_in, start.explain(problem))
        finally:
            os._exit(127)
    os.close(report_in)
    _raise_if_told(report, pid)
    os.close(report)
    return pid


def _begin_boxed(start: _Start, output_in: int) -> tuple[int, int]:
    """Fork the `init` of namespaces of their own, which starts the job; its pid, and where it reports the job's end."""
    report, report_in = os.pipe()
    pid = _forked(lambda: fork_init(start.uid), (report, report_in))
    if not pid:
        try:
            os.close(report)
            die_with_shim(report_in)
            start.enter()
            # Limits are not for us: what they leave may be too little.
            job = _begin(start, output_in, is_inside=True) if start.limits else _spawn(start, output_in)
            hide_memory()  # whoever was another user for a moment is shown again, and lives on alone
            die_with_shim(report_in)
            reap_all(job, report_in)
        except BaseException as problem:  # noqa: BLE001 - as above
            os.write(report_in, start.explain(problem))
        finally:
            os._exit(127)
    os.close(report_in)
    _raise_if_told(report, pid)
    return pid, report


def _spawn(start: _Start, output_in: int) -> int:
    """Start the job without another fork, which would take several times as long."""
    outputs = [(os.POSIX_SPAWN_DUP2, output_in, 1), (os.POSIX_SPAWN_DUP2, output_in, 2)]
    start.doing = "becoming a user of its own"
    with acting_as(start.uid):
        start.doing = ""
        return _execute(
            start.command,
            start.environment,
            lambda path, command, environment: os.posix_spawn(
                path, command, environment, file_actions=outputs, setsid=True
            ),
        )


def _forked(fork: Callable[[], int], pipe: tuple[int, int]) -> int:
    try:
        return fork()
    except OSError as problem:
        for end in pipe:
            os.close(end)
        raise StartError(127, f"no process could be started: {problem}") from problem


def _raise_if_told(report: int, pid: int) -> None:
    """Wait until a child has started the job, and raise what it says instead."""
    told = os.read(report, 1)
    if told and told != STARTED:
        with open(report, "rb") as file:
            told += file.read()
        os.waitpid(pid, 0)
        raise StartError(*json.loads(told))


def _limits(limits: dict[str, int]) -> list[tuple[int, int]]:
    """Each resource with the limit asked for, or the lower one that is the most this system lets us set."""
    found = []
    for name, limit in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        found.append((kind, limit if hard == resource.RLIM_INFINITY else min(limit, hard)))
    return found


def _execute(
    command: list[str],
    environment: dict[str, str],
    start: Callable[[str, list[str], dict[str, str]], int],
) -> int:
    """Like `os.execvpe`, which imports a module in the child every time and so takes twice as long."""
    if "/" in command[0]:
        return start(command[0], command, environment)
    problem: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    for place in environment["PATH"].split(":"):
        path = f"{place or '.'}/{command[0]}"
        try:
            os.lstat(path)  # most places do not have it, and to start it there takes longer to fail
            return start(path, command, environment)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as found:
            if os.access(place or ".", os.X_OK):  # else it is a place that is not open to the job's user
                problem = found
    raise problem


def _environment(order: dict[str, Any], machine: dict[str, Any], directory: str) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": f"{directory}/work",
        "TMPDIR": f"{directory}/work/tmp",
        **machine["env"],
        **order.get("env", {}),
        **order.get("secrets", {}),
        # Last, so that no job can hide from the search for what a dead shim left behind.
        "REMUDA_JOB": str(order["id"]),
        "REMUDA_ATTEMPT": str(order["attempt"]),
        "REMUDA_MACHINE": machine["name"],
        "REMUDA_MACHINE_ID": machine["id"],
        "REMUDA_MACHINE_DIR": directory,
    }


def _explain(problem: BaseException, command: str) -> tuple[int, str]:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        return 127, f"the command {command} was not found, or the interpreter it names"
    if isinstance(problem, OSError) and problem.errno in {errno.EACCES, errno.EPERM, errno.ENOEXEC}:
        return 126, f"the command {command} is not executable: {problem.strerror}"
    if isinstance(problem, ValueError):
        return 127, f"the command or its environment cannot be passed on: {problem}"
    return 127, f"the command {command} could not be started: {problem}"


def end_descendants(group: int, cgroup: str | None) -> int:
    """
    Kill everything below this process until nothing is left; how many would not die.

    The shim inherits every process below it whose parent ends, so that killing its children until it has none ends
    all of them, also a daemon that left its session and one that starts others faster than a search could find.
    Elsewhere than on Linux only the job's process group is found.
    """
    give_up = time.monotonic() + UNKILLABLE_S
    killed: set[int] = set()
    while not _reap():
        if cgroup:
            with contextlib.suppress(OSError):
                write_text(f"{cgroup}/cgroup.kill", "1")
        children = _children() if sys.platform == "linux" else {-group}
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > give_up:
            return len(children)
        if children <= killed:  # they are dying: a new one would be killed without delay
            time.sleep(0.001)
        killed |= children
    return 0


def _reap() -> bool:
    """Take all children that have ended; True when there are none any more."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _children() -> set[int]:
    own = os.getpid()
    with contextlib.suppress(OSError), open(f"/proc/{own}/task/{own}/children", "rb") as file:  # noqa: PTH123
        return {int(pid) for pid in file.read().split()}
    found = set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a kernel without that file
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                if int(file.read().rpartition(b")")[2].split()[1]) == own:
                    found.add(int(name))
    return found


def oom_kills(cgroup: str | None) -> int:
    """How often the machine's control group ran out of memory so far."""
    if cgroup:
        try:
            with open(f"{cgroup}/memory.events", "rb") as file:  # noqa: PTH123
                for line in file:
                    name, _, count = line.partition(b" ")
                    if name == b"oom_kill":
                        return int(count)
        except (OSError, ValueError):
            pass
    return 0
