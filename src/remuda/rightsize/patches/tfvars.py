"""
Terraform variables: one file with `resources` and `sidecar_resources` as maps by `namespace/name`.

The values are those of the Terraform form. Where workloads of two kinds have one name, their keys are
`namespace/kind/name`.
"""

from collections import Counter
from collections.abc import Sequence

from remuda.model.workloads import WorkloadId
from remuda.output import hcl
from remuda.output.texts import comments
from remuda.rightsize.patches.changes import Changed
from remuda.rightsize.patches.terraform import sides
from remuda.rightsize.patches.texts import Made, PatchFile, about, header
from remuda.rightsize.review import Review

USAGE = "Give it with -var-file, or copy it into your own; the variables it is for are in its first lines."
_FOR = "The variables it is for:"
_SIZE = "object({ requests = map(string), limits = map(string) })"
_VARIABLES = (
    f'variable "resources" {{ type = map({_SIZE}) }}',
    f'variable "sidecar_resources" {{ type = map(map({_SIZE})) }}',
)


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """One file for all workloads."""
    if not changed:
        return Made()
    names = Counter((item.id.namespace, item.id.name) for item in changed)
    mains: dict[str, hcl.Value] = {}
    others: dict[str, hcl.Value] = {}
    notes: dict[str, list[str]] = {}
    for item in changed:
        name = _key(item.id, is_alone=names[item.id.namespace, item.id.name] == 1)
        main, rest = sides(item)
        if main is not None:
            mains[name] = main
        if rest:
            others[name] = rest
        notes[name] = [*about(item), *(f"{each.name}: {each.why}" for each in item.containers)]
    text = comments([*header(review, USAGE), _FOR, *_VARIABLES])
    for name, value in (("resources", mains), ("sidecar_resources", others)):
        text += hcl.attribute(name, value, notes=notes) if value else ""
    return Made((PatchFile("rightsize.tfvars", text),))


def _key(who: WorkloadId, *, is_alone: bool) -> str:
    return f"{who.namespace}/{who.name}" if is_alone else f"{who.namespace}/{who.kind}/{who.name}"
