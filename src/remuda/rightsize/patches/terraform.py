"""
Terraform: a file of locals for each workload, with `resources` and `sidecar_resources` as a module takes them.

`resources` is of the container that is called as the workload, else of the first; `sidecar_resources` has all others by
name. Each has `requests` and `limits` as maps of strings, so that a module may type them
`object({ requests = map(string), limits = map(string) })`. An assignment replaces a value whole, and so everything a
container should have is there: limits of other resources, and containers that stay as they are.
"""

from collections.abc import Mapping, Sequence

from remuda.output import hcl
from remuda.output.texts import comments
from remuda.rightsize.patches.changes import Changed, whole
from remuda.rightsize.patches.texts import Made, PatchFile, about, header, mark, stem
from remuda.rightsize.review import Review

USAGE = (
    "Copy resources and sidecar_resources into the call of the workload's module, "
    "or keep this file beside it and refer to the local."
)


def write(review: Review, changed: Sequence[Changed]) -> Made:
    """A file for each workload."""
    return Made(tuple(PatchFile(f"{stem(item.id)}.tf", _file(review, item), item.id) for item in changed))


def sides(item: Changed) -> tuple[Mapping[str, hcl.Value] | None, dict[str, hcl.Value]]:
    """What the main container should have, and what the others should by name."""
    main = item.main
    others: dict[str, hcl.Value] = {each.name: whole(each) for each in item.containers if each is not main}
    return (None if main is None else whole(main)), others


def _file(review: Review, item: Changed) -> str:
    main, others = sides(item)
    made = comments([*header(review, USAGE), *about(item)])
    made += f"locals {{\n  {_local(item)} = {{\n"
    if item.main is not None and main is not None:
        made += comments([f"{item.main.name}: {item.main.why}"], 4) + hcl.attribute("resources", main, 4)
    if others:
        made += hcl.attribute(
            "sidecar_resources", others, 4, {each.name: [each.why] for each in item.containers}
        )
    return f"{made}  }}\n}}\n"


def _local(item: Changed) -> str:
    """A name that no other workload has: an identifier may have a hyphen, but no dot."""
    name = stem(item.id)
    return f"rightsize_{name.replace('.', '_')}_{mark(item.id)}" if "." in name else f"rightsize_{name}"
