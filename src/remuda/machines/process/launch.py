"""
Starting a job where it shall be, and ending everything it started.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from remuda.machines.process.init import Init
from remuda.machines.process.kernel import SET_CHILD_SUBREAPER, prctl
from remuda.machines.process.landlock import restrict, version
from remuda.machines.process.program import Program, StartError, environment_of, limits_of
from remuda.machines.process.records import remove_tree, write_text

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import Any

UNKILLABLE_S = 10.0  # a process in uninterruptible sleep must not hold the result of a job for ever
PRIVATE_DIRECTORY = 0o40700


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


def launch(
    order: dict[str, Any], machine: dict[str, Any], directory: str, init: Init | None
) -> tuple[int, int]:
    """
    Start a job in its own session, separated as the machine says: by its `init` where it has one.

    Returns the reading end of its output, and its pid, or with `init` the reading end of what reports its end; once the
    command runs, or raises `StartError` with what kept it from running. A separation that the machine was made with and
    that cannot be had now is such a reason: whoever uses up what it takes must not be let in.
    """
    separation = machine.get("separation") or {}
    work = f"{directory}/work"
    program = Program(
        order["command"],
        environment_of(order, machine, directory),
        limits_of(machine["rlimits"]),
        separation.get("uid"),
    )

    def enter(program: Program) -> None:
        if machine["cgroup"]:
            program.doing = "entering its control group"
            write_text(f"{machine['cgroup']}/cgroup.procs", "0")
        if separation.get("means") == "landlock":
            program.doing = "being separated from other jobs"
            restrict(separation["cover"], work, version())
        program.doing = "entering the work directory"
        os.chdir(work)

    output, output_in = os.pipe()
    try:
        found = init.start(program, output_in) if init else program.fork(output_in, enter)
    except StartError:
        os.close(output)
        raise
    finally:
        os.close(output_in)
    os.set_blocking(output, False)
    return output, found


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
