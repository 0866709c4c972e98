"""
An asyncio event loop in virtual time.

Nothing sleeps: when all that is ready has run, time moves to the next timer. The same seed gives the same history:
timers due at the same instant fire in a seeded order, while `call_soon` keeps its order as asyncio promises, so what
goes wrong here can go wrong for real. Waiting for ever is an error. There is no I/O, and what would run in a thread
runs at once.
"""

import asyncio
import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextvars import Context
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from remuda.errors import InvariantError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class DeadlockError(InvariantError):
    """Nothing will ever wake the tasks that wait, or they wake each other for ever while time stands still."""


def run(main: Coroutine[Any, Any, T], *, seed: int = 0, start: float = 0.0) -> T:
    """
    Run a coroutine to its end on a fresh virtual loop whose time begins at `start` seconds.

    Tasks it leaves behind are cancelled, as `asyncio.run` does. Raises `DeadlockError` when nothing can go on, and
    what a callback raised.
    """
    with asyncio.Runner(loop_factory=lambda: SimLoop(seed, start)) as runner:
        return runner.run(main)


class SimLoop(asyncio.BaseEventLoop):
    """The loop itself; most callers want `run`."""

    #: rounds without time moving before it is called a livelock; a million take seconds
    most_rounds_at_once: int = 1_000_000

    def __init__(self, seed: int = 0, start: float = 0.0) -> None:
        super().__init__()
        self._now = start
        self._dice = random.Random(seed)
        self._soon: deque[asyncio.Handle] = deque()
        #: due, the seeded order among equals, the order of creation in case the dice repeat themselves
        self._timers: list[tuple[float, float, int, asyncio.TimerHandle]] = []
        self._timer_count = count()
        self._task_count = count(1)
        self._rounds = 0
        self._broken: BaseException | None = None
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        """The virtual second."""
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """In the order of the calls, as asyncio promises."""
        handle = asyncio.Handle(callback, args, self, context)
        self._soon.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """There are no threads here."""
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """A timer; those due at the same instant fire in seeded order."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if when < math.inf:
            heapq.heappush(self._timers, (when, self._dice.random(), next(self._timer_count), timer))
        return timer

    def run_in_executor(
        self,
        executor: object,  # noqa: ARG002 - there is only one way to run things here
        func: Callable[[*Ts], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        """Call at once, and let the answer come as if from a thread: not before the caller waited for it."""
        answer: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
            self.call_at(self._now, _settle, answer, answer.set_exception, error)
        else:
            self.call_at(self._now, _settle, answer, answer.set_result, result)
        return answer

    async def getaddrinfo(self, *_: object, **__: object) -> NoReturn:
        """Refuse."""
        raise NotImplementedError("a simulation has no network")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what a callback raised, to stop the run with it; a log line nobody reads would hide a bug."""
        if "handle" in context:
            self._broken = self._broken or context["exception"]
        else:
            super().default_exception_handler(context)

    def _run_once(self) -> None:
        """One round, as `run_forever` wants it: what is ready now, but not what that makes ready."""
        timers, soon = self._timers, self._soon
        while timers and timers[0][3].cancelled():
            heapq.heappop(timers)
        self._rounds += 1
        if not soon:
            if not timers:
                raise DeadlockError(self._describe("nothing is scheduled, and these wait for ever"))
            if timers[0][0] > self._now:
                self._now, self._rounds = timers[0][0], 0
        while timers and timers[0][0] <= self._now:
            soon.append(heapq.heappop(timers)[3])
        if self._rounds > self.most_rounds_at_once:
            self._rounds = 0  # the runner still has to cancel what is left
            raise DeadlockError(
                self._describe("many rounds went by while time stood still, and these are alive")
            )
        for _ in range(len(soon)):
            handle = soon.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 - what every event loop calls; there is no public name
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken

    def _make_task(
        self,
        _: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        **options: Any,
    ) -> asyncio.Task[T]:
        return _Task(next(self._task_count), coro, self, options)

    def _describe(self, what: str) -> str:
        waiting = sorted((task.get_name(), " → ".join(_places(task))) for task in asyncio.all_tasks(self))
        message = "".join(f"\n  {name} at {place}" for name, place in waiting) or "\n  no task at all"
        return f"simulation stuck at {self._now:g} s: {what}:{message}"


class _Task(asyncio.Task[T]):
    """A task whose name and hash are its number: the order of a set of tasks must not depend on memory addresses."""

    def __init__(
        self,
        number: int,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        loop: SimLoop,
        options: dict[str, Any],
    ) -> None:
        self._number = number
        super().__init__(coro, loop=loop, **{**options, "name": options.get("name") or f"task-{number}"})

    def __hash__(self) -> int:
        return self._number


def _settle(answer: asyncio.Future[T], settle: Callable[[Any], None], value: object) -> None:
    if not answer.done():
        settle(value)


def _places(task: asyncio.Task[Any]) -> Iterator[str]:
    """Where a suspended task stands, outermost first."""
    step: Any = task.get_coro()
    while step is not None:
        frame: FrameType | None = getattr(step, "cr_frame", None) or getattr(step, "gi_frame", None)
        if frame is not None:
            yield f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_qualname}"
        step = getattr(step, "cr_await", None) or getattr(step, "gi_yieldfrom", None)
