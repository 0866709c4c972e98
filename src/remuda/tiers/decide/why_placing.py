"""
Why no node takes a pod, as far as labels, taints and room say it: the rules of the scheduler, node by node.

Each node is asked in the order in which a person would: does the pod select it, does it let the pod in, is it large enough, has
it room now. The cause is what the nodes that came furthest lack. A PreferNoSchedule taint keeps nobody out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.model.amount_texts import quantity
from remuda.model.amounts import Amounts
from remuda.model.findings import Finding
from remuda.model.plans import Term as Word
from remuda.model.sentences import some
from remuda.rules.placing import holds, pressing, untolerated
from remuda.rules.tiers import Gpu
from remuda.tiers.decide.causes import cause
from remuda.tiers.snapshot import NODES, Node, Placement, Pod, Snapshot

Step: TypeAlias = Literal["selector", "state", "size", "room", "fits"]
_ORDER: tuple[Step, ...] = ("selector", "state", "size", "room", "fits")
_HOSTNAME = "kubernetes.io/hostname"


class Tried(Struct, frozen=True):
    """How far a pod came on a node, and what it lacks there: a resource, what is asked of it and what there is."""

    node: Node
    step: Step
    resource: str = ""
    asked: int = 0
    has: int = 0


def why_unplaced(pod: Pod, snapshot: Snapshot, gpu: Gpu | None) -> Iterator[Finding]:
    """The cause, as one finding; the scheduler's own words where nodes are not known or would all do."""
    if snapshot.is_unknown(NODES) or not snapshot.nodes:
        yield _words(pod)
        return
    if gpu is not None and (found := _why_gpu(pod, snapshot.nodes, gpu)):
        yield found
        return
    free = room_of(snapshot)
    tried = [_try(pod, node, free[node.name]) for node in snapshot.nodes]
    furthest = max((each.step for each in tried), key=_ORDER.index)
    there = [each for each in tried if each.step == furthest]
    match furthest:
        case "selector":
            yield _no_such_node(pod, len(there))
        case "state":
            yield _tainted(pod, [each.node for each in there])
        case "size":
            yield _too_big(pod, there)
        case "room":
            yield _no_room(pod, there)
        case _:
            yield _words(pod)


def room_of(snapshot: Snapshot) -> dict[str, Amounts]:
    """What each node has left, by the requests of the pods that are on it."""
    free = {node.name: dict(node.allocatable) for node in snapshot.nodes}
    for pod in snapshot.pods:
        left = free.get(pod.node)
        if left is not None and pod.runs:
            for name, taken in {**pod.spec.containers.requests, "pods": 1}.items():
                left[name] = left.get(name, 0) - taken
    return free


def selects(placement: Placement, node: Node) -> bool:
    """Whether the selector and the hard affinity of a pod accept a node."""
    if any(node.labels.get(key) != value for key, value in placement.node_selector.items()):
        return False
    return not placement.required or any(holds(term, node.name, node.labels) for term in placement.required)


def keeps_out(placement: Placement, node: Node) -> bool:
    """Whether a node lets no such pod in, for a hard taint, because it is cordoned or because it is down."""
    hard = (*untolerated(node.taints, placement.tolerations), *pressing(node.taints))
    return bool(hard) or node.is_cordoned or not node.is_ready


def _try(pod: Pod, node: Node, free: Mapping[str, int]) -> Tried:
    if not selects(pod.spec.placement, node):
        return Tried(node, "selector")
    if keeps_out(pod.spec.placement, node):
        return Tried(node, "state")
    for step, there in (("size", node.allocatable), ("room", free)):
        for resource, asked in sorted(_asks(pod).items()):
            if asked > there.get(resource, 0):
                return Tried(
                    node, "size" if step == "size" else "room", resource, asked, there.get(resource, 0)
                )
    return Tried(node, "fits")


def _asks(pod: Pod) -> Amounts:
    return {**{name: asked for name, asked in pod.spec.containers.requests.items() if asked}, "pods": 1}


def _why_gpu(pod: Pod, nodes: Sequence[Node], gpu: Gpu) -> Finding | None:
    """No card, no mark or nothing allocatable; None where GPUs are not what it lacks."""
    asks = bool(pod.spec.containers.requests.get(gpu.resource))
    wants_mark = _selects_mark(pod.spec.placement, gpu)
    cards = [node for node in nodes if node.labels.get(gpu.device_label) == gpu.device_value]
    marked = [node for node in nodes if node.labels.get(gpu.feature_label) == gpu.feature_value]
    offering = [
        node
        for node in (marked if wants_mark else nodes)
        if node.allocatable.get(gpu.resource, 0) > 0 and selects(pod.spec.placement, node)
    ]
    terms: dict[str, Word] = {
        "device": f"{gpu.device_label}={gpu.device_value}",
        "feature": f"{gpu.feature_label}={gpu.feature_value}",
        "key": gpu.device_label,
        "resource": gpu.resource,
    }
    if (not asks and not wants_mark) or (asks and offering) or (not asks and marked):
        return None
    if wants_mark and not marked and cards:
        names = some(node.name for node in cards)
        return cause(_who(pod), "pod-gpu-not-marked", **terms, cards=names)
    with_card = [node for node in nodes if node in cards or node in marked]
    if not with_card:
        return cause(_who(pod), "pod-gpu-no-card", **terms)
    if any(node.allocatable.get(gpu.resource, 0) > 0 for node in with_card):
        return None
    names = some(node.name for node in with_card)
    terms |= {"cards": names, "node": with_card[0].name}
    return cause(_who(pod), "pod-gpu-not-allocatable", **terms)


def _selects_mark(placement: Placement, gpu: Gpu) -> bool:
    if gpu.feature_label in placement.node_selector:
        return True
    return any(
        match.key == gpu.feature_label and match.operator in {"In", "Exists"}
        for term in placement.required
        for match in term.match_expressions
    )


def _no_such_node(pod: Pod, nodes: int) -> Finding:
    placement = pod.spec.placement
    wanted = [f"{key}={value}" for key, value in placement.node_selector.items()]
    wanted += [
        " and ".join(map(str, (*term.match_expressions, *term.match_fields))) for term in placement.required
    ]
    hostname = placement.node_selector.get(_HOSTNAME) or next(
        (
            match.values[0]
            for term in placement.required
            for match in term.match_expressions
            if match.key == _HOSTNAME and match.values
        ),
        "",
    )
    terms: dict[str, Word] = {"wanted": some(wanted), "nodes": nodes, "hostname": hostname}
    return cause(_who(pod), "pod-no-such-node", **terms)


def _tainted(pod: Pod, nodes: Sequence[Node]) -> Finding:
    taints = {
        node.name: (*untolerated(node.taints, pod.spec.placement.tolerations), *pressing(node.taints))
        for node in nodes
    }
    each = dict.fromkeys(taint for found in taints.values() for taint in found)
    tainted = sum(bool(found) for found in taints.values())
    first = next(iter(each), None)
    parts = (
        (some(map(str, each)), f" on {tainted} node{'s' * (tainted != 1)}"),
        (some(node.name for node in nodes if node.is_cordoned), " cordoned"),
        (some(node.name for node in nodes if not node.is_ready), " not ready"),
    )
    return cause(
        _who(pod),
        "pod-tainted",
        what="; ".join(names + words for names, words in parts if names),
        taint=first.key if first else None,
        effect=first.effect if first else None,
    )


def _too_big(pod: Pod, tried: Sequence[Tried]) -> Finding:
    best = max(tried, key=lambda each: (each.has / each.asked, each.node.name))
    given = [
        each.container for each in pod.defaulted if each.kind == "request" and best.resource in each.resources
    ]
    amounts = {
        container.name: container.requests.get(best.resource, 0)
        for container in pod.spec.containers.all
        if container.name in given
    }
    default = ", ".join(f"{quantity(best.resource, size)} of {name}" for name, size in amounts.items())
    terms = _amounts(best) | {
        "node": best.node.name,
        "nodes": len(tried),
        "default": f"{default} by the LimitRange" if default else None,
    }
    return cause(_who(pod), "pod-too-big", **terms)


def _no_room(pod: Pod, tried: Sequence[Tried]) -> Finding:
    best = max(tried, key=lambda each: (each.has / each.asked, each.node.name))
    terms = _amounts(best) | {
        "free": quantity(best.resource, max(best.has, 0)),
        "most": quantity(best.resource, best.node.allocatable.get(best.resource, 0)),
        "node": best.node.name,
        "nodes": len(tried),
        "priority": pod.spec.priority or None,
    }
    return cause(_who(pod), "pod-no-room", **terms)


def _amounts(tried: Tried) -> dict[str, Word]:
    return {
        "resource": tried.resource,
        "asked": quantity(tried.resource, tried.asked),
        "most": quantity(tried.resource, tried.has),
    }


def _words(pod: Pod) -> Finding:
    words = pod.unplaced or "the scheduler says nothing about it yet"
    terms: dict[str, Word] = {"words": words, "namespace": pod.namespace, "name": pod.name}
    return cause(_who(pod), "pod-unplaced", "warning", **terms)


def _who(pod: Pod) -> str:
    return f"Pod {pod.id}"
