"""
A job's own view of the host: it sees its own processes and its own directory, and neither Remuda's data nor other jobs.

The job runs in new namespaces of processes, mounts and System V IPC. Where Remuda is root the job gets a user of its own;
elsewhere it keeps its user and gets a namespace of users, in which it has no power over processes outside. Two small
processes stand between the shim and the job, because the first process of a namespace must do what `init` does: the outer
one ends as the job ended, the inner one is that `init`, and everything in the namespace dies with it.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys

if __name__ == "__main__":  # started by its path, with no search path of ours
    sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100

from remuda.machines.process.kernel import (
    BIND,
    NEW_IPC,
    NEW_NAMESPACE,
    NEW_PID,
    NEW_USER,
    NODEV,
    NOEXEC,
    NOSUID,
    RDONLY,
    REC,
    REMOUNT,
    SET_DUMPABLE,
    SET_PDEATHSIG,
    SLAVE,
    hide_memory,
    mount,
    prctl,
    unshare,
)

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

#: processes of ours that count as the job's where a limit of processes is one of the namespace or the control group
OWN_PROCESSES = 2
HIGHEST_FILE = 1 << 20


def enter(cover: str, work: str, uid: int | None) -> None:
    """
    Go on as a process in namespaces of its own, where `cover` holds nothing but the way to `work`.

    Called in a child of the shim that leads its process group; only the innermost process returns. With `uid` the
    caller is root, and becomes that user by `become`.
    """
    own = os.getuid(), os.getgid()  # nobody has any in a new namespace
    unshare(NEW_NAMESPACE | NEW_PID | NEW_IPC | (NEW_USER if uid is None else 0))
    if uid is None:
        _keep_ids(*own)
    status, status_in = os.pipe()
    init = os.fork()
    if init:
        _end_like_the_job(init, status, status_in)
    os.close(status)
    prctl(SET_PDEATHSIG, signal.SIGKILL)
    _leave_if_alone(status_in)
    _arrange(cover, work)
    job = os.fork()
    if job:
        _reap_all(job, status_in)
    os.close(status_in)
    os.setsid()


def become(uid: int) -> None:
    """Be a user with no rights but its own, for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _keep_ids(uid: int, gid: int) -> None:
    """Be in the new namespace of users who we were outside. The files for that are root's while memory is hidden."""
    prctl(SET_DUMPABLE, 1)
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)
    finally:
        hide_memory()


def _arrange(cover: str, work: str) -> None:
    """Mount a view of the host without what lies at `cover`, and with the processes of this namespace alone."""
    mount("none", "/", "", SLAVE | REC)
    place = os.open(work, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    mount("tmpfs", cover, "tmpfs", NOSUID | NODEV, "mode=0755,size=64k,nr_inodes=128")
    os.makedirs(work, 0o755)  # noqa: PTH103
    mount(f"/proc/self/fd/{place}", work, "", BIND)
    os.close(place)
    mount("", cover, "", REMOUNT | BIND | RDONLY | NOSUID | NODEV)
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)


def _end_like_the_job(init: int, status: int, status_in: int) -> NoReturn:
    """Wait for the job's `init`, and end with the status that it reports."""
    os.close(status_in)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.closerange(0, status)
    os.closerange(status + 1, HIGHEST_FILE)
    os.waitpid(init, 0)
    found = os.read(status, 16)
    code = os.waitstatus_to_exitcode(int(found)) if found else -signal.SIGKILL
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):  # some cannot be caught
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _reap_all(job: int, status_in: int) -> NoReturn:
    """Be the `init` of a job: pass on the request to end, reap everything, and end with the job."""

    def pass_on(number: int, _frame: object) -> None:
        try:
            os.killpg(job, number)
        except ProcessLookupError:  # it does not lead a group yet
            with contextlib.suppress(ProcessLookupError):
                os.kill(job, number)

    signal.signal(signal.SIGTERM, pass_on)
    os.closerange(0, status_in)
    os.closerange(status_in + 1, HIGHEST_FILE)
    while True:
        pid, status = os.wait()
        if pid == job:
            os.write(status_in, str(status).encode())
            os._exit(0)


def _leave_if_alone(status_in: int) -> None:
    """End when nobody waits for us any more: who died before we asked to die with it."""
    poller = select.poll()
    poller.register(status_in, 0)
    if poller.poll(0):
        os._exit(127)


def probe(cover: str, uid: int | None) -> int:
    """Try all of it in a directory that is there for that; 0 when it works."""
    work = f"{cover}/work"
    os.mkdir(work, 0o700)  # noqa: PTH102
    os.mkdir(f"{cover}/hidden", 0o777)  # noqa: PTH102
    if uid is not None:
        os.chown(work, uid, uid)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        os.setsid()
        enter(cover, work, uid)
        if uid is not None:
            become(uid)
        os.mkdir(f"{work}/made")  # noqa: PTH102
        seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
        if os.listdir(cover) == ["work"] and seen == [1, os.getpid()]:  # noqa: PTH208
            code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(probe(sys.argv[1], int(sys.argv[2]) if sys.argv[2] else None))
