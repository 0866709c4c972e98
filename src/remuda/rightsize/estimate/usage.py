"""What containers of one pod template used: replicas, and their samples in the order they came in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from remuda.rightsize.estimate.histogram import Second


class Sample(NamedTuple):
    """Cores used on average, bytes used, or bytes requested when the kernel killed the container."""

    at: Second
    value: float


@dataclass(frozen=True, slots=True)
class Replica:
    """One container of one pod. Times of `cpu` increase; those of `memory` may repeat; `oom` has no order."""

    cpu: Sequence[Sample] = field(default=())
    memory: Sequence[Sample] = field(default=())
    oom: Sequence[Sample] = field(default=())

    @property
    def is_empty(self) -> bool:
        """True without any sample."""
        return not (self.cpu or self.memory or self.oom)


#: the containers of a pod template by name, each with its replicas
Pod: TypeAlias = Mapping[str, Sequence[Replica]]
