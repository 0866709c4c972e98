"""What diagnosis asks of the Kubernetes API."""

from remuda.kube.rbac import LEASE, Rule
from remuda.kube.resources import (
    ADVISORS,
    API_SERVICES,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    RUNNER_POOLS,
    SECRETS,
    STATEFUL_SETS,
)

PERMISSIONS: dict[str, tuple[Rule, ...]] = {
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
}
