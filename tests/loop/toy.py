"""A job that does nothing but what a test tells it, and the tools to run it with."""

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry

from remuda.ledger.record import Kinds, MemoryRecorder
from remuda.loop.controller import Recorder
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.plans import Action, Operation, Outcome, Plan, Reason
from remuda.model.times import Instant
from remuda.sim.clock import SimClock
from remuda.sim.loop import run

Given = ParamSpec("Given")


class Turn(Action, frozen=True, kw_only=True, tag="turn"):
    """The only thing that can be done."""


class Seen(Struct, frozen=True):
    value: int = 0
    operations: tuple[Operation[Turn], ...] = ()


class Memory(Struct, frozen=True):
    count: int = 0


class Policy(Struct, frozen=True):
    limit: int = 10


TOY_KINDS: Kinds[Seen, Memory, Policy, Turn] = Kinds(Seen, Memory, Policy, Plan[Turn], Operation[Turn])


def turn(target: str, code: str = "toy.turn") -> Turn:
    return Turn(target=target, expects="", reason=Reason(code, f"toy/{target}", {"n": 1}))


def steady(*subjects: str, code: str = "toy.steady") -> Plan[Turn]:
    return Plan((), tuple(Reason(code, subject) for subject in subjects or ("toy/a",)))


class Toy:
    """Every step can be replaced; what went through it is kept."""

    def __init__(self, clock: SimClock, name: str = "toy") -> None:
        self.name = name
        self.clock = clock
        self.value = 0
        #: plans still to be made; after the last one nothing is to be done
        self.plans: list[Plan[Turn]] = []
        #: whether its memory counts cycles
        self.learns = False
        self.began: list[float] = []
        self.judged: list[tuple[Memory, Policy]] = []
        self.saw: list[tuple[Operation[Turn], ...]] = []
        self.acted: list[tuple[float, int, str]] = []
        self.stood_by: list[float] = []
        self.on_observe: Callable[[], Awaitable[None]] = _nothing
        self.on_decide: Callable[[], None] = lambda: None
        self.on_act: Callable[[Operation[Turn]], Awaitable[None]] = _nothing
        self.on_report: Callable[[], None] = lambda: None

    async def observe(self, operations: tuple[Operation[Turn], ...]) -> Seen:
        self.began.append(self.clock.monotonic())
        self.saw.append(operations)
        await self.on_observe()
        return Seen(self.value, operations)

    def decide(self, seen: Seen, memory: Memory, policy: Policy, now: Instant) -> tuple[Plan[Turn], Memory]:
        self.judged.append((memory, policy))
        self.on_decide()
        plan = self.plans.pop(0) if self.plans else steady()
        return plan, (Memory(memory.count + 1) if self.learns else memory)

    async def act(self, operation: Operation[Turn]) -> Outcome:
        self.acted.append((self.clock.monotonic(), operation.id, operation.action.target))
        await self.on_act(operation)
        return Outcome("done", self.clock.now())

    def report(self, seen: Seen, plan: Plan[Turn]) -> dict[str, object]:
        self.on_report()
        return {"value": seen.value}

    def stand_by(self) -> None:
        self.stood_by.append(self.clock.monotonic())


async def _nothing(*_: object) -> None:
    pass


class Rig:
    """A toy, its loop and everything it is handed, on the virtual loop that runs now."""

    def __init__(
        self,
        pace: Pace | None = None,
        recorder: Recorder[Seen, Memory, Policy, Turn] | None = None,
        name: str = "toy",
        fault_point: FaultPoint = no_fault,
        seed: int = 1,
    ) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.lines: list[dict[str, Any]] = []
        self.log = Log(self.clock, lambda line: self.lines.append(msgspec.json.decode(line)))
        self.registry = CollectorRegistry()
        self.toy = Toy(self.clock, name)
        self.recorder = recorder or MemoryRecorder[Seen, Memory, Policy, Turn](Memory())
        self.may_act = True
        tools = Tools(
            self.clock,
            random.Random(seed),
            self.log,
            LoopMetrics(self.registry),
            fault_point,
            lambda: self.may_act,
        )
        self.loop = Loop(self.toy, self.recorder, Policy(), tools, pace or Pace(jitter=0))

    def metric(self, name: str) -> float:
        value = self.registry.get_sample_value(name, {"loop": self.toy.name})
        assert value is not None, name
        return value

    def messages(self, text: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["msg"] == text]

    async def run_for(self, seconds: float) -> None:
        """Run the loop so long, then stop it."""
        task = asyncio.get_running_loop().create_task(self.loop.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.wait([task])


def virtually(test: Callable[Given, Coroutine[Any, Any, None]]) -> Callable[Given, None]:
    """Run an async test in virtual time."""

    @functools.wraps(test)
    def in_virtual_time(*args: Given.args, **kwargs: Given.kwargs) -> None:
        run(test(*args, **kwargs))

    return in_virtual_time
