"""
A simulated CircleCI: tasks that agents claim by themselves, and an API that reports them late, wrongly or not at all.

What is true and what is reported are two things here. An agent shows up in the listing some time after it registered, is
shown as used some time after it claimed its task, and stays listed for hours after it is gone.
"""

import asyncio
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from remuda.loop.clock import Clock
from remuda.model.times import HOUR, SECOND, Instant, write_instant
from remuda.sim.faults import Faults
from remuda.sources.circleci.agents import Listing, read_agents
from remuda.sources.circleci.client import DEADLINE_S
from remuda.sources.circleci.errors import CircleError

T = TypeVar("T")
_written = lru_cache(maxsize=10_000)(write_instant)

#: how long an agent takes at most to hear of a task that waits
_HEARS_S = 2.0
_COUNTS = ("unclaimed", "running")


class Outage(Struct, frozen=True):
    """
    From `at` on, some calls get no answer for some seconds: all of them, the counts, or the agents alone.

    While `is_empty`, agents are answered for instead: there are none.
    """

    at: float
    seconds: float
    calls: tuple[str, ...] = (*_COUNTS, "agents")
    is_empty: bool = False


class Mood(Struct, frozen=True):
    """How CircleCI fares. Chances are from 0 to 1 and of each call; times are in seconds."""

    latency_s: float = 0.1
    #: it takes so long that whoever asked gives up
    slow: float = 0.0
    error: float = 0.0
    #: 429, with or without saying for how long
    limited: float = 0.0
    #: an answer that is no number of tasks, or no listing
    nonsense: float = 0.0
    #: a number of tasks that is wrong: none, or very many
    jump: float = 0.0
    #: an agent in a listing that cannot be read
    unreadable: float = 0.0
    #: as agents are listed, one of them that is listed as idle claims a task
    race: float = 0.0
    #: how late the listing is
    lag_s: float = 0.0
    #: how much its clock is ahead
    skew_s: float = 0.0
    #: an agent is listed this long after it was last heard of
    kept: int = 12 * HOUR
    #: there is one record for all agents of a name, not one for each that registered
    by_name: bool = False
    #: an agent is never listed, whatever it does
    unlisted: float = 0.0
    outages: tuple[Outage, ...] = ()


class Task(Struct, frozen=True, gc=False):
    """A task that came."""

    number: int
    job_class: str
    seconds: float


class Agent:
    """An agent as it really is."""

    __slots__ = (
        "connected_at",
        "gone_at",
        "is_listed",
        "is_taking",
        "job_class",
        "name",
        "take",
        "task",
        "used_at",
    )

    def __init__(
        self, name: str, job_class: str, connected_at: Instant, take: Callable[[Task], None]
    ) -> None:
        self.name = name
        self.job_class = job_class
        self.connected_at = connected_at
        self.take = take
        self.is_taking = True
        self.task: Task | None = None
        self.used_at: Instant | None = None
        self.gone_at: Instant | None = None
        #: None until somebody asks for a listing that could show it
        self.is_listed: bool | None = None


class SimCircle:
    """The truth. `plans` are the tasks that an organisation may run at once."""

    def __init__(
        self, clock: Clock, dice: random.Random, plans: Mapping[str, int], came: Callable[[int], None]
    ) -> None:
        self._clock = clock
        self._came = came
        self._dice = dice
        self._plans = plans
        self.waiting: dict[str, deque[Task]] = defaultdict(deque)
        self.running: Counter[str] = Counter()
        self.agents: dict[str, list[Agent]] = defaultdict(list)
        self._next = 1
        self.done = 0
        #: tasks whose machine crashed, or whose class nobody serves any more
        self.lost = 0

    @property
    def unfinished(self) -> int:
        """Tasks that wait or run."""
        return sum(map(len, self.waiting.values())) + sum(self.running.values())

    def submit(self, job_class: str, seconds: float) -> Task:
        """A task comes."""
        task = Task(self._next, job_class, seconds)
        self._next += 1
        self.waiting[job_class].append(task)
        self._came(task.number)
        self._wake_waiting(job_class)
        return task

    def register(self, name: str, job_class: str, take: Callable[[Task], None]) -> Agent:
        """An agent calls for the first time; it will `take` one task."""
        agent = Agent(name, job_class, self._clock.now(), take)
        self.agents[job_class].append(agent)
        self._wake_waiting(job_class)
        return agent

    def claim(self, agent: Agent) -> bool:
        """Give an agent a task, if there is one that may run."""
        waiting = self.waiting[agent.job_class]
        if not waiting or not agent.is_taking or agent.gone_at is not None:
            return False
        organisation = agent.job_class.partition("/")[0]
        most = self._plans.get(organisation)
        if most is not None and most <= sum(
            count for name, count in self.running.items() if name.partition("/")[0] == organisation
        ):
            return False
        task = waiting.popleft()
        agent.is_taking, agent.task, agent.used_at = False, task, self._clock.now()
        self.running[agent.job_class] += 1
        agent.take(task)
        return True

    def finish(self, agent: Agent, *, is_lost: bool = False) -> None:
        """An agent's task ended, with success or with its machine."""
        assert agent.task is not None
        self.running[agent.job_class] -= 1
        agent.task = None
        if is_lost:
            self.lost += 1
        else:
            self.done += 1
        for job_class in sorted(self.waiting):
            self._wake_waiting(job_class)

    def abandon(self, job_class: str) -> None:
        """Nobody serves a class any more: what waits for it is taken back."""
        self.lost += len(self.waiting.pop(job_class, ()))

    def leave(self, agent: Agent) -> None:
        """An agent is not heard of any more."""
        agent.is_taking = False
        agent.gone_at = agent.gone_at or self._clock.now()

    def _wake_waiting(self, job_class: str) -> None:
        if self.waiting[job_class]:
            loop = asyncio.get_running_loop()
            for agent in self.agents[job_class]:
                if agent.is_taking:
                    loop.call_later(self._dice.uniform(0, _HEARS_S), self.claim, agent)


class SimApi:
    """What CircleCI reports. Satisfies `remuda.sources.circleci.source.Api`; faults are counted with all others."""

    def __init__(
        self, circle: SimCircle, clock: Clock, dice: random.Random, mood: Mood, faults: Faults
    ) -> None:
        self._circle = circle
        self._clock = clock
        self._dice = dice
        self._faults = faults
        self.mood = mood
        #: by call and class: since when it fails, and when it last gave a good answer
        self.failing_since: dict[tuple[str, str], float] = {}
        self.good_at: dict[tuple[str, str], float] = {}
        #: classes that somebody deleted
        self.deleted: set[str] = set()
        #: by class: the moment that the last good listing shows
        self.listed_at: dict[str, float] = {}

    def is_known_busy(self, agent: Agent) -> bool:
        """Whether the last listing that anybody got shows that it has claimed a task."""
        listed_at = self.listed_at.get(agent.job_class)
        # What happens at the very moment of a listing is not in it.
        return (
            agent.used_at is not None
            and agent.is_listed is not False
            and listed_at is not None
            and self._shows(agent.used_at + 1, listed_at)
        )

    async def unclaimed(self, job_class: str) -> int:
        """How many tasks wait, or not quite."""
        await self._answer("unclaimed", job_class)
        return self._good("unclaimed", job_class, self._jumping(len(self._circle.waiting[job_class])))

    async def running(self, job_class: str) -> int:
        """How many tasks run, or not quite."""
        await self._answer("running", job_class)
        return self._good("running", job_class, self._jumping(self._circle.running[job_class]))

    async def agents(self, job_class: str) -> Listing:
        """The agents as they were a while ago; claims go on while the answer is on its way."""
        items, at = self._items(job_class), self._clock.monotonic()
        if any(outage.is_empty for outage in self.mood.outages if self._is_on(outage)):
            self._faults.counts["api empty listing"] += 1
            items = []
        idle = [agent for agent in self._circle.agents[job_class] if agent.is_taking]
        if idle and self._hits("race", self.mood.race):
            self._circle.submit(job_class, self._dice.uniform(1, 60))
            self._circle.claim(self._dice.choice(idle))
        await self._answer("agents", job_class)
        if self._hits("unreadable", self.mood.unreadable):
            items.insert(self._dice.randint(0, len(items)), {"name": 7})
        try:
            listing = read_agents(items, job_class)
        except ValueError as error:
            raise self._failed(
                "agents", job_class, CircleError(f"{error} (an injected fault)", "nonsense")
            ) from None
        self.listed_at[job_class] = at
        return self._good("agents", job_class, listing)

    async def close(self) -> None:
        """There are no connections."""

    def calm(self) -> None:
        """Tell late and kept as before, but well."""
        mood = self.mood
        self.mood = Mood(
            mood.latency_s,
            lag_s=mood.lag_s,
            skew_s=mood.skew_s,
            kept=mood.kept,
            by_name=mood.by_name,
        )
        for agents in self._circle.agents.values():
            for agent in agents:
                agent.is_listed = None

    async def _answer(self, call: str, job_class: str) -> None:
        mood, dice = self.mood, self._dice
        message = f"{call} of {job_class}: (an injected fault)"
        error: CircleError | None = None
        seconds = mood.latency_s * dice.uniform(0.5, 2)
        if job_class in self.deleted:
            error = CircleError(f"404, resource class not found, {message}", "refused")
            self._faults.counts["api class deleted"] += 1
        elif any(
            call in outage.calls for outage in mood.outages if self._is_on(outage) and not outage.is_empty
        ):
            error, seconds = CircleError(f"outage, {message}", "unreachable"), dice.choice((0.1, DEADLINE_S))
            self._faults.counts["api outage"] += 1
        elif self._hits("slow", mood.slow):
            error, seconds = CircleError(f"too slow, {message}", "timeout"), DEADLINE_S
        elif self._hits("limited", mood.limited):
            after = dice.choice((None, 1.0, 20.0))
            error = CircleError(f"429, {message}", "limited", is_limited=True, retry_after=after)
        elif self._hits("error", mood.error):
            error = CircleError(f"500, {message}", "error")
        elif self._hits("nonsense", mood.nonsense):
            error = CircleError(f"no answer at all, {message}", "nonsense")
        await asyncio.sleep(seconds)
        if error is not None:
            raise self._failed(call, job_class, error)

    def _is_on(self, outage: Outage) -> bool:
        return 0 <= self._clock.monotonic() - outage.at < outage.seconds

    def _hits(self, kind: str, chance: float) -> bool:
        hit = chance > 0 and self._dice.random() < chance
        if hit:
            self._faults.counts[f"api {kind}"] += 1
        return hit

    def _jumping(self, count: int) -> int:
        return (
            self._dice.choice((0, count + 1, 10 * count + 7, 100_000))
            if self._hits("jump", self.mood.jump)
            else count
        )

    def _failed(self, call: str, job_class: str, error: CircleError) -> CircleError:
        self.failing_since.setdefault((call, job_class), self._clock.monotonic())
        return error

    def _good(self, call: str, job_class: str, answer: T) -> T:
        self.failing_since.pop((call, job_class), None)
        self.good_at[call, job_class] = self._clock.monotonic()
        return answer

    def _shows(self, at: Instant, moment: float) -> bool:
        """Whether a listing of a moment shows what happened at some instant."""
        age = self._clock.monotonic() - moment
        return at + round((self.mood.lag_s + age) * SECOND) <= self._clock.now()

    def _items(self, job_class: str) -> list[object]:
        now, mono, mood = self._clock.now(), self._clock.monotonic(), self.mood
        skew = round(mood.skew_s * SECOND)
        agents = self._circle.agents[job_class]
        agents[:] = [agent for agent in agents if agent.gone_at is None or agent.gone_at + mood.kept > now]
        records: dict[object, list[Agent]] = defaultdict(list)
        for agent in agents:
            if agent.is_listed is None:
                agent.is_listed = not self._hits("unlisted agent", mood.unlisted)
            if agent.is_listed and self._shows(agent.connected_at, mono):
                records[agent.name if mood.by_name else id(agent)].append(agent)
        return [self._item(found, skew, mono, now) for found in records.values()]

    def _item(self, agents: list[Agent], skew: int, mono: float, now: Instant) -> dict[str, object]:
        """One record, for whomever it is about."""
        used = [
            agent.used_at
            for agent in agents
            if agent.used_at is not None and self._shows(agent.used_at, mono)
        ]
        return {
            "resource_class": agents[0].job_class,
            "hostname": agents[0].name.partition(".")[0],
            "name": agents[0].name,
            "first_connected": _written(min(agent.connected_at for agent in agents) + skew),
            "last_connected": _written(max(agent.gone_at or now for agent in agents) + skew),
            "last_used": _written(max(used) + skew) if used else None,
            "version": "3.1",
        }
