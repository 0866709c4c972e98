"""
Patches of a review, for the tool a team already uses: files for people, nothing is applied.

Of a workload that should change, the containers that should are patched, and all else stays as it is. What is left out
is reported with the reason: provisional ones, those a review keeps or leaves, and resources that an autoscaler scales by.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Raw, Struct, json

from remuda.errors import BadInput
from remuda.model.workloads import WorkloadId
from remuda.rightsize.patches import helm, json6902, kustomize, terraform, tfvars
from remuda.rightsize.patches.changes import Changed, changes_of
from remuda.rightsize.patches.names import misnamed
from remuda.rightsize.patches.texts import Made, PatchFile, describe_finding
from remuda.rightsize.review import Review

__all__ = ["FORMS", "Form", "Made", "PatchFile", "make", "text_of"]


class Form(Struct, frozen=True):
    """A way to write patches, and what a person does with them."""

    write: Callable[[Review, Sequence[Changed]], Made]
    usage: str
    #: what divides the files where they are printed one after the other
    divider: str = ""


FORMS = {
    "terraform": Form(terraform.write, terraform.USAGE),
    "tfvars": Form(tfvars.write, tfvars.USAGE),
    "kustomize": Form(kustomize.write, kustomize.USAGE, "---\n"),
    "helm": Form(helm.write, helm.USAGE, "---\n"),
    "json": Form(json6902.write, json6902.USAGE),
}


def make(review: Review, form: str, only: Collection[WorkloadId] = ()) -> Made:
    """Patches in one of `FORMS` for all workloads of a review, or `only` for some. The same review gives the same text."""
    if form not in FORMS:
        raise BadInput(f"{form!r:.60} is no form of patches: there is {', '.join(FORMS)}")
    found, left = changes_of(review, only)
    troubles = {item.id: trouble for item in found if (trouble := misnamed(item))}
    left += [f"{who}: {trouble}" for who, trouble in troubles.items()]
    changed = [item for item in found if item.id not in troubles]
    made = FORMS[form].write(review, changed)
    where = {item.id.namespace for item in changed}
    beyond = tuple(_beyond(review, where)) if made.files else ()
    return Made(made.files, (*left, *made.left), (*beyond, *made.beware))


def text_of(made: Made, form: str) -> str:
    """All files one after the other, as they are printed; JSON, which has no comments, as one object by workload."""
    if form == "json":
        found = {
            "/".join(file.workload): Raw(file.text.encode())
            for file in made.files
            if file.workload is not None
        }
        return json.format(json.encode(found), indent=2).decode() + "\n"
    divider = FORMS[form].divider
    parts = []
    for number, file in enumerate(made.files):
        head = f"{divider}# file: {file.path}\n" if len(made.files) > 1 else ""
        parts.append(("\n" if number and not divider else "") + head + file.text)
    return "".join(parts)


def _beyond(review: Review, where: Collection[str]) -> Iterator[str]:
    """Errors that are about no workload of a review, and about no namespace that the patches leave alone."""
    known = {str(WorkloadId(item.namespace, item.kind, item.name)) for item in review.workloads}
    elsewhere = {item.namespace for item in review.workloads} - set(where)
    for found in review.findings:
        namespace, slash, _ = found.object.partition(" ")[2].partition("/")
        if found.severity == "error" and found.object not in known and not (slash and namespace in elsewhere):
            yield f"{found.object}: {describe_finding(found)}"
