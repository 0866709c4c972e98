"""
A job's main process: what it is started with, and the two ways to start it.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal

from remuda.machines.process.kernel import SET_PDEATHSIG, prctl
from remuda.machines.process.sandbox import acting_as, become

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: what is reported once the program runs
STARTED = b"+"


class StartError(Exception):
    """The job could not be started, with the exit code a shell would give and a sentence."""

    def __init__(self, exit_code: int, detail: str) -> None:
        super().__init__(detail)
        self.exit_code, self.detail = exit_code, detail


class Program:
    """A command with its environment, its limits and the user that it gets. `doing` is what is tried now, to start it."""

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        limits: list[tuple[int, int]],
        uid: int | None,
    ) -> None:
        self.command, self.environment, self.limits, self.uid = command, environment, limits, uid
        self.doing = ""

    def fork(self, output_in: int, enter: Callable[[Program], None]) -> int:
        """Fork a process that goes where `enter` leads, and becomes the program; its pid."""
        report, report_in = os.pipe()
        above = os.getpid()
        try:
            pid = os.fork()
        except OSError as problem:
            os.close(report)
            os.close(report_in)
            raise StartError(127, f"no process could be started: {problem}") from problem
        if not pid:
            try:
                self.doing = "leaving the shim's session"
                signal.set_wakeup_fd(-1)
                os.setsid()
                if prctl(SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != above:
                    os._exit(127)
                enter(self)
                os.dup2(output_in, 1)
                os.dup2(output_in, 2)
                self.doing = "limiting its resources"
                for kind, limit in self.limits:
                    resource.setrlimit(kind, (limit, limit))
                if self.uid is not None:
                    self.doing = "becoming a user of its own"
                    become(self.uid)
                self.doing = ""
                self._execute(os.execve)
            except BaseException as problem:  # noqa: BLE001 - the child has no one above it: all it can do is report
                os.write(report_in, self.explain(problem))
            finally:
                os._exit(127)
        os.close(report_in)
        try:
            raise_if_told(report)
        except StartError:
            os.waitpid(pid, 0)
            raise
        finally:
            os.close(report)
        return pid

    def spawn(self, output_in: int) -> int:
        """
        Start the program where we are, without a fork, which takes several times as long; its pid.

        It cannot be limited so: what limits leave may be too little for us.
        """
        outputs = [(os.POSIX_SPAWN_DUP2, output_in, 1), (os.POSIX_SPAWN_DUP2, output_in, 2)]
        self.doing = "becoming a user of its own"
        with acting_as(self.uid):
            self.doing = ""
            return self._execute(
                lambda path, command, environment: os.posix_spawn(
                    path, command, environment, file_actions=outputs, setsid=True
                )
            )

    def explain(self, problem: BaseException) -> bytes:
        """What kept it from running, for who waits for it."""
        if isinstance(problem, StartError):
            return json.dumps([problem.exit_code, problem.detail]).encode()
        code, detail = _explain(problem, str(self.command[:1])[1:-1])
        return json.dumps([code, f"{self.doing}: {problem}" if self.doing else detail]).encode()

    def _execute(self, start: Callable[[str, list[str], dict[str, str]], int]) -> int:
        """Like `os.execvpe`, which imports a module in the child every time and so takes twice as long."""
        command, environment = self.command, self.environment
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


def raise_if_told(report: int) -> None:
    """Wait until a program was started, and raise what is told instead."""
    told = os.read(report, 1)
    if told and told != STARTED:
        while chunk := os.read(report, 4096):
            told += chunk
        raise StartError(*json.loads(told))


def limits_of(limits: dict[str, int]) -> list[tuple[int, int]]:
    """Each resource with the limit asked for, or the lower one that is the most this system lets us set."""
    found = []
    for name, limit in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        found.append((kind, limit if hard == resource.RLIM_INFINITY else min(limit, hard)))
    return found


def environment_of(order: dict[str, Any], machine: dict[str, Any], directory: str) -> dict[str, str]:
    """What a job finds in its environment, its secrets among it."""
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
