"""
The truth of a simulated fleet: its machines as columns, and providers that change them in their own time.

A provider takes a call only in the state it is for and with a token newer than any it has seen for the machine, so a
call that comes late or twice does nothing. What it began ends later, and is only seen in a list.
"""

import random
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.plan import Op
from remuda.fleet.ports import Changes
from remuda.model.shapes import CapacityType, Shape
from remuda.model.times import MINUTE, SECOND
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_queue import Queue
from remuda.sim.fleet_scenario import Scenario, Span

#: how long a provider waits for an operation before it calls it failed
_PATIENCE = 5 * MINUTE
_IN_MOTION = (states.CREATING, states.CONFIGURING, states.DRAINING, states.DELETING)


class Listener(Protocol):
    """Who hears of every change of the truth."""

    def note(self, *words: object) -> None:
        """Something happened."""

    def joined(self, machine: int, cluster: int) -> None:
        """A machine became a node of a cluster."""

    def left(self, machine: int) -> None:
        """A machine is no node of any cluster now."""

    def drains(self, machine: int, op: Op) -> None:
        """A provider was called to drain a machine, and begins to."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a shard asks a provider to do to a machine."""

    op: Op
    machine: int
    token: int
    #: of the id it is called by
    generation: int
    cluster: int = -1
    need: int = -1
    priority: int = 0
    grace: int = 0


class SimulatedMachines:
    """Machines are numbered from 0. A state of `states.ABSENT` is one that the provider does not know."""

    def __init__(self, scenario: Scenario, queue: Queue, faults: Faults, listener: Listener) -> None:
        count = len(scenario.machines)
        self._scenario, self._queue, self._faults, self._listener = scenario, queue, faults, listener
        self.dice = random.Random(f"world {scenario.request.seed}")
        self.shapes: list[Shape] = list(scenario.shapes)
        self.needs: list[tuple[str, str]] = []
        self.clusters: list[str] = []
        self._need_numbers: dict[tuple[str, str], int] = {}
        self._cluster_numbers: dict[str, int] = {}
        self.shape = np.array(scenario.machines, np.int32)
        providers = [scenario.providers.index(shape.provider) for shape in scenario.shapes]
        self.provider = np.array(providers, np.int8)[self.shape]
        self.of = [np.flatnonzero(self.provider == number) for number in range(len(scenario.providers))]
        owned = [
            shape.capacity_type in {CapacityType.BARE_METAL, CapacityType.RESERVED}
            for shape in scenario.shapes
        ]
        self.state = np.where(np.array(owned)[self.shape], states.IDLE, states.SPECULATIVE).astype(np.int8)
        self.cluster = np.full(count, -1, np.int32)
        self.need = np.full(count, -1, np.int32)
        self.priority = np.zeros(count, np.int32)
        self.since = np.full(count, queue.now, np.int64)
        self.generation = np.zeros(count, np.int32)
        #: the highest token seen
        self._mark = np.zeros(count, np.int64)
        self._answer: dict[int, str] = {}
        #: counts what is begun, so that what was overtaken does not end it
        self._turn = [0] * count
        self.version = [0] * len(scenario.providers)
        #: the version of its provider's list in which each machine changed last
        self._changed_at = np.zeros(count, np.int64)
        self.down_until = [0] * len(scenario.providers)

    def id(self, machine: int, generation: int) -> str:
        """The id under which a provider lists a machine."""
        return f"m{machine:06}-{generation}" if generation else f"m{machine:06}"

    def number_of_cluster(self, name: str) -> int:
        """The world's number for a cluster."""
        number = self._cluster_numbers.setdefault(name, len(self.clusters))
        if number == len(self.clusters):
            self.clusters.append(name)
        return number

    def number_of_need(self, cluster: str, name: str) -> int:
        """The world's number for a need."""
        number = self._need_numbers.setdefault((cluster, name), len(self.needs))
        if number == len(self.needs):
            self.needs.append((cluster, name))
        return number

    def changes(self, provider: int, cursor: str) -> Changes:
        """What a provider's list says now of the machines that changed since it was last read; of all with no cursor."""
        here = self.of[provider]
        if cursor:
            here = here[self._changed_at[here] > int(cursor)]
        numbered = zip(here.tolist(), self.generation[here].tolist(), strict=True)
        gone = [self.id(machine, old) for machine, last in numbered for old in range(last)]
        absent = self.state[here] == states.ABSENT
        gone += [self.id(machine, int(self.generation[machine])) for machine in here[absent].tolist()]
        here = here[~absent]
        return Changes(
            read_at=self._queue.now,
            cursor=str(self.version[provider]),
            is_full=not cursor,
            ids=[self.id(machine, int(self.generation[machine])) for machine in here.tolist()],
            state=self.state[here],
            shape=self.shape[here],
            binding=self.need[here],
            priority=self.priority[here],
            since=self.since[here],
            shapes=self.shapes,
            bindings=self.needs,
            gone=gone,
        )

    def call(self, call: Call) -> str:
        """
        Carry out a call, or say why not: `accepted`, `error`, `unknown`, `fenced` or `refused`.

        The same call again has the same answer and does nothing.
        """
        machine = call.machine
        if self._queue.now < self.down_until[self.provider[machine]] or self._faults.strikes(
            Fault.PROVIDER_ERROR
        ):
            return "error"
        if call.token <= self._mark[machine]:
            return self._answer[machine] if call.token == self._mark[machine] else "fenced"
        self._mark[machine] = call.token
        self._answer[machine] = answer = self._carry_out(call, int(self.state[machine]))
        return answer

    def _carry_out(self, call: Call, state: int) -> str:
        machine = call.machine
        if state == states.ABSENT or self.generation[machine] != call.generation:
            return "unknown"
        pace = self._scenario.paces[self.provider[machine]]
        match call.op:
            case Op.CREATE if state == states.SPECULATIVE:
                self._begin(machine, states.CREATING, pace.create, Fault.CREATE_FAILS)
            case Op.ASSIGN if state == states.IDLE:
                self.cluster[machine], self.need[machine] = call.cluster, call.need
                self.priority[machine] = call.priority
                self._configure(machine, pace.configure)
            case Op.PREEMPT | Op.RECLAIM if state == states.CONFIGURED:
                self._listener.drains(machine, call.op)
                span = Span(min(pace.drain.low, call.grace), min(pace.drain.high, call.grace))
                self._begin(machine, states.DRAINING, span, Fault.DRAIN_FAILS)
            case Op.RELEASE if state == states.IDLE:
                self._begin(machine, states.DELETING, pace.delete, Fault.DELETE_FAILS)
            case _:
                return "refused"
        return "accepted"

    def _configure(self, machine: int, span: Span) -> None:
        if self._faults.strikes(Fault.NEVER_JOINS):
            turn = self._go(machine, states.CONFIGURING)
            self._queue.after(_PATIENCE, self._end, machine, turn, True)
            return
        if self._faults.strikes(Fault.JOINS_LATE):
            span = Span(MINUTE, 4 * MINUTE)
        self._begin(machine, states.CONFIGURING, span, Fault.CONFIGURE_FAILS)

    def _begin(self, machine: int, state: int, span: Span, fault: Fault) -> None:
        length = span.draw(self.dice)
        fails = length > _PATIENCE or self._faults.strikes(fault)
        turn = self._go(machine, state)
        self._queue.after(max(1, min(length, _PATIENCE)), self._end, machine, turn, fails)

    def _end(self, machine: int, turn: int, fails: bool) -> None:  # noqa: FBT001 - an argument of a happening
        """An operation comes to its end, unless something else happened to the machine in between."""
        if self._turn[machine] != turn:
            return
        if fails:
            self._fail(machine)
            return
        match int(self.state[machine]):
            case states.CREATING:
                self._go(machine, states.IDLE)
            case states.CONFIGURING:
                self._go(machine, states.CONFIGURED)
                self._listener.joined(machine, int(self.cluster[machine]))
            case states.DRAINING:
                self._clear(machine)
                self._go(machine, states.IDLE)
            case states.DELETING:
                self._clear(machine)
                self._go(machine, states.SPECULATIVE)

    def _fail(self, machine: int) -> None:
        """It waits for a person, who sees to it after a while: it may be made again then."""
        turn = self._go(machine, states.FAILED)
        self._queue.after(self._scenario.repair.draw(self.dice), self._repair, machine, turn)

    def _repair(self, machine: int, turn: int) -> None:
        if self._turn[machine] == turn:
            self._clear(machine)
            self._go(machine, states.SPECULATIVE)

    def _clear(self, machine: int) -> None:
        self.cluster[machine] = self.need[machine] = -1
        self.priority[machine] = 0
        self._listener.left(machine)

    def _go(self, machine: int, state: int) -> int:
        self.state[machine] = state
        self.since[machine] = self._queue.now
        self.touch(np.array([machine]))
        self._turn[machine] += 1
        self._listener.note("machine", machine, state, self.cluster[machine], self.need[machine])
        return self._turn[machine]

    def touch(self, machines: NDArray[np.int64]) -> None:
        """Machines of one provider are other than it listed them last."""
        provider = int(self.provider[machines[0]])
        self.version[provider] += 1
        self._changed_at[machines] = self.version[provider]

    def interrupt_spot(self, times: int) -> None:
        """Take spot machines away for a minute's worth of their chance, `times` as often as they say."""
        dice = self._faults.dice[Fault.SPOT_INTERRUPTION]
        running = (self.state >= states.IDLE) & (self.state <= states.CONFIGURED)
        chances = np.array([shape.interruption for shape in self.shapes], np.int64)[self.shape] * running
        whole = 60 * 1_000_000 // times
        number, rest = divmod(int(chances.sum()), whole)
        number += dice.randrange(whole) < rest
        likely = np.flatnonzero(chances)
        for machine in dice.sample(likely.tolist(), min(number, len(likely))):
            self._faults.count(Fault.SPOT_INTERRUPTION)
            if self.state[machine] == states.CONFIGURED and dice.randrange(2):
                turn = self._go(machine, states.DRAINING)
                self._queue.after(30 * SECOND, self._take_away, machine, turn)
            else:
                self._take_away(machine, self._turn[machine])

    def _take_away(self, machine: int, turn: int) -> None:
        if self._turn[machine] != turn:
            return
        self._clear(machine)
        turn = self._go(machine, states.DELETING)
        self._queue.after(20 * SECOND, self._end, machine, turn, False)

    def forget(self, number: int) -> list[int]:
        """Let providers know nothing of some machines any more; each comes back later under another id."""
        dice = self._faults.dice[Fault.FORGOTTEN]
        there = np.flatnonzero(self.state != states.ABSENT).tolist()
        gone = dice.sample(there, min(number, len(there)))
        for machine in gone:
            self._faults.count(Fault.FORGOTTEN)
            self._clear(machine)
            turn = self._go(machine, states.ABSENT)
            self._queue.after(dice.randint(MINUTE // 2, 10 * MINUTE), self._return, machine, turn)
        return gone

    def _return(self, machine: int, turn: int) -> None:
        if self._turn[machine] == turn:
            self.generation[machine] += 1
            self._go(machine, states.SPECULATIVE)

    def change_price(self) -> None:
        """One shape becomes dearer or cheaper, by half at most."""
        dice = self._faults.dice[Fault.PRICE_CHANGE]
        there = np.unique(self.shape).tolist()
        old = there[dice.randrange(len(there))]
        shape = replace(self.shapes[old], price=self.shapes[old].price * dice.randint(50, 150) // 100)
        self._faults.count(Fault.PRICE_CHANGE)
        changed = np.flatnonzero(self.shape == old)
        self.shape[changed] = len(self.shapes)
        self.shapes.append(shape)
        self.touch(changed)
        self._listener.note("price", old, shape.price)

    def go_down(self, length: int) -> None:
        """One provider answers nothing but errors for a while."""
        provider = self.dice.randrange(len(self.of))
        self.down_until[provider] = self._queue.now + length

    def restart_provider(self) -> None:
        """One provider restarts: what it was doing has failed."""
        provider = self.dice.randrange(len(self.of))
        here = self.of[provider]
        for machine in here[np.isin(self.state[here], _IN_MOTION)].tolist():
            self._fail(machine)

    def calm(self) -> None:
        """Bring every provider back."""
        self.down_until = [0] * len(self.of)
