"""What pools ask of the Kubernetes API, whatever their machines are."""

from remuda.kube.rbac import Rule
from remuda.kube.resources import CEILINGS, RUNNER_POOLS

_OBJECTS = (RUNNER_POOLS, CEILINGS)
PERMISSIONS: dict[str, tuple[Rule, ...]] = {
    "up": (
        Rule(RUNNER_POOLS.group, tuple(item.plural for item in _OBJECTS), ("list", "watch")),
        Rule(RUNNER_POOLS.group, tuple(f"{item.plural}/status" for item in _OBJECTS), ("patch",)),
    ),
}
