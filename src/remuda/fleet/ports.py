"""
What a shard needs of the world: providers that list machines and change them, and clusters that report what they need.

Lists come as columns, because a provider may have half a million machines; names are given once and numbered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from remuda.fleet.plan import Op
from remuda.model.shapes import Shape
from remuda.model.times import Instant
from remuda.model.units import FleetNeed


@dataclass(frozen=True, slots=True)
class Changes:
    """
    The machines of a provider that changed since a cursor, as they were at `read_at`.

    With `is_full`, every machine it has: those it does not name are gone. An id comes once.
    """

    read_at: Instant
    #: what to ask with the next time
    cursor: str
    is_full: bool
    ids: Sequence[str]
    #: a number of `remuda.fleet.states`
    state: NDArray[np.int8]
    #: place in `shapes`
    shape: NDArray[np.int32]
    #: place in `bindings`; −1 where it serves nobody
    binding: NDArray[np.int32]
    #: the priority that was noted with the binding
    priority: NDArray[np.int32]
    since: NDArray[np.int64]
    shapes: Sequence[Shape]
    #: (cluster, need)
    bindings: Sequence[tuple[str, str]]
    gone: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.ids)


class Call(Struct, frozen=True):
    """What a shard asks of a provider: bring one machine into another state."""

    op: Op
    machine: str
    #: grows with every call of a shard and every shard that follows it; a provider takes no smaller one for the machine
    token: int
    cluster: str = ""
    need: str = ""
    priority: int = 0
    #: milliseconds that what runs there has to end
    grace: int = 0


class Answer(StrEnum):
    """What became of a call. The same call again has the same answer and does nothing."""

    ACCEPTED = "accepted"
    #: the machine is not in the state the call is for
    REFUSED = "refused"
    #: a newer call was seen
    FENCED = "fenced"
    #: the provider knows no such machine
    UNKNOWN = "unknown"
    ERROR = "error"
    #: no answer came in time: it may have been done, and lists will show it
    LOST = "lost"


class Provider(Protocol):
    """Where machines come from. What a call began ends later, and is seen in a list."""

    @property
    def name(self) -> str:
        """As shapes name it."""
        ...

    async def changes(self, cursor: str) -> Changes:
        """What changed since a cursor; everything for an empty one. Raises when it cannot be read."""
        ...

    async def call(self, call: Call) -> Answer:
        """Begin what is asked for, or say why not."""
        ...


class Report(Struct, frozen=True):
    """All that a cluster needs."""

    cluster: str
    needs: tuple[FleetNeed, ...]


class Clusters(Protocol):
    """Who needs machines."""

    def take(self) -> Sequence[Report]:
        """The reports that came since it was last asked, in their order."""
        ...
