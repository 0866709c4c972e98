"""
Finding what a shim left behind that was killed before it could clean up.

Every process of a job carries the machine's id and directory in its environment. A process that wiped its
environment is found only by its control group.
"""

import os
import signal
import sys
import time
from pathlib import Path

from remuda.machines.process.pidfd import send

GIVE_UP_S = 5.0
CLEAN_LOOKS = 2


def kill_leftovers(machine_id: str, directory: Path) -> int:
    """Kill every process of the machine until none is found; how many would not die. Only Linux can be searched."""
    if sys.platform != "linux":
        return 0
    marks = (
        f"\0REMUDA_MACHINE_ID={machine_id}\0".encode(),
        b"\0REMUDA_MACHINE_DIR=%b\0" % os.fsencode(directory),
    )
    deadline = time.monotonic() + GIVE_UP_S
    killed: set[int] = set()
    clean = 0
    # Twice in a row, because a process that is just being replaced by another program shows no environment; and those
    # that were killed are waited for, because one that is dying shows none either.
    while clean < CLEAN_LOOKS:
        found = [pid for pid in _pids() if is_marked(pid, marks)]
        for pid in found:
            send(signal.SIGKILL, pid, lambda pid=pid: is_marked(pid, marks))  # type: ignore[misc]
        killed = {pid for pid in killed.union(found) if _runs(pid)}
        if killed and time.monotonic() > deadline:
            return len(killed)
        clean = 0 if killed else clean + 1
        time.sleep(0.005)
    return 0


def is_marked(pid: int, marks: tuple[bytes, ...]) -> bool:
    """True when the process was started with all of the marks in its environment."""
    try:
        environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return all(mark in environment for mark in marks)


def _runs(pid: int) -> bool:
    """True until it is gone, or dead and only not reaped yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
