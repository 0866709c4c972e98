"""What holds the jobs of process pools in on this host, what does not, and what would."""

from collections.abc import Iterator

from remuda.diagnose.decide.verdicts import Seen, counted, listed
from remuda.diagnose.host import Host, ProcessPool
from remuda.model.checks import CheckResult

CONTROLLERS = ("memory", "cpu", "pids")
_AS_ROOT = "run remuda up as root: each machine then gets a user of its own, and jobs are not root"
_IN_CONTAINER = (
    "in a container, permit unshare and mount (CAP_SYS_ADMIN, and a seccomp profile that allows them), or keep this pool"
    " to virtual machines"
)
_NEWER_KERNEL = "run it on Linux 6.12 or newer, whose Landlock also keeps a job from signalling others"
_ELSEWHERE = "keep data where only its owner may write, with --data-dir: not below /tmp"
_DELEGATE = (
    "let systemd delegate a control group: Delegate=yes and DelegateSubgroup=remuda in the unit of remuda up"
    " (systemd 254), or start it with systemd-run --user --scope -p Delegate=yes"
)


def judge_host(host: Host) -> Iterator[CheckResult]:
    """What is wrong, the graver first."""
    yield separation(host)
    yield limits(host)


def separation(host: Host) -> CheckResult:
    """Whether jobs are kept apart from each other and from Remuda's data."""
    seen = Seen("separation")
    if host.trouble:
        return seen.unknown("what separates jobs could not be tried", (host.trouble,))
    required = [pool.name for pool in host.pools if pool.separation == "required"]
    waived = [pool.name for pool in host.pools if pool.separation == "none"]
    if waived:
        seen.add(
            f"{_pools(waived)} {'says' if len(waived) == 1 else 'say'} separation: none",
            "leave out separation: none where jobs do not need Remuda's own user or files",
        )
    if host.means == "none":
        seen.add(f"this host: {host.separation}", *_ways_up(host))
        if required:
            seen.add(f"{_pools(required)} must have it and so can make no machine")
        return seen.problem("nothing separates jobs from each other")
    if host.gaps:
        seen.add(f"this host: {host.separation}", *_ways_up(host))
        seen.advise(*(_ELSEWHERE if "files" in gap else _NEWER_KERNEL for gap in host.gaps))
        return seen.problem("jobs are separated in part")
    if waived:
        return seen.problem(f"jobs of {counted(len(waived), 'pool')} are not separated, as the pool says")
    return seen.ok("jobs are separated from each other and from Remuda's data", (host.separation,))


def limits(host: Host) -> CheckResult:
    """Whether the limits of pools are enforced as they are written."""
    seen = Seen("limits")
    unenforced = 0
    for pool in host.pools:
        for limit in pool.limits:
            if limit.hold != "whole":
                unenforced += limit.hold == "none"
                seen.add(f"{limit.name} of pool {pool.name}: {limit.how}")
    if seen:
        seen.advise(*_ways_to_control_groups(host))
        return seen.problem(
            f"{counted(unenforced, 'limit')} not enforced"
            if unenforced
            else "limits hold for each process alone"
        )
    missing = [name for name in CONTROLLERS if name not in host.controllers]
    facts = _facts(host.pools)
    if not missing:
        return seen.ok("limits hold for all processes of a machine together", facts)
    without = (
        f"there is no control group with {listed(missing)}: a limit of it would hold in part, or not at all"
    )
    if not host.pools:
        return seen.ok("no pool was given, so that no limit could be judged", (without,))
    return seen.ok("no pool sets a limit that is not enforced here", (*facts, without))


def _facts(pools: tuple[ProcessPool, ...]) -> tuple[str, ...]:
    return tuple(f"{limit.name} of pool {pool.name}: {limit.how}" for pool in pools for limit in pool.limits)


def _ways_up(host: Host) -> tuple[str, ...]:
    """What would give jobs a better separation."""
    if not host.is_linux:
        return ("run it on Linux: elsewhere Remuda separates nothing",)
    if host.is_root:
        return (_IN_CONTAINER,)
    if host.forbidding:
        return (f"permit namespaces of users: {listed(host.forbidding)} forbids them", _AS_ROOT)
    return (_AS_ROOT, _IN_CONTAINER)


def _ways_to_control_groups(host: Host) -> tuple[str, ...]:
    if not host.is_linux:
        return ("run it on Linux: there are no control groups elsewhere",)
    if host.control_groups:
        have = f" (it has {listed(host.controllers)})" if host.controllers else ""
        parent = f"{host.control_groups} passes on too few controllers{have}"
        return (
            f"{parent}: mount cgroup v2 alone, not beside v1, and enable {listed(CONTROLLERS)} there",
            _DELEGATE,
        )
    return (_DELEGATE,)


def _pools(names: list[str]) -> str:
    return f"pool{'s' * (len(names) != 1)} {listed(names)}"
