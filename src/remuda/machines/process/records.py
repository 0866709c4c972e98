"""
The small files of a machine's directory, and who holds it.

A shim is known by pid, start time and boot: a pid alone may belong to a stranger by the time it is read.
Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import time

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import Any


def wall_ms() -> int:
    """Now, in milliseconds since 1970: the shim has no other clock to be handed."""
    return time.time_ns() // 1_000_000


def read_json(path: str) -> dict[str, Any] | None:
    """The object in a file; None when there is none or it is no JSON object."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib would cost every start of a shim some milliseconds
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: str, data: dict[str, Any], *, sync: bool = False) -> None:
    """Write a file so that a reader sees all of it or none; `sync` makes it survive the loss of power."""
    part = f"{path}.part"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        rest = json.dumps(data).encode()
        while rest:
            rest = rest[os.write(file, rest) :]
        if sync:
            os.fsync(file)
    finally:
        os.close(file)
    os.rename(part, path)  # noqa: PTH104


def make_place(path: str) -> None:
    """Make the directory of a file anew, which someone deleted."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120


def write_text(path: str, text: str) -> None:
    """Write to a file of the kernel's: in one go, and only if it is there."""
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def start_time(pid: int) -> str | None:
    """When the process began, in the kernel's own words; None when there is no such process or it has ended."""
    if sys.platform == "linux":
        try:
            file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        except OSError:
            return None
        try:
            fields = os.read(file, 4096).rpartition(b")")[2].split()
        except ProcessLookupError:
            return None
        finally:
            os.close(file)
        return None if fields[0] in b"ZX" else fields[19].decode()
    with os.popen(f"ps -o lstart= -p {pid:d}") as answer:  # noqa: S605
        return answer.read().strip() or None


def boot() -> str:
    """Which run of the kernel this is."""
    if sys.platform == "linux":
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            return file.read().strip()
    with os.popen("sysctl -n kern.boottime") as answer:  # noqa: S605
        return answer.read().strip()


def identity(pid: int) -> dict[str, Any]:
    """Who a process is, so that it can be told from a later one with the same pid."""
    return {"pid": pid, "start": start_time(pid), "boot": boot()}


def take_lock(path: str) -> int | None:
    """
    Take the exclusive lock of a machine, without waiting; the descriptor holds it.

    None when it is held by another, or when the file is not (or no longer) there.
    """
    try:
        lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(lock, path):
            return lock
    except OSError as problem:
        if problem.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
            os.close(lock)
            raise
    os.close(lock)
    return None


def is_at(file: int, path: str) -> bool:
    """True while the open file is still the one at this path."""
    try:
        there = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    here = os.fstat(file)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def remove_tree(path: str) -> None:
    """
    Remove a directory whatever a job left in it: read-only directories, and trees deeper than a path can be long.

    Raises OSError when something would not go.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    for command in (
        ("rm", "-rf", "--", path),
        ("chmod", "-R", "u+rwX", "--", path),
        ("rm", "-rf", "--", path),
    ):
        os.waitpid(os.posix_spawnp(command[0], command, os.environ, file_actions=quiet), 0)
        if not os.path.lexists(path):
            return
    raise OSError(errno.ENOTEMPTY, "could not be removed", path)
