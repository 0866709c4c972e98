"""Whether guests that run became runners, and how long that takes, from what they say on their consoles."""

import re
from collections.abc import Iterator
from statistics import fmean

from msgspec import Struct

from remuda.diagnose.decide.verdicts import Seen, counted, cut
from remuda.diagnose.snapshot import Pool, Snapshot, Vm, Vmi, instant
from remuda.model.checks import CheckResult
from remuda.model.machines import worker_name
from remuda.model.pods import ContainerStatus, Pod
from remuda.model.times import MINUTE, SECOND, Instant

_SAID = "remuda-guest:"
_FAILED = re.compile(rf"{_SAID} FAILED step=(\S+) reason=([^\r\n]*)")
_STEP = re.compile(rf"{_SAID} step=(\w+) seconds=([0-9]{{1,7}}(?:\.[0-9]+)?)")
#: a guest that says nothing for so long, or does not register, will not do so
_BOOTS_WITHIN = 5 * MINUTE
_REGISTERS_WITHIN = 2 * MINUTE
_REFUSED = re.compile(
    r"\b(401|403)\b|unauthori[sz]ed|forbidden|invalid (?:auth )?token|resource class not found", re.IGNORECASE
)
_UNREACHABLE = re.compile(
    r"no such host|connection refused|i/o timeout|deadline exceeded|network is unreachable|x509:|"
    r"name resolution|could not resolve|no route to host",
    re.IGNORECASE,
)
#: what a runner complained of earlier may be over
_LAST_LINES = 10
_SLOW = 2 * MINUTE

_STEP_FIX = {
    "detect": "use an image of the Debian or RHEL family with systemd",
    "install": "let guests reach the package repository, give provider.kubevirt.bundle, or bake circleci-runner into the image",
    "configure": "use an image whose cloud-init sets the host name, and whose circleci-runner can be stopped",
    "start": "look at the whole console: remuda machines console NAME",
    "run": "look at the whole console: remuda machines console NAME",
}
_CREDENTIAL_FIX = (
    "put the resource class token of this very class into the Secret (no API token); new VMs get it, old ones do not: "
    "see the check rollout"
)
_CLOCK_FIX = (
    "let the nodes' clocks follow NTP; no VM goes for it, but the times that are shown are off by so much"
)
_REACH_FIX = "let guests reach source.circleci.url: DNS, egress rules, proxies and certificates in the image"
_CLOUD_INIT_FIX = (
    "use an image with cloud-init that reads NoCloud and was never booted before, and whose console is ttyS0"
)

_PARTS = ("schedule", "pull", "boot", "install", "register")
_REMEDIES = {
    "schedule": "keep nodes ready for VMs, and more warm VMs (min or headroom)",
    "pull": "pre-pull the container disk on the nodes (a DaemonSet with that image), or use a smaller one",
    "boot": "use an image that starts less, and more warm VMs (min or headroom)",
    "install": "bake circleci-runner into the image, or give a bundle disk (provider.kubevirt.bundle)",
    "register": "bring guests nearer to CircleCI (proxy, DNS), and more warm VMs (min or headroom)",
}
#: a difference of clocks that is worth a word
_SKEW = 30 * SECOND


class _Guest(Struct, frozen=True):
    """A guest that runs, with what it said."""

    pool: Pool
    vm: Vm
    vmi: Vmi
    launcher: Pod | None
    since: Instant
    console: str | None

    @property
    def steps(self) -> dict[str, float]:
        """Seconds of each step it reported."""
        return {name: float(seconds) for name, seconds in _STEP.findall(self.console or "")}


def guests(snapshot: Snapshot) -> CheckResult:
    """Guests that run and are no runners."""
    seen, unsure = Seen("guests"), list[str]()
    if trouble := snapshot.trouble("virtualmachines", "virtualmachineinstances"):
        return seen.unread(snapshot, trouble)
    running = list(_running(snapshot))
    for guest in running:
        unsure += _look_at(snapshot, guest, seen)
    if seen:
        return seen.problem("a guest runs and takes no tasks")
    for line in _skews(snapshot, running):
        seen.add(line, _CLOCK_FIX)
    if seen:
        return seen.problem("CircleCI's clock and the cluster's differ")
    if unsure:
        return seen.unknown("not every guest could be listened to", unsure)
    return seen.ok(f"{counted(len(running), 'guest')} up, none says that something failed")


def cold_start(snapshot: Snapshot) -> CheckResult:
    """How long it takes from a VM that is wanted to a runner that takes tasks, part by part."""
    seen = Seen("cold-start")
    if trouble := snapshot.trouble("virtualmachines", "virtualmachineinstances", "pods"):
        return seen.unread(snapshot, trouble)
    lines, slow = [], False
    running = list(_running(snapshot))
    for pool in snapshot.pools:
        taken = [parts for guest in running if guest.pool is pool and (parts := _parts(snapshot, guest))]
        if not taken:
            continue
        means = {
            name: fmean(values) for name in _PARTS if (values := [one[name] for one in taken if name in one])
        }
        total, longest = sum(means.values()), max(means, key=lambda name: means[name])
        line = f"pool {pool.name}, mean of {counted(len(taken), 'VM')}: {total:.0f} s = " + " + ".join(
            f"{name} {seconds:.0f}" for name, seconds in means.items()
        )
        remedy = f"pool {pool.name}: {longest} takes longest: {_REMEDIES[longest]}"
        if total * SECOND > _SLOW:
            slow = True
            seen.add(line, remedy)
        lines += [line, remedy]
    if slow:
        return seen.problem("VMs take long to become runners")
    if not lines:
        return seen.unknown("no VM runs whose start could be measured")
    return seen.ok("VMs become runners fast enough", lines)


def _running(snapshot: Snapshot) -> Iterator[_Guest]:
    guests, launchers = snapshot.guests(), snapshot.launchers()
    for pool in snapshot.pools:
        for vm in snapshot.vms_of(pool.name):
            vmi = guests.get(vm.metadata.uid)
            if vmi is not None and vmi.status.phase == "Running":
                since = vmi.came_into("Running") or instant(vmi.metadata.creation_timestamp) or snapshot.at
                launcher = launchers.get(vmi.metadata.uid)
                yield _Guest(pool, vm, vmi, launcher, since, snapshot.consoles.get(vm.name))


def _look_at(snapshot: Snapshot, guest: _Guest, seen: Seen) -> list[str]:
    """Tell what is wrong with a guest; returns what cannot be said."""
    name = guest.vm.name
    if _is_registered(snapshot, guest):
        return []
    if guest.console is None:
        return list(snapshot.trouble(f"console of {name}"))
    if failed := _FAILED.search(guest.console):
        fix = _STEP_FIX.get(failed[1], _STEP_FIX["start"])
        if _REFUSED.search(failed[2]):
            fix = _CREDENTIAL_FIX
        elif _UNREACHABLE.search(failed[2]) and failed[1] != "install":
            fix = _REACH_FIX
        seen.add(f"VM {name}: failed at {failed[1]}: {failed[2].strip()}", fix)
        return []
    age = snapshot.at - guest.since
    if _SAID not in guest.console:
        if age < _BOOTS_WITHIN:
            return []
        if not guest.console.strip():
            return [f"VM {name} runs for {age // MINUTE} min and says nothing on its console"]
        seen.add(
            f"VM {name} runs for {age // MINUTE} min, and cloud-init did not do what it was given (no {_SAID} line): "
            f"{_last_line(guest.console)}",
            _CLOUD_INIT_FIX,
        )
        return []
    if "start" in guest.steps:
        _look_at_agent(snapshot, guest, seen)
    return []


def _look_at_agent(snapshot: Snapshot, guest: _Guest, seen: Seen) -> None:
    name, words = guest.vm.name, (guest.console or "").rpartition(f"{_SAID} step=start")[2]
    lines = words.splitlines()[-_LAST_LINES:]
    if line := next((item for item in reversed(lines) if _REFUSED.search(item)), None):
        seen.add(f"VM {name}: CircleCI does not take its runner: {cut(line)}", _CREDENTIAL_FIX)
    elif line := next((item for item in reversed(lines) if _UNREACHABLE.search(item)), None):
        seen.add(f"VM {name}: its runner does not reach CircleCI: {cut(line)}", _REACH_FIX)
    elif _is_unregistered(snapshot, guest):
        seen.add(
            f"VM {name} started its runner, and CircleCI lists no agent of that name in class {guest.pool.words.class_}",
            _CREDENTIAL_FIX,
        )


def _is_registered(snapshot: Snapshot, guest: _Guest) -> bool:
    return _called_at(snapshot, guest) is not None


def _called_at(snapshot: Snapshot, guest: _Guest) -> Instant | None:
    """When a guest's agent first called: one that has its boot in its name, else one that called after it was made."""
    asked = snapshot.asked.get(guest.pool.name)
    if asked is None:
        return None
    booted, named = asked.agents.get(_boot_name(guest)), asked.agents.get(guest.vm.name)
    made = instant(guest.vm.metadata.creation_timestamp) or 0
    return booted if booted is not None else named if named is not None and named >= made else None


def _boot_name(guest: _Guest) -> str:
    return worker_name(guest.vm.name, guest.vmi.metadata.uid[:8])


def _skews(snapshot: Snapshot, running: list[_Guest]) -> Iterator[str]:
    """How far CircleCI's clock is off, where times that cannot be otherwise tell: by pool, at least so much."""
    for pool in snapshot.pools:
        asked = snapshot.asked.get(pool.name)
        if asked is None:
            continue
        ahead = asked.called_at - snapshot.at
        behind = max(
            (
                guest.since - called
                for guest in running
                if guest.pool is pool and (called := asked.agents.get(_boot_name(guest))) is not None
            ),
            default=0,
        )
        if ahead > _SKEW:
            yield f"pool {pool.name}: an agent called {ahead // SECOND} s from now, by CircleCI's clock"
        elif behind > _SKEW:
            yield (
                f"pool {pool.name}: an agent called {behind // SECOND} s before its guest ran, by CircleCI's clock"
            )


def _is_unregistered(snapshot: Snapshot, guest: _Guest) -> bool:
    asked = snapshot.asked.get(guest.pool.name)
    started = guest.since + int(sum(guest.steps.values()) * SECOND)
    return asked is not None and asked.outcome == "answered" and snapshot.at - started > _REGISTERS_WITHIN


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f"last it said: {cut(lines[-1])}"


def _parts(snapshot: Snapshot, guest: _Guest) -> dict[str, float]:
    """Seconds of each part that is known, from one instant to the next."""
    steps, pod = guest.steps, guest.launcher
    if "start" not in steps or pod is None:
        return {}
    made = instant(guest.vm.metadata.creation_timestamp)
    placed = next(
        (
            instant(item.last_transition_time or "")
            for item in pod.status.conditions
            if item.type == "PodScheduled"
        ),
        None,
    )
    up = guest.vmi.came_into("Scheduled") or min(
        filter(None, map(_started, pod.status.container_statuses)), default=None
    )
    parts: dict[str, float] = {}
    if made is not None and placed is not None and up is not None:
        parts = {"schedule": (placed - made) / SECOND, "pull": (up - placed) / SECOND}
    booted = max(0, guest.since - up) / SECOND if up is not None else 0.0
    parts["boot"] = booted + steps.get("boot", 0.0)
    parts["install"] = sum(seconds for name, seconds in steps.items() if name not in ("boot", "ended"))
    called = _called_at(snapshot, guest)
    if called is not None:
        parts["register"] = (called - guest.since) / SECOND - steps.get("boot", 0.0) - parts["install"]
    return {name: max(0.0, seconds) for name, seconds in parts.items()}


def _started(status: ContainerStatus) -> Instant | None:
    running = status.state.running
    return instant(running.started_at) if running and running.started_at else None
