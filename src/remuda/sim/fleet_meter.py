"""What a simulated fleet amounts to: how soon needs are served, what it costs, how much is moved and what is missing."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from remuda.fleet import states
from remuda.model.times import Instant
from remuda.model.units import FleetNeed
from remuda.sim.fleet_fits import Fits, Ints
from remuda.sim.fleet_machines import SimulatedMachines
from remuda.sim.fleet_queue import Queue

#: at most so many points are kept for drawing
_POINTS = 720


@dataclass(frozen=True, slots=True)
class Point:
    """The fleet at one instant. Money is micro-dollars an hour; `actions` are those since the last point."""

    at: Instant
    configured: int
    moving: int
    idle: int
    failed: int
    asked: int
    served: int
    cost: int
    bound: int
    actions: int


@dataclass
class Asked:
    """What a need asks for, and since when each part of it does."""

    need: FleetNeed
    count: int
    profile: int
    #: (since when, up to how many units), each still waited for
    waits: list[tuple[Instant, int]] = field(default_factory=list)


class Meter:
    """Informed of what is asked and who serves it, from the truth of the world."""

    def __init__(self, queue: Queue, world: SimulatedMachines, length: int) -> None:
        self._queue, self._world = queue, world
        self.fits = Fits(world.shapes)
        self.waiting: dict[int, Asked] = {}
        self._of_cluster: dict[str, list[int]] = {}
        #: by machine the need it serves as a node; −1 for none
        self._serving = [-1] * len(world.state)
        #: needs that took over a machine before it was a node
        self._taken_over: dict[int, int] = {}
        self._served: Counter[int] = Counter()
        #: (milliseconds, units)
        self.binds: list[tuple[int, int]] = []
        self.short: Counter[int] = Counter()
        self.cost = 0
        self.bound = 0
        self.measured = 0
        self._cheapest: tuple[tuple[int, int], Ints] | None = None
        self._last = queue.now
        self.points: list[Point] = []
        self._gap = max(1, length // _POINTS)
        self._actions_at = 0

    def asks(self, cluster: str, needs: tuple[FleetNeed, ...]) -> None:
        """A cluster needs this from now on."""
        before = self._of_cluster.get(cluster, [])
        numbers = []
        for need in needs:
            number = self._world.number_of_need(cluster, need.name)
            numbers.append(number)
            count = units_asked(need)
            waiting = self.waiting.get(number)
            if waiting is None:
                waiting = self.waiting[number] = Asked(need, 0, self.fits.number(need))
            if count > waiting.count:
                waiting.waits.append((self._queue.now, count))
            elif count < waiting.count:
                waiting.waits = [(at, min(upto, count)) for at, upto in waiting.waits]
            waiting.need, waiting.count = need, count
            self._settle(number, waiting)
        for number in set(before) - set(numbers):
            self.waiting.pop(number, None)
        self._of_cluster[cluster] = numbers

    def joined(self, machine: int) -> None:
        """A machine became a node, for the need it was given to or one that took it over."""
        self._serve(machine, self._taken_over.pop(machine, int(self._world.need[machine])))

    def left(self, machine: int) -> None:
        """It is none any more."""
        self._taken_over.pop(machine, None)
        self._serve(machine, -1)

    def adopted(self, machine: int, need: int) -> None:
        """Another need has it now."""
        if self._serving[machine] >= 0:
            self._serve(machine, need)
        else:
            self._taken_over[machine] = need

    def _serve(self, machine: int, need: int) -> None:
        old = self._serving[machine]
        self._serving[machine] = need
        if old >= 0 and old in self.waiting:
            self._served[old] -= self._units(old, machine)
        if need >= 0 and need in self.waiting:
            self._served[need] += self._units(need, machine)
            self._settle(need, self.waiting[need])

    def _units(self, need: int, machine: int) -> int:
        return int(self.fits.table()[self.waiting[need].profile, self._world.shape[machine]])

    def _settle(self, number: int, waiting: Asked) -> None:
        """Note how long what is served now was waited for."""
        if not waiting.waits:
            return
        served, below = self._served[number], 0
        left = []
        for at, upto in waiting.waits:
            if upto <= served:
                self.binds.append((self._queue.now - at, max(0, upto - below)))
            else:
                left.append((at, upto))
            below = upto
        waiting.waits = left

    def measure(self, actions: int) -> None:
        """Account for the time since the last measurement as if all of it had been like now."""
        world, now = self._world, self._queue.now
        length, self._last = now - self._last, now
        counts = np.bincount(world.state, minlength=states.COUNT).tolist()
        exists = (world.state != states.ABSENT) & (world.state != states.SPECULATIVE)
        price = np.array([shape.price for shape in world.shapes], np.int64)
        cost = int(price[world.shape[exists]].sum())
        cheapest = self._least()
        asked = served = bound = 0
        for number, waiting in self.waiting.items():
            has = min(waiting.count, self._served[number])
            asked += waiting.count
            served += has
            bound += has * int(cheapest[waiting.profile])
            if has < waiting.count:
                self.short[waiting.need.priority] += (waiting.count - has) * length
        bound //= 1_000
        self.cost += cost * length
        self.bound += bound * length
        self.measured += length
        if not self.points or now - self.points[-1].at >= self._gap:
            moving = counts[states.CREATING] + counts[states.CONFIGURING] + counts[states.DRAINING] + counts[states.DELETING]  # fmt: skip
            self.points.append(
                Point(
                    now, counts[states.CONFIGURED], moving, counts[states.IDLE], counts[states.FAILED],
                    asked, served, cost, bound, actions - self._actions_at,
                )
            )  # fmt: skip
            self._actions_at = actions

    def per_hour(self) -> tuple[int, int]:
        """Micro-dollars an hour on average: what it cost, and the least that what was served could have cost."""
        length = max(1, self.measured)
        return self.cost // length, self.bound // length

    def bind(self, percent: int) -> int:
        """Milliseconds within which so many percent of the units that were bound were."""
        total = sum(units for _, units in self.binds)
        passed = 0
        for wait, units in sorted(self.binds):
            passed += units
            if passed * 100 >= total * percent:
                return wait
        return 0

    def _least(self) -> Ints:
        at = (len(self._world.shapes), len(self.fits.table()))
        if self._cheapest is None or self._cheapest[0] != at:
            there = np.bincount(self._world.shape, minlength=len(self._world.shapes)) > 0
            self._cheapest = (at, self.fits.cheapest(there))
        return self._cheapest[1]


def units_asked(need: FleetNeed) -> int:
    """Units of a need; of one expressed as a sum, as many as the sum has of the scarcest resource."""
    if need.count is not None:
        return need.count
    return max(-(-amount // need.unit[name]) for name, amount in need.total.items() if need.unit.get(name))
