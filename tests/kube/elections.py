"""Elections in virtual time: a server, a network and processes that can be frozen."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVarTuple

import msgspec
from tests.kube.conftest import PLAIN

from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.errors import Status, Unreachable, error_for
from remuda.kube.lease import Leadership, Term
from remuda.loop.logs import Log
from remuda.model.times import SECOND
from remuda.sim.clock import MONDAY
from remuda.sim.loop import SimLoop

Ts = TypeVarTuple("Ts")

OWNER: ContextVar["Process | None"] = ContextVar("owner", default=None)


class FreezingLoop(SimLoop):
    """A virtual loop in which what belongs to a frozen process waits until it is thawed, as after SIGSTOP."""

    watcher: Callable[[], None] = staticmethod(lambda: None)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        context = context or copy_context()
        handle: list[asyncio.Handle] = []
        handle.append(
            super().call_soon(self._gate, context.get(OWNER), callback, args, handle, context=context)
        )
        return handle[0]

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = context or copy_context()
        handle: list[asyncio.Handle] = []
        timer = super().call_at(when, self._gate, context.get(OWNER), callback, args, handle, context=context)
        handle.append(timer)
        return timer

    def _gate(
        self,
        owner: "Process | None",
        callback: Callable[..., object],
        args: tuple[Any, ...],
        handle: list[asyncio.Handle],
    ) -> None:
        if handle[0].cancelled():
            return
        if owner is not None and owner.is_frozen:
            owner.waiting.append((callback, args, handle, copy_context()))
            return
        callback(*args)

    def thaw(self, owner: "Process") -> None:
        if owner.is_dead:
            return
        owner.wake()
        owner.is_frozen = False
        for callback, args, handle, context in owner.waiting:
            super().call_soon(self._gate, owner, callback, args, handle, context=context)
        owner.waiting.clear()

    def _run_once(self) -> None:
        super()._run_once()
        self.watcher()


class Process:
    """What can be frozen, has clocks of its own, and is dead at some point."""

    def __init__(self, loop: FreezingLoop, dice: random.Random) -> None:
        self.is_frozen = self.is_cut_off = self.is_silent = self.is_dead = False
        self.waiting: deque[Any] = deque()
        self._loop = loop
        # No two clocks run alike, and walls are set by people.
        self._rate, self._wall = dice.uniform(0.95, 1.05), dice.randint(-(10**6), 10**6)
        self._asleep, self._slept_at = 0.0, float("inf")

    def monotonic(self) -> float:
        return (min(self._loop.time(), self._slept_at) - self._asleep) * self._rate

    def sleep(self) -> None:
        """The whole computer sleeps: its monotonic clock stands still, its wall goes on."""
        self.is_frozen = True
        self._slept_at = self._loop.time()

    def wake(self) -> None:
        if self._slept_at < float("inf"):
            self._asleep += self._loop.time() - self._slept_at
            self._slept_at = float("inf")

    def now(self) -> int:
        return MONDAY + self._wall + round(self._loop.time() * SECOND)

    def jump(self, ms: int) -> None:
        self._wall += ms


class Api:
    """The one object, kept as an API server keeps it."""

    def __init__(self) -> None:
        self.version = 0
        self.lease: dict[str, Any] | None = None
        self.changed = asyncio.Event()

    def serve(self, method: str, body: Any) -> Any:
        """Answer, or give the status of an error."""
        if method == "POST" and self.lease is not None:
            return Status(409, "AlreadyExists")
        if method != "POST" and self.lease is None:
            return Status(404, "NotFound")
        if method == "PUT" and body["metadata"]["resourceVersion"] != str(self.version):
            return Status(409, "Conflict")
        if method in ("POST", "PUT"):
            self.version += 1
            metadata = {**body["metadata"], "resourceVersion": str(self.version)}
            self.store({**body, "metadata": metadata})
        return self.lease

    def store(self, lease: dict[str, Any] | None) -> None:
        self.lease = lease
        self.changed.set()
        self.changed = asyncio.Event()


class SimClient(Client):
    """A client whose requests take their time and get lost, before or after they did something."""

    def __init__(self, api: Api, process: Process, dice: random.Random, loop: FreezingLoop) -> None:
        super().__init__(Access("http://sim", PLAIN), process, dice)
        self._api, self._process, self._dice, self._loop = api, process, dice, loop

    async def request(
        self, method: str, path: str, *, doing: str, body: bytes | None = None, **_: Any
    ) -> bytes:
        if "limit" in (_.get("query") or {}):
            lease = self._api.lease
            return msgspec.json.encode(
                {"items": [lease] if lease else [], "metadata": {"resourceVersion": str(self._api.version)}}
            )
        answer: asyncio.Future[Any] = self._loop.create_future()
        # What is on its way goes on though its sender is frozen or has given up.
        Context().run(self._loop.create_task, self._travel(method, body, answer))
        got = await answer
        if isinstance(got, Status):
            raise error_for(doing, got)
        if got is None:
            raise Unreachable(doing, Status(message="lost"))
        return msgspec.json.encode(got)

    async def _travel(self, method: str, body: bytes | None, answer: asyncio.Future[Any]) -> None:
        got = None
        await asyncio.sleep(self._delay())
        if self._process.is_silent or (self._process.is_cut_off and self._dice.random() < 0.5):
            return  # no word ever comes back
        if not self._process.is_cut_off and self._dice.random() > 0.05:
            got = self._api.serve(method, msgspec.json.decode(body) if body else None)
            await asyncio.sleep(self._delay())
            if self._process.is_cut_off or self._dice.random() < 0.05:
                got = None
        if not answer.done():
            answer.set_result(got)

    def _delay(self) -> float:
        if self._dice.random() < 0.8:
            return self._dice.uniform(0, 0.2)
        return self._dice.choice([0.5, 2, 5, 9, 20]) * self._dice.random()

    @asynccontextmanager
    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        if self._process.is_cut_off:
            raise Unreachable("watching", Status(message="cut off"))

        async def lines() -> AsyncIterator[bytes]:
            while True:
                await self._api.changed.wait()
                if self._process.is_cut_off:
                    raise Unreachable("watching", Status(message="cut off"))
                if self._api.lease is not None:
                    yield msgspec.json.encode({"type": "MODIFIED", "object": self._api.lease})

        yield lines()


class Election:
    """Replicas that elect a leader while everything happens to them."""

    def __init__(self, loop: FreezingLoop, seed: int) -> None:
        self.loop, self.dice = loop, random.Random(seed)
        self.api = Api()
        self.replicas: list[tuple[Process, Leadership, asyncio.Task[None]]] = []
        self.dead: list[tuple[Process, Leadership, asyncio.Task[None]]] = []
        self.stopping: list[asyncio.Task[None]] = []
        self.held: list[str] = []
        self.wrong: list[str] = []
        self.removed_at = float("-inf")
        self.has_sleep = seed % 2 == 0
        self._made = 0
        loop.watcher = self.watch

    def watch(self) -> None:
        """Look, after everything that happens."""
        holders = [leadership.identity for _, leadership, _ in self.replicas if leadership.holds()]
        if len(holders) > 1:
            self.wrong.append(f"at {self.loop.time():g} s two may act: {holders}")
        if holders and self.held[-1:] != holders:
            self.held += holders

    def start(self) -> None:
        self._made += 1
        dice = random.Random(self.dice.random())
        process = Process(self.loop, dice)
        log = Log(process, lambda _: None)
        client = SimClient(self.api, process, dice, self.loop)
        name = f"replica-{self._made}"
        leadership = Leadership(client, "it", "ns", name, process, dice, log, term=Term())
        context = copy_context()
        context.run(OWNER.set, process)
        task = self.loop.create_task(leadership.run(), context=context)
        self.replicas.append((process, leadership, task))

    async def run(self, seconds: float) -> None:
        for _ in range(3):
            self.start()
        end = self.loop.time() + seconds
        while self.loop.time() < end:
            await asyncio.sleep(self.dice.uniform(0, 8))
            self.happen(self.dice.choice(self.replicas))
        for process, _, _ in self.replicas:
            process.is_cut_off = False
            self.loop.thaw(process)

    async def close(self) -> None:
        """Let everything end; the dead stay cut off."""
        for process, _, task in [*self.replicas, *self.dead]:
            process.is_dead = False
            self.loop.thaw(process)
            task.cancel()
        tasks = [task for _, _, task in [*self.replicas, *self.dead]]
        await asyncio.gather(*tasks, *self.stopping, return_exceptions=True)

    def happen(self, to: tuple[Process, Leadership, asyncio.Task[None]]) -> None:
        process, _, task = to
        # Who begins after someone removed the lease cannot know that another still acts.
        may_start = self.loop.time() > self.removed_at + 30
        match self.dice.randrange(9):
            case 8 if self.has_sleep and not process.is_frozen:
                process.sleep()
                self.loop.call_later(self.dice.uniform(0, 40), self.loop.thaw, process)
            case 0 | 1:
                process.is_frozen = True
                self.loop.call_later(self.dice.uniform(0, 40), self.loop.thaw, process)
            case 2 | 3:
                process.is_cut_off = True
                self.loop.call_later(self.dice.uniform(0, 40), setattr, process, "is_cut_off", False)
            case 4:
                # Set back, a wall cannot tell how long a sleep was.
                ahead = 1 if self.has_sleep else self.dice.choice([-1, 1])
                process.jump(ahead * self.dice.randint(0, 10**8))
            case 5 if may_start and not process.is_frozen:
                task.cancel()
                self.stopping.append(task)
                self.replicas.remove(to)
                self.start()
            case 6 if may_start:  # kill -9: it does nothing any more, and nobody hears of it
                process.is_frozen = process.is_cut_off = process.is_dead = True
                self.dead.append(to)
                self.replicas.remove(to)
                self.start()
            case 7 if self.dice.random() < 0.3 and all(
                self.api.version and r[1]._seen[0] for r in self.replicas
            ):
                self.api.store(None)
                self.removed_at = self.loop.time()
