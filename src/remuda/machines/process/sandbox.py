"""
A job's own view of the host: it sees its own processes and its own directory, and neither Remuda's data nor other jobs.

Jobs run in namespaces of processes, mounts and System V IPC. Where Remuda is root they get a user of their own; elsewhere
they keep their user and get a namespace of users, in which they have no power over processes outside. One small process stands
between the shim and a job (`init`), because the first process of a namespace has duties.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import os
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
    SLAVE,
    fork_into,
    hide_memory,
    mount,
    prctl,
    set_namespace,
    unshare,
)

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterator

#: processes of ours that count as the job's where a limit of processes is one of the namespace or the control group
OWN_PROCESSES = 1


def fork_init(uid: int | None) -> int:
    """
    As `os.fork`: the child is the first process of a new namespace of processes.

    Without `uid` it gets one of users, too, and others which are its own: to come back to them takes power over them.
    """
    return fork_into(NEW_PID | (NEW_USER | NEW_NAMESPACE | NEW_IPC if uid is None else 0))


def here() -> tuple[int, int]:
    """The namespaces of mounts and IPC that this process is in, to come back to."""
    return os.open("/proc/self/ns/mnt", os.O_RDONLY), os.open("/proc/self/ns/ipc", os.O_RDONLY)


def enter(cover: str, work: str) -> None:
    """Go on in new namespaces of mounts and IPC, where `cover` holds nothing but the way to `work`."""
    unshare(NEW_NAMESPACE | NEW_IPC)
    _arrange(cover, work)


def go_back(there: tuple[int, int]) -> None:
    """Leave what was entered, which is gone then, with all that a job left in it."""
    for file, kind in zip(there, (NEW_NAMESPACE, NEW_IPC), strict=True):
        set_namespace(file, kind)


def become(uid: int) -> None:
    """Be a user with no rights but its own, for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


@contextlib.contextmanager
def acting_as(uid: int | None) -> Iterator[None]:
    """Start programs as a user, and be root again. They cannot: the way back is forgotten where a program begins."""
    if uid is None:
        yield
        return
    own = os.getuid(), os.getgid()
    os.setgroups([])
    os.setresgid(uid, uid, own[1])
    os.setresuid(uid, uid, own[0])
    try:
        yield
    finally:
        os.setresuid(own[0], own[0], own[0])
        os.setresgid(own[1], own[1], own[1])


def keep_ids(uid: int, gid: int) -> None:
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


def probe(cover: str, uid: int | None) -> int:
    """Try all of it in a directory that is there for that; 0 when it works."""
    work = f"{cover}/work"
    os.mkdir(work, 0o700)  # noqa: PTH102
    os.mkdir(f"{cover}/hidden", 0o777)  # noqa: PTH102
    if uid is not None:
        os.chown(work, uid, uid)
    own = os.getuid(), os.getgid()
    child = fork_init(uid)
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        if uid is None:
            keep_ids(*own)
        before = here()
        enter(cover, work)
        with acting_as(uid):
            os.mkdir(f"{work}/made")  # noqa: PTH102
        seen = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
        is_apart = os.listdir(cover) == ["work"] and seen == ["1"] and os.getpid() == 1  # noqa: PTH208
        go_back(before)
        if is_apart and "hidden" in os.listdir(cover):  # noqa: PTH208
            code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(probe(sys.argv[1], int(sys.argv[2]) if sys.argv[2] else None))
