"""
The calls of the Linux kernel that Python does not have: process options, namespaces, mounts, and a fork into namespaces.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

SET_PDEATHSIG = 1
SET_DUMPABLE = 4
SET_CHILD_SUBREAPER = 36
SET_NO_NEW_PRIVS = 38

NEW_NAMESPACE = 0x0002_0000  # of mounts
NEW_IPC = 0x0800_0000
NEW_USER = 0x1000_0000
NEW_PID = 0x2000_0000

RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, SLAVE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 19

CLONE3 = 435  # the same on every architecture but alpha, from Linux 5.3 on
#: what older kernels have, where most of them run
CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine) if sys.maxsize > 1 << 32 else None


def _load(kind: type[ctypes.CDLL], *names: str) -> ctypes.CDLL | None:
    """A library, with what is called of it looked up already: else each child of a process does that for itself."""
    if sys.platform != "linux":
        return None
    try:
        found = kind(None, use_errno=True)
    except OSError:
        return None
    for name in names:
        getattr(found, name)
    return found


LIBC = _load(ctypes.CDLL, "mount", "prctl", "setns", "syscall", "unshare")
if LIBC is not None:
    LIBC.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    LIBC.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)
#: what forks: the interpreter's lock is held over these calls
FORKING = _load(ctypes.PyDLL, "syscall", "PyOS_BeforeFork", "PyOS_AfterFork_Child", "PyOS_AfterFork_Parent")


def prctl(option: int, value: int) -> bool:
    """Set an option of this process; False where that is not possible."""
    return LIBC is not None and LIBC.prctl(option, value, 0, 0, 0) == 0


def hide_memory() -> None:
    """Let nobody but root read this process' memory, environment and open files, also not its own user."""
    prctl(SET_DUMPABLE, 0)


def unshare(namespaces: int) -> None:
    """Leave namespaces for new ones."""
    if LIBC is None:
        raise OSError("there are no namespaces on this system")
    if LIBC.unshare(namespaces):
        _raise("unshare")


def set_namespace(file: int, kind: int) -> None:
    """Go to the namespace that a file stands for."""
    if LIBC is None:
        raise OSError("there are no namespaces on this system")
    if LIBC.setns(file, kind):
        _raise("setns")


def fork_into(namespaces: int, clone: int | None = CLONE) -> int:
    """
    As `os.fork`, with the child in new namespaces; of processes it is the first.

    With `unshare` that takes one process more: a namespace of processes begins with the next child. `clone` is the number
    of the older call, if it is known.
    """
    if FORKING is None:
        raise OSError("there are no namespaces on this system")
    asked: Iterable[object]
    if clone is not None:
        asked = map(ctypes.c_ulong, (clone, namespaces | signal.SIGCHLD, 0, 0, 0, 0))
    else:
        wished = (ctypes.c_uint64 * 8)(namespaces, 0, 0, 0, signal.SIGCHLD)
        asked = (CLONE3, wished, ctypes.c_size_t(ctypes.sizeof(wished)))
    FORKING.PyOS_BeforeFork()
    pid: int = FORKING.syscall(*asked)
    if not pid:
        FORKING.PyOS_AfterFork_Child()
        return 0
    FORKING.PyOS_AfterFork_Parent()
    if pid < 0:
        _raise("clone")
    return pid


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount something, or change a mount."""
    if LIBC is None:
        raise OSError("there are no mounts on this system")
    names = [os.fsencode(text) if text else None for text in (source, target, kind)]
    if LIBC.mount(*names, flags, options.encode() or None):
        _raise(target)


def _raise(what: str) -> NoReturn:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), what)
