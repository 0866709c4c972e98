"""The clusters of a simulated fleet: each follows its traces and reports what it needs."""

import random
from collections.abc import Callable
from typing import TypeAlias

from remuda.model.labels import Operator, Requirement
from remuda.model.shapes import CAPACITY_TYPE, DOLLAR, INSTANCE_TYPE, ZONE
from remuda.model.times import MINUTE, SECOND
from remuda.model.units import PINNED, FleetNeed, Separation, Spread, Unsatisfiable
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_queue import Queue
from remuda.sim.fleet_scenario import GENERATION, GIB, GPU, RACK, Scenario
from remuda.sim.fleet_traces import Now, Trace, burst, gangs, steady, storm, wave

#: who hears a report: the cluster's name and all it needs
Hear: TypeAlias = Callable[[str, tuple[FleetNeed, ...]], None]

_PRIORITIES = (100, 1_000, 1_000, 5_000, 200_000, 700_000, 1_000_000)
_MONEY = (0, 0, DOLLAR, 50 * DOLLAR, 8_192 * DOLLAR, PINNED)
#: cores, gibibytes and graphics cards of one unit
_UNITS = (
    (1, 4, 0),
    (2, 4, 0),
    (4, 8, 0),
    (4, 30, 0),
    (12, 48, 0),
    (16, 60, 0),
    (30, 120, 0),
    (4, 16, 1),
    (16, 64, 8),
)


class Cluster:
    """One cluster. It reports at intervals, and shortly after its needs have changed."""

    def __init__(
        self, number: int, scenario: Scenario, queue: Queue, faults: Faults, hear: Hear, asks: Hear
    ) -> None:
        """`hear` is the shard that may hear a report; `asks` knows at once what is truly asked for."""
        self.name = f"c{number:03}"
        self.needs: tuple[FleetNeed, ...] = ()
        self.stopped = False
        self._queue, self._faults, self._hear, self._asks = queue, faults, hear, asks
        self._interval = scenario.report
        dice = random.Random(f"cluster {scenario.request.seed} {number}")
        self._traces = _traces(dice, self.name, scenario, lambda: queue.now)
        self._parts: list[tuple[FleetNeed, ...]] = [() for _ in self._traces]
        self._silent_until = 0
        self._empty_left = 0
        for part in range(len(self._traces)):
            self._advance(part)
        queue.after(1 + number * self._interval // scenario.request.clusters, self._report_again)

    def stop(self) -> None:
        """Ask for the same from now on."""
        self.stopped = True
        self._silent_until = self._empty_left = 0

    def fall_silent(self, length: int) -> None:
        """Report nothing for a while."""
        self._silent_until = self._queue.now + length

    def _advance(self, part: int) -> None:
        if self.stopped:
            return
        needs, wait = next(self._traces[part])
        if needs != self._parts[part]:
            self._parts[part] = needs
            self.needs = tuple(need for needs in self._parts for need in needs)
            self._asks(self.name, self.needs)
            self._queue.after(SECOND, self.report)
        if wait:
            self._queue.after(wait, self._advance, part)

    def _report_again(self) -> None:
        self.report()
        self._queue.after(self._interval, self._report_again)

    def report(self) -> None:
        """Say what is needed, unless something keeps it from being heard."""
        if self._queue.now < self._silent_until or self._faults.strikes(Fault.REPORT_LOST):
            return
        if self._faults.strikes(Fault.REPORT_EMPTY):
            self._empty_left = self._faults.between(Fault.REPORT_EMPTY, 1, 2)
        if self._empty_left:
            self._empty_left -= 1
            self._hear(self.name, ())
            return
        self._hear(self.name, self.needs)


def _traces(dice: random.Random, cluster: str, scenario: Scenario, now: Now) -> list[Trace]:
    """Traces that together ask for about a cluster's share of the fleet, a little more or less."""
    cores = sum(scenario.shapes[shape].allocatable["cpu"] for shape in scenario.machines) // 1_000
    share = cores * dice.randint(40, 130) // 100 // scenario.request.clusters
    length = max(30 * MINUTE, scenario.request.length)
    number = dice.randint(2, 3)
    traces: list[Trace] = []
    for place in range(number):
        need, units = _need(dice, cluster, f"n{place}", share // number)
        match 0 if need.count is None else dice.randrange(5):
            case 0:
                traces.append(steady(need, now))
            case 1:
                period = min(24 * 60 * MINUTE, length)
                traces.append(wave(need, now, units // 3, period, dice.randrange(period)))
            case 2:
                traces.append(burst(need, now, dice, min(length // 3, 60 * MINUTE)))
            case 3:
                traces.append(gangs(_gang(dice, need), now, dice, 4 * MINUTE, dice.randint(1, 2)))
            case _:
                traces.append(storm(need, now, dice, min(length // 3, 120 * MINUTE)))
    return traces


def _need(dice: random.Random, cluster: str, name: str, cores: int) -> tuple[FleetNeed, int]:
    unit_cores, memory, cards = dice.choices(_UNITS, (4, 4, 4, 3, 2, 2, 1, 1, 1))[0]
    units = max(1, cores // unit_cores // (4 if cards else 1))
    unit = {"cpu": unit_cores * 1_000, "memory": memory * GIB}
    if cards:
        unit[GPU] = cards
    spread, separation, count, total = None, None, units, {}
    match dice.randrange(20):
        case 0:
            when = dice.choice((Unsatisfiable.DO_NOT_SCHEDULE, Unsatisfiable.SCHEDULE_ANYWAY))
            spread = Spread(ZONE, dice.randint(1, 3), when)
        case 1:
            separation = Separation(dice.randint(1, 2))
        case 2:
            separation = Separation(dice.randint(1, 4), RACK)
        case 3:
            total = {resource: amount * units for resource, amount in unit.items()}
    by_sum = bool(total)
    need = FleetNeed(
        cluster=cluster,
        name=name,
        unit=unit,
        count=None if by_sum else count,
        total=total,
        requirements=_requirements(dice),
        priority=dice.choice(_PRIORITIES),
        spread=spread,
        separation=separation,
        interruption_penalty=dice.choice(_MONEY),
        reclamation_penalty=dice.choice(_MONEY),
    )
    return need, units


def _gang(dice: random.Random, need: FleetNeed) -> FleetNeed:
    """The same as a gang: whole machines that share a rack or a zone."""
    whole = {"cpu": 12_000, "memory": 48 * GIB} if GPU not in need.unit else need.unit
    return FleetNeed(
        cluster=need.cluster,
        name=need.name,
        unit=whole,
        count=dice.randint(3, 8),
        priority=need.priority,
        same=dice.choice((RACK, ZONE)),
        interruption_penalty=need.interruption_penalty,
        reclamation_penalty=need.reclamation_penalty,
    )


def _requirements(dice: random.Random) -> tuple[Requirement, ...]:
    match dice.randrange(9):
        case 0:
            return (Requirement(CAPACITY_TYPE, Operator.NOT_IN, ("spot",)),)
        case 1:
            return (Requirement(INSTANCE_TYPE, Operator.IN, ("c16", "m32")),)
        case 2:
            return (Requirement(ZONE, Operator.IN, ("east-a", "east-b", "hall-a")),)
        case 3:
            return (Requirement(GENERATION, Operator.GT, ("2",)),)
        case 4:
            return (Requirement(GENERATION, Operator.LT, ("5",)), Requirement(RACK, Operator.DOES_NOT_EXIST))
        case 5:
            return (Requirement(RACK, Operator.EXISTS),)
    return ()
