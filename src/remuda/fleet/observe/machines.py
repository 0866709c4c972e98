"""One machine from its record, field by field."""

from collections.abc import Mapping

from remuda.fleet.observe.fields import Record
from remuda.fleet.rows import read_key, read_text
from remuda.fleet.scalars import read_moment, shown
from remuda.model.machines import State
from remuda.model.shapes import CAPACITY_TYPE, INSTANCE_TYPE, REGION, ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import Instant
from remuda.objects.problems import child_path

#: states of a machine that serves no cluster, and those of one that does
_FREE = (State.SPECULATIVE, State.CREATING, State.IDLE, State.DELETING)
_BOUND = (State.CONFIGURED, State.DRAINING)


def machine_of(record: Record, now: Instant) -> FleetMachine:
    """The machine that a record describes; worth nothing when the record is refused."""
    state = record.take("state", State.FAILED)
    machine = FleetMachine(
        id=record.take("id", ""),
        state=state,
        shape=Shape(
            instance_type=record.take("instanceType", ""),
            zone=record.take("zone", ""),
            region=record.take("region", ""),
            provider=record.take("provider", ""),
            capacity_type=record.take("capacityType", CapacityType.BARE_METAL),
            allocatable=record.amounts("allocatable", up=False),
            labels=_labels(record),
            price=record.take("pricePerHour", 0),
            interruption=record.take("interruptionProbability", 0),
        ),
        cluster=record.take("cluster", ""),
        need=record.take("need", ""),
        priority=record.take("priority", 0),
        since=record.take("since", now, lambda value: read_moment(value, now)),
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
    source = record.fields.get("labels")
    if source is None:
        return record.take("labels", {})
    if not isinstance(source, Mapping):
        record.flaw("labels", f"wants a mapping, found {shown(source)}")
        return {}
    labels = {}
    fields = {INSTANCE_TYPE: "instanceType", ZONE: "zone", REGION: "region", CAPACITY_TYPE: "capacityType"}
    for key, value in source.items():
        field = child_path("labels", str(key))
        try:
            labels[read_key(key)] = read_text(value)
        except ValueError as error:
            record.flaw(field, str(error))
            continue
        name = fields.get(key, "")
        if name and record.fields.get(name) not in (None, "", value):
            record.flaw(field, f"is {shown(value)}, and {name} counts instead", refused=False)
    return labels
