"""
The taints of nodes with GPUs: put there where feature discovery says that a card is, and taken off when it moves.

The list of taints is one value to the server, and everybody writes it: an annotation says which of them are ours. One that
somebody else put there is theirs, also when it is the one we would put.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from remuda.model.plans import Reason
from remuda.model.pods import Taint
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.compare import fingerprint
from remuda.tiers.decide.desk import Desk, failed
from remuda.tiers.decide.model import Mark, NodeSeen

#: the taints of a node that Remuda put there, as `key=value:effect`, with commas between them
OWNED_TAINTS = "remuda.dev/tier-taints"


def parse_taint(text: str) -> Taint:
    """A taint as it is written here and by kubectl."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return Taint(key, value, effect)


def device_labels(policies: Iterable[TierPolicy]) -> frozenset[str]:
    """The labels that say which nodes carry cards."""
    return frozenset(policy.gpu.device_label for policy in policies if policy.gpu is not None)


def judge_node(node: NodeSeen, policies: Iterable[TierPolicy], desk: Desk, *, clears: bool) -> Reason | None:
    """Ask for what a node needs, and say why; nothing of one that has no card and no taint of ours. `clears` when taints may go."""
    wanted = dict.fromkeys(
        str(Taint(*gpu.taint))
        for gpu in (policy.gpu for policy in policies)
        if gpu is not None and node.devices.get(gpu.device_label) == gpu.device_value
    )
    subject = f"node/{node.name}"
    add, foreign = list[str](), list[str]()
    gone = [text for text in node.owned if text not in wanted] if clears else []
    rest = [text for text in node.taints if text not in gone]
    taken = {_place(text) for text in rest}
    for text in wanted:
        if text not in rest:
            (foreign if _place(text) in taken else add).append(text)
    remove = tuple(text for text in gone if text in node.taints)
    kept = [text for text in node.owned if text not in gone and (text in rest or text in wanted)]
    owned = tuple(dict.fromkeys(text for text in [*kept, *add] if text not in foreign))
    if not add and not remove and owned == node.owned:
        if foreign:
            return Reason("tier.node-foreign", subject, {"taint": ", ".join(foreign)})
        return Reason("tier.node-marked", subject, {"taint": ", ".join(wanted)}) if wanted else None
    code = "tier.node-marking" if add else "tier.node-clearing" if remove else "tier.node-noting"
    reason = Reason(code, subject, {"taint": ", ".join(add or remove or node.owned)})
    action = Mark(
        target=f"Node {node.name}",
        expects=fingerprint(node),
        reason=reason,
        node=node.name,
        add=tuple(add),
        remove=remove,
        owned=owned,
    )
    match desk.ask(action):
        case "failed":
            return failed("tier.node-failed", subject, desk.failure(action.target), action.target)
        case "waiting":
            return Reason("tier.node-waiting", subject, reason.terms)
        case _:
            return reason


def _place(text: str) -> tuple[str, str]:
    """A node has one taint of a key and an effect."""
    taint = parse_taint(text)
    return taint.key, taint.effect


def node_patch(
    action: Mark, seen: NodeSeen, version: str, *, has_annotations: bool
) -> Iterator[dict[str, Any]]:
    """The operations of a JSON patch that holds only for the very version of a node that was looked at."""
    yield {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    for place in sorted((seen.taints.index(text) for text in action.remove), reverse=True):
        yield {"op": "remove", "path": f"/spec/taints/{place}"}
    added = [_written(text) for text in action.add]
    if seen.taints:
        yield from ({"op": "add", "path": "/spec/taints/-", "value": taint} for taint in added)
    elif added:
        yield {"op": "add", "path": "/spec/taints", "value": added}
    if not has_annotations:
        yield {"op": "add", "path": "/metadata/annotations", "value": {}}
    path = "/metadata/annotations/" + OWNED_TAINTS.replace("/", "~1")
    if action.owned:
        yield {"op": "add", "path": path, "value": ",".join(action.owned)}
    elif seen.owned:
        yield {"op": "remove", "path": path}


def _written(text: str) -> dict[str, str]:
    taint = parse_taint(text)
    made = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    return {field: value for field, value in made.items() if value}
