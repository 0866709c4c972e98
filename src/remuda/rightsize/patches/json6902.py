"""
JSON patches (RFC 6902) for the objects in a cluster, with tests that guard them.

A server refuses a patch, and changes nothing, where the object, the container at its place, or its requests and limits
are not as the review saw them. What is not set is tested by the null that servers of Kubernetes take for it. A review of
before sizes were kept as they are written knows amounts alone, and a server compares text: then it is guarded only
which are set. What is replaced is removed first, which fails where there is nothing.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from remuda.model.quantities import Quantity
from remuda.rightsize.patches.changes import Changed, Resized, difference
from remuda.rightsize.patches.templates import KINDS, unknown
from remuda.rightsize.patches.texts import Made, PatchFile, about, origin, stem
from remuda.rightsize.review import Review
from remuda.rightsize.snapshot import Ask, Size

USAGE = "kubectl patch KIND NAME -n NAMESPACE --type json --patch-file FILE, first with --dry-run=server."
Operation: TypeAlias = dict[str, Any]
_PARTS = ("requests", "limits")


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """A patch for each workload."""
    files: list[PatchFile] = []
    left: list[str] = []
    beware: list[str] = []
    for item in changed:
        if trouble := _trouble(item):
            left.append(f"{item.id}: {trouble}")
            continue
        lost = [each.name for each in item.resized if each.index is None]
        left += [f"{item.id}, container {name}: {_NO_PLACE}" for name in lost]
        placed = [each for each in item.resized if each.index is not None]
        if placed:
            text = _text([*_guards(item), *(one for each in placed for one in _resize(item, each))])
            notes = (origin(review), *about(item), *(f"{each.name}: {each.why}" for each in placed))
            files.append(PatchFile(f"{stem(item.id)}.json", text, item.id, notes))
            beware += [
                f"{item.id}, container {each.name}: {_NOT_GUARDED}"
                for each in placed
                if each.written is None and _has_any(each)
            ]
    return Made(tuple(files), tuple(left), tuple(beware))


_NO_PLACE = "where it stands among the initContainers is not in the review; try the form kustomize"
_NOT_GUARDED = (
    "the review does not say how its sizes are written, so that the patch is not refused where other amounts were set "
    "since; review again for one that is"
)


def _trouble(item: Changed) -> str:
    if item.id.kind not in KINDS:
        return unknown(item.id.kind)
    if not KINDS[item.id.kind].is_changeable:
        return f"the template of a {item.id.kind} that is there cannot be changed; try the form kustomize"
    return ""


def _has_any(each: Resized) -> bool:
    return each.now != Size() or any(each.others)


def _text(operations: Sequence[Operation]) -> str:
    """A line for each operation, in ASCII: nothing in it is shown as something else."""
    lines = (json.dumps(each, separators=(",", ":")) for each in operations)
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


def _guards(item: Changed) -> Iterator[Operation]:
    """Tests that it is this object."""
    yield _test("/kind", item.id.kind)
    yield _test("/metadata/namespace", item.id.namespace)
    yield _test("/metadata/name", item.id.name)


def _resize(item: Changed, each: Resized) -> Iterator[Operation]:
    place = "initContainers" if each.is_sidecar else "containers"
    container = "/" + "/".join((*KINDS[item.id.kind].path, place, str(each.index)))
    yield _test(f"{container}/name", each.name)
    resources = f"{container}/resources"
    if each.written is None:
        yield from _by_amounts(resources, each)
    else:
        yield from _by_text(resources, each, each.written)


def _by_text(resources: str, each: Resized, written: dict[str, dict[str, str]]) -> Iterator[Operation]:
    """All requests and limits are tested, and then what changes is set."""
    have = {part: written.get(part, {}) for part in _PARTS}
    change = difference(each)
    if not any(have.values()):
        yield from _first(resources, {part: _set(values) for part, values in change.items()})
        return
    for part in _PARTS:
        known = {name: _as_served(value) for name, value in have[part].items()}
        yield _test(f"{resources}/{part}", known or None)
    for part, values in change.items():
        path = f"{resources}/{part}"
        to_set = _set(values)
        if not have[part]:
            yield {"op": "add", "path": path, "value": to_set}
            continue
        for name in values:
            if name in to_set:
                yield {"op": "add", "path": f"{path}/{name}", "value": to_set[name]}
            elif name in have[part]:
                yield {"op": "remove", "path": f"{path}/{name}"}


def _set(values: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _as_served(value: str) -> str:
    """As a server writes it, which may be another way than in a manifest: `0.5` is `500m` there."""
    try:
        return str(Quantity.parse(value))
    except ValueError:
        return value


def _by_amounts(resources: str, each: Resized) -> Iterator[Operation]:
    """What is set is removed, which fails where there is nothing, and what is not is tested to be missing."""
    change = difference(each)
    nothing: tuple[Ask, dict[str, str]] = (Ask(), {})
    have = {
        "requests": (each.now.requests, each.others[0]),
        "limits": (each.now.limits, each.others[1]),
    }
    if all(found == nothing for found in have.values()):
        yield from _first(resources, change)
        return
    for part, values in change.items():
        path = f"{resources}/{part}"
        if have[part] == nothing:
            yield _test(path, None)
            yield {"op": "add", "path": path, "value": values}
        else:
            yield from _change(path, have[part][0], values)


def _first(resources: str, change: object) -> Iterator[Operation]:
    """Of a container that has none: a server writes resources even where they are empty."""
    yield _test(resources, {})
    yield {"op": "add", "path": resources, "value": change}


def _change(path: str, before: Ask, values: dict[str, str | None]) -> Iterator[Operation]:
    had = {"cpu": before.cpu_millicores is not None, "memory": before.memory_bytes is not None}
    for name, value in values.items():
        at = f"{path}/{name}"
        # a server lets a replacement of nothing pass, a removal it does not
        yield {"op": "remove", "path": at} if had[name] else _test(at, None)
        if value is not None:
            yield {"op": "add", "path": at, "value": value}


def _test(path: str, value: object) -> Operation:
    return {"op": "test", "path": path, "value": value}
