"""
How this host lets jobs be separated from each other and from Remuda's data.

What works is found by trying it once, in a process that is there for that. Users of their own come from a range that
neither distributions, nor systemd, nor directory services give out, and never from an account that exists.
"""

import contextlib
import grp
import os
import pwd
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path

from remuda.errors import Unavailable
from remuda.machines.process import landlock, sandbox
from remuda.machines.process.spec import Means, Separation, SeparationPolicy

#: systemd leaves 1879048192 to 2147352575 alone, and SSSD ends at 2000200000 unless it is told otherwise
FIRST_UID = 2_000_200_192
#: each data directory takes users of a block of its own
BLOCK, BLOCKS = 4096, 35_000
TRY_S = 20.0
KILLED_S = 1.0


def find_means(probe: str = sandbox.__file__, within_s: float = TRY_S) -> Means:
    """
    The best that works here.

    Raises `Unavailable` when that cannot be said: a host too busy to try it must not make jobs less separated.
    """
    if sys.platform != "linux":
        return Means.NONE
    # Root keeps its power over mounts in a namespace of its own, so that it needs another user.
    if _works(FIRST_UID - 1 if os.geteuid() == 0 else None, probe, within_s):
        return Means.USER if os.geteuid() == 0 else Means.NAMESPACES
    return Means.LANDLOCK if landlock.version() else Means.NONE


def _works(uid: int | None, probe: str, within_s: float) -> bool:
    """True when a process can separate itself; `Unavailable` when it did not come to an end, which is not waited for."""
    with tempfile.TemporaryDirectory(prefix="remuda-probe-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", probe, place, "" if uid is None else str(uid)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return False
        try:
            return process.wait(within_s) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(KILLED_S)
            raise Unavailable(
                f"trying what separates jobs here took longer than {within_s:g} s: the host is too busy, or its kernel"
                " does not answer; it is tried again, unless the pool says separation: none"
            ) from None


def separate(
    means: Means,
    policy: SeparationPolicy,
    private: Path,
    number: int,
    taken: Collection[int | None],
    is_account: Callable[[int], bool] | None = None,
) -> Separation:
    """
    How a machine's jobs are separated, as far as is wished; raises `Unavailable` when they must be and cannot.

    `private` is what jobs must not see, `number` the machine's own, `taken` the users that other machines have;
    `is_account` says of a number whether the host has a user or group of it.
    """
    if policy is SeparationPolicy.NONE:
        return Separation()
    uid = _free_uid(private, number, taken, is_account or _is_account) if means is Means.USER else None
    if means is Means.USER and uid is None:
        means = Means.NONE
    if means is Means.NONE:
        if policy is SeparationPolicy.REQUIRED:
            raise Unavailable(
                "its pool requires that jobs are separated, and this host allows no way to:"
                " neither users, nor namespaces, nor Landlock"
            )
        return Separation()
    return Separation(means, uid, str(_cover(private) if uid is not None else private))


def _cover(private: Path) -> Path:
    """The topmost directory on the way that another user cannot pass: to hide it hides nothing that it could see."""
    for path in (*reversed(private.parents), private):
        with contextlib.suppress(OSError):
            if not path.stat().st_mode & stat.S_IXOTH:
                return path
    return private


def _free_uid(
    private: Path, number: int, taken: Collection[int | None], is_account: Callable[[int], bool]
) -> int | None:
    """A user that no machine has; the same one comes again as late as possible, for what its jobs left behind."""
    first = FIRST_UID + zlib.crc32(os.fsencode(private)) % BLOCKS * BLOCK
    for step in range(BLOCK):
        uid = first + (number + step) % BLOCK
        if uid not in taken and not is_account(uid):
            return uid
    return None


def _is_account(uid: int) -> bool:
    for look in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            look(uid)
            return True
    return False


def describe(separation: Separation) -> str:
    """How jobs are separated, in words for a person."""
    match separation.means:
        case Means.USER:
            who = "" if separation.uid is None else f" ({separation.uid})"
            return f"each machine has a user of its own{who}, as whom a job sees only its own processes and not Remuda's data"
        case Means.NAMESPACES:
            return "each machine has namespaces of its own, where a job sees only its own processes and not Remuda's data"
        case Means.LANDLOCK:
            return describe_landlock(
                landlock.version(), not separation.cover or landlock.can_cover(separation.cover)
            )
        case Means.NONE:
            return "none: a job can do to other jobs and to Remuda whatever its user can"


def describe_landlock(version: int, can_cover: bool) -> str:  # noqa: FBT001 - two facts of a host
    """What Landlock keeps a job from, and what it does not."""
    does = ["read or trace other processes"]
    does += ["signal them"] if version >= landlock.SIGNALS_SINCE else []
    does += ["open Remuda's files"] if can_cover else []
    gaps = landlock_gaps(version, can_cover)
    rest = f"; it can {' and '.join(gaps)}" if gaps else ""
    return f"Landlock: a job cannot {' or '.join(does)}, and the control API refuses it{rest}"


def landlock_gaps(version: int, can_cover: bool) -> tuple[str, ...]:  # noqa: FBT001 - two facts of a host
    """What a job can still do under Landlock."""
    return (
        *(() if version >= landlock.SIGNALS_SINCE else ("signal other processes of its user",)),
        *(
            ()
            if can_cover
            else ("open Remuda's files, because the data directory is below one that all may write to",)
        ),
    )
