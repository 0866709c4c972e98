"""The simulated process: the real queue, ledger, loop and controller over a store that outlives them."""

import asyncio
import random
from collections.abc import Callable, Container, Coroutine
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry

from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.loop.clock import Clock
from remuda.loop.controller import Recorder
from remuda.loop.faults import FaultPoint
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.jobs import Finished, Run
from remuda.model.machines import Order, Supplied
from remuda.model.plans import Plan
from remuda.model.times import Instant
from remuda.pools.controller import LOOP, PoolsController
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import Setup
from remuda.pools.ports import Provider
from remuda.sim.faults import Crash, Faults
from remuda.sim.life import Life, PoolsLoop, Reached
from remuda.sim.watch import Watch
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue
from remuda.sources.queue.settle import Terms

T = TypeVar("T")

PoolsRecorder: TypeAlias = Recorder[Snapshot, Memory, Policy, PoolAction]


def make_loop(
    job: PoolsController,
    recorder: PoolsRecorder,
    policy: Policy,
    clock: Clock,
    seed: int,
    pace: Pace,
    fault_point: FaultPoint,
    write: Callable[[str], None],
) -> PoolsLoop:
    """A loop whose warnings and errors go to `write`."""
    tools = Tools(
        clock,
        random.Random(seed),
        Log(clock, write, "warning"),
        LoopMetrics(CollectorRegistry()),
        fault_point,
    )
    return Loop(job, recorder, policy, tools, pace)


def terms_of(setup: Setup) -> dict[str, Terms]:
    """What machines may take from the queue."""
    return {
        name: Terms(pool.job_class, pool.max_uses, pool.job_timeout) for name, pool in setup.pools.items()
    }


class WatchedJob(PoolsController):
    """The real controller, whose decisions the watch hears of and whose metrics nobody reads."""

    watch: Watch

    def decide(
        self, seen: Snapshot, memory: Memory, policy: Policy, now: Instant
    ) -> tuple[Plan[PoolAction], Memory]:
        """Judge, and let the watch know."""
        plan, after = super().decide(seen, memory, policy, now)
        self.watch.decided(seen, policy, now, plan)
        return plan, after

    def report(self, seen: Snapshot, plan: Plan[PoolAction]) -> dict[str, object]:
        """Nothing to report: the watch has seen it."""
        del seen, plan
        return {}


class SimFiles(JobFiles):
    """Results in a dict instead of files: what machines wrote down outlives them and the process."""

    def __init__(self, results: dict[Run, Finished]) -> None:
        super().__init__(Path("/sim"))
        self._results = results

    def result(self, run: Run) -> Finished | None:
        """What the shim wrote down."""
        return self._results.get(run)


class OwnedMachines:
    """The provider as one store sees it: it leaves out what another one made, as the real driver does."""

    def __init__(
        self, inner: Provider, made_by: dict[str, str], foreign: Container[str], identity: str
    ) -> None:
        self._inner, self._made_by, self._foreign, self._identity = inner, made_by, foreign, identity

    async def list(self) -> tuple[Supplied, ...]:
        """Those that are ours."""
        return tuple(item for item in await self._inner.list() if item.name not in self._foreign)

    async def create(self, order: Order) -> None:
        """Make one under the store's identity."""
        self._made_by.setdefault(order.name, self._identity)
        await self._inner.create(order)

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """As the provider does."""
        return await self._inner.delete(name, identity, at_once=at_once)

    async def console(self, name: str) -> bytes:
        """As the provider does."""
        return await self._inner.console(name)


class Process(Life):
    """One life of the process, from start to death."""

    def __init__(
        self,
        store: InlineStore,
        provider: Provider,
        setup: Setup,
        watch: Watch,
        clock: Clock,
        faults: Faults,
        seed: int,
        pace: Pace,
        identity: str = "",
        queue: type[Queue] = Queue,
    ) -> None:
        super().__init__(store, faults)
        self.queue = queue(
            self._store, SimFiles(watch.results), clock, self._wake, self.fault_point, identity
        )
        self._job = WatchedJob(
            {"queue": self.queue},
            {"sim": Reached(self, provider)},
            lambda: store.read(overrides),
            clock,
            PoolMeters(CollectorRegistry()),
        )
        self._job.watch = watch
        self.ledger = Ledger(self._store, LOOP, POOL_KINDS)
        self.loop = make_loop(
            self._job, self.ledger, setup.policy, clock, seed, pace, self.fault_point, watch.heard
        )
        self.follow(setup)

    def _wake(self) -> None:
        self.loop.wake()

    def follow(self, setup: Setup) -> None:
        """Take over a changed configuration, as a reload does."""
        self._job.setups = setup.pools
        self.queue.serve(terms_of(setup))
        self.loop.follow(setup.policy)

    async def answer(self, work: Coroutine[Any, Any, T], *, is_noticed: bool = True) -> T:
        """
        Answer a call from outside; `ConnectionError` when the process dies under it.

        When the caller goes away the work is cancelled if that is noticed, else it goes on for nobody.
        """
        task = self.start(work)
        try:
            return await (task if is_noticed else asyncio.shield(task))
        except (asyncio.CancelledError, Crash):
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise ConnectionResetError("the process died") from None
