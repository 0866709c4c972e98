"""
What each command asks of the Kubernetes API: the one table of permissions.

`remuda rbac` prints it and the chart's Role equals it. A verb that is not used is not listed.
"""

from typing import Any

from msgspec import Struct

from remuda.kube.resources import CEILINGS, EVENTS, LEASES, RUNNER_POOLS

#: the Lease that replicas are elected by
LEASE = "remuda"


class Rule(Struct, frozen=True):
    """Verbs on resources of one API group; with `names`, on the objects of these names alone."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def written(self) -> dict[str, Any]:
        """As a Role holds it."""
        made: dict[str, Any] = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return made | {"resourceNames": list(self.names)} if self.names else made


_OBJECTS = (RUNNER_POOLS, CEILINGS)

#: command → what it needs; a command that is not here asks nothing of the Kubernetes API
NEEDS: dict[str, tuple[Rule, ...]] = {
    "up": (
        Rule(RUNNER_POOLS.group, tuple(item.plural for item in _OBJECTS), ("list", "watch")),
        Rule(RUNNER_POOLS.group, tuple(f"{item.plural}/status" for item in _OBJECTS), ("patch",)),
        # a name cannot limit creation, since a new object's is not known when the request is judged
        Rule(LEASES.group, (LEASES.plural,), ("create",)),
        Rule(LEASES.group, (LEASES.plural,), ("get", "list", "watch", "update"), (LEASE,)),
        Rule(EVENTS.group, (EVENTS.plural,), ("create", "patch")),
    ),
}


def role(command: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    """What `command` needs as a Role; without a namespace it belongs where it is applied. KeyError if nothing."""
    where = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name} | where,
        "rules": [rule.written() for rule in NEEDS[command]],
    }
