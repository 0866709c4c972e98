"""
How each limit of a machine is enforced on this host, or that it is not.

A control group limits all processes of a machine together. Without one, the kernel's limits per process and per user are
what is left; each is used only where it means what the limit says.
"""

import os
import re
from collections.abc import Mapping

from remuda.machines.process.sandbox import OWN_PROCESSES
from remuda.machines.process.spec import Limits, Means

#: since then processes are counted for each namespace of users
COUNTED_BY_NAMESPACE = (5, 14)
_NO_GROUP = "no control group with the {} controller may be made here"


def rlimits(limits: Limits, controllers: frozenset[str], means: Means) -> dict[str, int]:
    """What the shim must set for each job, by the names of the resource module, because no controller does."""
    processes = None
    if limits.processes is not None and "pids" not in controllers and _counts_processes(means):
        processes = limits.processes + (OWN_PROCESSES if means is Means.NAMESPACES else 0)
    asked = {
        # Not the address space: programs reserve many times of what they use.
        "DATA": None if "memory" in controllers else limits.memory,
        "NPROC": processes,
        "NOFILE": limits.open_files,
        "FSIZE": limits.file_size,
    }
    return {name: value for name, value in asked.items() if value is not None}


def enforcement(limits: Limits, controllers: frozenset[str], means: Means) -> Mapping[str, str]:
    """By the limits that are set, how each is enforced, in words for a person."""
    found = {}
    if limits.memory is not None:
        found["memory"] = (
            "control group"
            if "memory" in controllers
            else f"each process for itself, its private memory (RLIMIT_DATA): {_NO_GROUP.format('memory')}"
        )
    if limits.cpu_millis is not None:
        found["cpu"] = "control group" if "cpu" in controllers else f"not enforced: {_NO_GROUP.format('cpu')}"
    if limits.processes is not None:
        if "pids" in controllers:
            found["processes"] = "control group"
        elif _counts_processes(means):
            found["processes"] = "all processes of the job (RLIMIT_NPROC)"
        else:
            found["processes"] = (
                f"not enforced: {_NO_GROUP.format('pids')}, and jobs share a user whose processes are counted together"
            )
    if limits.open_files is not None:
        found["openFiles"] = "each process for itself (RLIMIT_NOFILE)"
    if limits.file_size is not None:
        found["fileSize"] = "each file for itself (RLIMIT_FSIZE)"
    return found


def _counts_processes(means: Means) -> bool:
    """True where the kernel counts the processes of one machine apart from all others of its user."""
    if means is Means.NAMESPACES:
        version = re.match(r"(\d+)\.(\d+)", os.uname().release)
        return version is not None and (int(version[1]), int(version[2])) >= COUNTED_BY_NAMESPACE
    return means is Means.USER
