"""
Simulated machines, and the provider they come from.

A machine boots, becomes ready, is held by a simulated shim, and may fail on the way: not boot, hang, boot in a loop,
crash idle or busy. Calls to the provider are slow or fail by the fault points `provider.list`, `provider.create` and
`provider.delete` before anything happened, `provider.created` and `provider.deleted` after it did.
"""

import asyncio
import random
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from msgspec import Struct

from remuda.loop.clock import Clock
from remuda.model.jobs import Run
from remuda.model.machines import Ended, Order, State, Supplied, check_transition
from remuda.sim.faults import Faults

_STORY = 12


class Behaviour(Struct, frozen=True):
    """How machines fare. Chances are from 0 to 1 and add up to 1 at most; times are in seconds."""

    #: median; times are log-normal with this spread
    boot_s: float = 20.0
    boot_spread: float = 0.3
    #: of pools that differ
    boot_s_by_pool: dict[str, float] = {}
    #: it ends before it is ready
    fails: float = 0.0
    #: it never becomes ready and never ends
    hangs: float = 0.0
    #: it becomes ready and crashes before it asked for work
    loops: float = 0.0
    #: mean time from ready to a crash, idle or busy
    life_s: float | None = None


class SimMachine:
    """A machine as it really is."""

    __slots__ = ("ended", "job", "order", "ready_at", "story", "task")

    def __init__(self, order: Order) -> None:
        self.order = order
        self.ready_at: int | None = None
        self.ended: Ended | None = None
        #: what it runs
        self.job: Run | None = None
        self.story: tuple[State, ...] = (State.SPECULATIVE,)
        self.task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.order.name

    @property
    def pool(self) -> str:
        """The pool it was made for."""
        return self.order.pool

    def go(self, *states: State) -> None:
        """Take steps of the lifecycle; raise `InvariantError` on one that cannot be."""
        for state in states:
            if self.ended is None:
                check_transition(self.name, self.story, state)
            self.story = (*self.story[-_STORY:], state)


class Witness(Protocol):
    """Who hears of every change to a machine, as it happens."""

    def made(self, machine: SimMachine) -> None:
        """It exists from now on."""
        ...

    def ready(self, machine: SimMachine) -> None:
        """It booted."""
        ...

    def ended(self, machine: SimMachine) -> None:
        """It is over by itself, and so is what it ran."""
        ...

    def removed(self, machine: SimMachine) -> None:
        """It is being removed, and so is what it runs."""
        ...


class SimProvider:
    """Satisfies the `Provider` port. `shim` holds a machine that booted and returns the code of its end."""

    def __init__(
        self,
        clock: Clock,
        dice: random.Random,
        faults: Faults,
        witness: Witness,
        shim: Callable[[SimMachine], Awaitable[str]],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self.behaviour = Behaviour()
        self.machines: dict[str, SimMachine] = {}
        self._clock = clock
        self._dice = dice
        self._faults = faults
        self._witness = witness
        self._shim = shim
        self._start = start
        #: what is listed, sorted by name
        self._names: list[str] = []
        self._listed: list[Supplied] = []

    async def list(self) -> tuple[Supplied, ...]:
        """Every machine, sorted by name."""
        await self._faults.fault_point("provider.list")
        return tuple(self._listed)

    def _relist(self, machine: SimMachine) -> None:
        """Let the list show what has become of a machine."""
        order = machine.order
        supplied = Supplied(
            order.name, order.pool, order.template, order.created_at, machine.ready_at, machine.ended
        )
        place = bisect_left(self._names, order.name)
        if place < len(self._names) and self._names[place] == order.name:
            self._listed[place] = supplied
        else:
            self._names.insert(place, order.name)
            self._listed.insert(place, supplied)

    async def create(self, order: Order) -> None:
        """Make a machine, or find that it was made already."""
        await self._faults.fault_point("provider.create")
        if order.name not in self.machines:
            machine = SimMachine(order)
            machine.go(State.CREATING)
            self.machines[order.name] = machine
            self._relist(machine)
            self._witness.made(machine)
            machine.task = self._start(self._live(machine))
        await self._faults.fault_point("provider.created")

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """End a machine, then forget it; in between it is listed as ended."""
        del at_once
        await self._faults.fault_point("provider.delete")
        machine = self.machines.get(name)
        if machine is None:
            return True
        if str(machine.order.created_at) != identity:
            return False
        if machine.ended is None:
            self._witness.removed(machine)
            if machine.story[-1] is State.CREATING:
                machine.go(State.FAILED)
            elif machine.job is not None:
                machine.go(State.DRAINING)
            self._end(machine, Ended("closed", "removed"))
        await self._faults.fault_point("provider.deleted")
        if self.machines.pop(name, None) is not None:
            machine.go(State.DELETING, State.SPECULATIVE)
            place = bisect_left(self._names, name)
            del self._names[place], self._listed[place]
        return True

    async def console(self, name: str) -> bytes:
        """Simulated machines say where they have been."""
        machine = self.machines.get(name)
        return " → ".join(machine.story).encode() if machine else b""

    def crash(self, machine: SimMachine, code: str = "crashed") -> None:
        """End a machine from outside, with whatever it runs."""
        if machine.ended is None:
            self._witness.ended(machine)
            self._end(machine, Ended(code, "by chance"))

    def _end(self, machine: SimMachine, ended: Ended) -> None:
        machine.ended, machine.job = ended, None
        self._relist(machine)
        if machine.task is not None:
            machine.task.cancel()

    async def _live(self, machine: SimMachine) -> None:
        behaviour, dice = self.behaviour, self._dice
        median = behaviour.boot_s_by_pool.get(machine.pool, behaviour.boot_s)
        boot_s = median * dice.lognormvariate(0, behaviour.boot_spread)
        luck = dice.random() - behaviour.hangs
        if luck < 0:
            return
        await asyncio.sleep(boot_s)
        luck -= behaviour.fails
        if luck < 0:
            self._over(machine, "boot")
            return
        machine.go(State.IDLE)
        machine.ready_at = self._clock.now()
        self._relist(machine)
        self._witness.ready(machine)
        if luck < behaviour.loops:
            await asyncio.sleep(boot_s / 10)
            self._over(machine, "crashed")
            return
        if behaviour.life_s is not None:
            life = dice.expovariate(1 / behaviour.life_s)
            asyncio.get_running_loop().call_later(life, self.crash, machine)
        self._over(machine, await self._shim(machine))

    def _over(self, machine: SimMachine, code: str) -> None:
        """It ends itself, from within its own task."""
        if machine.ended is None:
            machine.task = None
            self._witness.ended(machine)
            self._end(machine, Ended(code))
