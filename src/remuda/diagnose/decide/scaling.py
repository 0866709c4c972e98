"""Whether pools are accepted, have VMs, follow their queue and their configuration."""

from remuda.diagnose.decide.controller import secret_fix
from remuda.diagnose.decide.verdicts import Seen, counted, listed
from remuda.diagnose.snapshot import Asked, Pool, Snapshot, Vm, instant
from remuda.model.checks import CheckResult
from remuda.model.times import MINUTE

#: a pool that was changed is looked at within seconds
_PATIENCE = MINUTE
#: what CircleCI answers only because something is set wrong; the rest may be the network of who asks
_SET_WRONG = frozenset({"unauthorized", "missing", "token", "redirect", "nonsense"})
_DYING = "see what the machines die of: the checks placement, images and guests"
_NOT_ACCEPTED = "see the checks configuration and secrets"
#: reasons of the condition Ready that mean that a pool does not follow its queue: what to do
_HELD = {
    "HeldByMax": "raise max of pool {pool}, if the cluster has room",
    "HeldByCeiling": "raise the Ceiling {ceiling}, or what it guarantees pool {pool}",
    "HeldByConcurrency": "raise planConcurrency, if the organisation's plan allows more",
    "HeldByStale": "bring the source back (see above); until then the pool keeps its size",
    "SourceSilent": "check source.circleci of pool {pool}: url, token and class",
    "BackingOff": _DYING,
    "Failing": _DYING,
    "ProviderSilent": "see the checks kubevirt and permissions",
    "Broken": _NOT_ACCEPTED,
    "Paused": "remuda pools resume {pool}",
    "Draining": "remuda pools resume {pool}",
    "Drained": "remuda pools resume {pool}",
}


def configuration(snapshot: Snapshot) -> CheckResult:
    """Whether what was written about pools is accepted."""
    seen = Seen("configuration")
    if not snapshot.served.get("runnerpools.remuda.dev", ("?",)):
        seen.add(
            "the cluster knows no runnerpools.remuda.dev", "remuda crds | kubectl apply --server-side -f -"
        )
        return seen.problem("Remuda's kinds are not installed")
    if trouble := snapshot.trouble("runnerpools"):
        return seen.unread(snapshot, trouble)
    if not snapshot.pools:
        seen.add(
            f"namespace {snapshot.namespace} has no RunnerPool",
            f"kubectl apply -n {snapshot.namespace} -f FILE; remuda explain RunnerPool says what may be in it",
        )
        return seen.problem("there is no pool")
    for pool in snapshot.pools:
        accepted = pool.condition("Accepted")
        if accepted is not None and not _is_accepted(pool):
            seen.add(
                f"pool {pool.name}: {accepted.message}",
                secret_fix(snapshot, pool)
                if accepted.reason == "Incomplete"
                else f"kubectl edit runnerpool {pool.name} -n {snapshot.namespace}",
            )
        elif _is_overlooked(snapshot, pool):
            seen.add(
                f"pool {pool.name}: nobody has looked at generation {pool.metadata.generation} "
                f"(last seen: {pool.status.observed_generation or 'none'})",
                "see the check controller",
            )
    if seen:
        return seen.problem("a pool is not accepted")
    if new := [pool.name for pool in snapshot.pools if pool.condition("Accepted") is None]:
        return seen.unknown("a pool was just made", (f"not looked at yet: {listed(new)}",))
    return seen.ok(f"{counted(len(snapshot.pools), 'pool')} accepted")


def demand(snapshot: Snapshot) -> CheckResult:
    """Pools without VMs: whether that is what was asked for."""
    seen, asked_for = Seen("demand"), []
    if trouble := snapshot.trouble("runnerpools", "virtualmachines"):
        return seen.unread(snapshot, trouble)
    for pool in snapshot.pools:
        if pool.words.vms is None or any(snapshot.vms_of(pool.name)):
            continue
        if pool.words.max == 0:
            seen.add(f"pool {pool.name} has max 0, which lets no VM run", f"raise max of pool {pool.name}")
        elif pool.status.wanted == 0 and pool.words.min == 0 and pool.status.waiting == 0:
            asked_for.append(f"pool {pool.name} has no VM: min is 0 and no task waits; min: 1 keeps one warm")
        elif pool.status.wanted:
            seen.add(
                f"pool {pool.name} wants {counted(pool.status.wanted, 'VM')} and has none: {pool.status.why}",
                "see the checks controller, kubevirt and permissions"
                if _is_accepted(pool)
                else _NOT_ACCEPTED,
            )
        elif not _is_accepted(pool):
            seen.add(f"pool {pool.name} has no VM: it is not accepted", _NOT_ACCEPTED)
        else:
            seen.add(
                f"pool {pool.name} has no VM with min {pool.words.min} and {pool.status.waiting} waiting: "
                f"{pool.status.why or 'no reason is given'}",
                "see the checks controller and scaling",
            )
    if seen:
        return seen.problem("a pool has no VMs and should have some")
    return seen.ok("every pool has VMs, or wants none", asked_for)


def scaling(snapshot: Snapshot) -> CheckResult:
    """Whether pools follow their queues, and what holds those that do not."""
    seen, unsure = Seen("scaling"), []
    if trouble := snapshot.trouble("runnerpools"):
        return seen.unread(snapshot, trouble)
    for pool in snapshot.pools:
        ready, stale = pool.condition("Ready"), pool.condition("Stale")
        is_stale = stale is not None and stale.status == "True"
        if is_stale:
            since = f" since {stale.last_transition_time}" if stale and stale.last_transition_time else ""
            seen.add(
                f"pool {pool.name}: its source does not answer{since}; the pool keeps its size",
                "check url, token and class of its source, and that the controller reaches it",
            )
        asked = snapshot.asked.get(pool.name)
        if asked is not None and asked.outcome != "answered":
            if is_stale or asked.outcome in _SET_WRONG:
                seen.add(f"pool {pool.name}, asked from here: {asked.message}", _source_fix(pool, asked))
            else:
                unsure.append(f"pool {pool.name}, asked from here: {asked.message}")
        if ready is None:
            unsure.append(f"pool {pool.name}: Remuda has not reported its state yet")
        elif ready.reason in _HELD and not (ready.reason == "HeldByMax" and pool.status.waiting == 0):
            ceiling = pool.words.ceiling or "of the pool"
            seen.add(
                f"pool {pool.name}: {ready.message}",
                _NOT_ACCEPTED
                if _HELD[ready.reason] is _DYING and not _is_accepted(pool)
                else _HELD[ready.reason].format(pool=pool.name, ceiling=ceiling),
            )
    if seen:
        return seen.problem("a pool does not follow its queue")
    if unsure:
        return seen.unknown("not everything could be asked", unsure)
    return seen.ok("every pool follows its queue", _queues(snapshot))


def rollout(snapshot: Snapshot) -> CheckResult:
    """Which VMs still have an older configuration."""
    seen = Seen("rollout")
    if trouble := snapshot.trouble("runnerpools", "virtualmachines"):
        return seen.unread(snapshot, trouble)
    count = 0
    for pool in snapshot.pools:
        old = old_vms(snapshot, pool)
        if not old and not pool.status.old:
            continue
        count += max(len(old), pool.status.old)
        which = listed(vm.name for vm in old) or counted(pool.status.old, "machine")
        seen.add(
            f"pool {pool.name}: made from an older configuration: {which}",
            f"gracefully: wait; each is replaced when it ends{'' if pool.words.natural else ' or idles'}, and busy ones "
            f"finish (remuda pools rollout {pool.name} shows how far it is)",
            f"at once: remuda pools rollout {pool.name} --immediate, which ends the jobs on them",
        )
    if seen:
        return seen.problem(f"{counted(count, 'VM')} do not have the newest configuration")
    return seen.ok("every VM has the newest configuration")


def old_vms(snapshot: Snapshot, pool: Pool) -> list[Vm]:
    """VMs of a pool whose labels tell of another configuration than its VirtualMachinePool, or its newest VM."""
    vms = sorted(snapshot.vms_of(pool.name), key=lambda vm: vm.metadata.creation_timestamp)
    if not vms:
        return []
    newest = vms[-1].configuration
    for item in snapshot.vm_pools:
        if item.metadata.name == pool.name and any(item.configuration):
            newest = item.configuration
    if pool.status.old >= len(vms):
        return vms
    return [vm for vm in vms if vm.configuration != newest]


def _is_accepted(pool: Pool) -> bool:
    accepted = pool.condition("Accepted")
    return accepted is None or accepted.status != "False"


def _is_overlooked(snapshot: Snapshot, pool: Pool) -> bool:
    if pool.status.observed_generation >= pool.metadata.generation:
        return False
    made = instant(pool.metadata.creation_timestamp)
    return made is not None and snapshot.at - made > _PATIENCE


def _source_fix(pool: Pool, asked: Asked) -> str:
    match asked.outcome:
        case "missing":
            return f"correct class {pool.words.class_} of pool {pool.name}, or give a token of a member of its organisation"
        case "unauthorized" | "token":
            return "put a personal API token of a member of the organisation, or a project's, into the Secret (no resource class token)"
        case _:
            return f"correct source.circleci.url of pool {pool.name}"


def _queues(snapshot: Snapshot) -> list[str]:
    lines = []
    for pool in snapshot.pools:
        asked = snapshot.asked.get(pool.name)
        beside = f"; CircleCI says {asked.unclaimed} wait, {asked.running} run" if asked else ""
        status = pool.status
        lines.append(
            f"pool {pool.name}: {status.waiting} waiting, {status.busy} busy, {status.ready} ready of {status.wanted} "
            f"wanted{beside}"
        )
    return lines
