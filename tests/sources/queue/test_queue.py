"""The live queue, in virtual time."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec
import pytest
from tests.loop.toy import virtually

from remuda.errors import BadInput, Unavailable
from remuda.ledger.store import InlineStore, Store, Write
from remuda.model.jobs import Finished, Job, JobSpec, JobState, Run
from remuda.model.needs import Need, Worker
from remuda.sim.clock import MONDAY, SimClock
from remuda.sim.loop import run
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import POLL, Answer, Queue, Work
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import Terms

T = TypeVar("T")
CLASS = "local/shell"
REUSED = {"shell": Terms(CLASS, None, 60_000)}
SINGLE = {"shell": Terms(CLASS, 1, 60_000)}


class SlowStore:
    """A store whose writes take a moment to come back, as those of a disk do; it can be full."""

    is_apart = False
    is_writer = True

    def __init__(self, dice: Random | None = None, longest_s: float = 0.01) -> None:
        self.inner = InlineStore((TABLES,))
        self._dice = dice or Random(1)
        self._longest_s = longest_s
        #: writes that fail from now on
        self.failures = 0
        self.writes = 0

    async def write(self, change: Write[T], *, durable: bool = True) -> T:
        self.writes += 1
        if self.failures:
            self.failures -= 1
            raise Unavailable("full")
        await asyncio.sleep(self._dice.uniform(0, self._longest_s))
        answer = await self.inner.write(change)
        await asyncio.sleep(self._dice.uniform(0, self._longest_s))
        return answer

    def read(self, question: Write[T]) -> T:
        return self.inner.read(question)


class Desk:
    """A queue in a test, on the virtual loop that runs now."""

    def __init__(
        self, root: Path | None = None, store: Store | None = None, terms: dict[str, Terms] | None = None
    ) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.store = store or InlineStore((TABLES,))
        self.files = NoFiles() if root is None else JobFiles(root)
        self.wakes = 0
        self.on_wake: Callable[[], object] = lambda: None
        self.queue = Queue(self.store, self.files, self.clock, self._wake)
        self.queue.serve(REUSED if terms is None else terms)

    def _wake(self) -> None:
        self.wakes += 1
        self.on_wake()

    async def submit(self, **terms: Any) -> int:
        job = rows.Submission(**{"job_class": CLASS, "spec": JobSpec(("true",)), **terms})
        return (await self.queue.submit(job))[0]

    async def next(
        self, machine: str = "shell-1", finished: Finished | None = None, *, leaving: bool = False
    ) -> Answer:
        return await self.queue.next(machine, finished, leaving=leaving)

    async def run_job(self, machine: str = "shell-1", finished: Finished | None = None) -> Work:
        """The job a machine is given."""
        answer = await self.next(machine, finished)
        assert answer.do == "run", answer
        assert answer.job is not None
        return answer.job

    def job(self, number: int) -> Job:
        found = self.store.read(lambda db: rows.job(db, number))
        assert found is not None
        return found

    async def need(self) -> tuple[int, int]:
        need = (await self.queue.read()).needs[CLASS]
        return need.unclaimed, need.running

    async def workers(self) -> dict[str, Worker]:
        return (await self.queue.read()).workers

    def soon(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return asyncio.get_running_loop().create_task(work)


class NoFiles(JobFiles):
    """For tests without files."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))


def exited(work: Work, code: int = 0) -> Finished:
    return Finished(work.id, work.attempt, "exited", code)


# A machine asks.


@virtually
async def test_a_waiting_job_is_given_at_once_with_all_it_needs(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    spec = JobSpec(("make", "test"), {"A": "1"}, timeout=5_000)
    number = await desk.submit(spec=spec)
    work = await desk.run_job()
    assert (work.id, work.attempt, work.command, work.env, work.timeout_ms) == (
        number,
        1,
        ("make", "test"),
        {"A": "1"},
        5_000,
    )
    assert work.files == f"{tmp_path}/{number}-1"
    assert desk.clock.monotonic() == 0


@virtually
async def test_without_a_timeout_of_its_own_a_job_has_the_pools() -> None:
    desk = Desk()
    await desk.submit()
    assert (await desk.run_job()).timeout_ms == 60_000


@virtually
@pytest.mark.parametrize(
    ("own", "took", "words"),
    [
        pytest.param(5_000, 5_100, "over its own timeout of 5s", id="its own"),
        pytest.param(None, 60_100, "over the jobTimeout of 1m of pool shell", id="the pool's"),
        pytest.param(None, 30_000, "over the jobTimeout of pool shell", id="one that the pool had before"),
    ],
)
async def test_a_job_that_ran_too_long_names_the_limit_and_whose_it_was(
    own: int | None, took: int, words: str
) -> None:
    desk = Desk()
    number = await desk.submit(spec=JobSpec(("make",), timeout=own))
    await desk.run_job()
    ended = Finished(number, 1, "timeout", 143, started_at=1_000, finished_at=1_000 + took)
    await desk.next(finished=ended, leaving=True)
    assert desk.job(number).attempts[0].detail == words


@virtually
async def test_an_idle_machine_waits_for_a_job_and_gets_it_when_it_comes() -> None:
    desk = Desk()
    asked = desk.soon(desk.next())
    await asyncio.sleep(10)
    number = await desk.submit()
    answer = await asked
    assert answer.job is not None
    assert answer.job.id == number
    assert desk.clock.monotonic() == 10


@virtually
async def test_machines_do_not_ask_the_store_for_what_others_are_just_taking() -> None:
    store = SlowStore()
    desk = Desk(store=store)
    idle = [desk.soon(desk.next(f"shell-{number}")) for number in range(1, 21)]
    await asyncio.sleep(1)
    for _ in range(10):
        await desk.submit()
    await asyncio.sleep(1)
    assert sum(each.done() for each in idle) == 10
    # Each machine made itself known, each job was handed in and taken.
    assert store.writes == 20 + 10 + 10
    for each in idle:
        each.cancel()


@virtually
async def test_a_poll_without_work_is_answered_after_a_while() -> None:
    desk = Desk()
    assert await desk.next() == Answer("wait")
    assert desk.clock.monotonic() == POLL


@virtually
async def test_the_answer_that_was_lost_is_given_again() -> None:
    desk = Desk()
    await desk.submit()
    await desk.submit()
    first = await desk.run_job()
    again = await desk.run_job()
    assert first == again
    assert await desk.need() == (1, 1)
    assert len(desk.job(first.id).attempts) == 1


@virtually
async def test_a_finish_that_is_repeated_after_a_lost_answer_gives_the_same_next_job() -> None:
    desk = Desk()
    for _ in range(3):
        await desk.submit()
    done = exited(await desk.run_job())
    second = await desk.run_job(finished=done)
    again = await desk.run_job(finished=done)
    assert second == again
    assert desk.job(done.job).state is JobState.SUCCEEDED
    assert await desk.need() == (1, 1)


@virtually
async def test_a_failed_job_with_tries_left_waits_again_and_else_has_failed() -> None:
    desk = Desk()
    number = await desk.submit(retries=1)
    first = await desk.run_job()
    second = await desk.run_job(finished=exited(first, 3))
    assert (second.id, second.attempt) == (number, 2)
    asked = desk.soon(desk.next(finished=exited(second, 3)))
    await asyncio.sleep(1)
    job = desk.job(number)
    assert job.state is JobState.FAILED
    assert [attempt.exit_code for attempt in job.attempts] == [3, 3]
    asked.cancel()


@virtually
async def test_a_late_finish_of_a_machine_that_was_given_up_changes_nothing() -> None:
    desk = Desk()
    number = await desk.submit(retries=1)
    late = await desk.run_job("shell-1")
    await desk.queue.forget("shell-1")
    other = await desk.run_job("shell-2")
    asked = desk.soon(desk.next("shell-1", exited(late)))
    await asyncio.sleep(1)
    assert desk.job(number).state is JobState.RUNNING
    assert [attempt.status for attempt in desk.job(number).attempts] == ["lost", None]
    await desk.queue.close("shell-1")
    assert await asked == Answer("end")
    assert other.attempt == 2


# A machine goes.


@virtually
async def test_a_closed_machine_gets_nothing_more() -> None:
    desk = Desk()
    assert await desk.queue.close("shell-1")
    await desk.submit()
    assert await desk.next() == Answer("end")
    assert await desk.need() == (1, 0)


@virtually
async def test_a_machine_that_is_closed_while_it_waits_is_told_to_end_at_once() -> None:
    desk = Desk()
    asked, other = desk.soon(desk.next("shell-1")), desk.soon(desk.next("shell-2"))
    await asyncio.sleep(3)
    assert await desk.queue.close("shell-1")
    assert await asked == Answer("end")
    assert desk.clock.monotonic() == 3
    assert await other == Answer("wait")
    assert desk.clock.monotonic() == POLL


@virtually
async def test_a_machine_that_is_closed_while_it_works_finishes_and_ends() -> None:
    desk = Desk()
    await desk.submit()
    await desk.submit()
    work = await desk.run_job()
    assert not await desk.queue.close("shell-1")
    assert await desk.run_job() == work, "it may still ask for what it has"
    assert await desk.next(finished=exited(work)) == Answer("end")
    assert await desk.need() == (1, 0)


@virtually
async def test_a_machine_that_wants_to_leave_is_let_go_but_not_with_a_job() -> None:
    desk = Desk()
    await desk.submit()
    work = await desk.run_job()
    answer = await desk.next(leaving=True)
    assert answer.job == work, "the answer was lost, so it has a job it does not know of"
    assert await desk.next(finished=exited(work), leaving=True) == Answer("end")
    assert (await desk.workers())["shell-1"].closed
    await desk.submit()
    assert await desk.next() == Answer("end"), "it stays closed"


@virtually
async def test_a_machine_ends_after_its_last_use() -> None:
    desk = Desk(terms={"shell": Terms(CLASS, 2, 60_000)})
    for _ in range(3):
        await desk.submit()
    first = await desk.run_job()
    second = await desk.run_job(finished=exited(first))
    assert await desk.next(finished=exited(second)) == Answer("end")
    assert await desk.need() == (1, 0)


@virtually
async def test_a_used_up_machine_that_is_woken_for_a_job_lets_another_have_it() -> None:
    desk = Desk()
    await desk.submit()
    done = exited(await desk.run_job("shell-1"))
    used, fresh = desk.soon(desk.next("shell-1", done)), desk.soon(desk.next("shell-2"))
    await asyncio.sleep(1)
    desk.queue.serve(SINGLE)
    await asyncio.sleep(1)
    await desk.submit()
    assert (await fresh).do == "run"
    assert (await used).do in {"end", "wait"}
    assert desk.clock.monotonic() <= 2.1 or (await used).do == "wait"


@virtually
async def test_machines_of_a_pool_that_is_no_longer_served_are_told_to_end() -> None:
    desk = Desk()
    await desk.submit()
    work = await desk.run_job("shell-1")
    idle = desk.soon(desk.next("shell-2"))
    await asyncio.sleep(1)
    desk.queue.serve({})
    assert await idle == Answer("end")
    assert (await desk.run_job("shell-1")).id == work.id, "its job goes on"
    assert await desk.next("shell-1", exited(work)) == Answer("end")


@virtually
async def test_a_dead_machines_job_is_settled_by_the_result_it_left(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    number = await desk.submit()
    work = await desk.run_job()
    Path(f"{work.files}.json").write_text(
        f'{{"job": {number}, "attempt": 1, "status": "exited", "exit_code": 0, "finished_at": 77}}'
    )
    await desk.queue.forget("shell-1")
    job = desk.job(number)
    assert (job.state, job.attempts[0].finished_at) == (JobState.SUCCEEDED, 77)
    assert await desk.need() == (0, 0)
    assert await desk.workers() == {}


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(None, id="nothing"),
        pytest.param(b'{"job": 1, "att', id="half a result"),
        pytest.param(b'{"job": 1, "attempt": 9, "status": "exited", "exit_code": 0}', id="another's result"),
        pytest.param(b"\xff\x00", id="garbage"),
    ],
)
@virtually
async def test_a_dead_machines_job_without_a_result_is_lost_and_retried_or_failed(
    tmp_path: Path, left: bytes | None
) -> None:
    desk = Desk(tmp_path)
    number = await desk.submit(retries=1)
    for machine, state in (("shell-1", JobState.WAITING), ("shell-2", JobState.FAILED)):
        work = await desk.run_job(machine)
        if left is not None:
            Path(f"{work.files}.json").write_bytes(left)
        await desk.queue.forget(machine)
        assert desk.job(number).state is state
    assert [(item.status, item.detail) for item in desk.job(number).attempts] == [
        ("lost", "machine shell-1 died"),
        ("lost", "machine shell-2 died"),
    ]
    assert await desk.need() == (0, 0)


@pytest.mark.parametrize(
    ("is_reported", "status", "detail"),
    [
        pytest.param(
            True,
            "killed",
            "shell-1 is removed at once by an ordered rollout, and its job 1 with it",
            id="it heard of its end",
        ),
        pytest.param(
            False,
            "lost",
            "machine shell-1 died; shell-1 is removed at once by an ordered rollout, and its job 1 with it",
            id="it did not",
        ),
    ],
)
@virtually
async def test_a_job_that_ended_with_its_machine_says_why_remuda_removed_it(
    is_reported: bool, status: str, detail: str
) -> None:
    desk = Desk()
    number = await desk.submit()
    work = await desk.run_job()
    reason = {"code": "machine.rollout-now", "subject": "machine/shell-1", "terms": {"job": str(number)}}
    action = msgspec.msgpack.encode({"type": "delete", "target": "shell-1", "reason": reason})
    await desk.store.write(
        lambda db: db.execute(
            "INSERT INTO operations (loop, target, cycle, started_at, action) VALUES ('pools', 'shell-1', 1, 1, ?)",
            (action,),
        )
    )
    if is_reported:
        await desk.next(finished=Finished(work.id, work.attempt, "killed", 143), leaving=True)
    await desk.queue.forget("shell-1")
    (attempt,) = desk.job(number).attempts
    assert (attempt.status, attempt.detail) == (status, detail)


@virtually
async def test_forgetting_twice_or_a_stranger_changes_nothing() -> None:
    desk = Desk()
    await desk.submit(retries=1)
    await desk.run_job()
    for machine in ("shell-1", "shell-1", "stranger-9"):
        await desk.queue.forget(machine)
        assert await desk.need() == (1, 0)


# Jobs are cancelled and retried.


@virtually
async def test_a_waiting_job_is_cancelled_at_once() -> None:
    desk = Desk()
    number = await desk.submit()
    assert await desk.queue.cancel(number) is JobState.WAITING
    assert await desk.need() == (0, 0)
    assert await desk.queue.cancel(number) is JobState.CANCELLED
    assert await desk.need() == (0, 0)


@virtually
async def test_a_running_job_is_cancelled_through_its_machine() -> None:
    desk = Desk()
    number = await desk.submit(retries=5)
    work = await desk.run_job()
    watched = desk.soon(desk.queue.watch("shell-1", Run("", number, 1)))
    await asyncio.sleep(2)
    assert await desk.queue.cancel(number) is JobState.RUNNING
    assert await watched == "cancel"
    assert desk.clock.monotonic() == 2
    assert await desk.queue.watch("shell-1", Run("", number, 1)) == "cancel"
    asked = desk.soon(desk.next(finished=Finished(number, work.attempt, "cancelled", 143)))
    await asyncio.sleep(1)
    assert desk.job(number).state is JobState.CANCELLED
    asked.cancel()


@virtually
async def test_a_watch_over_a_job_that_is_still_wanted_says_so_after_a_while() -> None:
    desk = Desk()
    number = await desk.submit()
    await desk.run_job()
    assert await desk.queue.watch("shell-1", Run("", number, 1)) == "continue"
    assert desk.clock.monotonic() == POLL


@virtually
async def test_watching_leaves_nothing_behind() -> None:
    desk = Desk()
    for number in range(50):
        watched = desk.soon(desk.queue.watch("shell-1", Run("", number, 1)))
        await asyncio.sleep(0.1)
        watched.cancel()
        await asyncio.wait([watched])
    del watched
    assert len(desk.queue._changed) == 0


@virtually
async def test_an_ended_job_is_retried_and_an_idle_machine_gets_it() -> None:
    desk = Desk()
    number = await desk.submit()
    first = await desk.run_job()
    asked = desk.soon(desk.next(finished=exited(first, 1)))
    await asyncio.sleep(1)
    assert await desk.queue.retry(number) is JobState.FAILED
    answer = await asked
    assert answer.job is not None
    assert (answer.job.id, answer.job.attempt) == (number, 2)
    assert await desk.queue.retry(number) is JobState.RUNNING, "one that runs is left alone"
    assert await desk.need() == (0, 1)


@virtually
async def test_what_does_not_exist_cannot_be_cancelled_or_retried() -> None:
    desk = Desk()
    for change in (desk.queue.cancel, desk.queue.retry):
        with pytest.raises(BadInput, match="there is no job 7"):
            await change(7)


# Jobs that cannot be started.


def unreadable(path: Path) -> str:
    return str(path / "no such file")


def huge(path: Path) -> str:
    (path / "huge").write_bytes(b"x" * (64 * 1024 + 1))
    return str(path / "huge")


def with_nul(path: Path) -> str:
    (path / "nul").write_bytes(b"a\0b")
    return str(path / "nul")


def binary(path: Path) -> str:
    (path / "binary").write_bytes(b"\xff\xfe")
    return str(path / "binary")


def directory(path: Path) -> str:
    return str(path)


def pipe(path: Path) -> str:
    os.mkfifo(path / "pipe")
    return str(path / "pipe")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(
            unreadable, "secret TOKEN cannot be read from {}: No such file or directory", id="missing"
        ),
        pytest.param(huge, "secret TOKEN in {} is larger than 64 KiB", id="huge"),
        pytest.param(with_nul, "secret TOKEN in {} has a NUL byte", id="a NUL byte"),
        pytest.param(binary, "secret TOKEN in {} is not UTF-8 text", id="no text"),
        pytest.param(directory, "secret TOKEN cannot be read from {}: ", id="a directory"),
        pytest.param(pipe, "secret TOKEN cannot be read from {}: it is no regular file", id="a pipe"),
    ],
)
@virtually
async def test_a_secret_that_cannot_be_had_fails_its_job_with_the_reason_and_the_next_one_runs(
    tmp_path: Path, make: Callable[[Path], str], message: str
) -> None:
    desk = Desk(tmp_path / "jobs")
    path = make(tmp_path)
    bad = await desk.submit(spec=JobSpec(("true",), secret_files={"TOKEN": path}), retries=1)
    good = await desk.submit()
    assert (await desk.run_job()).id == good
    job = desk.job(bad)
    assert job.state is JobState.FAILED
    assert [(item.status, item.exit_code) for item in job.attempts] == [("unstartable", 126)] * 2
    assert str(job.attempts[0].detail).startswith(message.format(path))
    assert await desk.need() == (0, 1)


@virtually
async def test_a_job_that_is_damaged_in_the_store_fails_and_the_next_one_runs() -> None:
    desk = Desk()
    bad, good = await desk.submit(), await desk.submit()
    await desk.store.write(lambda db: db.execute("UPDATE jobs SET spec = x'c1' WHERE id = ?", (bad,)))
    assert (await desk.run_job()).id == good
    job = desk.job(bad)
    assert (job.state, job.attempts[0].detail) == (JobState.FAILED, "what to run is damaged in the store")


@virtually
async def test_secrets_are_read_when_the_job_starts_and_the_store_never_sees_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "jobs")
    secret = tmp_path / "token"
    secret.write_text("hunter2\n")
    await desk.submit(spec=JobSpec(("true",), secret_files={"TOKEN": str(secret)}))
    secret.write_text("hunter3\n")
    assert (await desk.run_job()).secrets == {"TOKEN": "hunter3"}
    assert isinstance(desk.store, InlineStore)
    dump = "".join(desk.store.read(lambda db: list(db.iterdump())))
    assert "hunter" not in dump
    assert b"hunter".hex().upper() not in dump


@pytest.mark.slow
@virtually
async def test_thousands_of_jobs_that_cannot_start_are_failed_one_after_the_other() -> None:
    desk = Desk()
    spec = JobSpec(("true",), secret_files={"TOKEN": "/no/such/file"})
    for _ in range(2_000):
        await desk.submit(spec=spec)
    good = await desk.submit()
    assert (await desk.run_job()).id == good


# What the queue tells.


@virtually
async def test_the_reading_is_exact_and_sorted() -> None:
    desk = Desk(terms={**REUSED, "nix": Terms("local/nix", None, 1)})
    await desk.submit(priority=1)
    await desk.submit()
    await desk.run_job("shell-2")
    await asyncio.sleep(1)
    await desk.queue.close("shell-1")
    reading = await desk.queue.read()
    assert reading.needs == {"local/nix": Need(0, 0), CLASS: Need(1, 1)}
    assert list(reading.workers.items()) == [
        ("shell-1", Worker(MONDAY + 1_000, closed=True)),
        ("shell-2", Worker(MONDAY, "1", 1)),
    ]


@virtually
async def test_what_changes_a_reading_wakes_the_loop() -> None:
    desk = Desk()
    steps: list[Callable[[], Coroutine[Any, Any, object]]] = [
        desk.submit,
        desk.next,
        lambda: desk.next(finished=Finished(1, 1, "exited", 0), leaving=True),
        lambda: desk.queue.forget("shell-1"),
        desk.submit,
        lambda: desk.queue.cancel(2),
        lambda: desk.queue.retry(2),
        lambda: desk.queue.close("shell-3"),
    ]
    for number, step in enumerate(steps):
        before = desk.wakes
        await step()
        assert desk.wakes > before, number


@virtually
async def test_a_restart_finds_everything_as_it_was() -> None:
    desk = Desk()
    for _ in range(3):
        await desk.submit()
    done = exited(await desk.run_job("shell-1"))
    await desk.run_job("shell-1", done)
    await desk.queue.close("shell-2")
    before = await desk.queue.read()
    again = Desk(store=desk.store)
    assert await again.queue.read() == before
    assert (await again.run_job("shell-1")).attempt == 1


@virtually
async def test_a_running_job_whose_worker_row_is_gone_is_still_seen() -> None:
    desk = Desk()
    await desk.submit()
    await desk.run_job()
    await desk.store.write(lambda db: rows.forget(db, "shell-1"))
    again = Desk(store=desk.store)
    assert (await again.workers())["shell-1"].job == "1"
    assert await again.need() == (0, 1)


@virtually
async def test_a_job_handed_in_twice_is_counted_once() -> None:
    desk = Desk()
    for expected in (True, False, False):
        job = rows.Submission(CLASS, JobSpec(("true",)), idempotency="k")
        assert await desk.queue.submit(job) == (1, expected)
    assert await desk.need() == (1, 0)


# Callers that go away.


@virtually
async def test_a_cancelled_poll_wakes_another_machine() -> None:
    """Roused and gone at the same moment."""
    desk = Desk()
    first, second = desk.soon(desk.next("shell-1")), desk.soon(desk.next("shell-2"))
    await asyncio.sleep(1)
    desk.on_wake = first.cancel
    number = await desk.submit()
    answer = await second
    assert answer.job is not None
    assert first.cancelled()
    assert answer.job.id == number
    assert desk.clock.monotonic() == 1


@virtually
async def test_a_poll_that_ends_just_as_a_job_comes_loses_nothing() -> None:
    desk = Desk()
    first = desk.soon(desk.next("shell-1"))
    await asyncio.sleep(POLL / 2)
    second = desk.soon(desk.next("shell-2"))

    async def come() -> None:
        await asyncio.sleep(POLL / 2)
        await desk.submit()

    coming = desk.soon(come())
    answers = await asyncio.gather(first, second, coming)
    given = [answer.do for answer in answers if answer is not None]
    assert "run" in given
    assert desk.clock.monotonic() == POLL


@pytest.mark.parametrize("after", [0, 0.001, 0.003, 0.006, 0.012])
@virtually
async def test_a_change_whose_caller_goes_away_is_made_and_counted(after: float) -> None:
    desk = Desk(store=SlowStore())

    async def cut_off(work: Coroutine[Any, Any, object]) -> None:
        task = desk.soon(work)
        await asyncio.sleep(after)
        task.cancel()
        await asyncio.sleep(1)

    await cut_off(desk.submit())
    assert await desk.need() == (1, 0)
    await cut_off(desk.next())
    again = Queue(desk.store, desk.files, desk.clock, lambda: None)
    assert await again.read() == await desk.queue.read()
    work = await desk.run_job()
    await cut_off(desk.next(finished=exited(work, 1), leaving=True))
    assert await desk.need() == (0, 0)
    await cut_off(desk.queue.retry(work.id))
    assert await desk.need() == (1, 0)
    await cut_off(desk.queue.cancel(work.id))
    assert await desk.need() == (0, 0)
    await cut_off(desk.queue.close("shell-5"))
    assert (await desk.workers())["shell-5"].closed
    await cut_off(desk.queue.forget("shell-5"))
    assert "shell-5" not in await desk.workers()


@virtually
async def test_a_full_disk_is_reported_and_the_next_call_finds_everything_as_it_was() -> None:
    store = SlowStore()
    desk = Desk(store=store)
    await desk.submit()
    asked = desk.soon(desk.next("shell-2"))
    await asyncio.sleep(1)
    await asked
    store.failures = 4
    for call in (desk.submit, desk.next, lambda: desk.queue.close("shell-1"), lambda: desk.queue.cancel(1)):
        with pytest.raises(Unavailable, match="full"):
            await call()
    assert await desk.need() == (0, 1)
    assert await desk.submit() == 2
    assert (await desk.run_job()).id == 2


@virtually
async def test_a_machine_that_was_woken_into_a_full_disk_does_not_keep_the_job_from_others() -> None:
    store = SlowStore(longest_s=0)
    desk = Desk(store=store)
    first, second = desk.soon(desk.next("shell-1")), desk.soon(desk.next("shell-2"))
    await asyncio.sleep(1)
    desk.on_wake = lambda: setattr(store, "failures", desk.wakes == before + 1)
    before = desk.wakes
    await desk.submit()
    with pytest.raises(Unavailable):
        await first
    assert (await second).do == "run"
    assert desk.clock.monotonic() == 1


# Histories.


class Shop:
    """Machines that work and clients that submit, with slow writes and lost answers, by seeded chance."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.desk = Desk(store=SlowStore(self.dice, self.dice.choice([0, 0.001, 0.05])))
        #: every (job, attempt) that was run, by how often
        self.runs: Counter[tuple[int, int]] = Counter()
        self.finishing = False

    async def machine(self, name: str) -> None:
        """A careful machine: it repeats a call whose answer it did not hear, with the same words."""
        finished: Finished | None = None
        while not self.finishing:
            limit = self.dice.choice([0.001, 0.01, 0.1, 30])
            try:
                async with asyncio.timeout(limit):
                    answer = await self.desk.next(name, finished)
            except TimeoutError:
                await asyncio.sleep(self.dice.choice([0, 0.001, 0.1]))
                continue
            finished = None
            if answer.job is not None:
                self.runs[answer.job.id, answer.job.attempt] += 1
                await asyncio.sleep(self.dice.choice([0, 0.001, 1]))
                finished = exited(answer.job, self.dice.choice([0, 0, 0, 1]))

    async def client(self, jobs: int) -> None:
        for _ in range(jobs):
            await asyncio.sleep(self.dice.choice([0, 0, 0.001, 0.5]))
            key = str(self.dice.random())
            job = rows.Submission(CLASS, JobSpec(("true",)), retries=2, idempotency=key)
            while True:
                try:
                    async with asyncio.timeout(self.dice.choice([0.001, 1])):
                        await self.desk.queue.submit(job)
                    break
                except TimeoutError:
                    continue


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 25))]
)
def test_safety_and_liveness_every_job_runs_once_an_attempt_and_all_end_in_the_end(seed: int) -> None:
    async def history() -> None:
        shop = Shop(seed)
        machines = shop.dice.randint(1, 12)
        clients = shop.dice.randint(1, 5)
        jobs = 20
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(shop.machine(f"shell-{number}")) for number in range(machines)]
            await asyncio.gather(*(shop.client(jobs) for _ in range(clients)))
            await wait_until(lambda: ended(shop.desk) == jobs * clients, 600)
            shop.finishing = True
            for worker in workers:
                worker.cancel()
        assert shop.runs
        assert max(shop.runs.values()) == 1, "an attempt is never run twice"
        for number in range(1, jobs * clients + 1):
            job = shop.desk.job(number)
            assert {(number, attempt.number) for attempt in job.attempts} == {
                run for run in shop.runs if run[0] == number
            }
        fresh = Queue(shop.desk.store, shop.desk.files, shop.desk.clock, lambda: None)
        fresh.serve(REUSED)
        assert await fresh.read() == await shop.desk.queue.read(), "the mirror is what the store says"

    run(history(), seed=seed)


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 15))]
)
def test_liveness_nobody_waits_while_there_is_work(seed: int) -> None:
    """Machines hang up and come back at any time; a waiting job and a waiting machine always find each other."""

    async def history() -> None:
        dice = Random(seed)
        desk = Desk(store=SlowStore(dice, 0.002))
        polls: dict[asyncio.Task[Answer], str] = {}
        names = (f"shell-{number}" for number in range(10_000))
        for _ in range(150):
            match dice.randrange(4):
                case 0:
                    await desk.submit()
                case 1 if polls:
                    dice.choice(sorted(polls, key=lambda task: polls[task])).cancel()
                case 2:
                    await desk.queue.close(polls[dice.choice(list(polls))] if polls else "shell-x")
                case _:
                    name = next(names)
                    polls[desk.soon(desk.next(name))] = name
            await asyncio.sleep(dice.choice([0, 0, 0.001, 0.02]))
            polls = {task: name for task, name in polls.items() if not task.done()}
            if dice.random() < 0.3:
                await asyncio.sleep(0.2)
                polls = {task: name for task, name in polls.items() if not task.done()}
                assert not (polls and (await desk.need())[0]), "a machine waits while a job does"
        for task in polls:
            task.cancel()

    run(history(), seed=seed)


async def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110 - time is virtual
            await asyncio.sleep(0.5)


def ended(desk: Desk) -> int:
    counts = desk.store.read(rows.state_counts)
    return sum(number for state, number in counts.items() if JobState(state).is_end)
