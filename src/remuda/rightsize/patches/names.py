"""Names that an object of Kubernetes can have: there is nothing to patch under any other."""

import re

from remuda.output.show import one_line
from remuda.rightsize.patches.changes import Changed

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_CONTAINER = re.compile(_LABEL)
_NAMESPACE = re.compile(_LABEL)
_PART = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_PART}(?:\.{_PART})*")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_LONGEST_SHOWN = 80


def misnamed(item: Changed) -> str:
    """What of a workload has a name that a server refuses; empty if all can be."""
    for what, form, name in (
        ("namespace", _NAMESPACE, item.id.namespace),
        ("kind", _KIND, item.id.kind),
        ("name", _NAME, item.id.name),
        *(("container", _CONTAINER, each.name) for each in item.containers),
        *(("init container", _CONTAINER, name) for name in item.init_containers),
    ):
        if not form.fullmatch(name):
            shown = one_line(name)[:_LONGEST_SHOWN]
            return (
                f"the {what} {shown!r} is no name that Kubernetes allows, so that there is nothing to patch"
            )
    return ""
