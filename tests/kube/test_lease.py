"""Leader election: never two at once, whatever freezes, is delayed or lost; and soon one again."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVarTuple

import msgspec
import pytest
from tests.kube import replica
from tests.kube.conftest import DEADLINE_S, PLAIN, NewClient, Robot, eventually
from tests.kube.loopback import Wire
from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.errors import Status, Unreachable, error_for
from remuda.kube.lease import Leadership, Term
from remuda.kube.resources import LEASES, Thing
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.times import SECOND
from remuda.sim.clock import MONDAY
from remuda.sim.loop import SimLoop

Ts = TypeVarTuple("Ts")


@pytest.mark.parametrize(
    "term",
    [
        pytest.param({"act_for": 15}, id="acting as long as the term"),
        pytest.param({"renew_every": 10}, id="renewing too late"),
        pytest.param({"renew_every": 0}, id="renewing all the time"),
    ],
)
def test_a_term_that_cannot_be_is_refused(term: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot be: 0 < renew_every < act_for < duration"):
        Term(**term)


# In virtual time: a server, a network and processes that can be frozen

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


class World:
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_safety_never_two_may_act_at_once_and_liveness_soon_one_does(seed: int) -> None:
    with asyncio.Runner(loop_factory=lambda: FreezingLoop(seed)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, FreezingLoop)

        async def history() -> list[str]:
            world = World(loop, seed)
            try:
                await world.run(600)
                quiet = loop.time() + 120
                while not any(leadership.holds() for _, leadership, _ in world.replicas):
                    assert loop.time() < quiet, "nobody leads though nothing is in the way"
                    await asyncio.sleep(0.5)
            finally:
                await world.close()
            assert not world.wrong
            return world.held

        assert len(runner.run(history())) >= 3


def test_a_leader_that_is_cut_off_says_so_as_soon_as_its_time_is_over() -> None:
    """Not when its request ends: whoever acts is told in time to stop."""
    with asyncio.Runner(loop_factory=lambda: FreezingLoop(1)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, FreezingLoop)

        async def history() -> list[float]:
            world = World(loop, 1)
            world.start()
            (process, leadership, _) = world.replicas[0]
            times: list[float] = []
            began = asyncio.Event()

            def changed() -> None:
                times.append(process.monotonic())
                began.set()

            leadership._changed = changed
            await began.wait()
            process.is_silent = True
            until = leadership._until
            await asyncio.sleep(30)
            await world.close()
            return [times[0] - until + 10, times[1] - until]

        first, last = runner.run(history())
        assert 0 <= first < 2
        assert 0 <= last < 0.6  # its clocks do not run alike


# Against a real server


class Replica:
    """A replica in a process of its own, and what it said so far: words and wall-clock seconds."""

    def __init__(self, robot: Robot, directory: Path) -> None:
        self.user = robot.user
        self.said: list[tuple[str, float]] = []
        kubeconfig = robot.cluster.kubeconfig(token=robot.token())
        command = [sys.executable, "-m", "tests.kube.replica", str(kubeconfig), robot.namespace, robot.name]
        self._errors = (directory / f"{robot.name}.log").open("wb")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, at = line.split()
            self.said.append((word, float(at)))

    def times(self, word: str) -> list[float]:
        return [at for said, at in self.said if said == word]

    def is_leading(self) -> bool:
        changes = [word for word, _ in self.said if word in ("leading", "not-leading")]
        return changes[-1:] == ["leading"]

    def freeze(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("freeze\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self._errors):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


@pytest.fixture
def replicas(new_robot: Callable[[str], Robot], tmp_path: Path) -> Iterator[list[Replica]]:
    """Two replicas, of which one leads; the leader comes first."""
    made: list[Replica] = []
    try:
        for name in ("ada", "bob"):
            robot = new_robot(name)
            robot.permit(
                ("coordination.k8s.io", "leases", "get list watch create update"),
                ("-", "configmaps", "create patch"),
            )
            made.append(Replica(robot, tmp_path))
        until = time.monotonic() + DEADLINE_S
        while not (any(one.is_leading() for one in made) and all(one.times("ready") for one in made)):
            assert time.monotonic() < until, [one.said for one in made]
            time.sleep(0.02)
        yield sorted(made, key=lambda one: not one.is_leading())
    finally:
        for one in made:
            one.close()


def slack() -> float:
    """What a busy machine may add to a moment: processes wait their turn."""
    return max(0.0, os.getloadavg()[0] / (os.cpu_count() or 1) - 1)


@pytest.mark.slow
async def test_of_two_replicas_one_leads_and_hands_over_at_once_when_it_stops(
    replicas: list[Replica],
) -> None:
    leader, follower = replicas
    assert not follower.times("leading")
    stopped = time.time()
    leader.process.send_signal(signal.SIGTERM)
    await eventually(follower.is_leading, "the hand-over")
    assert follower.times("leading")[0] - stopped < replica.TERM.act_for, "faster than any term ends"
    await eventually(lambda: leader.process.poll() is not None, "the end of the old leader")
    assert leader.process.returncode == 0
    assert leader.times("not-leading")[0] <= follower.times("leading")[0]


@pytest.mark.slow
async def test_the_lease_of_a_killed_leader_passes_on_when_its_term_ends(replicas: list[Replica]) -> None:
    leader, follower = replicas
    killed = time.time()
    leader.process.kill()
    await eventually(follower.is_leading, "the hand-over")
    took = follower.times("leading")[0] - killed
    assert replica.TERM.act_for - replica.TERM.renew_every * 2 <= took
    assert took <= replica.TERM.duration + 2 + slack()


@pytest.mark.slow
async def test_nothing_that_a_frozen_leader_begins_after_its_thaw_is_accepted(
    replicas: list[Replica], cluster: Cluster, namespace: str, admin: Client
) -> None:
    """It freezes after it asked whether it leads and before it writes, which is the worst moment there is."""
    leader, follower = replicas
    leader.freeze()
    await eventually(lambda: leader.times("frozen"), "the freeze")
    await eventually(follower.is_leading, "the hand-over")
    await asyncio.sleep(0.5)
    thawed = time.time()
    leader.process.send_signal(signal.SIGCONT)
    await eventually(lambda: leader.times("refused"), "the write that is held back")
    await eventually(lambda: leader.times("not-leading"), "the old leader's insight")
    await admin.get(LEASES, replica.LEASE, Thing, namespace)
    assert follower.is_leading()
    assert len(leader.times("leading")) == 1

    def writes() -> list[dict[str, Any]]:
        expected = {"namespace": namespace, "resource": "configmaps", "name": "written"}
        seen = [one for one in cluster.audit() if expected.items() <= one.get("objectRef", {}).items()]
        return [one for one in seen if one["verb"] == "patch"]

    def by(user: str, after: float) -> list[Mapping[str, Any]]:
        return [one for one in writes() if one["user"]["username"] == user and instant(one) > after]

    # The log is written in order: what the new leader wrote now comes after all that the old one may have.
    now = time.time()
    await eventually(lambda: by(follower.user, now), "the new leader's writes")
    assert by(leader.user, 0)
    assert by(leader.user, thawed) == []
    last = max(instant(one) for one in by(leader.user, 0))
    assert last < min(instant(one) for one in by(follower.user, 0)), "the writes of the two do not overlap"


def instant(audited: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(audited["requestReceivedTimestamp"]).timestamp()


@pytest.mark.slow
async def test_a_leader_cut_off_from_the_server_stops_before_the_other_begins(
    cluster: Cluster, namespace: str, new_client: NewClient, access_of: Callable[..., Access]
) -> None:
    clock = SystemClock()

    def note(times: list[float]) -> None:
        times.append(clock.monotonic())

    stops: dict[str, list[float]] = {"near": [], "far": []}
    async with Wire(cluster.url) as wire, asyncio.TaskGroup() as group:
        sides = {"near": cluster.url, "far": wire.url}
        leaderships: dict[str, Leadership] = {}
        for name, url in sides.items():
            leaderships[name] = Leadership(
                new_client(access_of(cluster, url)),
                "it",
                namespace,
                name,
                clock,
                random.Random(name),
                Log(clock, lambda _: None),
                partial(note, stops[name]),
                replica.TERM,
            )
        far, near = leaderships["far"], leaderships["near"]
        tasks = [group.create_task(far.run())]
        await eventually(far.holds, "a first leader")
        tasks.append(group.create_task(near.run()))
        await eventually(lambda: near.leader == "far", "a follower that knows the leader")
        wire.silence()
        until = time.monotonic() + DEADLINE_S
        while not near.holds():
            assert time.monotonic() < until
            await asyncio.sleep(0.005)
        assert not far.holds()
        await eventually(lambda: len(stops["far"]) == 2, "the word that it ended")
        assert stops["far"][1] < stops["near"][0]
        wire.restore()
        await eventually(lambda: far.leader == "near", "the old leader's insight")
        assert near.holds()
        for task in tasks:
            task.cancel()
