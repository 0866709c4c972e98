"""What tiers ask of the Kubernetes API. Without what is optional to `up`, tiers are not kept, and everything else works."""

from remuda.kube.rbac import Rule
from remuda.kube.resources import (
    ADMISSION_POLICIES,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    QUOTAS,
)
from remuda.objects.kinds import GROUP
from remuda.tiers.read_permissions import READING

_ADMISSION = (
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
)
_PLURAL = "tierpolicies"


def _cluster(read: tuple[str, ...], write: tuple[str, ...], *, is_optional: bool) -> tuple[Rule, ...]:
    """What is read of a cluster, and changed in it."""
    kept = (*(("get",) if write else ()), *read, *write)
    rules: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        (NAMESPACES.group, (NAMESPACES.plural,), read)
    ]
    rules += [(LIMIT_RANGES.group, (LIMIT_RANGES.plural, QUOTAS.plural), kept)]
    rules += [(PRIORITY_CLASSES.group, (PRIORITY_CLASSES.plural,), kept)]
    rules += [(ADMISSION_POLICIES.group, _ADMISSION, kept)]
    nodes = (*(("get",) if write else ()), *read, *(("patch",) if write else ()))
    rules += [(NODES.group, (NODES.plural,), nodes)]
    return tuple(
        Rule(group, plurals, verbs, is_cluster_wide=True, is_optional=is_optional)
        for group, plurals, verbs in rules
    )


_WRITE = ("create", "patch", "delete")
#: policies that the cluster keeps, for who gives none in a file
_KEPT = Rule(GROUP, (_PLURAL,), ("list",), is_cluster_wide=True, is_optional=True)
PERMISSIONS: dict[str, tuple[Rule, ...]] = {
    "up": (
        Rule(GROUP, (_PLURAL,), ("list", "watch")),
        Rule(GROUP, (f"{_PLURAL}/status",), ("patch",)),
        *_cluster(("list", "watch"), _WRITE, is_optional=True),
    ),
    "tiers": READING,
    "tiers apply": (*_cluster(("list",), _WRITE, is_optional=False), _KEPT),
    "tiers diff": (*_cluster(("list",), (), is_optional=False), _KEPT),
}
