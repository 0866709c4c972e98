"""
Permissions as data, and as Roles.

Each job says what its commands ask of the Kubernetes API; `remuda rbac` prints it and the chart's Role equals it. A verb
that is not used is not listed.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from remuda.kube.resources import EVENTS, LEASES

#: the Lease that replicas are elected by
LEASE = "remuda"


class Rule(Struct, frozen=True):
    """
    Verbs on resources of one API group; with `names`, on the objects of these names alone; of a namespace or of all.

    Without an optional one a command knows less, and works.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    is_cluster_wide: bool = False
    is_optional: bool = False

    def written(self) -> dict[str, Any]:
        """As a Role holds it."""
        made: dict[str, Any] = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return made | {"resourceNames": list(self.names)} if self.names else made


#: what every process of `up` asks, whatever jobs it runs
REPLICA: tuple[Rule, ...] = (
    # a name cannot limit creation, since a new object's is not known when the request is judged
    Rule(LEASES.group, (LEASES.plural,), ("create",)),
    Rule(LEASES.group, (LEASES.plural,), ("get", "list", "watch", "update"), (LEASE,)),
    Rule(EVENTS.group, (EVENTS.plural,), ("create", "patch")),
)


def role(rules: Iterable[Rule], name: str, namespace: str | None = None) -> dict[str, Any]:
    """What is needed within a namespace as a Role; without a namespace it belongs where it is applied."""
    where = {} if namespace is None else {"namespace": namespace}
    within = [rule.written() for rule in rules if not rule.is_cluster_wide]
    return _role("Role", {"name": name} | where, within)


def cluster_role(rules: Iterable[Rule], name: str, *, optional: bool = False) -> dict[str, Any] | None:
    """What is needed beyond a namespace as a ClusterRole, or also what can be used; None when that is nothing."""
    wide = [rule for rule in rules if rule.is_cluster_wide and (optional or not rule.is_optional)]
    return _role("ClusterRole", {"name": name}, [rule.written() for rule in wide]) if wide else None


def _role(kind: str, metadata: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    }
