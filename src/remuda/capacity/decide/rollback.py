"""
How a scale set returns to primary nodes alone: the patch that is recorded for it, what it changes, and whether it is enough.

A rollback is a JSON merge patch (RFC 7386), which replaces lists whole. One that is recorded without a patch takes the
tolerations of the overflow node off, and is made from the scale set as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from remuda.capacity.manifests import PlacedSpec
from remuda.capacity.objects import CapacityPolicySpec, Overflow, Rollback
from remuda.capacity.snapshot import Node, ScaleSet
from remuda.model.pods import Taint, Toleration
from remuda.rules.placing import holds, untolerated

#: where the pod of a runner is described
POD_OF = {
    "AutoscalingRunnerSet": ("spec", "template", "spec"),
    "RunnerDeployment": ("spec", "template", "spec"),
    "RunnerSet": ("spec", "template", "spec"),
    "RunnerPool": ("spec", "provider", "kubevirt", "spec"),
}
_STATE = "node.kubernetes.io/"


class Recorded(Struct, frozen=True):
    """A rollback of a scale set, and the overflow node it returns from."""

    overflow: Overflow
    rollback: Rollback


def recorded(policy: CapacityPolicySpec, scale_set: str) -> tuple[Recorded, ...]:
    """The rollbacks of a scale set, which is named `name` or `namespace/name`; one for each node that has any."""
    return tuple(
        Recorded(overflow, item)
        for overflow in policy.nodes.overflow
        for item in overflow.rollbacks
        if is_scale_set(item.lane, scale_set)
    )


def is_scale_set(written: str, scale_set: str) -> bool:
    """Whether a policy means a scale set: by its name alone, or with its namespace where both give one."""
    if "/" in written and "/" in scale_set:
        return written == scale_set
    return written.rpartition("/")[2] == scale_set.rpartition("/")[2]


def merged(target: Any, patch: Any) -> Any:
    """What a merge patch makes of something."""
    if not isinstance(patch, Mapping):
        return patch
    made = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def patch_for(
    rollback: Rollback, kind: str, pod: Mapping[str, Any], taints: Iterable[Taint]
) -> dict[str, Any]:
    """The recorded patch, or one that keeps all of the pod's tolerations but those that let it onto the node."""
    if rollback.patch:
        return dict(rollback.patch)
    hard = _hard(taints)
    kept = [
        each for each in pod.get("tolerations") or () if not any(_read(each).covers(taint) for taint in hard)
    ]
    patch: dict[str, Any] = {"tolerations": kept or None}
    for part in reversed(POD_OF[kind]):
        patch = {part: patch}
    return patch


def pod_in(kind: str, whole: Mapping[str, Any]) -> dict[str, Any]:
    """The pod that an object describes, as it is written."""
    found: Any = whole
    for part in POD_OF[kind]:
        found = found.get(part) or {}
    return dict(found)


def pod_from(scale_set: ScaleSet) -> dict[str, Any]:
    """As much of the pod as is known of a scale set that was read."""
    required = [msgspec.to_builtins(term) for term in scale_set.required]
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required}}
    }
    return {
        "tolerations": [_toleration_data(item) for item in scale_set.tolerations],
        "nodeSelector": dict(scale_set.node_selector),
        **({"affinity": affinity} if required else {}),
    }


def keeps_off(kind: str, pod: Mapping[str, Any], patch: Mapping[str, Any], node: Node) -> str:
    """What keeps runners off the node once the patch is applied, in words; nothing when they may still be there."""
    whole: Any = dict(pod)
    for part in reversed(POD_OF[kind]):
        whole = {part: whole}
    try:
        after = msgspec.convert(pod_in(kind, merged(whole, patch)), PlacedSpec)
    except (msgspec.ValidationError, AttributeError):
        return ""
    for taint in untolerated(node.taints, after.tolerations):
        return f"the taint {taint} is not tolerated"
    for key, value in sorted(after.node_selector.items()):
        if node.labels.get(key) != value:
            return f"the selector wants {key}={value}"
    if after.required and not any(holds(term, node.name, node.labels) for term in after.required):
        return "the required node affinity does not hold"
    return ""


def problems_of(patch: Mapping[str, Any]) -> Iterator[str]:
    """Why a patch is none of a rollback: it may change what an object says, never which object it is."""
    for key in patch:
        if key not in {"spec", "metadata"}:
            yield f"{key} is not a rollback's to change: a patch holds spec, and labels or annotations of metadata"
    metadata = patch.get("metadata", {})
    if not isinstance(metadata, Mapping):
        yield "metadata wants labels or annotations"
    else:
        for key in metadata:
            if key not in {"labels", "annotations"}:
                yield f"metadata.{key} is not a rollback's to change: of metadata only labels and annotations are"
    if "spec" in patch and not isinstance(patch["spec"], Mapping):
        yield "spec wants the fields to change"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that makes one object of the other; empty when they are equal."""
    made: dict[str, Any] = {}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            if inner := difference(old, new):
                made[key] = inner
        elif old != new:
            made[key] = new
    return made


def changes(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """What differs between two objects, field by field."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from changes(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif before != after:
        yield f"{path}: {_shown(before)} → {_shown(after)}"


def _shown(value: Any) -> str:
    return "none" if value is None else msgspec.json.encode(value).decode()


def _hard(taints: Iterable[Taint]) -> list[Taint]:
    return [
        taint
        for taint in taints
        if taint.effect in {"NoSchedule", "NoExecute"} and not taint.key.startswith(_STATE)
    ]


def _read(written: Any) -> Toleration:
    try:
        return msgspec.convert(written, Toleration)
    except msgspec.ValidationError:
        return Toleration(key=" ")  # covers nothing


def _toleration_data(item: Toleration) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(item).items() if value not in ("", None)}
