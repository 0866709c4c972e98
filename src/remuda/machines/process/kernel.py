"""
The calls of the Linux kernel that Python does not have: process options, namespaces, mounts, and a fork into namespaces.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

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


def _load() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None


LIBC = _load()
#: the same for calls that return in two processes: the interpreter's lock is held over them
FORKING = None if LIBC is None else ctypes.PyDLL(None, use_errno=True)


def prctl(option: int, value: int) -> bool:
    """Set an option of this process; False where that is not possible."""
    return LIBC is not None and LIBC.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))) == 0


def hide_memory() -> None:
    """Let nobody but root read this process' memory, environment and open files, also not its own user."""
    prctl(SET_DUMPABLE, 0)


def unshare(namespaces: int) -> None:
    """Leave namespaces for new ones."""
    if LIBC is None:
        raise OSError("there are no namespaces on this system")
    _check(LIBC.unshare(namespaces), "unshare")


def fork_into(namespaces: int, clone: int | None = CLONE) -> int:
    """
    As `os.fork`, with the child in new namespaces; of processes it is the first.

    With `unshare` that takes one process more: a namespace of processes begins with the next child. `clone` is the number
    of the older call, if it is known.
    """
    if FORKING is None:
        raise OSError("there are no namespaces on this system")
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    if clone is not None:
        flags, *rest = map(ctypes.c_ulong, (namespaces | signal.SIGCHLD, 0, 0, 0, 0))
        pid = FORKING.syscall(clone, flags, *rest)
    else:
        asked = (ctypes.c_uint64 * 8)(namespaces, 0, 0, 0, signal.SIGCHLD)
        pid = FORKING.syscall(CLONE3, asked, ctypes.c_size_t(ctypes.sizeof(asked)))
    (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    if pid < 0:
        _check(pid, "clone")
    return int(pid)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount something, or change a mount."""
    if LIBC is None:
        raise OSError("there are no mounts on this system")
    names = [os.fsencode(text) if text else None for text in (source, target, kind)]
    _check(LIBC.mount(*names, ctypes.c_ulong(flags), options.encode() or None), target)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
