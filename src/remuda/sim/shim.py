"""
The simulated shim: it asks for work, runs it and hands in its result, as the real one does.

A call that fails is repeated with the same words, because the answer may have been lost after all was done. A job that
was run already is not run again: its result is handed in once more.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from remuda.errors import Unavailable
from remuda.loop.clock import Clock
from remuda.model.jobs import Finished, Run
from remuda.model.machines import State
from remuda.model.times import SECOND
from remuda.sim.provider import SimMachine
from remuda.sources.queue.queue import Answer, Work

_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 2.0
#: how often a machine looks whether its job was cancelled
_LOOK_S = 10.0


class Desk(Protocol):
    """Where machines ask for work."""

    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        """Tell how the last job ended and wait for another one; `ConnectionError` when nobody answered."""
        ...


class Diary(Protocol):
    """Who hears what runs where."""

    def began(self, machine: SimMachine, work: Work) -> None:
        """A job runs from now on."""
        ...

    def finished(self, machine: SimMachine, result: Finished) -> None:
        """It ended, and its result is written down."""
        ...


class Shim:
    """Holds machines, one call of `hold` each."""

    def __init__(
        self, desk: Desk, diary: Diary, clock: Clock, cancelled: Callable[[Run], bool] | None
    ) -> None:
        """Without `cancelled` no job is ever cancelled."""
        self._desk = desk
        self._diary = diary
        self._clock = clock
        self._cancelled = cancelled

    async def hold(self, machine: SimMachine) -> str:
        """Ask and run until asked to end; the code of the end."""
        finished: Finished | None = None
        last: Finished | None = None
        leaving, failures, ran = False, 0, 0
        idle_since = self._clock.monotonic()
        while True:
            left = self._idle_left(machine, idle_since)
            leaving = leaving or left <= 0
            try:
                answer = await self._ask(
                    machine, finished, float("inf") if leaving else left, leaving=leaving, ran=ran
                )
            except (ConnectionError, Unavailable, TimeoutError):
                failures += 1
                await asyncio.sleep(min(_LONGEST_PAUSE_S, _PAUSE_S * failures))
                continue
            failures = 0
            handed_in, finished = finished, None
            if answer.do == "end":
                return "finished" if handed_in is not None else "idle" if leaving else "closed"
            work = answer.job
            if work is None:
                continue
            if last is None or last.run != work.run:
                ran += 1
                last = await self._run(machine, work)
                idle_since, leaving = self._clock.monotonic(), False
            finished = last

    def _idle_left(self, machine: SimMachine, idle_since: float) -> float:
        limit = machine.order.idle_timeout
        return float("inf") if limit is None else idle_since + limit / SECOND - self._clock.monotonic()

    async def _ask(
        self, machine: SimMachine, finished: Finished | None, left: float, *, leaving: bool, ran: int
    ) -> Answer:
        if left == float("inf"):
            return await self._desk.next(machine.name, finished, leaving=leaving, ran=ran)
        async with asyncio.timeout(left):
            return await self._desk.next(machine.name, finished, leaving=leaving, ran=ran)

    async def _run(self, machine: SimMachine, work: Work) -> Finished:
        """Run a job whose command is `run SECONDS EXIT-CODE`."""
        machine.go(State.CONFIGURING, State.CONFIGURED)
        machine.job = work.run
        self._diary.began(machine, work)
        started_at = self._clock.now()
        status, code = "exited", int(work.command[2])
        left = float(work.command[1])
        while self._cancelled is not None and left > _LOOK_S:
            await asyncio.sleep(_LOOK_S)
            left -= _LOOK_S
            if self._cancelled(work.run):
                status, code, left = "cancelled", 143, 0.0
        await asyncio.sleep(left)
        result = Finished(
            work.id,
            work.attempt,
            status,
            code,
            started_at=started_at,
            finished_at=self._clock.now(),
            store=work.store,
        )
        self._diary.finished(machine, result)
        machine.job = None
        machine.go(State.DRAINING, State.IDLE)
        return result
