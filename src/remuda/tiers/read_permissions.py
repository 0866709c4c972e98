"""What commands of tiers that change nothing ask of the Kubernetes API."""

from remuda.kube.rbac import Rule
from remuda.kube.resources import (
    AUTOSCALERS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUOTAS,
    REPLICA_SETS,
    ROLLOUTS,
    STATEFUL_SETS,
)
from remuda.objects.kinds import GROUP


def _list(group: str, *plurals: str, is_optional: bool = False) -> Rule:
    return Rule(group, plurals, ("list",), is_cluster_wide=True, is_optional=is_optional)


#: of `tiers audit`, and of `why pod`, `why namespace` and `why node`
READING: tuple[Rule, ...] = (
    _list(
        NAMESPACES.group,
        NAMESPACES.plural,
        PODS.plural,
        NODES.plural,
        LIMIT_RANGES.plural,
        QUOTAS.plural,
        EVENTS.plural,
    ),
    _list(
        DEPLOYMENTS.group, *(each.plural for each in (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, REPLICA_SETS))
    ),
    _list(CRON_JOBS.group, CRON_JOBS.plural, JOBS.plural),
    _list(AUTOSCALERS.group, AUTOSCALERS.plural),
    _list(PRIORITY_CLASSES.group, PRIORITY_CLASSES.plural),
    # policies that the cluster keeps, for who gives none in a file
    _list(GROUP, "tierpolicies", is_optional=True),
    _list(ROLLOUTS.group, ROLLOUTS.plural, is_optional=True),
    # what pods use, where the metrics server is installed
    _list("metrics.k8s.io", "pods", is_optional=True),
    # asks kubelets what their pods use; it also lets its bearer run commands in any pod
    Rule(NODES.group, (f"{NODES.plural}/proxy",), ("get",), is_cluster_wide=True, is_optional=True),
)
