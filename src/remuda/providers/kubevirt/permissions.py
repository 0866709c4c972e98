"""What pools of KubeVirt VMs ask of the Kubernetes API, beside what all pools ask."""

from remuda.kube.rbac import Rule
from remuda.kube.resources import PODS, SECRETS

PERMISSIONS: tuple[Rule, ...] = (
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
