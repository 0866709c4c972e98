"""Nodes: what is read of them, and how much of them pods may use."""

from msgspec import Struct

from remuda.model.manifests import Condition, Quantities
from remuda.model.pods import Taint


class NodeSpec(Struct, frozen=True):
    """Which pods a node is to take."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True):
    """What a node has, and whether it works."""

    allocatable: Quantities | None = None
    capacity: Quantities = {}
    conditions: tuple[Condition, ...] = ()

    @property
    def room(self) -> Quantities:
        """What pods may use: Kubernetes means the capacity where nothing is said to be allocatable."""
        return self.capacity if self.allocatable is None else self.allocatable
