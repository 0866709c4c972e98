"""A workload: columns of machines and needs that can be put into a fleet again and again, and what must come of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.names import Names
from remuda.fleet.policy import Policy
from remuda.model.labels import Operator, Requirement
from remuda.model.shapes import DOLLAR, INSTANCE_TYPE, Shape
from remuda.model.times import Instant
from remuda.model.units import FleetNeed

Short = NDArray[np.int32]
Long = NDArray[np.int64]

GIB = 1 << 30
#: What an interruption and a reclamation cost every need.
PENALTY = 8_192 * DOLLAR
ZONES = ("a", "b", "c")
RACK = "rack"


@dataclass(frozen=True, slots=True)
class Machines:
    """The columns of a fleet. `shape[k]` is the place of machine k's shape among `shapes`."""

    shapes: tuple[Shape, ...]
    shape: Short
    state: NDArray[np.int8]
    cluster: Short
    need: Short
    priority: Short
    since: Long

    def __len__(self) -> int:
        return len(self.state)


@dataclass(frozen=True, slots=True)
class Asked:
    """The columns of a demand. `like[of[i]]` says what need i has in common with others."""

    like: tuple[FleetNeed, ...]
    of: Long
    code: Short
    cluster: Short
    count: Long
    priority: Short

    def __len__(self) -> int:
        return len(self.code)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a plan must come to; None where the workload does not say."""

    actions: int | None = None
    #: needs that are not met
    unmet: int | None = None


class Delta(Protocol):
    """What was reported of a change, by the names at the edge."""

    @property
    def grows(self) -> int:
        """How many machines there are more once it is applied."""

    def apply(self, fleet: Fleet, demand: Demand, at: Instant) -> None:
        """Look up what it names, and change it."""

    def expected(self, fleet: Fleet, demand: Demand) -> Expected:
        """What a decision must find to do once it is applied."""


class Changes(Protocol):
    """Where a workload's deltas come from."""

    def delta(self, fleet: Fleet, demand: Demand) -> Delta:
        """The next one. It is made of what is there, and changes nothing."""


@dataclass(slots=True)
class Workload:
    """
    A fleet and a demand with what they are made of.

    `replace` makes both as new, as after every provider and cluster reported everything again; `renew` does so for machines
    that were never heard of before.
    """

    name: str
    names: Names
    machines: Machines
    asked: Asked
    expected: Expected
    policy: Policy = field(default_factory=Policy)
    #: where one state of the world follows from the last; None where it is replaced
    changes: Changes | None = None
    fleet: Fleet = field(init=False)
    demand: Demand = field(init=False)
    _incarnation: int = 0
    _kind: Short = field(init=False)

    def __post_init__(self) -> None:
        self.renew(machine_ids(len(self.machines)))

    def renew(self, ids: Sequence[str]) -> None:
        """Make a fleet of machines with these ids, and its demand."""
        self._incarnation += 1
        self.fleet = Fleet(self.names, self._incarnation)
        self._kind = self._kinds()
        machines = self.machines
        self.fleet.load(
            ids,
            kind=self._kind,
            state=machines.state,
            cluster=machines.cluster,
            need=machines.need,
            priority=machines.priority,
            since=machines.since,
        )
        self.demand = Demand(self.fleet)
        self._load_demand()

    def forget(self) -> None:
        """Let the fleet and the demand go, so that the next are not beside them in memory."""
        self.fleet = Fleet(self.names)
        self.demand = Demand(self.fleet)

    def replace(self) -> None:
        """Replace every column of the machines and needs there are, and count anew."""
        machines = self.machines
        self.fleet.replace(
            kind=self._kind,
            state=machines.state,
            cluster=machines.cluster,
            need=machines.need,
            priority=machines.priority,
            since=machines.since,
        )
        self._load_demand()

    def _kinds(self) -> Short:
        number = self.fleet.kinds.number
        kinds: Short = np.array([number(shape) for shape in self.machines.shapes], np.int32)[
            self.machines.shape
        ]
        return kinds

    def _load_demand(self) -> None:
        asked = self.asked
        self.demand.load(
            asked.like,
            of=asked.of,
            code=asked.code.copy(),
            cluster=asked.cluster.copy(),
            count=asked.count.copy(),
            priority=asked.priority.copy(),
        )


def machine_ids(count: int, series: str = "machine") -> list[str]:
    """Ids of a series, all of equal length."""
    return [f"{series}-{number:08}" for number in range(count)]


def idle(shapes: Sequence[Shape], shape: Long) -> Machines:
    """Machines that serve nobody."""
    count = len(shape)
    return Machines(
        tuple(shapes),
        shape.astype(np.int32),
        np.full(count, states.IDLE, np.int8),
        np.full(count, -1, np.int32),
        np.full(count, -1, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
    )


def like(instance_type: str, unit: dict[str, int], same: str = "") -> FleetNeed:
    """A need for one unit on machines of a type. Its cluster, name and priority are in columns."""
    return FleetNeed(
        cluster="",
        name="",
        unit=unit,
        requirements=(Requirement(INSTANCE_TYPE, Operator.IN, (instance_type,)),),
        same=same,
        interruption_penalty=PENALTY,
        reclamation_penalty=PENALTY,
    )


def cluster_numbers(names: Names, count: int, first: int = 0) -> Short:
    """The numbers of so many clusters, whose names sort as they are numbered."""
    return np.array(
        [names.cluster(f"cluster-{number:06}") for number in range(first, first + count)], np.int32
    )


def need_numbers(names: Names, cluster: Short, place: Long) -> Short:
    """The numbers of needs that are named by their place in their cluster."""
    labels = [f"need-{number}" for number in range(int(place.max()) + 1)]
    return np.fromiter(
        (names.need(number, labels[at]) for number, at in zip(cluster.tolist(), place.tolist(), strict=True)),
        np.int32,
        len(place),
    )


def cpu_and_memory(cores: int, gib: int) -> dict[str, int]:
    """Processors in millicores and memory in bytes."""
    return {"cpu": cores * 1_000, "memory": gib * GIB}
