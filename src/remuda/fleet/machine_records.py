"""One machine from its record, field by field."""

from collections.abc import Mapping

from remuda.fleet.records import Record, one_of, read_key, read_name, read_text
from remuda.fleet.scalars import Chance, Money, read_moment, read_priority, shown
from remuda.model.machines import State
from remuda.model.shapes import CAPACITY_TYPE, INSTANCE_TYPE, REGION, ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import Instant
from remuda.objects.problems import child_path

MACHINE_KEYS = (
    "id", "count", "state", "instanceType", "zone", "region", "provider", "capacityType", "labels", "allocatable",
    "pricePerHour", "interruptionProbability", "cluster", "need", "priority", "since",
)  # fmt: skip

_STATES = {state.value: state for state in State}
_CAPACITY_TYPES = {each.value: each for each in CapacityType}
#: states of a machine that serves no cluster, and those of one that does
_FREE = (State.SPECULATIVE, State.CREATING, State.IDLE, State.DELETING)
_BOUND = (State.CONFIGURED, State.DRAINING)


def machine_of(record: Record, now: Instant) -> FleetMachine:
    """The machine that a record tells; worth nothing when the record is refused."""
    state = record.require("state", one_of(_STATES), State.FAILED)
    machine = FleetMachine(
        id=record.require("id", read_name, ""),
        state=state,
        shape=Shape(
            instance_type=record.require("instanceType", read_name, ""),
            zone=record.take("zone", read_text, ""),
            region=record.take("region", read_text, ""),
            provider=record.take("provider", read_text, ""),
            capacity_type=record.take("capacityType", one_of(_CAPACITY_TYPES), CapacityType.BARE_METAL),
            allocatable=record.amounts("allocatable", up=False),
            labels=_labels(record),
            price=int(record.take("pricePerHour", Money.parse, Money(0))),
            interruption=int(record.take("interruptionProbability", Chance.parse, Chance(0))),
        ),
        cluster=record.take("cluster", read_text, ""),
        need=record.take("need", read_text, ""),
        priority=record.take("priority", read_priority, 0),
        since=record.take("since", lambda value: read_moment(value, now), now),
    )
    if record.is_good("state", "cluster", "need"):
        _check_grid(record, machine)
    if record.is_good("allocatable") and not machine.shape.allocatable:
        record.flaw("allocatable", "is nothing, so no unit of any need fits on it", refused=False)
    return machine


def _check_grid(record: Record, machine: FleetMachine) -> None:
    """Whom a machine can serve in its state."""
    if machine.state in _FREE and machine.cluster:
        record.flaw(
            "cluster", f"is {shown(machine.cluster)}, but a machine that is {machine.state} serves none"
        )
    if machine.state in _FREE and machine.need and not machine.cluster:
        record.flaw("need", f"is {shown(machine.need)}, but a machine that is {machine.state} serves none")
    if machine.state in _BOUND and not machine.cluster:
        record.flaw("cluster", f"is required: a machine that is {machine.state} serves one")
    elif machine.state not in _FREE and machine.need and not machine.cluster:
        record.flaw("need", f"is {shown(machine.need)}, but there is no cluster whose need that is")


def _labels(record: Record) -> dict[str, str]:
    told = record.told.get("labels")
    if told is None:
        return record.take("labels", lambda _: {}, {})
    if not isinstance(told, Mapping):
        record.flaw("labels", f"wants a mapping, found {shown(told)}")
        return {}
    labels = {}
    fields = {INSTANCE_TYPE: "instanceType", ZONE: "zone", REGION: "region", CAPACITY_TYPE: "capacityType"}
    for key, value in told.items():
        field = child_path("labels", str(key))
        try:
            labels[read_key(key)] = read_text(value)
        except ValueError as error:
            record.flaw(field, str(error))
            continue
        name = fields.get(key, "")
        if name and record.told.get(name) not in (None, "", value):
            record.flaw(field, f"is {shown(value)}, and {name} counts instead", refused=False)
    return labels
