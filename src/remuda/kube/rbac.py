"""
What each command asks of the Kubernetes API: the one table of permissions.

`remuda rbac` prints it and the chart's Role equals it. A verb that is not used is not listed.
"""

from typing import Any

from msgspec import Struct

from remuda.kube.resources import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    ADVISORS,
    API_SERVICES,
    AUTOSCALERS,
    CAPACITY_POLICIES,
    CEILINGS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    LEASES,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICA_SETS,
    RUNNER_POOLS,
    SCALE_SETS,
    SECRETS,
    STATEFUL_SETS,
)

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


_OBJECTS = (RUNNER_POOLS, CEILINGS)

#: the part of what `up` needs that is for pools of KubeVirt VMs
VMS: tuple[Rule, ...] = (
    Rule("kubevirt.io", ("virtualmachines",), ("get", "list", "watch", "create", "patch", "delete")),
    Rule("kubevirt.io", ("virtualmachineinstances",), ("list", "watch")),
    Rule("pool.kubevirt.io", ("virtualmachinepools",), ("get", "list", "watch", "create", "patch", "delete")),
    # only KubeVirt itself may shorten the time that a guest has to end
    Rule("subresources.kubevirt.io", ("virtualmachines/stop",), ("update",)),
    # the tokens that pools name, and the user data of VMs
    Rule(SECRETS.group, (SECRETS.plural,), ("list", "watch", "create", "delete")),
    Rule(PODS.group, (PODS.plural,), ("list",)),
    Rule(PODS.group, (f"{PODS.plural}/log",), ("get",)),
)

#: server-side apply creates what is not there yet
_APPLY = ("get", "create", "patch")
#: policies that the cluster keeps, for who gives none in a file
_KEPT_POLICIES = Rule(
    CAPACITY_POLICIES.group, (CAPACITY_POLICIES.plural,), ("list",), is_cluster_wide=True, is_optional=True
)

#: command → what it needs; a command that is not here asks nothing of the Kubernetes API
NEEDS: dict[str, tuple[Rule, ...]] = {
    "up": (
        Rule(RUNNER_POOLS.group, tuple(item.plural for item in _OBJECTS), ("list", "watch")),
        Rule(RUNNER_POOLS.group, tuple(f"{item.plural}/status" for item in _OBJECTS), ("patch",)),
        # a name cannot limit creation, since a new object's is not known when the request is judged
        Rule(LEASES.group, (LEASES.plural,), ("create",)),
        Rule(LEASES.group, (LEASES.plural,), ("get", "list", "watch", "update"), (LEASE,)),
        Rule(EVENTS.group, (EVENTS.plural,), ("create", "patch")),
        *VMS,
    ),
    "diagnose": (
        Rule(RUNNER_POOLS.group, (RUNNER_POOLS.plural,), ("list",)),
        Rule(LEASES.group, (LEASES.plural,), ("get",), (LEASE,)),
        Rule(DEPLOYMENTS.group, (DEPLOYMENTS.plural,), ("list",)),
        Rule(PODS.group, (PODS.plural, EVENTS.plural), ("list",)),
        # of a Secret only the names of its keys are kept; the API serves it whole
        Rule(PODS.group, (f"{PODS.plural}/log", SECRETS.plural), ("get",)),
        Rule("kubevirt.io", ("virtualmachines", "virtualmachineinstances"), ("list",)),
        Rule("pool.kubevirt.io", ("virtualmachinepools",), ("list",)),
        # asks what the controller may do, and makes nothing
        Rule("authorization.k8s.io", ("localsubjectaccessreviews",), ("create",)),
        Rule("kubevirt.io", ("kubevirts",), ("list",), is_cluster_wide=True),
        Rule(NODES.group, (NODES.plural, PODS.plural), ("list",), is_cluster_wide=True),
        Rule(DEPLOYMENTS.group, (DEPLOYMENTS.plural, DAEMON_SETS.plural), ("list",), is_cluster_wide=True),
        # looks for /dev/kvm in virt-handler: `get` is what opens a WebSocket, to which Kubernetes 1.35 adds `create`
        Rule(PODS.group, (f"{PODS.plural}/exec",), ("get", "create"), is_cluster_wide=True, is_optional=True),
    ),
    "diagnose metrics": (
        Rule(
            API_SERVICES.group,
            (API_SERVICES.plural,),
            ("get",),
            ("v1beta1.metrics.k8s.io",),
            is_cluster_wide=True,
        ),
        Rule(DEPLOYMENTS.group, (DEPLOYMENTS.plural, STATEFUL_SETS.plural), ("list",), is_cluster_wide=True),
        Rule(PODS.group, (PODS.plural,), ("list",), is_cluster_wide=True),
        Rule(ADVISORS.group, (ADVISORS.plural,), ("list",), is_cluster_wide=True),
    ),
    "capacity": (
        Rule(SCALE_SETS.group, (SCALE_SETS.plural,), ("list",), is_cluster_wide=True),
        Rule(
            RUNNER_POOLS.group,
            (RUNNER_POOLS.plural, CAPACITY_POLICIES.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        Rule(NODES.group, (NODES.plural, PODS.plural), ("list",), is_cluster_wide=True),
        # asks kubelets how full their filesystems are; it also lets its bearer run commands in any pod
        Rule(NODES.group, (f"{NODES.plural}/proxy",), ("get",), is_cluster_wide=True, is_optional=True),
    ),
    # what they do beyond reading, with --apply
    "capacity rollback": (
        Rule(SCALE_SETS.group, (SCALE_SETS.plural,), ("get", "list", "patch"), is_cluster_wide=True),
        Rule(RUNNER_POOLS.group, (RUNNER_POOLS.plural,), ("get", "list", "patch"), is_cluster_wide=True),
        Rule(NODES.group, (NODES.plural,), ("get",), is_cluster_wide=True),
        _KEPT_POLICIES,
    ),
    "capacity render": (
        Rule(PRIORITY_CLASSES.group, (PRIORITY_CLASSES.plural,), _APPLY, is_cluster_wide=True),
        Rule(QUOTAS.group, (QUOTAS.plural,), _APPLY, is_cluster_wide=True),
        Rule(
            ADMISSION_POLICIES.group,
            (ADMISSION_POLICIES.plural, ADMISSION_BINDINGS.plural),
            _APPLY,
            is_cluster_wide=True,
        ),
        _KEPT_POLICIES,
    ),
    "rightsize": (
        Rule(
            DEPLOYMENTS.group,
            tuple(item.plural for item in (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS)),
            ("list",),
            is_cluster_wide=True,
        ),
        Rule(JOBS.group, (CRON_JOBS.plural, JOBS.plural), ("list",), is_cluster_wide=True),
        Rule(
            PODS.group,
            (PODS.plural, LIMIT_RANGES.plural, QUOTAS.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        # of namespaces that are named only these are asked for
        Rule(NAMESPACES.group, (NAMESPACES.plural,), ("get", "list"), is_cluster_wide=True),
        Rule(AUTOSCALERS.group, (AUTOSCALERS.plural,), ("list",), is_cluster_wide=True),
        Rule(ADVISORS.group, (ADVISORS.plural,), ("list",), is_cluster_wide=True),
    ),
}


def role(command: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    """What `command` needs as a Role; without a namespace it belongs where it is applied. KeyError if nothing."""
    where = {} if namespace is None else {"namespace": namespace}
    rules = [rule.written() for rule in NEEDS[command] if not rule.is_cluster_wide]
    return _role("Role", {"name": name} | where, rules)


def cluster_role(command: str, name: str, *, optional: bool = False) -> dict[str, Any] | None:
    """What `command` needs beyond a namespace as a ClusterRole, or also what it can use; None when that is nothing."""
    wanted = [rule for rule in NEEDS[command] if rule.is_cluster_wide and (optional or not rule.is_optional)]
    return _role("ClusterRole", {"name": name}, [rule.written() for rule in wanted]) if wanted else None


def _role(kind: str, metadata: dict[str, Any], rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    }
