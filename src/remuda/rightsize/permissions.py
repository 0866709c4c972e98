"""What right-sizing asks of the Kubernetes API."""

from remuda.kube.rbac import Rule
from remuda.kube.resources import (
    ADVISORS,
    AUTOSCALERS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENT_CONFIGS,
    DEPLOYMENTS,
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    ROLLOUTS,
    STATEFUL_SETS,
    STRIMZI_POD_SETS,
)

PERMISSIONS: dict[str, tuple[Rule, ...]] = {
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
            (PODS.plural, LIMIT_RANGES.plural, QUOTAS.plural, REPLICATION_CONTROLLERS.plural),
            ("list",),
            is_cluster_wide=True,
        ),
        # of namespaces that are named only these are asked for
        Rule(NAMESPACES.group, (NAMESPACES.plural,), ("get", "list"), is_cluster_wide=True),
        Rule(AUTOSCALERS.group, (AUTOSCALERS.plural,), ("list",), is_cluster_wide=True),
        *(
            Rule(item.group, (item.plural,), ("list",), is_cluster_wide=True)
            for item in (ADVISORS, ROLLOUTS, DEPLOYMENT_CONFIGS, STRIMZI_POD_SETS)
        ),
    ),
}
