"""What a cluster would become, change by change, if every change worked: for who wants to see it before it happens."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.plans import Reason
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.compare import body_of, key_of, owner_of
from remuda.tiers.decide.model import Memory, ObjectSeen, Policies, Remove, Snapshot, TierAction, Write


class Outlook(Struct, frozen=True):
    """All changes in their order, each with the object as it is before; and what is said when they are made."""

    changes: tuple[tuple[TierAction, ObjectSeen | None], ...]
    reasons: tuple[Reason, ...]


def foresee(seen: Snapshot, policies: Policies) -> Outlook:
    """Everything that a loop would do to a cluster until it is settled."""
    changes: list[tuple[TierAction, ObjectSeen | None]] = []
    while True:
        plan, _ = decide(seen, Memory(), policies, 0)
        if not plan.actions:
            return Outlook(tuple(changes), plan.reasons)
        objects = {(item.kind, item.namespace, item.name): item for item in seen.objects}
        changes += [(action, objects.get(_key(action))) for action in plan.actions]
        seen = after(seen, plan.actions)


def after(seen: Snapshot, actions: Iterable[TierAction]) -> Snapshot:
    """A cluster in which these changes were made."""
    objects = {(item.kind, item.namespace, item.name): item for item in seen.objects}
    nodes = {node.name: node for node in seen.nodes}
    for action in actions:
        match action:
            case Write():
                there = objects.get(_key(action))
                objects[_key(action)] = _written(action, there)
            case Remove():
                del objects[_key(action)]
            case _:
                node = nodes[action.node]
                kept = [text for text in node.taints if text not in action.remove]
                nodes[action.node] = replace(node, taints=(*kept, *action.add), owned=action.owned)
    return replace(
        seen,
        objects=tuple(item for _, item in sorted(objects.items())),
        nodes=tuple(nodes.values()),
        operations=(),
    )


def merged(there: dict[str, Any], manifest: dict[str, Any]) -> dict[str, Any]:
    """Server-side apply, as far as it matters here: maps are merged, everything else is replaced."""
    made = {**there}
    for key, value in manifest.items():
        before = there.get(key)
        made[key] = merged(before, value) if isinstance(value, dict) and isinstance(before, dict) else value
    return made


def _key(action: TierAction) -> tuple[str, str, str]:
    match action:
        case Write():
            return key_of(action.manifest)
        case Remove():
            return action.kind, action.namespace, action.name
        case _:
            return "Node", "", action.node


def _written(action: Write, there: ObjectSeen | None) -> ObjectSeen:
    kind, namespace, name = key_of(action.manifest)
    body = body_of(action.manifest)
    return ObjectSeen(
        kind,
        name,
        namespace,
        there.uid if there and not action.anew else "new",
        owner_of(action.manifest["metadata"]["labels"]),
        merged(there.body, body) if there and not action.anew else body,
    )
