"""
How long jobs of a queue that several hosts share may run on this one: a file that Remuda writes and shims read.

Remuda can be gone, or cut off from the queue, and the job must still be stopped before another host may take it. So each shim
sees for itself. The times in the file are of one clock of this host that nobody sets, and that goes on while it sleeps.
Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import time

from remuda.machines.process.records import read_json, write_json

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import Any

#: where in a lease jobs are asked to end, and where they are made to; at its end another host may take them
STOP, KILL = 0.6, 0.8
#: how often a shim that runs a job reads the file
LOOK_S = 1.0
ENDED = "the lease of this host on the shared queue ended"

#: what time.monotonic() is elsewhere stands still while a computer sleeps
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady() -> float:
    """Seconds of a clock that all processes of this host share."""
    return time.clock_gettime(_CLOCK)


def write_lease(path: str, tenure: str, began: float, length_s: float) -> None:
    """Say that a lease holds, which was asked for at `began`."""
    write_json(path, {"tenure": tenure, "stop": began + STOP * length_s, "kill": began + KILL * length_s})


class Lease:
    """The lease under which a job runs."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._path, self._tenure = order["file"], order["tenure"]
        self.stop_at = self.kill_at = self.look_at = float("-inf")

    def look(self, now: float) -> None:
        """Read how long it holds, if it is time to; what cannot be read has not been renewed."""
        if now < self.look_at:
            return
        self.look_at = now + LOOK_S
        found = read_json(self._path)
        if found is None:
            return
        if found.get("tenure") != self._tenure:
            self.stop_at = self.kill_at = float("-inf")
        else:
            self.stop_at, self.kill_at = float(found["stop"]), float(found["kill"])
