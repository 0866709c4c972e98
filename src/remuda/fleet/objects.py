"""
`Inventory`, `Demand` and `FleetPolicy`: what a person writes about a fleet.

Rows are kept as they are written: `remuda.fleet.observe.intake` judges them, row by row, the same way it judges what comes off
the wire.
"""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from remuda.fleet.observe.fields import Flaw
from remuda.fleet.observe.intake import read_machines, read_needs
from remuda.fleet.rows import DemandNeed, InventoryMachine
from remuda.fleet.settings import FleetPolicySpec, check_policy
from remuda.model.times import Instant
from remuda.objects.convert import plain
from remuda.objects.kinds import Complaint, Kind, Object
from remuda.objects.nodes import Node

#: a check does not depend on when it is made, and every length of time is before this
_SOME_DAY: Instant = 4_102_444_800_000


class InventorySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The machines of a fleet, for `remuda fleet plan`."""

    machines: Annotated[tuple[InventoryMachine, ...], Meta(description="Every machine there is.")]


class DemandSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """All that one cluster needs, for `remuda fleet plan`."""

    needs: Annotated[tuple[DemandNeed, ...], Meta(description="Every need of the cluster.")]
    cluster: Annotated[
        str, Meta(max_length=253, description="The cluster. The name of the object by default.")
    ] = ""


def machine_records(inventory: Object[InventorySpec]) -> list[object]:
    """The machines as they are written."""
    return _records(inventory.root, "machines")


def need_records(demand: Object[DemandSpec]) -> list[object]:
    """The needs as they are written."""
    return _records(demand.root, "needs")


def cluster_of(demand: Object[DemandSpec]) -> str:
    """Whose demand it is."""
    return demand.spec.cluster or demand.name


def _records(root: Node | None, key: str) -> list[object]:
    whole = plain(root) if root is not None else None
    spec = whole.get("spec") if isinstance(whole, dict) else None
    found = spec.get(key) if isinstance(spec, dict) else None
    return found if isinstance(found, list) else []


def _check_inventory(inventory: Object[InventorySpec]) -> Iterator[Complaint]:
    yield from _complaints("machines", read_machines(machine_records(inventory), _SOME_DAY).flaws)


def _check_demand(demand: Object[DemandSpec]) -> Iterator[Complaint]:
    found = read_needs(cluster_of(demand), need_records(demand), now=_SOME_DAY)
    yield from _complaints("needs", found.flaws)


def _complaints(name: str, flaws: tuple[Flaw, ...]) -> Iterator[Complaint]:
    for flaw in flaws:
        if flaw.refused:
            yield path_of(name, flaw.index, flaw.field), flaw.message


def path_of(name: str, index: int, field: str) -> str:
    """The path in an object of a field in a record of the list `name`."""
    return f"spec.{name}[{index}]" + (f".{field}" if field else "")


INVENTORY = Kind("Inventory", "inventories", InventorySpec, (), _check_inventory)
DEMAND = Kind("Demand", "demands", DemandSpec, (), _check_demand)
FLEET_POLICY = Kind("FleetPolicy", "fleetpolicies", FleetPolicySpec, (), check_policy)
