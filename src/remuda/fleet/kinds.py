"""Kinds: the shapes of a fleet's machines, each once, as columns that needs are matched against."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from remuda.model.labels import Requirement
from remuda.model.shapes import CapacityType, Shape

CAPACITY_TYPES: tuple[CapacityType, ...] = tuple(CapacityType)

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Kinds:
    """
    The distinct shapes, numbered. A number whose last machine is gone is given to the next new shape.

    `revision` counts the changes, for what is computed from the columns and kept.
    """

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.resources: list[str] = []
        self.providers: list[str] = []
        self.revision = 0
        self.price: Ints = np.zeros(0, np.int64)
        self.interruption: Ints = np.zeros(0, np.int64)
        self.capacity: Ints = np.zeros(0, np.int64)
        self.provider: Ints = np.zeros(0, np.int64)
        #: kind × resource
        self.allocatable: Ints = np.zeros((0, 0), np.int64)
        self._numbers: dict[tuple[object, ...], int] = {}
        self._labels: list[dict[str, str]] = []
        self._retired: dict[int, None] = {}
        self._columns_at = -1
        self._domains: dict[str, tuple[Ints, list[str]]] = {}

    def __len__(self) -> int:
        return len(self.shapes)

    def number(self, shape: Shape) -> int:
        """The number of a shape, new if it was never seen."""
        key = shape.key()
        number = self._numbers.get(key)
        if number is not None:
            self._retired.pop(number, None)
            return number
        if self._retired:
            number = next(iter(self._retired))
            del self._retired[number]
            del self._numbers[self.shapes[number].key()]
            self.shapes[number], self._labels[number] = shape, shape.all_labels()
        else:
            number = len(self.shapes)
            self.shapes.append(shape)
            self._labels.append(shape.all_labels())
        self._numbers[key] = number
        for resource in shape.allocatable:
            if resource not in self.resources:
                self.resources.append(resource)
        if shape.provider not in self.providers:
            self.providers.append(shape.provider)
        self.revision += 1
        return number

    def restore(
        self, shapes: Mapping[int, Shape], resources: Sequence[str], providers: Sequence[str]
    ) -> None:
        """Give numbers the shapes they had elsewhere; new ones go on where those there are end."""
        if not shapes and resources == self.resources:
            return
        for number, shape in sorted(shapes.items()):
            if number == len(self.shapes):
                self.shapes.append(shape)
                self._labels.append(shape.all_labels())
            else:
                self.shapes[number], self._labels[number] = shape, shape.all_labels()
        self._numbers = {shape.key(): number for number, shape in enumerate(self.shapes)}
        self.resources, self.providers = list(resources), list(providers)
        self.revision += 1

    def retire(self, numbers: Sequence[int]) -> None:
        """Give back the numbers of shapes no machine has; the caller has looked."""
        self._retired = dict.fromkeys(sorted(numbers))

    def resource(self, name: str) -> int:
        """The column of a resource, new if no shape has it."""
        if name not in self.resources:
            self.resources.append(name)
            self.revision += 1
        return self.resources.index(name)

    def columns(self) -> None:
        """Bring the columns up to date with the shapes."""
        if self._columns_at == self.revision:
            return
        shapes = self.shapes
        self.price = np.array([shape.price for shape in shapes], np.int64)
        self.interruption = np.array([shape.interruption for shape in shapes], np.int64)
        self.capacity = np.array([CAPACITY_TYPES.index(shape.capacity_type) for shape in shapes], np.int64)
        self.provider = np.array([self.providers.index(shape.provider) for shape in shapes], np.int64)
        self.allocatable = np.array(
            [[shape.allocatable.get(name, 0) for name in self.resources] for shape in shapes], np.int64
        ).reshape(len(shapes), len(self.resources))
        self._domains.clear()
        self._columns_at = self.revision

    def domains(self, key: str) -> tuple[Ints, list[str]]:
        """For each kind the number of its value of a label (−1 without one), and the values in order."""
        self.columns()
        found = self._domains.get(key)
        if found is None:
            values = sorted({labels[key] for labels in self._labels if key in labels})
            numbers = {value: number for number, value in enumerate(values)}
            codes = np.array([numbers.get(labels.get(key, ""), -1) if key in labels else -1 for labels in self._labels], np.int64)  # fmt: skip
            found = self._domains[key] = (codes, values)
        return found

    def matching(self, requirement: Requirement) -> Mask:
        """Which kinds meet a requirement."""
        codes, values = self.domains(requirement.key)
        holds: Callable[[dict[str, str]], bool] = requirement.matches
        matches = np.array([holds({requirement.key: value}) for value in values] + [holds({})], np.bool_)
        mask: Mask = matches[codes]
        return mask
