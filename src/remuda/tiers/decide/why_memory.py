"""Why a container was killed for its memory, and where a pod stands when its node runs out of it."""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from remuda.model.amount_texts import bytes_text, quantity
from remuda.model.amounts import amount
from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term
from remuda.model.times import Instant, write_instant
from remuda.tiers.decide.causes import cause
from remuda.tiers.decide.eviction import Rank, is_critical, ranked
from remuda.tiers.snapshot import Container, ContainerState, Pod, Snapshot

_KILLED = "OOMKilled"
_LOW = re.compile(
    r"low on resource: (?P<resource>[\w-]+)\.(?: Threshold quantity: (?P<threshold>\S+), available: (?P<available>\S+)\.)?"
)
_USED = re.compile(r"Container (?P<container>\S+) was using (?P<used>\S+), request is (?P<request>[^,\s]+)")


class Advice(Struct, frozen=True):
    """What the last review of sizes said of a container: the limit that it advises, in bytes, and whether it leaks."""

    reviewed: Instant
    limit: int | None = None
    leaks: bool = False


#: namespace, kind and name of a workload, and a container → what a review said of it
Advices: TypeAlias = Mapping[tuple[str, str, str, str], Advice]


def why_killed(pod: Pod, advices: Advices) -> Iterator[Finding]:
    """Each container that was killed for its memory, by the most telling cause: a leak, a limit below the advice, a default."""
    sizes = {each.name: each for each in pod.spec.containers.all}
    for state in pod.states:
        if state.ended == _KILLED:
            yield _killed(pod, state, sizes.get(state.name), advices)


def _killed(pod: Pod, state: ContainerState, size: Container | None, advices: Advices) -> Finding:
    limit = size.limits.get("memory") if size is not None else None
    advice = advices.get((*pod.owner, state.name))
    terms: dict[str, Term] = {
        "container": state.name,
        "limit": "none of its own" if limit is None else quantity("memory", limit),
        "restarts": state.restarts or None,
        "at": None if state.ended_at is None else write_instant(state.ended_at),
        "workload": f"{pod.namespace}/{pod.owner.name}",
        "reviewed": None if advice is None else write_instant(advice.reviewed),
    }
    rule = "pod-oom-killed"
    if advice is not None and advice.leaks:
        rule = "pod-oom-leak"
    elif advice is not None and advice.limit is not None and limit is not None and limit < advice.limit:
        rule = "pod-oom-below-advice"
        terms["advised"] = quantity("memory", advice.limit)
    elif is_on_default(pod, state.name):
        rule = "pod-oom-on-default"
    elif advice is not None and advice.limit is not None:
        terms["fate"] = (
            "the last review of sizes advises no more than that: it may have been made before the kill"
        )
    return cause(f"Pod {pod.id}", rule, **terms)


def is_on_default(pod: Pod, container: str) -> bool:
    """Whether a LimitRange filled in the memory limit of a container."""
    return any(
        each.container == container and each.kind == "limit" and "memory" in each.resources
        for each in pod.defaulted
    )


def why_evicted(pod: Pod, message: str, tier: str) -> Finding:
    """What the kubelet said when it evicted a pod: how low the node was, and who used more than it requests."""
    low, used = _LOW.search(message), _USED.search(message)
    terms: dict[str, Term] = {
        "node": pod.node or None,
        "priority": pod.spec.priority,
        "tier": tier or None,
    }
    if low:
        terms |= {name: _shown(low[name]) for name in ("available", "threshold")}
        terms["resource"] = low["resource"]
    if used:
        terms |= {"container": used["container"], "used": _shown(used["used"])}
        terms["request"] = _shown(used["request"])
    terms["node"] = pod.node or "its node"
    return cause(f"Pod {pod.id}", "pod-evicted", **terms)


def _shown(text: str | None) -> str | None:
    """An amount of memory as people read it; the kubelet writes 245800Ki."""
    if text is None:
        return None
    try:
        return bytes_text(amount("memory", text))
    except ValueError:
        return text


def eviction_place(pod: Pod, snapshot: Snapshot, tier: str) -> Finding | None:
    """Where a pod stands in the order of its node; None where it is never evicted, is on none, or was not measured."""
    if not pod.runs or is_critical(pod):
        return None
    order = ranked((each for each in snapshot.pods if each.node == pod.node), snapshot.memory_used)
    place = next(n for n, rank in enumerate(order) if rank.pod.id == pod.id)
    rank = order[place]
    if rank.used is None or rank.above is None:
        return None
    above = rank.above
    terms: dict[str, Term] = {
        "place": place + 1,
        "places": len(order),
        "node": pod.node,
        "used": bytes_text(rank.used),
        "request": bytes_text(rank.request) if rank.request else "nothing",
        "above": bytes_text(above) if above > 0 else None,
        "priority": pod.spec.priority or 0,
        "tier": tier or None,
        "first": _first(order, pod),
    }
    severity: Severity = "warning" if above > 0 else "info"
    return cause(f"Pod {pod.id}", "pod-evicted-next", severity, **terms)


def _first(order: list[Rank], pod: Pod) -> str:
    return "it" if order[0].pod.id == pod.id else f"Pod {order[0].pod.id}"
