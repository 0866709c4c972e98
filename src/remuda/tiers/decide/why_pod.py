"""
Why a pod fares as it does: it is refused, finds no node, was preempted, killed or evicted, or runs.

A name may be that of a pod, of one that is gone, or of the workload whose pods the API server refuses, since those have no name.
"""

from collections.abc import Iterable, Iterator

from remuda.model.findings import Finding
from remuda.model.plans import Term
from remuda.model.workloads import WorkloadId
from remuda.tiers.decide.causes import cause
from remuda.tiers.decide.why_memory import eviction_place, why_evicted, why_killed
from remuda.tiers.decide.why_placing import why_unplaced
from remuda.tiers.decide.why_refused import why_refused
from remuda.tiers.decide.why_world import World
from remuda.tiers.snapshot import Event, Pod, Snapshot, Workload

_PREEMPTED, _EVICTED, _REFUSED = "Preempted", "Evicted", "FailedCreate"


def why_pod(world: World, namespace: str, name: str) -> tuple[Finding, ...] | None:
    """The causes, the gravest first; None where nothing of this name is known."""
    pods = [pod for pod in world.snapshot.pods if (pod.namespace, pod.name) == (namespace, name)]
    if pods:
        return tuple(_of_pod(world, pods[0]))
    workloads = [
        each for each in world.snapshot.workloads if (each.id.namespace, each.id.name) == (namespace, name)
    ]
    if workloads:
        return tuple(found for each in workloads for found in _of_workload(world, each))
    told = [
        each
        for each in world.snapshot.events
        if (each.kind, each.namespace, each.name) == ("Pod", namespace, name)
    ]
    found = [
        each
        for each in (_of_event(world, Pod(namespace, name, WorkloadId(namespace, "Pod", name)), told),)
        if each
    ]
    return tuple(found) or None


def _of_pod(world: World, pod: Pod) -> Iterator[Finding]:
    told = _events(world.snapshot, "Pod", pod.namespace, pod.name)
    tier = world.tier(pod)
    gone = _of_event(world, pod, told) if pod.is_over or pod.deleted or pod.disruption[0] else None
    if pod.reason == _EVICTED:
        yield why_evicted(pod, pod.message, tier)
    elif gone is not None:
        yield gone
    killed = list(why_killed(pod, world.advices))
    yield from killed
    if pod.is_over:
        if pod.reason != _EVICTED and gone is None and not killed:
            words = f"{pod.reason} {pod.message}".strip()
            yield cause(f"Pod {pod.id}", "pod-over", "info", phase=pod.phase.lower(), words=words)
        return
    if not pod.node:
        _, policy = world.member(pod.namespace)
        gpu = policy.gpu if policy is not None else next((each.gpu for each in world.policies), None)
        yield from why_unplaced(pod, world.snapshot, gpu)
        return
    if not killed and gone is None:
        terms: dict[str, Term] = {
            "node": pod.node,
            "qos": pod.qos,
            "priority": pod.spec.priority,
            "tier": tier,
        }
        yield cause(f"Pod {pod.id}", "pod-runs", "info", **terms)
    if place := eviction_place(pod, world.snapshot, tier):
        yield place


def _of_workload(world: World, workload: Workload) -> Iterator[Finding]:
    """Why pods of a workload are not made; else how each of its pods fares that does not just run."""
    who = workload.id
    told = [
        each for each in _events(world.snapshot, who.kind, who.namespace, who.name) if each.reason == _REFUSED
    ]
    words = workload.refused or (max(told, key=_when).message if told else "")
    pods = [pod for pod in world.snapshot.pods if pod.owner == who and not pod.is_over]
    if words and len(pods) < workload.replicas:
        member, policy = world.member(who.namespace)
        yield from why_refused(str(who), who.namespace, words, member, policy)
    for pod in pods:
        yield from (found for found in _of_pod(world, pod) if found.severity == "error")


def _of_event(world: World, pod: Pod, told: Iterable[Event]) -> Finding | None:
    """Why a pod is gone, or about to go, by what was told of it; None where nothing was."""
    last = max((each for each in told if each.reason in {_PREEMPTED, _EVICTED}), key=_when, default=None)
    if last is not None and last.reason == _EVICTED:
        return why_evicted(pod, last.message, world.tier(pod))
    if last is None and pod.disruption[0] != "PreemptionByScheduler":
        return None
    by = last.by if last is not None else ("", "")
    other = next((each for each in world.snapshot.pods if (each.namespace, each.name) == by), None)
    node = pod.node or (
        last.message.rpartition(" on node ")[2] if last is not None and " on node " in last.message else ""
    )
    terms: dict[str, Term] = {
        "by": f"Pod {by[0]}/{by[1]}" if by[1] else None,
        "node": node or None,
        "theirs": other.spec.priority if other is not None else None,
        "tier": (world.tier(other) or None) if other is not None else None,
        "own": pod.spec.priority,
    }
    return cause(f"Pod {pod.id}", "pod-preempted", **terms)


def _events(snapshot: Snapshot, kind: str, namespace: str, name: str) -> list[Event]:
    return [
        each for each in snapshot.events if (each.kind, each.namespace, each.name) == (kind, namespace, name)
    ]


def _when(event: Event) -> int:
    return event.at or 0
