"""What containers of one pod template used: replicas, and their samples in the order they came in."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, overload

from msgspec import Struct

from remuda.rightsize.estimate.histogram import Second


class Sample(NamedTuple):
    """Cores used on average, bytes used, or bytes requested when the kernel killed the container."""

    at: Second
    value: float


class Samples(Sequence[Sample]):
    """Samples in the order of time as two lists, since of a hundred thousand each would be an object of its own."""

    __slots__ = ("times", "values")

    def __init__(self, times: Sequence[Second], values: Sequence[float]) -> None:
        self.times, self.values = times, values

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Sample]:
        return map(Sample, self.times, self.values)

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> "Samples": ...
    def __getitem__(self, place: int | slice) -> "Sample | Samples":
        if isinstance(place, slice):
            return Samples(self.times[place], self.values[place])
        return Sample(self.times[place], self.values[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Replica(Struct, frozen=True):
    """One container of one pod. Times of `cpu` increase; those of `memory` may repeat; `oom` has no order."""

    cpu: Sequence[Sample] = ()
    memory: Sequence[Sample] = ()
    oom: Sequence[Sample] = ()

    @property
    def is_empty(self) -> bool:
        """True without any sample."""
        return not (self.cpu or self.memory or self.oom)


#: the containers of a pod template by name, each with its replicas
Pod: TypeAlias = Mapping[str, Sequence[Replica]]
