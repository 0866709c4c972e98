"""
How many units of a need fit on a machine, and how many of them count: worked out again, apart from the engine.

What watches over the engine must not be wrong in the same way, so nothing here is shared with it but the vocabulary.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remuda.model.shapes import INSTANCE_TYPE, REGION, ZONE, Shape
from remuda.model.units import FleetNeed, Unsatisfiable

Ints: TypeAlias = NDArray[np.int64]
_UNBOUNDED = 100_000
_REMEMBERED = 1_000_000


def units_on(need: FleetNeed, shape: Shape) -> int:
    """Units of a need that fit on a machine of a shape; 0 when it may not use it at all."""
    labels = shape.all_labels()
    if not all(requirement.matches(labels) for requirement in need.requirements):
        return 0
    if any(key and key not in labels for key in domain_keys(need)):
        return 0
    fits = [shape.allocatable.get(name, 0) // amount for name, amount in need.unit.items() if amount]
    units = min([_UNBOUNDED, *fits])
    if need.separation is not None and not need.separation.key:
        units = min(units, need.separation.most)
    return units


class Units:
    """`units_on`, remembered: the same needs and shapes are asked about again and again."""

    def __init__(self) -> None:
        # Who is remembered is kept alive, so that no other can have its identity.
        self._known: dict[tuple[int, int], tuple[int, FleetNeed, Shape]] = {}

    def __call__(self, need: FleetNeed, shape: Shape) -> int:
        """Units of a need on a machine of a shape."""
        key = (id(need), id(shape))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = (units_on(need, shape), need, shape)
        return known[0]


def label(shape: Shape, key: str) -> str | None:
    """One of a shape's labels, what it says outside them included."""
    value = {INSTANCE_TYPE: shape.instance_type, ZONE: shape.zone, REGION: shape.region}.get(key)
    return value or shape.labels.get(key)


def domain_keys(need: FleetNeed) -> tuple[str, ...]:
    """The labels whose values say where units may lie."""
    spread = need.spread.key if need.spread else ""
    return (need.same, spread, need.separation.key if need.separation else "")


def is_plain(need: FleetNeed) -> bool:
    """Whether any machine that fits counts for all it holds."""
    return need.count is not None and not any(domain_keys(need))


def usable(need: FleetNeed, machines: Iterable[tuple[Shape, int]], domains: Sequence[str] = ()) -> int:
    """
    Units of a counted need that its machines give, each a shape and the units that fit on it.

    `domains` are the values of a spread's key that count although it may hold nothing there.
    """
    held = list(machines)
    if need.same:
        return max(by_domain(need.same, held).values(), default=0)
    if need.spread is not None and need.spread.when is Unsatisfiable.DO_NOT_SCHEDULE:
        caps = {**dict.fromkeys(domains, 0), **by_domain(need.spread.key, held)}
        least = min(caps.values(), default=0)
        return sum(min(cap, least + need.spread.max_skew) for cap in caps.values())
    if need.separation is not None and need.separation.key:
        most = need.separation.most
        return sum(min(cap, most) for cap in by_domain(need.separation.key, held).values())
    return sum(units for _, units in held)


def by_domain(key: str, machines: Iterable[tuple[Shape, int]]) -> dict[str, int]:
    """Units by the value of a label."""
    sums: dict[str, int] = {}
    for shape, units in machines:
        value = label(shape, key)
        if value is not None:
            sums[value] = sums.get(value, 0) + units
    return sums


def is_met(need: FleetNeed, machines: Iterable[tuple[Shape, int]], domains: Sequence[str] = ()) -> bool:
    """Whether a need has all it asks for."""
    if need.count is not None:
        return usable(need, machines, domains) >= need.count
    offered = resources_of(shape for shape, units in machines if units)
    return all(offered.get(name, 0) >= amount for name, amount in need.total.items())


def resources_of(shapes: Iterable[Shape]) -> Mapping[str, int]:
    """What machines offer together."""
    sums: dict[str, int] = {}
    for shape in shapes:
        for name, amount in shape.allocatable.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


class Fits:
    """A table of units: what needs have in common × shapes, grown as either is met."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._shapes = shapes
        self._examples: list[FleetNeed] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._table: Ints = np.zeros((0, 0), np.int64)

    def number(self, need: FleetNeed) -> int:
        """The row of a need."""
        key = (need.requirements, tuple(sorted(need.unit.items())), domain_keys(need), need.separation)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._examples)
            self._examples.append(need)
        return number

    def units(self, need: FleetNeed, shape: int) -> int:
        """Units of a need on a machine of a shape."""
        row = self.number(need)
        return int(self.table()[row, shape])

    def table(self) -> Ints:
        """The whole table."""
        rows, columns = len(self._examples), len(self._shapes)
        if self._table.shape != (rows, columns):
            table = np.zeros((rows, columns), np.int64)
            known_rows, known = self._table.shape
            table[:known_rows, :known] = self._table
            for row, need in enumerate(self._examples):
                for column in range(known if row < known_rows else 0, columns):
                    table[row, column] = units_on(need, self._shapes[column])
            self._table = table
        return self._table

    def cheapest(self, there: NDArray[np.bool_]) -> Ints:
        """By row, the least that a unit costs on any shape that is there, in thousandths of a micro-dollar an hour."""
        table = self.table()
        price = np.array([shape.price for shape in self._shapes], np.int64) * 1_000
        each = np.where((table > 0) & there, price // np.maximum(table, 1), np.iinfo(np.int64).max)
        least: Ints = each.min(axis=1, initial=np.iinfo(np.int64).max)
        least[least == np.iinfo(np.int64).max] = 0
        return least
