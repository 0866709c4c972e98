"""
A simulated CircleCI on simulated VMs: the real source, judgement, loop, controller and ledger in virtual time.

Agents claim tasks by themselves, at any moment; what CircleCI reports of them is late, wrong or missing, and VMs go by
names that were used before. The process dies and comes back, with its ledger or without.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, structs
from prometheus_client import CollectorRegistry

from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.loop.loop import Pace
from remuda.model.plans import Operation
from remuda.model.times import MINUTE
from remuda.pools.controller import LOOP
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.decide.target import scheduled_bounds
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.policy import Setup
from remuda.sim.circle import Mood, SimApi, SimCircle
from remuda.sim.faults import Fault, Faults
from remuda.sim.history import History, Summary
from remuda.sim.life import Life, Reached
from remuda.sim.loop import run
from remuda.sim.process import WatchedJob, make_loop
from remuda.sim.runner_watch import RunnerWatch
from remuda.sim.scenario import Reload, changed, without
from remuda.sim.vms import Guests, SimVms
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.source import CircleCI

_GROWING = frozenset({"pool.growing", "pool.backing-off", "pool.failing", "pool.waiting-for-room"})


class Comes(Struct, frozen=True, gc=False):
    """A task comes."""

    at: float
    job_class: str
    seconds: float


class Vanishes(Struct, frozen=True, gc=False):
    """Somebody removes one of the VMs by force."""

    at: float


class Kill(Struct, frozen=True, gc=False):
    """The process is killed, perhaps with its ledger."""

    at: float
    loses_ledger: bool = False


class Deletes(Struct, frozen=True, gc=False):
    """Somebody deletes a class in CircleCI: every call about it is refused from then on."""

    at: float
    job_class: str


RunnerEvent: TypeAlias = Comes | Vanishes | Kill | Deletes | Reload


class RunnerScenario(Struct, frozen=True):
    """A world and its history. After `seconds` faults stop and everything must settle."""

    setup: Setup
    events: tuple[RunnerEvent, ...]
    seconds: float
    guests: Guests = Guests()
    mood: Mood = Mood()
    faults: Mapping[str, Fault] = {}
    #: chance that a process which dies loses its ledger
    forgets: float = 0.0
    pace: Pace = Pace(interval=5.0, gap=0.5)


class ObservedJob(WatchedJob):
    """The real controller; the watch knows when it began to look."""

    watch: RunnerWatch

    async def observe(self, operations: tuple[Operation[PoolAction], ...]) -> Snapshot:
        """Look, and let the watch know."""
        self.watch.observing_at = self._clock.monotonic()
        return await super().observe(operations)


class RunnerProcess(Life):
    """One life of the process: a source that knows nothing yet, over whatever ledger was left."""

    def __init__(
        self,
        store: InlineStore,
        vms: SimVms,
        api: SimApi,
        setup: Setup,
        watch: RunnerWatch,
        clock: Clock,
        faults: Faults,
        seed: int,
        pace: Pace,
    ) -> None:
        super().__init__(store, faults)
        quiet = Log(clock, lambda _: None, "error")
        meters = CircleMeters(CollectorRegistry())
        self.source = CircleCI(api, clock, random.Random(seed), quiet, self._wake, meters)
        self._job = ObservedJob(
            {"circleci": self.source},
            {"kubevirt": Reached(self, vms)},
            dict,
            clock,
            PoolMeters(CollectorRegistry()),
        )
        self._job.watch = watch
        self.ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(self._store, LOOP, POOL_KINDS)
        self.loop = make_loop(
            self._job, self.ledger, setup.policy, clock, seed, pace, self.fault_point, watch.heard
        )
        self._vms = vms
        #: pool → class, as long as the pool is configured or has VMs
        self._classes: dict[str, str] = {}
        self.follow(setup)

    def _wake(self) -> None:
        self.loop.wake()

    def follow(self, setup: Setup) -> None:
        """Take over a changed configuration. Of pools that are gone and were known, VMs are asked about until they go."""
        self._job.setups = setup.pools
        left = {vm.pool for vm in self._vms.vms.values()}
        past = {name: job_class for name, job_class in self._classes.items() if name in left}
        self._classes = past | {name: pool.job_class for name, pool in setup.pools.items()}
        self.source.serve(self._classes)
        self.loop.follow(setup.policy)

    async def run(self) -> None:
        """Live until death."""
        self.start(self.source.run())
        await super().run()


class RunnerHistory(History[RunnerEvent, RunnerWatch]):
    """CircleCI, VMs and a process that dies and comes back."""

    settle_s = 2 * 3_600.0

    def __init__(self, scenario: RunnerScenario, seed: int) -> None:
        super().__init__(seed, scenario.events, scenario.seconds, scenario.faults, RunnerWatch)
        self.scenario = scenario
        self.setup = scenario.setup
        self.store = InlineStore()
        self.process: RunnerProcess | None = None
        self.lives = self.cycles = 0
        self._loses_ledger = False
        classes = {name: pool.job_class for name, pool in self.setup.pools.items()}
        self.circle = SimCircle(
            self.clock, random.Random(f"tasks {seed}"), self.setup.policy.concurrency, self._came
        )
        self.api = self.watch.api = SimApi(
            self.circle, self.clock, random.Random(f"api {seed}"), scenario.mood, self.faults
        )
        self.vms = SimVms(
            self.clock,
            random.Random(f"machines {seed}"),
            self.faults,
            self.watch,
            self.circle,
            scenario.guests,
            classes.__getitem__,
        )
        self.watch.to_come, self.watch.class_of = self.vms.to_come, classes.__getitem__

    def _came(self, number: int) -> None:
        self.arrivals[number] = self.clock.monotonic()

    def begin(self) -> None:
        """Start the first process."""
        self.start(self._keep_up())

    async def _keep_up(self) -> None:
        while True:
            self.lives += 1
            self.watch.note("process", self.lives)
            process = self.process = RunnerProcess(
                self.store,
                self.vms,
                self.api,
                self.setup,
                self.watch,
                self.clock,
                self.faults,
                self.seed * 1_000 + self.lives,
                self.scenario.pace,
            )
            await process.run()
            self.process = None
            self.cycles += process.loop.standing.cycles
            if self._loses_ledger or self.dice.random() < self.scenario.forgets:
                self.watch.forgot()
                self.faults.counts["ledger lost"] += 1
                self.store = InlineStore()
            self._loses_ledger = False
            await asyncio.sleep(self.dice.uniform(0.1, 20))

    async def happen(self, event: RunnerEvent) -> None:
        """Let one event happen."""
        match event:
            case Comes():
                self.circle.submit(event.job_class, event.seconds)
            case Reload():
                self._follow(event.setup)
            case Vanishes():
                # One that is over would be made anew by virt-controller, unasked: nobody can keep that.
                alive = sorted(name for name, vm in self.vms.vms.items() if vm.ended is None)
                if alive:
                    self.vms.vanish(self.vms.vms[self.dice.choice(alive)])
            case Deletes():
                self.api.deleted.add(event.job_class)
            case Kill():
                self._loses_ledger = event.loses_ledger
                if self.process is not None:
                    self.process.die()

    def _follow(self, setup: Setup) -> None:
        self.watch.note("reload")
        self.setup = setup
        if self.process is not None:
            self.process.follow(setup)

    async def calm(self) -> None:
        """Stop all faults and go back to the first configuration, with the last templates; what was removed stays away."""
        await super().calm()
        self.api.calm()
        self.vms.guests = structs.replace(
            self.vms.guests,
            fails=0.0,
            hangs=0.0,
            mute=0.0,
            life_s=None,
            spite=0.0,
            # Where nobody knows that a VM is idle, or none may be asked to go, idle ones go only by themselves.
            # Not too soon: a VM with a name that had an agent before is known only after minutes, and with a surge of one
            # the next is made only then, so that a shorter timeout would end the first before a minimum is reached.
            idle_timeout_s=600.0 if self._is_stubborn else None,
        )
        setup = self.scenario.setup
        for name in setup.pools:
            if name not in self.setup.pools:
                setup = without(setup, name)
                continue
            setup = changed(setup, name, template=self.setup.pools[name].template)
        self._follow(setup)

    @property
    def _is_stubborn(self) -> bool:
        guests = self.scenario.guests
        return guests.short_grace > 0 or (guests.plain_name > 0 and self.scenario.mood.by_name)

    def _remove_by_hand(self) -> None:
        """What is up, takes no task and may not be asked to go, a person must see to."""
        late = self.clock.now() - 10 * MINUTE
        for vm in tuple(self.vms.vms.values()):
            is_late = vm.ready_at is not None and vm.ready_at < late
            if vm.ended is None and is_late and vm.has_short_grace and vm.agent is None:
                self.vms.vanish(vm)

    def unrest(self) -> str:
        """Tasks that have not ended, operations under way, VMs on the move, or too many of them."""
        self._remove_by_hand()
        process = self.process
        if process is None:
            return "no process answers"
        message = f"{process.loop.standing}, {self.watch.reasons}"
        for name in self.scenario.setup.pools.keys() - self.setup.pools.keys():
            self.circle.abandon(self.watch.class_of(name))
            if self.watch.existing[name]:
                return f"{name} is removed and has VMs: {message}"
        if self.circle.unfinished:
            return f"tasks are left: {dict(self.circle.waiting)}, {self.circle.running}; {message}"
        if process.ledger.operations():
            return f"operations are left: {process.ledger.operations()}"
        if any(reason.code in _GROWING for reason in self.watch.reasons):
            return f"pools still grow: {message}"
        moving = [
            vm.name
            for vm in self.vms.vms.values()
            if vm.ended is not None or vm.is_leaving or vm.agent is None or not vm.agent.is_taking
        ]
        to_come = {name: count for name in self.setup.pools if (count := self.vms.to_come(name))}
        if moving or to_come:
            return f"VMs are on the move: {moving} and {to_come} more; {message}"
        return self._surplus()

    def _surplus(self) -> str:
        """Where idle VMs are taken away, what nobody needs goes in the end, and so do old templates."""
        for name, policy in self.setup.policy.pools.items():
            count, least = self.watch.existing[name], scheduled_bounds(policy, self.clock.now())[0].min
            may_keep = policy.natural or self._is_stubborn
            if count < least or (count > least and not may_keep):
                return f"{name} has {count} VMs and needs {least}; {self.watch.reasons}"
            if not may_keep and any(
                vm.order.template != policy.template for vm in self.vms.vms.values() if vm.pool == name
            ):
                return f"{name} still has VMs of an old template; {self.watch.reasons}"
        return ""

    async def check_end(self) -> None:
        """No task is lost but with its machine."""
        if self.circle.done + self.circle.lost != len(self.arrivals):
            raise self.watch.broken(
                "no task is lost",
                f"{self.circle.done} done and {self.circle.lost} lost of {len(self.arrivals)}",
            )

    def summary(self) -> Summary:
        """What came of it. Tasks fail only with their machine."""
        process = self.process
        cycles = self.cycles + (process.loop.standing.cycles if process else 0)
        self.faults.counts["asked to go with a task nobody knew of"] = self.watch.late_claims
        self.faults.counts["powered off unconfirmed"] = self.watch.powered_off
        self.faults.counts["powered off unconfirmed with a task"] = self.watch.powered_off_busy
        return self._summary(self.circle.done, self.circle.lost, 0, cycles, self.lives - 1)

    async def end(self) -> None:
        """The last process dies too."""
        if self.process is not None:
            self.process.die()
        await super().end()


def simulate_runners(scenario: RunnerScenario, seed: int) -> Summary:
    """Live through a history; the same seed gives the same one. Raises `Violation` when a rule is broken."""
    return run(_live(scenario, seed), seed=seed)


async def _live(scenario: RunnerScenario, seed: int) -> Summary:
    world = RunnerHistory(scenario, seed)
    try:
        return await world.live()
    finally:
        await world.end()
