"""The process of a simulated shard: the real loop, controller and ledger over a store that may outlive them."""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias

import numpy as np
from prometheus_client import CollectorRegistry

from remuda.errors import InvariantError
from remuda.fleet.columns import Rows
from remuda.fleet.history.recorder import FleetLedger
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Call, Changes, Provider, Report
from remuda.fleet.shard import CYCLE, Decide, Shard
from remuda.fleet.snapshot import Batch, FleetPlan, Snapshot
from remuda.ledger.store import InlineStore
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.plans import Operation, Outcome
from remuda.model.times import SECOND, Instant
from remuda.model.units import FleetNeed
from remuda.sim.clock import SimClock
from remuda.sim.fleet_faults import Fault, Faults
from remuda.sim.fleet_machines import SimulatedMachines
from remuda.sim.fleet_providers import SimProvider
from remuda.sim.fleet_queue import START, Queue
from remuda.sim.fleet_scenario import Scenario

FleetLoop: TypeAlias = Loop[Snapshot, Memory, Policy, Batch]
#: where a process may die besides in the middle of its calls
_STEPS = ("loop.decided", "loop.recorded", "loop.acting", "loop.acted")
_MOST_CALLS = 6


class Watcher(Protocol):
    """Who looks on at what a shard hears, believes and decides."""

    def started(self, shard: "WatchedShard") -> None:
        """It begins with nothing."""

    def heard(self, cluster: str, needs: tuple[FleetNeed, ...], *, believed: bool) -> None:
        """A cluster's report came."""

    def listed(self, shard: "WatchedShard", provider: SimProvider, changes: Changes) -> None:
        """A list came, and was believed or passed over."""

    def called(self, call: Call) -> None:
        """A call leaves for its provider."""

    def decided(self, shard: "WatchedShard", plan: Plan) -> None:
        """A decision was made, and nothing of it begun yet."""

    def unrecorded(self) -> None:
        """The decision made just now is lost with its process."""

    def note(self, *words: object) -> None:
        """Something happened."""


class WatchedShard(Shard):
    """The real shard, and who looks on at it."""

    watcher: Watcher
    world: SimulatedMachines
    #: what it was judged by last
    policy: Policy
    memory: Memory
    plan: Plan
    cycles: int
    fails: Callable[[Exception], None]
    #: the store of the process before is there
    remembers: bool

    def watched(
        self,
        watcher: Watcher,
        world: SimulatedMachines,
        policy: Policy,
        fails: Callable[[Exception], None],
        *,
        remembers: bool,
    ) -> "WatchedShard":
        """Be watched from the start; `fails` gets what is raised, which the loop would outlive."""
        self.watcher, self.world, self.policy, self.fails = watcher, world, policy, fails
        self.remembers = remembers
        self.memory, self.plan, self.cycles = Memory(), Plan(), 0
        watcher.started(self)
        return self

    def machine(self, rows: Rows) -> list[int]:
        """The machines of the world that rows stand for; −1 for none."""
        ids = [self.fleet.ids[row] for row in rows.tolist()]
        return [int(name.removeprefix("m").partition("-")[0]) if name else -1 for name in ids]

    def row(self, machine: int) -> int:
        """The row of a machine of the world, under the id it has now; −1 for none."""
        return self.fleet.row(self.world.id(machine, int(self.world.generation[machine])))

    async def observe(self, operations: tuple[Operation[Batch], ...]) -> Snapshot:
        """Observe as ever."""
        with self._failing():
            return await super().observe(operations)

    def decide(
        self, seen: Snapshot, memory: Memory, policy: Policy, now: Instant
    ) -> tuple[FleetPlan, Memory]:
        """Judge, and let the watcher know."""
        with self._failing():
            plan, after = super().decide(seen, memory, policy, now)
            if seen.is_complete:
                self.cycles += 1
                self.policy, self.plan, self.memory = policy, plan.columns, after
                self.watcher.decided(self, plan.columns)
            return plan, after

    async def act(self, operation: Operation[Batch]) -> Outcome:
        """Carry out as ever."""
        with self._failing():
            return await super().act(operation)

    def _take(self, provider: Provider, changes: Changes) -> None:
        super()._take(provider, changes)
        assert isinstance(provider, SimProvider)
        self.watcher.listed(self, provider, changes)

    def _offer(self, report: Report) -> bool:
        believed = super()._offer(report)
        self.watcher.heard(report.cluster, report.needs, believed=believed)
        return believed

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.fails(error)
            raise


class Inbox:
    """Satisfies `remuda.fleet.ports.Clusters`."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def take(self) -> Sequence[Report]:
        """What came since the last time."""
        taken, self.reports = self.reports, []
        return taken


class Process:
    """One process after another, each with a new shard."""

    def __init__(
        self,
        scenario: Scenario,
        queue: Queue,
        world: SimulatedMachines,
        faults: Faults,
        watcher: Watcher,
        decide: Decide,
        shard: type[WatchedShard] = WatchedShard,
    ) -> None:
        self._shard_type = shard
        self._queue, self._world, self._faults, self._watcher, self._decide = (
            queue, world, faults, watcher, decide,
        )  # fmt: skip
        self._gather = scenario.gather
        self._clock = SimClock(queue.loop, START)
        self._seed = scenario.request.seed
        self.policy = scenario.policy
        self.providers = [
            SimProvider(number, name, world, queue, faults, self._on_call)
            for number, name in enumerate(scenario.providers)
        ]
        self.store = InlineStore()
        #: the process that ended last left its store
        self._is_kept = False
        self.lives = 0
        self.is_up = False
        self._epoch = 0
        self._cycles_before = 0
        #: how many calls it makes yet, or the step after which it dies; None when nothing is to happen
        self._doom: int | str | None = None
        self.start()

    @property
    def cycles(self) -> int:
        """Of all of them together."""
        return self._cycles_before + self.shard.cycles

    def start(self) -> None:
        """Begin with nothing but what is written in the policy and the store."""
        self._epoch += 1
        self.lives += 1
        self.is_up, self._doom, self._is_woken = True, None, False
        self._inbox = Inbox()
        self._reported: dict[str, tuple[FleetNeed, ...]] = {}
        shard = self._shard_type(
            self.providers, self._inbox, self._clock, lambda: self.policy, self._epoch, self._decide
        )
        self.shard = shard.watched(
            self._watcher, self._world, self.policy, self._fail, remembers=self._is_kept
        )
        recorder = FleetLedger(self.store, shard.journal, shard.fleet.names)
        tools = Tools(
            self._clock,
            random.Random(self._seed),
            Log(self._clock, lambda _: None, "error"),
            LoopMetrics(CollectorRegistry()),
            self._fault_point,
        )
        pace = Pace(interval=CYCLE / SECOND, gap=self._gather / SECOND, jitter=0.0, stop_grace=0.0)
        self._loop: FleetLoop = Loop(shard, recorder, self.policy, tools, pace)
        self._task = self._queue.loop.create_task(self._loop.run(), name=f"shard {self._epoch}")

    def die(self) -> None:
        """The process ends; another starts some seconds later, one time in four without the store."""
        self.is_up, self._doom = False, None
        self._task.cancel()
        self.shard.close()
        self._cycles_before += self.shard.cycles
        self.shard.cycles = 0
        self._is_kept = self._faults.between(Fault.CRASH, 0, 3) > 0
        if not self._is_kept:
            self.store = InlineStore()
        self._watcher.note("dies")
        self._queue.after(self._faults.between(Fault.CRASH, 2, 40) * SECOND, self.start)

    def doom(self) -> None:
        """Let it die while it carries out a plan: after some calls, or right after one of its steps."""
        place = self._faults.between(Fault.CRASH_IN_PLAN, 0, _MOST_CALLS + len(_STEPS) - 1)
        self._doom = place if place < _MOST_CALLS else _STEPS[place - _MOST_CALLS]

    def spare(self) -> None:
        """Let it live after all."""
        self._doom = None

    def close(self) -> None:
        """End it for good."""
        self._task.cancel()
        self.shard.close()
        self._queue.run(self._queue.now + 1)
        self.store.close()

    def _fail(self, error: Exception) -> None:
        """Stop the whole history with what was raised."""

        def throw() -> None:
            raise error

        self._queue.loop.call_soon(throw)

    def set_policy(self, policy: Policy) -> None:
        """An operator changed something."""
        self.policy = policy
        self._watcher.note("policy", policy.rails)
        if self.is_up:
            self._loop.follow(policy)

    def hear(self, cluster: str, needs: tuple[FleetNeed, ...]) -> None:
        """A cluster reports all it needs, if anyone listens."""
        if not self.is_up:
            return
        self._inbox.reports.append(Report(cluster, needs))
        is_news = self._reported.get(cluster) is not needs
        self._reported[cluster] = needs
        if is_news and not self._is_woken:
            self._is_woken = True
            self._queue.after(self._gather, self._wake, self._epoch)

    def _wake(self, epoch: int) -> None:
        if epoch == self._epoch and self.is_up:
            self._is_woken = False
            self._loop.wake()

    def _on_call(self, call: Call) -> None:
        try:
            self._watcher.called(call)
        except InvariantError as error:
            self._fail(error)
        if isinstance(self._doom, int):
            self._doom -= 1
            if self._doom < 0:
                self._faults.count(Fault.CRASH_IN_PLAN)
                self.die()

    async def _fault_point(self, step: str) -> None:
        if self._doom == step and self.shard.plan.blocks:
            self._faults.count(Fault.CRASH_IN_PLAN)
            if step == "loop.decided":
                self._watcher.unrecorded()
            self.die()
            await asyncio.get_running_loop().create_future()

    def is_waiting(self) -> bool:
        """Whether calls are under way or lists were not read to their end."""
        read = [self.shard.cursors.get(provider.name) for provider in self.providers]
        return bool(np.any(self.shard.listed.flying)) or read != [
            str(version) for version in self._world.version
        ]
