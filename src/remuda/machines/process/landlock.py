"""
Landlock: a process gives up rights of its user for itself and all it starts, without being root.

It is what separates jobs where no namespaces may be made, as in most containers. A process in a domain of Landlock can
neither read nor trace processes outside it, from Linux 6.12 on it cannot signal them either, and it cannot open files of
the data directory. It can still connect to a socket there: who listens must know it, and does (`descent`).

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

from remuda.machines.process.kernel import LIBC, SET_NO_NEW_PRIVS, prctl

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture but alpha
VERSION = 1
PATH_BENEATH = 1
#: without it, from Linux 5.19 on, nothing could be moved between directories
OLDEST = 2
SIGNALS_SINCE = 6
TRUNCATE_SINCE = 3

WRITE_FILE, READ_FILE, TRUNCATE = 1 << 1, 1 << 2, 1 << 14
REMOVE_MAKE_REFER = sum(1 << bit for bit in (4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2


def version() -> int:
    """Which version of Landlock the kernel has; 0 for none that can be used."""
    if LIBC is None:
        return 0
    found = LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    return int(found) if found >= OLDEST else 0


def restrict(cover: str, work: str, known: int) -> None:
    """
    Keep this process out of what lies at `cover`, apart from `work`, and away from other processes.

    Rules can only permit, so everything beside the way to `cover` is permitted. What is made later in the directories
    on that way cannot be opened; below a directory where everybody makes files that would hurt, and files stay open.
    """
    files = READ_FILE | WRITE_FILE | (TRUNCATE if known >= TRUNCATE_SINCE else 0)
    handled = files | REMOVE_MAKE_REFER
    ruleset = _ruleset(handled, known)
    try:
        if can_cover(cover):
            for path in [*_beside(cover), work]:
                _permit(ruleset, path, handled, files)
        else:
            _permit(ruleset, "/", handled, files)
        prctl(SET_NO_NEW_PRIVS, 1)
        _call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def can_cover(path: str) -> bool:
    """False below a directory where everybody makes files, like /tmp: no rule can leave out one thing there."""
    while path != "/":
        path = os.path.dirname(path)  # noqa: PTH120
        try:
            if os.stat(path).st_mode & stat.S_IWOTH:  # noqa: PTH116
                return False
        except OSError:
            return False
    return True


def _beside(path: str) -> list[str]:
    """Everything that lies beside the way from the root to a path."""
    found = []
    while path != "/":
        above, name = os.path.split(path)
        found += [f"{above.rstrip('/')}/{each}" for each in os.listdir(above) if each != name]  # noqa: PTH208
        path = above
    return found


def _ruleset(handled: int, known: int) -> int:
    scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS
    words = (handled, 0, scopes) if known >= SIGNALS_SINCE else (handled,)
    data = struct.pack(f"={len(words)}Q", *words)
    return _call(CREATE_RULESET, data, ctypes.c_size_t(len(data)), 0)


def _permit(ruleset: int, path: str, directories: int, files: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # it is gone, or we may not see it either
    try:
        kind = os.fstat(file).st_mode
        if stat.S_ISLNK(kind):
            return
        _call(
            ADD_RULE,
            ruleset,
            PATH_BENEATH,
            struct.pack("=Qi", directories if stat.S_ISDIR(kind) else files, file),
            0,
        )
    finally:
        os.close(file)


def _call(number: int, *arguments: object) -> int:
    assert LIBC is not None
    found: int = LIBC.syscall(number, *arguments)
    if found < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "landlock")
    return found
