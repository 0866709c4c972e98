"""
Helm: a values file for each workload.

A workload of one container has its `resources` at the top, as charts have; of several, each container that changes has
`resources` under its name. Charts differ in where they take them from: a comment says so. A value that should not be
there is null, by which Helm removes the chart's own.
"""

from collections.abc import Sequence

from remuda.output.texts import comments
from remuda.rightsize.patches.changes import Changed, difference
from remuda.rightsize.patches.texts import Made, PatchFile, about, header, stem
from remuda.rightsize.patches.yamls import dump
from remuda.rightsize.review import Review

USAGE = (
    "Give it to helm upgrade with --values, after the others; move what it says to where the chart has the resources "
    "of the container if that is elsewhere."
)


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """A file for each workload."""
    return Made(
        tuple(PatchFile(f"{stem(item.id)}.values.yaml", _values(review, item), item.id) for item in changed)
    )


def _values(review: Review, item: Changed) -> str:
    text = comments([*header(review, USAGE), *about(item)])
    for each in item.resized:
        made = {"resources": difference(each)}
        text += comments([f"{each.name}: {each.why}"])
        text += dump(made if len(item.containers) == 1 else {each.name: made})
    return text
