"""
JSON patches (RFC 6902) for the objects in a cluster, with tests that guard them.

A server refuses a patch, and changes nothing, where the object, the container at its place, or what is set of its
requests and limits is not as the review saw it: what is replaced is removed first, which fails where there is nothing,
and what is added is tested to be missing, by the null that servers of Kubernetes take for it. Which amounts were set is
not tested: a review knows what they are, not how they are written.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from remuda.rightsize.patches.changes import Changed, Resized, difference
from remuda.rightsize.patches.templates import KINDS, unknown
from remuda.rightsize.patches.texts import Made, PatchFile, origin, stem
from remuda.rightsize.review import Review
from remuda.rightsize.workloads import Ask

USAGE = "kubectl patch KIND NAME -n NAMESPACE --type json --patch-file FILE, first with --dry-run=server."
Operation: TypeAlias = dict[str, Any]


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """A patch for each workload."""
    files: list[PatchFile] = []
    left: list[str] = []
    for item in changed:
        if trouble := _trouble(item):
            left.append(f"{item.id}: {trouble}")
            continue
        lost = [each.name for each in item.resized if each.index is None]
        left += [f"{item.id}, container {name}: {_NO_PLACE}" for name in lost]
        placed = [each for each in item.resized if each.index is not None]
        if placed:
            text = _text([*_guards(review, item), *(one for each in placed for one in _resize(item, each))])
            files.append(PatchFile(f"{stem(item.id)}.json", text, item.id))
    return Made(tuple(files), tuple(left))


_NO_PLACE = "where it stands among the initContainers is not in the review; try the form kustomize"


def _trouble(item: Changed) -> str:
    if item.id.kind not in KINDS:
        return unknown(item.id.kind)
    if not KINDS[item.id.kind].is_changeable:
        return f"the template of a {item.id.kind} that is there cannot be changed; try the form kustomize"
    return ""


def _text(operations: Sequence[Operation]) -> str:
    """A line for each operation."""
    lines = (msgspec.json.encode(each).decode() for each in operations)
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


def _guards(review: Review, item: Changed) -> Iterator[Operation]:
    """Tests that it is this object. What is no member of an operation is ignored by RFC 6902, and can be a comment."""
    yield _test("/kind", item.id.kind) | {"comment": origin(review)}
    yield _test("/metadata/namespace", item.id.namespace)
    yield _test("/metadata/name", item.id.name)


def _resize(item: Changed, each: Resized) -> Iterator[Operation]:
    place = "initContainers" if each.is_sidecar else "containers"
    container = "/" + "/".join((*KINDS[item.id.kind].path, place, str(each.index)))
    yield _test(f"{container}/name", each.name) | {"comment": each.why}
    resources = f"{container}/resources"
    change = difference(each)
    nothing: tuple[Ask, dict[str, str]] = (Ask(), {})
    have = {
        "requests": (each.now.requests, each.others[0]),
        "limits": (each.now.limits, each.others[1]),
    }
    if all(found == nothing for found in have.values()):
        # a server writes resources even where they are empty
        yield _test(resources, {})
        yield {"op": "add", "path": resources, "value": change}
        return
    for part, wanted in change.items():
        path = f"{resources}/{part}"
        if have[part] == nothing:
            yield _test(path, None)
            yield {"op": "add", "path": path, "value": wanted}
        else:
            yield from _change(path, have[part][0], wanted)


def _change(path: str, before: Ask, wanted: dict[str, str | None]) -> Iterator[Operation]:
    had = {"cpu": before.cpu_millicores is not None, "memory": before.memory_bytes is not None}
    for name, value in wanted.items():
        at = f"{path}/{name}"
        # a server lets a replacement of nothing pass, a removal it does not
        yield {"op": "remove", "path": at} if had[name] else _test(at, None)
        if value is not None:
            yield {"op": "add", "path": at, "value": value}


def _test(path: str, value: object) -> Operation:
    return {"op": "test", "path": path, "value": value}
