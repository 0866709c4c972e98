"""
The simulated process: the real queue, ledger, loop and controller over a store that outlives them.

It can die at every step. From that moment nothing it does has any effect; what it had committed or asked a provider
for stays. Machines go on meanwhile, and the next process starts from the store.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry

from remuda.errors import Unavailable
from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore, Write
from remuda.loop.clock import Clock
from remuda.loop.job import Recorder
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.loop.steps import Reach
from remuda.model.jobs import Finished
from remuda.model.machines import Order, Supplied
from remuda.model.plans import Plan
from remuda.model.times import Instant
from remuda.pools.controller import LOOP, PoolsJob
from remuda.pools.decide.world import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import Setup
from remuda.pools.ports import Provider
from remuda.sim.faults import Crash, Faults
from remuda.sim.watch import Watch
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue, Terms

T = TypeVar("T")

PoolsLoop: TypeAlias = Loop[Snapshot, Memory, Policy, PoolAction]
PoolsRecorder: TypeAlias = Recorder[Snapshot, Memory, Policy, PoolAction]


def make_loop(
    job: PoolsJob,
    recorder: PoolsRecorder,
    policy: Policy,
    clock: Clock,
    seed: int,
    pace: Pace,
    reach: Reach,
    tell: Callable[[str], None],
) -> PoolsLoop:
    """A loop whose warnings and errors are told."""
    tools = Tools(
        clock,
        random.Random(seed),
        Log(clock, tell, "warning"),
        LoopMetrics(CollectorRegistry()),
        reach,
    )
    return Loop(job, recorder, policy, tools, pace)


def terms_of(setup: Setup) -> dict[str, Terms]:
    """What machines may take from the queue."""
    return {
        name: Terms(pool.job_class, pool.max_uses, pool.job_timeout) for name, pool in setup.pools.items()
    }


class WatchedJob(PoolsJob):
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
        """Nothing to tell: the watch has seen it."""
        del seen, plan
        return {}


class SimFiles(JobFiles):
    """Results in a dict instead of files: what machines wrote down outlives them and the process."""

    def __init__(self, results: dict[tuple[int, int], Finished]) -> None:
        super().__init__(Path("/sim"))
        self._results = results

    def result(self, job: int, attempt: int) -> Finished | None:
        """What the shim wrote down."""
        return self._results.get((job, attempt))


class SimStore:
    """A process's hold on the store: one writer, first come, first served, that is slow and dies with the process."""

    def __init__(self, process: "Process", inner: InlineStore) -> None:
        self._process = process
        self._inner = inner
        self._asked: asyncio.Queue[tuple[Write[Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._unanswered: set[asyncio.Future[Any]] = set()

    async def write(self, change: Write[T], *, durable: bool = True) -> T:
        """Wait for the writer; cancelling the caller does not undo the write."""
        del durable
        self._process.check_alive()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._unanswered.add(answer)
        answer.add_done_callback(self._unanswered.discard)
        self._asked.put_nowait((change, answer))
        return await answer

    def abandon(self) -> None:
        """Nobody will be answered any more."""
        for answer in tuple(self._unanswered):
            answer.cancel()

    def read(self, question: Write[T]) -> T:
        """Answer from what is committed."""
        return self._inner.read(question)

    async def work(self) -> None:
        """Commit batch after batch, answering in order."""
        while True:
            batch = [await self._asked.get()]
            while not self._asked.empty():
                batch.append(self._asked.get_nowait())
            try:
                await self._process.reach("store.commit")
            except Unavailable as error:
                for _, answer in batch:
                    _settle(answer, error)
                continue
            answers: list[Any] = []
            for change, _ in batch:
                try:
                    answers.append(await self._inner.write(change))
                except Exception as error:  # noqa: BLE001 - belongs to whoever asked
                    answers.append(error)
            await self._process.reach("store.committed")
            for (_, answer), result in zip(batch, answers, strict=True):
                _settle(answer, result)


def _settle(answer: asyncio.Future[Any], result: object) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


class _Reach:
    """A process's hold on a provider: once it is dead, its calls reach nobody."""

    def __init__(self, process: "Process", inner: Provider) -> None:
        self._process = process
        self._inner = inner

    async def list(self) -> tuple[Supplied, ...]:
        self._process.check_alive()
        return await self._inner.list()

    async def create(self, order: Order) -> None:
        self._process.check_alive()
        await self._inner.create(order)

    async def delete(self, name: str, created_at: int, *, at_once: bool = False) -> bool:
        self._process.check_alive()
        return await self._inner.delete(name, created_at, at_once=at_once)

    async def console(self, name: str) -> bytes:
        self._process.check_alive()
        return await self._inner.console(name)


class Process:
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
    ) -> None:
        self.is_alive = True
        self._dead = asyncio.Event()
        self._faults = faults
        self._tasks: set[asyncio.Task[Any]] = set()
        self._store = SimStore(self, store)
        self.queue = Queue(self._store, SimFiles(watch.results), clock, self._wake, self.reach)
        self._job = WatchedJob(
            {"queue": self.queue},
            {"sim": _Reach(self, provider)},
            lambda: store.read(overrides),
            clock,
            PoolMeters(CollectorRegistry()),
        )
        self._job.watch = watch
        self.ledger = Ledger(self._store, LOOP, POOL_KINDS)
        self.loop: PoolsLoop = make_loop(
            self._job, self.ledger, setup.policy, clock, seed, pace, self.reach, watch.heard
        )
        self.follow(setup)

    def _wake(self) -> None:
        self.loop.wake()

    def follow(self, setup: Setup) -> None:
        """Take over a changed configuration, as a reload does."""
        self._job.setups = setup.pools
        self.queue.serve(terms_of(setup))
        self.loop.follow(setup.policy)

    async def run(self) -> None:
        """Live until death."""
        self.start(self._store.work())
        self.start(self.loop.run())
        await self._dead.wait()
        for task in self._tasks:
            task.cancel()
        self._store.abandon()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that ends with the process."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def reach(self, point: str) -> None:
        """A step that a crash could follow."""
        self.check_alive()
        try:
            await self._faults.reach(point)
        except Crash:
            self.die()
            raise
        self.check_alive()

    def check_alive(self) -> None:
        """Raise `Crash` in whatever a dead process still tries."""
        if not self.is_alive:
            raise Crash("the process is dead")

    def die(self) -> None:
        """Die now: whatever was not committed is gone."""
        self.is_alive = False
        self._dead.set()

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
