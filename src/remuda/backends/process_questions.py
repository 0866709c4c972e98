"""What a diagnosis asks of this host, where jobs run as processes."""

import os
import sys
from pathlib import Path

import msgspec
from msgspec import UnsetType

from remuda.diagnose.host import Hold, Host, Limit, ProcessPool
from remuda.errors import Unavailable
from remuda.machines.process import landlock
from remuda.machines.process.cgroups import find_cgroups
from remuda.machines.process.limits import enforcement
from remuda.machines.process.separation import describe, find_means, landlock_gaps
from remuda.machines.process.spec import Means, Separation, SeparationPolicy
from remuda.objects.load import Objects
from remuda.providers.process import read_settings

#: settings of the kernel, and the value of each that forbids namespaces of users
_FORBIDS = {
    "user/max_user_namespaces": "0",
    "kernel/unprivileged_userns_clone": "0",
    "kernel/apparmor_restrict_unprivileged_userns": "1",
}


def look_at_host(objects: Objects, data_dir: Path, settings: Path = Path("/proc/sys")) -> Host:
    """How jobs of the pools are separated and limited here. What works is tried; nothing is left behind."""
    try:
        means, trouble = find_means(), ""
    except Unavailable as problem:
        means, trouble = Means.NONE, str(problem)
    groups = find_cgroups()
    private = str(data_dir.absolute())
    pools = []
    for item in objects:
        if item.kind != "RunnerPool" or isinstance(item.spec.provider.process, UnsetType):
            continue
        limits, policy = read_settings(msgspec.to_builtins(item.spec.provider.process, enc_hook=str))
        used = Means.NONE if policy is SeparationPolicy.NONE else means
        found = enforcement(limits, groups.controllers, used)
        pools.append(
            ProcessPool(
                item.name, policy, tuple(Limit(name, how, _hold(name, how)) for name, how in found.items())
            )
        )
    is_landlock = means is Means.LANDLOCK
    return Host(
        means=means,
        trouble=trouble,
        separation=describe(Separation(means, cover=private if is_landlock else "")),
        gaps=landlock_gaps(landlock.version(), landlock.can_cover(private)) if is_landlock else (),
        is_linux=sys.platform == "linux",
        is_root=os.geteuid() == 0,
        forbidding=tuple(
            f"{name.replace('/', '.')}={value}"
            for name, value in _FORBIDS.items()
            if _setting(settings / name) == value
        ),
        control_groups="" if groups.parent is None else str(groups.parent),
        controllers=tuple(sorted(groups.controllers)),
        pools=tuple(pools),
    )


def _hold(name: str, how: str) -> Hold:
    if how.startswith("not enforced"):
        return "none"
    # The others are limits of one process, or one file, wherever they are set.
    return "part" if name == "memory" and how != "control group" else "whole"


def _setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
