"""
The patch that takes a VM out of its pool: owner, finalizer and label at once. Pure.

KubeVirt stops reconciling a whole pool when it finds a VM of it with another label, and never lets a VM go that has its
finalizer; with all three gone in one patch it sees neither.
"""

from typing import Any

from remuda.providers.kubevirt.resources import MANAGED_BY, MEMBER, OURS, OUT, POOL_FINALIZER, POOL_KIND, Vm


def detachment(vm: Vm, *, halts: bool) -> list[dict[str, Any]]:
    """
    A JSON patch for the very version of the VM that is given; empty when there is nothing to do.

    With `halts` the guest is powered off gracefully, too: its agent ends the task it has.
    """
    meta = vm.metadata
    changes: list[dict[str, Any]] = [
        {"op": "remove", "path": f"/metadata/ownerReferences/{index}"}
        for index, owner in reversed(list(enumerate(meta.owner_references)))
        if owner.kind == POOL_KIND
    ]
    if POOL_FINALIZER in meta.finalizers:
        rest = [name for name in meta.finalizers if name != POOL_FINALIZER]
        changes.append(_set("/metadata/finalizers", rest))
    if changes or MEMBER in meta.labels:
        changes += [
            _set(f"/metadata/labels/{_escaped(label)}", value)
            for label, value in ((MEMBER, OUT), (MANAGED_BY, OURS))
            if meta.labels.get(label) != value
        ]
    if halts and vm.spec.run_strategy != "Halted":
        changes.append(_set("/spec/runStrategy", "Halted"))
    return [_set("/metadata/resourceVersion", meta.resource_version), *changes] if changes else []


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _set(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
