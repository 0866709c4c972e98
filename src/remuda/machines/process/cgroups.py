"""
Control groups (cgroup v2) for machines, where the host permits them.

A group makes limits hold for all processes of a machine together, and makes ending them certain. What holds without
one is in `limits`.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

from msgspec import Struct

from remuda.machines.process.records import write_text
from remuda.machines.process.spec import Limits

CONTROLLERS = ("memory", "cpu", "pids")
CPU_PERIOD_US = 100_000
EMPTY_WITHIN_S = 5.0


class Cgroups(Struct, frozen=True):
    """Where groups can be made (None: nowhere) and which controllers work there."""

    parent: Path | None = None
    controllers: frozenset[str] = frozenset()

    def create(self, name: str, limits: Limits, own_processes: int = 0) -> str | None:
        """
        Make a machine's group, or find it again; None where it is not permitted. No two machines share a name.

        `own_processes` are in it beside those of the job.
        """
        if self.parent is None:
            return None
        group = self.parent / f"remuda-{name}"
        try:
            group.mkdir(exist_ok=True)
            for file, value in _settings(limits, own_processes).items():
                if value is not None and (group / file).exists():
                    write_text(str(group / file), value)
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            return None
        return str(group)


def find_cgroups(about: Path = Path("/proc/self")) -> Cgroups:
    """
    See where this process may make groups, by making one.

    Its own group comes first. A group with processes of its own cannot pass controllers on, so the group above
    is better when systemd delegated that one (`Delegate=` with `DelegateSubgroup=`).
    """
    own = find_own_group(about)
    found = Cgroups()
    for parent in () if own is None else (own, own.parent) if _is_delegated(own.parent) else (own,):
        for controller in CONTROLLERS:
            with contextlib.suppress(OSError):
                write_text(str(parent / "cgroup.subtree_control"), f"+{controller}")
        probe = parent / f"remuda-probe-{os.getpid()}"
        try:
            probe.mkdir(exist_ok=True)
            enabled = frozenset((probe / "cgroup.controllers").read_text().split()) & frozenset(CONTROLLERS)
        except OSError:
            continue
        finally:
            with contextlib.suppress(OSError):
                probe.rmdir()
        if found.parent is None or len(enabled) > len(found.controllers):
            found = Cgroups(parent, enabled)
    return found


def find_own_group(about: Path) -> Path | None:
    """The directory of the cgroup v2 group this process is in; None where there is none to be seen."""
    try:
        lines = (about / "cgroup").read_text().splitlines()
        mounts = [line.split() for line in (about / "mountinfo").read_text().splitlines()]
    except OSError:
        return None
    own = next((line[3:] for line in lines if line.startswith("0::/")), None)
    if own is None or "/.." in own:
        return None
    for mount in mounts:
        root, point = mount[3], mount[4]
        if mount[mount.index("-") + 1] == "cgroup2" and f"{own}/".startswith(f"{root.rstrip('/')}/"):
            return Path(point) / own[len(root.rstrip("/")) :].lstrip("/")
    return None


def _is_delegated(group: Path) -> bool:
    for mark in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(group, mark) == b"1":
                return True
    return False


def remove_group(group: Path) -> None:
    """Kill everything in the group, also in groups that a job made inside it, and remove it; harmless when gone."""
    deadline = time.monotonic() + EMPTY_WITHIN_S
    while group.exists():
        _kill(group)
        for directory, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                Path(directory).rmdir()
        if time.monotonic() > deadline:
            raise TimeoutError(f"control group {group} still has processes that cannot be killed")
        if group.exists():
            time.sleep(0.005)


def _kill(group: Path) -> None:
    try:
        write_text(str(group / "cgroup.kill"), "1")
    except OSError:  # before Linux 5.14
        with contextlib.suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)


def _settings(limits: Limits, own_processes: int) -> dict[str, str | None]:
    cpu = limits.cpu_millis
    return {
        "memory.max": None if limits.memory is None else str(limits.memory),
        "memory.oom.group": None if limits.memory is None else "1",
        "cpu.max": None if cpu is None else f"{max(1_000, cpu * CPU_PERIOD_US // 1000)} {CPU_PERIOD_US}",
        "pids.max": None if limits.processes is None else str(limits.processes + own_processes),
    }
