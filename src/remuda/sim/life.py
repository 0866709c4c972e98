"""
One life of a simulated process over a store that outlives it.

It can die at every step. From that moment nothing it does has any effect; what it had committed or asked a provider
for stays. Machines go on meanwhile, and the next process starts from the store.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeAlias, TypeVar

from remuda.errors import Unavailable
from remuda.ledger.store import InlineStore, Write
from remuda.loop.loop import Loop
from remuda.model.machines import Order, Supplied
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.ports import Provider
from remuda.sim.faults import Crash, Faults

T = TypeVar("T")

PoolsLoop: TypeAlias = Loop[Snapshot, Memory, Policy, PoolAction]


class SimStore:
    """A process's hold on the store: one writer, first come, first served, that is slow and dies with the process."""

    is_apart = False
    is_writer = True

    def __init__(self, process: "Life", inner: InlineStore) -> None:
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
                await self._process.fault_point("store.commit")
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
            await self._process.fault_point("store.committed")
            for (_, answer), result in zip(batch, answers, strict=True):
                _settle(answer, result)


def _settle(answer: asyncio.Future[Any], result: object) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


class Reached:
    """A process's hold on a provider: once it is dead, its calls reach nobody, and it may die in the middle of one."""

    def __init__(self, life: "Life", inner: Provider) -> None:
        self._life = life
        self._inner = inner

    async def list(self) -> tuple[Supplied, ...]:
        """As the provider does."""
        return await self._life.live_through(self._inner.list())

    async def create(self, order: Order) -> None:
        """As the provider does."""
        await self._life.live_through(self._inner.create(order))

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """As the provider does."""
        return await self._life.live_through(self._inner.delete(name, identity, at_once=at_once))

    async def console(self, name: str) -> bytes:
        """As the provider does."""
        return await self._life.live_through(self._inner.console(name))


class Life:
    """From start to death."""

    loop: PoolsLoop

    def __init__(self, store: InlineStore, faults: Faults) -> None:
        self.is_alive = True
        self._dead = asyncio.Event()
        self._faults = faults
        self._tasks: set[asyncio.Task[Any]] = set()
        self._store = SimStore(self, store)

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

    async def fault_point(self, point: str) -> None:
        """A step that a crash could follow."""
        await self.live_through(self._faults.fault_point(point))
        self.check_alive()

    async def live_through(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something in which it may die."""
        try:
            self.check_alive()
            return await work
        except Crash:
            self.die()
            raise
        finally:
            work.close()

    def check_alive(self) -> None:
        """Raise `Crash` in whatever a dead process still tries."""
        if not self.is_alive:
            raise Crash("the process is dead")

    def die(self) -> None:
        """Die now: whatever was not committed is gone."""
        self.is_alive = False
        self._dead.set()
