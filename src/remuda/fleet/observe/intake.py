"""
Machines and needs from outside, checked before they reach a `Fleet` and its `Demand`.

They come as plain mappings with the keys of the files (`pricePerHour`), from a file or off the wire. What cannot be
believed is refused by name and the rest goes on: a machine that is refused keeps its last good row, because it is
neither changed nor to be taken for one that vanished; a need that is refused keeps its last good form.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from remuda.fleet.observe.fields import Flaw, Record
from remuda.fleet.observe.machines import machine_of
from remuda.fleet.observe.needs import need_of
from remuda.fleet.rows import MOST_MACHINES, DemandNeed, InventoryMachine, read_name
from remuda.fleet.scalars import read_integer, shown
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.times import Instant
from remuda.model.units import FleetNeed


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines that can be believed, and what is wrong with the others."""

    accepted: tuple[FleetMachine, ...]
    flaws: tuple[Flaw, ...]
    #: ids that were reported and refused: they exist, so nobody may take them for gone
    refused: frozenset[str]


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of one cluster that can be believed, last good ones in the place of those that were refused."""

    accepted: tuple[FleetNeed, ...]
    flaws: tuple[Flaw, ...]
    #: names of needs that go on as they were last
    kept: frozenset[str] = frozenset()


def read_machines(
    records: Iterable[object],
    now: Instant = 0,
    where: Callable[[int], str] = "machines[{}]".format,
    most: int = MOST_MACHINES,
) -> Machines:
    """
    The machines of a list. An id that comes again is refused; the first stands.

    With a `count`, a record stands for so many machines, whose ids are its own with `-1`, `-2` … behind. Times may
    be written as how long before `now`, and a machine that does not say since when it is so is so since `now`. `where`
    says how people find the record at a place of the list, and no list is longer than `most`.
    """
    accepted: list[FleetMachine] = []
    flaws: list[Flaw] = []
    refused: set[str] = set()
    first: dict[str, int] = {}
    for index, source in enumerate(records):
        record = Record(source, index, f"machine/{_name_in(source, 'id', index)}", InventoryMachine)
        machine = machine_of(record, now)
        count = record.take("count", None, lambda value: read_integer(value, 1, most))
        if len(first) + (count or 1) > most:
            record.flaw("count" if count else "", f"would be more than {most:,} machines in all")
            count = None
        ids = [f"{machine.id}-{number}" for number in range(1, count + 1)] if count else [machine.id]
        again = [each for each in ids if each in first] if machine.id else []
        if again:
            more = f", and {len(again) - 1:,} more of it" if len(again) > 1 else ""
            words = f"{shown(again[0])} is here a second time{more}: the first is {where(first[again[0]])}"
            record.flaw("id", words)
        if machine.id:
            for each in ids:
                first.setdefault(each, index)
        flaws += record.flaws
        if not record.is_refused:
            accepted += [_named(machine, each) for each in ids] if count else [machine]
        elif machine.id:
            refused.update(each for each in ids if first[each] == index)
    return Machines(tuple(accepted), tuple(flaws), frozenset(refused))


def read_needs(
    cluster: str,
    records: Iterable[object],
    *,
    last: Iterable[FleetNeed] = (),
    keys: Collection[str] | None = None,
    now: Instant = 0,
) -> Needs:
    """
    The needs that one cluster reports. `last` are those that were believed before.

    With `keys`, those of the labels of all machines, a spread or a gang over another key is reported: it can be met once
    such machines come.
    """
    good = {need.name: need for need in last}
    accepted: dict[str, FleetNeed] = {}
    kept: set[str] = set()
    flaws: list[Flaw] = []
    first: dict[str, int] = {}
    for index, source in enumerate(records):
        record = Record(source, index, f"need/{cluster}/{_name_in(source, 'name', index)}", DemandNeed)
        need = need_of(record, cluster, now)
        if need.name and first.setdefault(need.name, index) != index:
            words = f"{shown(need.name)} is here a second time: the first is needs[{first[need.name]}]"
            record.flaw("name", words)
        elif not record.is_refused:
            accepted[need.name] = need
            _report_keys(record, need, keys)
        elif need.name in good:
            accepted[need.name] = good[need.name]
            kept.add(need.name)
        flaws += record.flaws
    return Needs(tuple(accepted.values()), tuple(flaws), frozenset(kept))


def label_keys(shapes: Iterable[Shape]) -> frozenset[str]:
    """Every key that a machine of these shapes has."""
    return frozenset(key for shape in shapes for key in shape.all_labels())


def _name_in(source: object, key: str, index: int) -> str:
    """How a record is called in what is said about it, whatever is in it."""
    name = source.get(key) if isinstance(source, Mapping) else None
    try:
        return read_name(name)
    except ValueError:
        return f"#{index}"


def _named(machine: FleetMachine, name: str) -> FleetMachine:
    return FleetMachine(
        name, machine.state, machine.shape, machine.cluster, machine.need, machine.priority, machine.since
    )


def _report_keys(record: Record, need: FleetNeed, keys: Collection[str] | None) -> None:
    if keys is None:
        return
    used: tuple[tuple[str, str], ...] = (
        ("same", need.same),
        ("topologySpread.key", need.spread.key if need.spread else ""),
        ("separation.key", need.separation.key if need.separation else ""),
    )
    for field, key in used:
        if key and key not in keys:
            record.flaw(field, f"no machine has a label {key}: it waits for one that has", refused=False)
