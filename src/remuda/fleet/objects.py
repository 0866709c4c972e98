"""
`Inventory` and `Demand`: what a person writes about machines and needs.

These types say which keys there are, for `validate`, `explain` and `schema`. Values are kept as they are written:
`remuda.fleet.intake` judges them, by record, the same way it judges what comes off the wire.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.fleet.intake import MOST_MACHINES, read_machines, read_needs
from remuda.fleet.records import Flaw
from remuda.fleet.scalars import Chance, Money, Penalty
from remuda.fleet.settings import FleetPolicySpec, check_policy
from remuda.model.labels import Operator
from remuda.model.machines import State
from remuda.model.quantities import Quantity
from remuda.model.shapes import CapacityType
from remuda.model.times import Instant
from remuda.model.units import Unsatisfiable
from remuda.objects.convert import plain
from remuda.objects.kinds import Complaint, Kind, Kinds, Object
from remuda.objects.nodes import Node

#: a check does not depend on when it is made, and every length of time is before this
_SOME_DAY: Instant = 4_102_444_800_000


class Text(str):
    """A scalar as it was written."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "my-name"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Take it as it is."""
        return cls(text)


class Whole(Text):
    """A whole number."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "integer"}
    example: ClassVar[str] = "40"


class Time(Text):
    """When, or how long ago."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}
    example: ClassVar[str] = "2026-01-31T14:05:00Z or 10m"


class Amount(Text):
    """A quantity of a resource."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = Quantity.json_schema
    example: ClassVar[str] = Quantity.example


class Price(Text):
    """Dollars."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = Money.json_schema
    example: ClassVar[str] = Money.example


class Probability(Text):
    """A number of 0 to 1."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = Chance.json_schema
    example: ClassVar[str] = Chance.example


class Cost(Text):
    """Dollars, or `pinned`."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = Penalty.json_schema
    example: ClassVar[str] = Penalty.example


class StateWord(Text):
    """A state of a machine."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "enum": [state.value for state in State]}
    example: ClassVar[str] = ", ".join(state.value for state in State)


class CapacityWord(Text):
    """How a machine is paid for."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "enum": [each.value for each in CapacityType]}
    example: ClassVar[str] = ", ".join(each.value for each in CapacityType)


class OperatorWord(Text):
    """How a requirement compares."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "enum": [each.value for each in Operator]}
    example: ClassVar[str] = ", ".join(each.value for each in Operator)


class WhenWord(Text):
    """What to do when a spread cannot be kept."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "enum": [each.value for each in Unsatisfiable]}
    example: ClassVar[str] = ", ".join(each.value for each in Unsatisfiable)


class InventoryMachine(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A machine, or with a `count` so many equal ones, whose ids are this one's with -1, -2 … behind."""

    id: Annotated[Text, Meta(description="Its id, which no other machine has.")]
    state: Annotated[StateWord, Meta(description="Where it is in its life.")]
    instance_type: Annotated[Text, Meta(description="Its type, as its provider calls it.")]
    count: Annotated[
        Whole | UnsetType, Meta(description=f"How many there are, up to {MOST_MACHINES:,}. One by default.")
    ] = UNSET
    zone: Annotated[Text | UnsetType, Meta(description="The zone it is in.")] = UNSET
    region: Annotated[Text | UnsetType, Meta(description="The region it is in.")] = UNSET
    provider: Annotated[Text | UnsetType, Meta(description="Who runs it: caps and quotas go by it.")] = UNSET
    capacity_type: Annotated[
        CapacityWord | UnsetType, Meta(description="How it is paid for. bare-metal by default.")
    ] = UNSET
    labels: Annotated[dict[str, Text], Meta(description="What requirements can ask for.")] = {}
    allocatable: Annotated[dict[str, Amount], Meta(description="What units may use of it, by resource.")] = {}
    price_per_hour: Annotated[
        Price | UnsetType, Meta(description="Dollars per hour while it runs. 0 by default.")
    ] = UNSET
    interruption_probability: Annotated[
        Probability | UnsetType,
        Meta(description="How likely its provider takes it away within an hour. 0 by default."),
    ] = UNSET
    cluster: Annotated[
        Text | UnsetType, Meta(description="Whom it serves, while configuring, configured or draining.")
    ] = UNSET
    need: Annotated[Text | UnsetType, Meta(description="The need of that cluster it was given to.")] = UNSET
    priority: Annotated[
        Whole | UnsetType, Meta(description="That need's priority when it was given. 0 by default.")
    ] = UNSET
    since: Annotated[Time | UnsetType, Meta(description="When it entered its state. Now by default.")] = UNSET


class InventorySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The machines of a fleet, for `remuda fleet plan`."""

    machines: Annotated[tuple[InventoryMachine, ...], Meta(description="Every machine there is.")]


class NeedRequirement(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A condition on a label of a machine."""

    key: Annotated[Text, Meta(description="The label, like topology.kubernetes.io/zone.")]
    operator: Annotated[OperatorWord, Meta(description="How it compares.")]
    values: Annotated[tuple[Text, ...], Meta(description="What it is compared with.")] = ()


class NeedSpread(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Keeps the domains of a label level."""

    key: Annotated[Text, Meta(description="The label whose values are the domains.")]
    max_skew: Annotated[
        Whole | UnsetType, Meta(description="Units that a domain may have more than the least. 1 by default.")
    ] = UNSET
    when_unsatisfiable: Annotated[
        WhenWord | UnsetType, Meta(description="What to do when it cannot be kept. DoNotSchedule by default.")
    ] = UNSET


class NeedSeparation(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Keeps units apart."""

    most: Annotated[Whole, Meta(description="The most units on one machine, or in one domain.")]
    key: Annotated[
        Text | UnsetType, Meta(description="The label whose values are the domains. A machine by default.")
    ] = UNSET


class DemandNeed(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Equal units with what each requires: a `count` of them, or a `total` whose largest unit is `unit`."""

    name: Annotated[Text, Meta(description="Its name, which no other need of the cluster has.")]
    unit: Annotated[
        dict[str, Amount], Meta(description="What a unit uses, by resource: cpu, memory and others.")
    ] = {}
    count: Annotated[Whole | UnsetType, Meta(description="How many units. One by default.")] = UNSET
    total: Annotated[
        dict[str, Amount] | UnsetType, Meta(description="The sum, where the number of units is not known.")
    ] = UNSET
    requirements: Annotated[
        tuple[NeedRequirement, ...], Meta(description="Conditions that a machine must meet.")
    ] = ()
    priority: Annotated[Whole | UnsetType, Meta(description="Higher is served first. 0 by default.")] = UNSET
    arrival: Annotated[
        Time | UnsetType, Meta(description="When it was first asked for: the earlier goes first.")
    ] = UNSET
    same: Annotated[
        Text | UnsetType,
        Meta(description="The label of which all units share one value, all of them or none: a gang."),
    ] = UNSET
    topology_spread: Annotated[
        NeedSpread | UnsetType, Meta(description="Keeps the domains of a label level.")
    ] = UNSET
    separation: Annotated[
        NeedSeparation | UnsetType, Meta(description="The most units on one machine or in one domain.")
    ] = UNSET
    interruption_penalty: Annotated[
        Cost | UnsetType,
        Meta(description="Dollars that it costs when a machine is interrupted. 0 by default."),
    ] = UNSET
    reclamation_penalty: Annotated[
        Cost | UnsetType,
        Meta(description="Dollars that it costs when a machine is taken back. 0 by default."),
    ] = UNSET


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

#: What `validate`, `explain` and `schema` know beside what a cluster keeps.
FLEET_KINDS: Kinds = (INVENTORY, DEMAND, FLEET_POLICY)
