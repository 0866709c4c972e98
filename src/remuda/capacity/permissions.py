"""What commands of capacity ask of the Kubernetes API."""

from remuda.capacity.resources import (
    CAPACITY_POLICIES,
    RUNNER_AUTOSCALERS,
    RUNNER_DEPLOYMENTS,
    RUNNER_SETS,
    SCALE_SETS,
)
from remuda.kube.rbac import Rule
from remuda.kube.resources import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    LIMIT_RANGES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    RUNNER_POOLS,
    RUNTIME_CLASSES,
)

#: server-side apply creates what is not there yet
_APPLY = ("get", "create", "patch")
#: policies that the cluster keeps, for who gives none in a file
_KEPT_POLICIES = Rule(
    CAPACITY_POLICIES.group, (CAPACITY_POLICIES.plural,), ("list",), is_cluster_wide=True, is_optional=True
)

PERMISSIONS: dict[str, tuple[Rule, ...]] = {
    "capacity": (
        Rule(SCALE_SETS.group, (SCALE_SETS.plural,), ("list",), is_cluster_wide=True),
        Rule(
            RUNNER_DEPLOYMENTS.group,
            (RUNNER_DEPLOYMENTS.plural, RUNNER_SETS.plural, RUNNER_AUTOSCALERS.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        Rule(
            RUNNER_POOLS.group,
            (RUNNER_POOLS.plural, CAPACITY_POLICIES.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        Rule(
            NODES.group,
            (NODES.plural, PODS.plural, LIMIT_RANGES.plural, QUOTAS.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        # what admission does to runners
        Rule(RUNTIME_CLASSES.group, (RUNTIME_CLASSES.plural,), ("list",), is_cluster_wide=True),
        Rule(PRIORITY_CLASSES.group, (PRIORITY_CLASSES.plural,), ("list",), is_cluster_wide=True),
        # asks kubelets how full their filesystems are; it also lets its bearer run commands in any pod
        Rule(NODES.group, (f"{NODES.plural}/proxy",), ("get",), is_cluster_wide=True, is_optional=True),
    ),
    # what they do beyond reading, with --apply
    "capacity rollback": (
        Rule(SCALE_SETS.group, (SCALE_SETS.plural,), ("get", "list", "patch"), is_cluster_wide=True),
        Rule(
            RUNNER_DEPLOYMENTS.group,
            (RUNNER_DEPLOYMENTS.plural, RUNNER_SETS.plural),
            ("get", "list", "patch"),
            is_cluster_wide=True,
        ),
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
}
