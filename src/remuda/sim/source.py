"""
A job queue in memory alone, for worlds too large for a store.

It dispatches and counts as the durable queue does and forgets a job once it has ended. It satisfies the `Source` port.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping

from msgspec import Struct, structs

from remuda.loop.clock import Clock
from remuda.model.jobs import Finished
from remuda.model.machines import pool_of
from remuda.model.needs import Need, Reading, Worker
from remuda.sources.queue.queue import Answer, Work
from remuda.sources.queue.settle import Terms

_END = Answer("end")
_NEVER = Terms("", 0, 0)


class _Task(Struct, gc=False):
    number: int
    job_class: str
    command: tuple[str, ...]
    retries: int
    attempt: int = 0
    priority: int = 0

    @property
    def run(self) -> tuple[int, int]:
        """What a result must be of to count."""
        return self.number, self.attempt


class SimSource:
    """First come, first served within a class and a priority. Machines wait at the desk without a deadline."""

    exact = True

    def __init__(self, clock: Clock, terms: Mapping[str, Terms], wake: Callable[[], None]) -> None:
        self._clock = clock
        self._terms = terms
        self._wake = wake
        self._waiting: dict[str, deque[_Task]] = defaultdict(deque)
        self._running: Counter[str] = Counter()
        self._at: dict[str, _Task] = {}
        self._workers: dict[str, Worker] = {}
        #: machines that wait at the desk, the longest first
        self._line: dict[str, dict[str, asyncio.Future[None]]] = defaultdict(dict)
        self._next = 1
        #: jobs that ran out of attempts
        self.failed = 0

    @property
    def unfinished(self) -> int:
        """Jobs that wait or run."""
        return sum(map(len, self._waiting.values())) + sum(self._running.values())

    async def read(self) -> Reading:
        """Exactly as it is."""
        classes = (terms.job_class for terms in self._terms.values())
        needs = {name: Need(len(self._waiting[name]), self._running[name]) for name in classes}
        return Reading(needs, dict(self._workers))

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        """Give a machine no more work; True when it has none."""
        del made_at, job_class, boot
        known = self._workers.get(machine) or Worker(self._clock.now())
        self._workers[machine] = structs.replace(known, closed=True)
        place = self._line[self._class_of(machine)].pop(machine, None)
        if place is not None and not place.done():
            place.set_result(None)
        return machine not in self._at

    async def forget(self, machine: str) -> None:
        """A machine is gone; what it was working on waits again or has failed."""
        self._workers.pop(machine, None)
        self._line[self._class_of(machine)].pop(machine, None)
        if machine in self._at:
            self._settle(machine, is_success=False)
        self._wake()

    def submit(self, job_class: str, command: tuple[str, ...], retries: int, priority: int = 0) -> int:
        """Take a job in and return its number; one of a higher priority comes before others."""
        task = _Task(self._next, job_class, command, retries, priority=priority)
        self._next += 1
        self._queue(task)
        self._wake_waiting(job_class)
        self._wake()
        return task.number

    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        """Settle the last job and give the next one; repeated calls give the same job again."""
        del ran
        task = self._at.get(machine)
        if finished is not None and task is not None and (finished.job, finished.attempt) == task.run:
            self._settle(machine, is_success=finished.exit_code == 0)
            self._wake()
        terms = self._terms.get(pool_of(machine), _NEVER)
        while True:
            known = self._workers.get(machine)
            if known is None:
                known = self._workers[machine] = Worker(self._clock.now())
                self._wake()
            task = self._at.get(machine)
            if task is None:
                used_up = terms.max_uses is not None and known.uses >= terms.max_uses
                if known.closed or used_up or leaving:
                    if not known.closed:
                        self._workers[machine] = structs.replace(known, closed=True)
                    return _END
                waiting = self._waiting[terms.job_class]
                if not waiting:
                    place = asyncio.get_running_loop().create_future()
                    self._line[terms.job_class][machine] = place
                    try:
                        await place
                    except asyncio.CancelledError:
                        if place.done() and not place.cancelled():
                            self._wake_waiting(terms.job_class)
                        raise
                    continue
                task = waiting.popleft()
                task.attempt += 1
                self._at[machine] = task
                self._running[task.job_class] += 1
                self._workers[machine] = Worker(self._clock.now(), str(task.number), known.uses + 1)
            return Answer("run", Work(task.number, task.attempt, task.command, {}, {}, "", 0, 0))

    def _queue(self, task: _Task) -> None:
        waiting = self._waiting[task.job_class]
        if not waiting or waiting[-1].priority >= task.priority:
            waiting.append(task)
            return
        place = next(index for index, other in enumerate(waiting) if other.priority < task.priority)
        waiting.insert(place, task)

    def _settle(self, machine: str, *, is_success: bool) -> None:
        task = self._at.pop(machine)
        self._running[task.job_class] -= 1
        if not is_success and task.attempt <= task.retries:
            self._queue(task)
            self._wake_waiting(task.job_class)
        elif not is_success:
            self.failed += 1
        known = self._workers.get(machine)
        if known is not None:
            self._workers[machine] = structs.replace(known, job=None, since=self._clock.now())

    def _class_of(self, machine: str) -> str:
        return self._terms.get(pool_of(machine), _NEVER).job_class

    def _wake_waiting(self, job_class: str) -> None:
        line = self._line[job_class]
        while line:
            place = line.pop(next(iter(line)))
            if not place.done():
                place.set_result(None)
                return
