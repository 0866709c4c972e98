"""
What every source of needs promises to the pools.

`rig` is a source whose machines ask it for work; `any_rig` may also be one that only hears of what they do.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contracts.patience import PATIENCE_S, eventually
from tests.contracts.stores import Stored, opened
from tests.servers.postgres import PostgresServer
from tests.sources.circleci.fake import Rig as CircleRig
from tests.sources.queue.shared_host import SharedHost

from remuda.loop.clock import SystemClock
from remuda.model.jobs import Finished, JobSpec
from remuda.model.machines import pool_of
from remuda.model.needs import Need, Reading, Worker
from remuda.pools.ports import Source
from remuda.sim.shim import Desk
from remuda.sim.source import SimSource
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Answer, Queue, Work
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import Terms

TERMS = {"a": Terms("class-a", None, 0), "once": Terms("class-once", 1, 0)}


@dataclass
class Rig:
    """A source with one way to hand jobs in and one for machines to ask."""

    source: Source
    desk: Desk
    hand_in: Callable[[str, int], Awaitable[object]]
    #: let the source hear of all that happened
    listen: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)

    async def submit(self, job_class: str = "class-a", retries: int = 0) -> None:
        await self.hand_in(job_class, retries)

    async def take(self, machine: str, finished: Finished | None = None) -> Work:
        """Ask for work that is there."""
        async with asyncio.timeout(PATIENCE_S):
            answer = await self.desk.next(machine, finished, leaving=False)
        assert answer.job is not None, answer
        return answer.job

    async def end(self, machine: str, finished: Finished | None = None, *, leaving: bool = False) -> None:
        """Ask and be told to end."""
        async with asyncio.timeout(PATIENCE_S):
            answer = await self.desk.next(machine, finished, leaving=leaving)
        assert answer.do == "end"

    async def read(self) -> Reading:
        await self.listen()
        return await self.source.read()

    async def need(self, job_class: str = "class-a") -> Need:
        return (await self.read()).needs[job_class]

    async def has_met(self, count: int) -> bool:
        return len((await self.read()).workers) == count

    async def worker(self, machine: str) -> Worker | None:
        return (await self.read()).workers.get(machine)


def result(work: Work, exit_code: int = 0) -> Finished:
    return Finished(work.id, work.attempt, "exited", exit_code, store=work.store)


class CircleDesk:
    """Agents that take tasks of a CircleCI, each one task."""

    def __init__(self, circle: CircleRig) -> None:
        self._api = circle.api
        for terms in TERMS.values():
            self._api.counts[terms.job_class] = (0, 0)
            self._api.workers[terms.job_class] = {}

    async def submit(self, job_class: str, _: int) -> None:
        unclaimed, running = self._api.counts[job_class]
        self._api.counts[job_class] = (unclaimed + 1, running)

    async def _has_task(self, job_class: str) -> bool:
        return self._api.counts[job_class][0] > 0

    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        assert finished is None
        assert not leaving
        job_class = TERMS[pool_of(machine)].job_class
        now = self._api.clock.now()
        self._api.workers[job_class][machine] = Worker(now, connected_at=now)
        await eventually(lambda: self._has_task(job_class))
        unclaimed, running = self._api.counts[job_class]
        self._api.counts[job_class] = (unclaimed - 1, running + 1)
        self._api.workers[job_class][machine] = Worker(now, "task", 1, connected_at=now)
        return Answer("run", Work(1, 1, (), {}, {}, "", 0, 0))


def circle_rig() -> Rig:
    circle = CircleRig(SystemClock(), {pool: terms.job_class for pool, terms in TERMS.items()}, rate=1e6)
    circle.api.latency = 0.0
    desk = CircleDesk(circle)
    return Rig(circle.source, desk, desk.submit, circle.source.refresh)


QUEUES = [
    "queue",
    "queue in a file",
    pytest.param("queue on PostgreSQL", marks=pytest.mark.slow),
    pytest.param("queue that hosts share", marks=pytest.mark.slow),
]


@pytest.fixture(params=[*QUEUES, "simulated"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async for rig in open_rig(request.param, tmp_path, request):
        yield rig


@pytest.fixture(params=[*QUEUES, "simulated", "circleci"])
async def any_rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async for rig in open_rig(request.param, tmp_path, request):
        yield rig


async def shared_rig(server: PostgresServer, schema: str, directory: Path) -> AsyncIterator[Rig]:
    """One of two hosts; the other one is there, and serves nothing."""
    other, one = SharedHost(server, schema, directory, "two"), SharedHost(server, schema, directory, "one")
    one.queue.serve(TERMS)
    spec = JobSpec(("true",))

    async def hand_in(job_class: str, retries: int) -> object:
        return await one.queue.submit(rows.Submission(job_class, spec, 0, retries))

    yield Rig(one.queue, one.queue, hand_in, one.queue.look_around)
    one.close()
    other.close()


async def open_rig(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    clock = SystemClock()
    if kind == "queue that hosts share":
        server, schema = request.getfixturevalue("postgres"), request.getfixturevalue("schema")
        async for rig in shared_rig(server, schema, tmp_path):
            yield rig
        return
    if kind == "circleci":
        yield circle_rig()
        return
    if kind == "simulated":
        source = SimSource(clock, TERMS, lambda: None)

        async def hand_in(job_class: str, retries: int) -> object:
            return source.submit(job_class, ("run", "0", "0"), retries)

        yield Rig(source, source, hand_in)
        return
    stores = {"queue": "inline", "queue in a file": "sqlite", "queue on PostgreSQL": "postgres"}
    with opened(stores[kind], tmp_path, request, (TABLES,)) as store:
        yield queue_rig(store, tmp_path, clock)


def queue_rig(store: Stored, tmp_path: Path, clock: SystemClock) -> Rig:
    queue = Queue(store, JobFiles(tmp_path / "jobs"), clock, lambda: None)
    queue.serve(TERMS)
    spec = JobSpec(("true",))
    return Rig(
        queue, queue, lambda job_class, retries: queue.submit(rows.Submission(job_class, spec, 0, retries))
    )


async def test_a_class_without_jobs_has_a_need_of_nothing(any_rig: Rig) -> None:
    reading = await any_rig.read()
    assert reading.needs == {"class-a": Need(0, 0), "class-once": Need(0, 0)}
    assert reading.workers == {}


async def test_a_job_that_waits_is_unclaimed_and_one_that_was_taken_is_running(any_rig: Rig) -> None:
    await any_rig.submit("class-once")
    await any_rig.submit("class-once")
    assert await any_rig.need("class-once") == Need(2, 0)
    await any_rig.take("once-1")
    assert await any_rig.need("class-once") == Need(1, 1)
    worker = await any_rig.worker("once-1")
    assert worker is not None
    assert (worker.job is not None, worker.uses, worker.closed) == (True, 1, False)


async def test_to_close_says_whether_a_machine_has_work_and_says_the_same_again(any_rig: Rig) -> None:
    await any_rig.submit("class-once")
    await any_rig.take("once-1")
    waiting = asyncio.ensure_future(any_rig.desk.next("a-1", None, leaving=False))
    await eventually(lambda: any_rig.has_met(2))
    for machine, is_free in (("once-1", False), ("a-1", True), ("a-9", True)):
        assert [await any_rig.source.close(machine), await any_rig.source.close(machine)] == [is_free] * 2
        worker = await any_rig.worker(machine)
        assert worker is not None
        assert (worker.closed, worker.job is None) == (True, is_free)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_machine_that_was_closed_and_is_gone_is_no_worker(any_rig: Rig) -> None:
    await any_rig.submit("class-once")
    await any_rig.take("once-1")
    await any_rig.worker("once-1")
    await any_rig.source.close("once-1")
    await any_rig.source.forget("once-1")
    await any_rig.source.forget("once-1")
    assert await any_rig.worker("once-1") is None


async def test_a_job_waits_until_a_machine_takes_it_and_runs_until_it_is_finished(rig: Rig) -> None:
    await rig.submit()
    assert await rig.need() == Need(1, 0)
    work = await rig.take("a-1")
    assert await rig.need() == Need(0, 1)
    worker = await rig.worker("a-1")
    assert worker is not None
    assert (worker.job, worker.uses, worker.closed) == (str(work.id), 1, False)
    await rig.submit()
    await rig.take("a-1", result(work))
    assert await rig.need() == Need(0, 1)


async def test_a_machine_that_did_not_hear_the_answer_gets_the_same_job_again(rig: Rig) -> None:
    await rig.submit()
    await rig.submit()
    first, again = await rig.take("a-1"), await rig.take("a-1")
    assert (first.id, first.attempt) == (again.id, again.attempt)
    assert await rig.need() == Need(1, 1)


async def test_a_result_that_is_handed_in_twice_counts_once(rig: Rig) -> None:
    await rig.submit()
    await rig.submit()
    first = await rig.take("a-1")
    second = await rig.take("a-1", result(first))
    again = await rig.take("a-1", result(first))
    assert (second.id, second.attempt) == (again.id, again.attempt)
    assert await rig.need() == Need(0, 1)


async def test_a_job_that_failed_waits_again_while_it_has_retries(rig: Rig) -> None:
    await rig.submit(retries=1)
    first = await rig.take("a-1")
    second = await rig.take("a-1", result(first, 1))
    assert (second.id, second.attempt) == (first.id, 2)
    await rig.end("a-1", result(second, 1), leaving=True)
    assert await rig.need() == Need(0, 0)


async def test_a_closed_machine_gets_no_more_work_for_good(rig: Rig) -> None:
    await rig.submit()
    await rig.submit()
    work = await rig.take("a-1")
    assert [await rig.source.close("a-1"), await rig.source.close("a-1")] == [False, False]
    worker = await rig.worker("a-1")
    assert worker is not None
    assert (worker.closed, worker.job) == (True, str(work.id))
    await rig.end("a-1", result(work))
    assert await rig.source.close("a-1")
    await rig.end("a-1")
    assert await rig.need() == Need(1, 0)


async def test_a_closed_machine_that_waits_for_work_is_asked_to_end(rig: Rig) -> None:
    waiting = asyncio.ensure_future(rig.end("a-1"))
    await eventually(lambda: rig.has_met(1))
    assert await rig.source.close("a-1")
    await waiting


async def test_a_machine_can_be_closed_before_it_ever_asked(rig: Rig) -> None:
    await rig.submit()
    assert await rig.source.close("a-7")
    await rig.end("a-7")
    assert await rig.need() == Need(1, 0)


async def test_a_machine_that_is_used_up_or_leaves_is_asked_to_end(rig: Rig) -> None:
    await rig.submit("class-once")
    await rig.submit("class-once")
    work = await rig.take("once-1")
    await rig.end("once-1", result(work))
    await rig.end("a-1", leaving=True)
    for name in ("once-1", "a-1"):
        worker = await rig.worker(name)
        assert worker is not None
        assert (worker.closed, worker.job) == (True, None)
    assert await rig.need("class-once") == Need(1, 0)


@pytest.mark.parametrize(
    ("retries", "waiting"), [pytest.param(1, 1, id="waits again"), pytest.param(0, 0, id="has failed")]
)
async def test_a_job_whose_machine_is_gone_waits_again_or_has_failed(
    rig: Rig, retries: int, waiting: int
) -> None:
    await rig.submit(retries=retries)
    await rig.take("a-1")
    await rig.source.forget("a-1")
    await rig.source.forget("a-1")
    assert await rig.need() == Need(waiting, 0)
    assert await rig.worker("a-1") is None
    if waiting:
        assert (await rig.take("a-2")).attempt == 2


async def test_forgetting_a_machine_nobody_knows_changes_nothing(any_rig: Rig) -> None:
    await any_rig.submit()
    await any_rig.source.forget("a-9")
    reading = await any_rig.read()
    assert reading.needs == {"class-a": Need(1, 0), "class-once": Need(0, 0)}
    assert reading.workers == {}


async def test_every_job_wakes_a_machine_that_waits(rig: Rig) -> None:
    takers = [asyncio.ensure_future(rig.take(f"a-{number}")) for number in range(3)]
    await eventually(lambda: rig.has_met(3))
    for _ in range(3):
        await rig.submit()
    works = await asyncio.gather(*takers)
    assert len({work.id for work in works}) == 3


async def test_a_machine_that_goes_away_while_it_waits_takes_no_job_with_it(rig: Rig) -> None:
    """Whatever moment it goes, the job rouses another one, or is the gone one's and comes back when that is forgotten."""
    waiting = {name: asyncio.ensure_future(rig.take(name)) for name in ("a-1", "a-2")}
    await eventually(lambda: rig.has_met(2))
    await rig.submit(retries=1)
    waiting["a-1"].cancel()
    await asyncio.gather(waiting["a-1"], return_exceptions=True)
    await rig.source.forget("a-1")
    work = await waiting["a-2"]
    assert work.attempt in (1, 2)
    assert await rig.need() == Need(0, 1)
