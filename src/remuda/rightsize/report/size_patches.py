"""Patches for the pages of sizes: what `remuda rightsize patch` prints of one workload, in every form."""

from remuda.model.workloads import WorkloadId
from remuda.rightsize.patches import FORMS, make, text_of
from remuda.rightsize.report.sizes import Patch, Workload
from remuda.rightsize.review import Review

#: what most clusters are managed with comes first
_ORDER = ("kustomize", "helm", "json", "terraform", "tfvars")


def with_patches(shown: Workload, review: Review) -> Workload:
    """A workload with its patches, and with what they leave out."""
    item = shown.row.workload
    only = [WorkloadId(item.namespace, item.kind, item.name)]
    patches, remarks = [], dict[str, None]()
    for form in _ORDER:
        made = make(review, form, only)
        remarks |= dict.fromkeys(f"left out: {line}" for line in made.left)
        remarks |= dict.fromkeys(f"before you apply them: {line}" for line in made.beware)
        if made.files:
            about = dict.fromkeys(line for file in made.files for line in file.about)
            patches.append(Patch(form, text_of(made, form), FORMS[form].usage, tuple(about)))
    return shown._replace(patches=tuple(patches), remarks=tuple(remarks))
