"""
How a simulated history goes, whatever world it is of, and what is reported of it.

A world goes through its events; then faults stop and it must settle: every job comes to an end, every operation is
done, and nothing moves any more.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from remuda.sim.clock import SimClock
from remuda.sim.faults import Fault, Faults
from remuda.sim.watch import Watch

_QUIET_S = 30.0


class Timed(Protocol):
    """Something that happens."""

    @property
    def at(self) -> float:
        """Its second."""
        ...


E = TypeVar("E", bound=Timed)
W = TypeVar("W", bound=Watch)


class Summary(Struct, frozen=True):
    """What came of a history. The digest is that of every change in it, in order."""

    jobs: int
    jobs_done: int
    jobs_failed: int
    jobs_cancelled: int
    wait_p50_s: float
    wait_p99_s: float
    machines_created: int
    machine_seconds: float
    utilisation: float
    cycles: int
    restarts: int
    seconds: float
    faults: dict[str, int]
    digest: str


class History(ABC, Generic[E, W]):
    """Events, faults and the watch over them."""

    #: how long it may take to settle once faults have stopped, in virtual seconds
    settle_s = 4 * 3_600.0

    def __init__(
        self, seed: int, events: Sequence[E], seconds: float, faults: Mapping[str, Fault], watch: type[W]
    ) -> None:
        self.seed = seed
        self.events = events
        self.seconds = seconds
        self.dice = random.Random(f"world {seed}")
        self.clock = SimClock(asyncio.get_running_loop())
        self.faults = Faults(seed, faults)
        self.watch = watch(self.clock, seed)
        #: job → when it came
        self.arrivals: dict[int, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task of the world, which outlives any process."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and self.watch.violation is None:
            self.watch.broken("nothing in the world breaks", f"{type(error).__name__}: {error}")

    async def live(self) -> Summary:
        """Go through the events, let faults stop, and wait until all is settled."""
        self.begin()
        for event in self.events:
            await self._sleep_until(event.at)
            await self.happen(event)
        await self._sleep_until(self.seconds)
        await self.calm()
        await self._settle()
        return self.summary()

    async def _sleep_until(self, at: float) -> None:
        left = at - self.clock.monotonic()
        if left > 0:
            await asyncio.sleep(left)
        self._raise_violation()

    def _raise_violation(self) -> None:
        if self.watch.violation is not None:
            raise self.watch.violation

    async def _settle(self) -> None:
        """All jobs come to an end and all machines to rest, within a time that no healthy world needs."""
        deadline = self.clock.monotonic() + self.settle_s
        quiet_since: float | None = None
        while quiet_since is None or self.clock.monotonic() - quiet_since < _QUIET_S:
            await asyncio.sleep(5)
            self._raise_violation()
            unrest = self.unrest()
            if unrest:
                quiet_since = None
                if self.clock.monotonic() > deadline:
                    raise self.watch.broken("demand is served in the end", unrest)
            elif quiet_since is None:
                quiet_since = self.clock.monotonic()
        self.watch.settle()
        await self.check_end()

    @abstractmethod
    def begin(self) -> None:
        """Start what decides."""

    @abstractmethod
    async def happen(self, event: E) -> None:
        """Let one event happen."""

    async def calm(self) -> None:
        """Stop all faults and take all hands off."""
        self.faults.stop()

    @abstractmethod
    def unrest(self) -> str:
        """What is still to be done; nothing when the world has settled."""

    @abstractmethod
    async def check_end(self) -> None:
        """Rules that hold once a world has settled."""

    async def end(self) -> None:
        """Let go of everything."""
        for task in self._tasks:
            task.cancel()

    @abstractmethod
    def summary(self) -> Summary:
        """What came of it."""

    def _summary(self, done: int, failed: int, cancelled: int, cycles: int, restarts: int) -> Summary:
        watch = self.watch
        waits = sorted(at - self.arrivals[job] for job, at in watch.first_runs.items())
        return Summary(
            jobs=len(self.arrivals),
            jobs_done=done,
            jobs_failed=failed,
            jobs_cancelled=cancelled,
            wait_p50_s=round(waits[len(waits) // 2], 3) if waits else 0.0,
            wait_p99_s=round(waits[len(waits) * 99 // 100], 3) if waits else 0.0,
            machines_created=watch.made_count,
            machine_seconds=round(watch.machine_s, 3),
            utilisation=round(watch.busy_s / watch.machine_s, 4) if watch.machine_s else 0.0,
            cycles=cycles,
            restarts=restarts,
            seconds=round(self.clock.monotonic(), 3),
            faults=dict(sorted(self.faults.counts.items())),
            digest=watch.digest,
        )
