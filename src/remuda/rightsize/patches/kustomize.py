"""
Kustomize: a component with a strategic merge patch for each workload.

A component is listed under `components:` of a kustomization that has the workloads. Patches name their object
themselves and have no `target:`: what a target does not match is ignored without a word, and a patch whose object is
missing is an error. A value that should not be there is null, which removes it; what is not named stays. A merge puts
the containers of a patch before all others, so that those that stand before one that changes are named as well: the
order of `initContainers` is the one in which they start.
"""

from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from typing import Any

from remuda.output.texts import comments
from remuda.rightsize.patches.changes import Changed, difference
from remuda.rightsize.patches.templates import KINDS, unknown
from remuda.rightsize.patches.texts import Made, PatchFile, about, header, stem
from remuda.rightsize.patches.yamls import dump
from remuda.rightsize.review import Review

USAGE = (
    "List this directory under components: of a kustomization whose resources are the workloads with their namespaces; "
    "where a kustomization sets the namespace itself, that is the one above it."
)


_NO_ORDER = "which initContainers stand before it is not in the review, and a merge would change their order"
_NOT_MERGED = "kustomize does not know how containers of this kind are merged, and would replace them; try the form json"


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """The component, and a patch for each workload."""
    files: list[PatchFile] = []
    left: list[str] = []
    for item in changed:
        if item.id.kind not in KINDS:
            left.append(f"{item.id}: {unknown(item.id.kind)}")
            continue
        if not KINDS[item.id.kind].is_merged:
            left.append(f"{item.id}: {_NOT_MERGED}")
            continue
        pod, lost = _pod(item)
        left += [f"{item.id}, container {name}: {_NO_ORDER}" for name in lost]
        if pod:
            files.append(PatchFile(f"{stem(item.id)}.yaml", _patch(review, item, pod), item.id))
    if not files:
        return Made(left=tuple(left))
    component: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [{"path": file.path} for file in files],
    }
    text = comments(header(review, USAGE)) + dump(component)
    return Made((PatchFile("kustomization.yaml", text), *files), tuple(left))


def _pod(item: Changed) -> tuple[dict[str, Any], list[str]]:
    """What changes of a pod's spec, and containers that cannot be without another order."""
    made: dict[str, Any] = {}
    lost: list[str] = []
    for part, is_sidecar in (("initContainers", True), ("containers", False)):
        found = [each for each in item.containers if each.is_sidecar is is_sidecar]
        names = dict(enumerate(item.init_containers if is_sidecar else ()))
        names |= {each.index: each.name for each in found if each.index is not None}
        known = [names[place] for place in takewhile(names.__contains__, count())]
        changes = {each.name: difference(each) for each in found if each.changed}
        lost += [name for name in changes if name not in known]
        while known and known[-1] not in changes:
            known.pop()
        if known:
            made[part] = [
                {"name": name, "resources": changes[name]} if name in changes else {"name": name}
                for name in known
            ]
    return made, lost


def _patch(review: Review, item: Changed, pod: dict[str, Any]) -> str:
    template = KINDS[item.id.kind]
    inner = pod
    for step in reversed(template.path):
        inner = {step: inner}
    patch = {
        "apiVersion": template.api_version,
        "kind": item.id.kind,
        "metadata": {"name": item.id.name, "namespace": item.id.namespace},
        **inner,
    }
    return comments([*header(review, USAGE), *about(item), *_reasons(item)]) + dump(patch)


def _reasons(item: Changed) -> Iterator[str]:
    for each in item.resized:
        yield f"{each.name}: {each.why}"
