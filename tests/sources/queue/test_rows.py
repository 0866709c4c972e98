"""The queue's transactions, one by one: each state, each event, and what comes of it."""

import sqlite3
from collections.abc import Callable

import pytest

from remuda.ledger.schema import migrate
from remuda.model.jobs import Finished, Job, JobSpec, JobState, Run
from remuda.sources.queue import rows
from remuda.sources.queue.schema import TABLES

CLASS = "local/shell"


@pytest.fixture
def db() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", isolation_level=None)
    migrate(made, "memory", (TABLES,))
    return made


def submit(db: sqlite3.Connection, now: int = 1, **terms: object) -> int:
    job = rows.Submission(**{"job_class": CLASS, "spec": JobSpec(("true",)), **terms})  # type: ignore[arg-type]
    return rows.submit(db, job, now)[0]


def claim(
    db: sqlite3.Connection, machine: str = "shell-1", now: int = 2, job_class: str = CLASS
) -> rows.Claim:
    rows.register(db, machine, now)
    claimed = rows.claim(db, machine, job_class, now)
    assert claimed is not None
    return claimed


def exited(job: int, attempt: int = 1, code: int = 0) -> Finished:
    return Finished(job, attempt, "exited", code, finished_at=5)


def find(db: sqlite3.Connection, number: int) -> Job:
    found = rows.job(db, number)
    assert found is not None
    return found


LOST = Finished(1, 1, "lost", -1, "machine shell-1 died")


# Each state a job can be in, and each thing that can happen to it there.


def make(db: sqlite3.Connection, state: str, retries: int = 0) -> int:
    """Job 1 in a state."""
    number = submit(db, retries=retries)
    match state:
        case "waiting":
            pass
        case "cancelled":
            rows.cancel(db, number, 3)
        case "running":
            claim(db)
        case "to be cancelled":
            claim(db)
            rows.cancel(db, number, 3)
        case "succeeded":
            claim(db)
            rows.finish(db, "shell-1", exited(number), 4)
        case "failed":
            claim(db)
            rows.finish(db, "shell-1", exited(number, code=1), 4)
        case _:
            raise AssertionError(state)
    return number


EVENTS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "claim": lambda db: rows.claim(db, "shell-2", CLASS, 9),
    "success": lambda db: rows.finish(db, "shell-1", exited(1), 9),
    "failure": lambda db: rows.finish(db, "shell-1", exited(1, code=3), 9),
    "lost": lambda db: rows.finish(db, "shell-1", LOST, 9),
    "cancel": lambda db: rows.cancel(db, 1, 9),
    "retry": lambda db: rows.retry(db, 1, 9),
}

#: state → event → state after; an event that is not named changes nothing at all
TABLE: dict[str, dict[str, str]] = {
    "waiting": {"claim": "running", "cancel": "cancelled"},
    "running": {"success": "succeeded", "failure": "failed", "lost": "failed", "cancel": "running"},
    "to be cancelled": {"success": "succeeded", "failure": "cancelled", "lost": "cancelled"},
    "succeeded": {"retry": "waiting"},
    "failed": {"retry": "waiting"},
    "cancelled": {"retry": "waiting"},
}


@pytest.mark.parametrize(
    ("state", "event"),
    [pytest.param(state, event, id=f"{event} of a {state} job") for state in TABLE for event in EVENTS],
)
def test_what_each_event_does_to_a_job_in_each_state(db: sqlite3.Connection, state: str, event: str) -> None:
    number = make(db, state)
    before = find(db, number)
    EVENTS[event](db)
    after = find(db, number)
    if event in TABLE[state]:
        assert after.state == TABLE[state][event]
        assert after != before
    else:
        assert after == before


@pytest.mark.parametrize(
    ("event", "state"), [("success", "succeeded"), ("failure", "waiting"), ("lost", "waiting")]
)
def test_with_tries_left_a_failed_or_lost_job_waits_again(
    db: sqlite3.Connection, event: str, state: str
) -> None:
    number = make(db, "running", retries=1)
    EVENTS[event](db)
    assert find(db, number).state == state


def test_every_state_is_in_the_table() -> None:
    assert set(TABLE) - {"to be cancelled"} == set(JobState)


# Submitting.


def test_the_same_key_is_the_same_job_whatever_else_is_said(db: sqlite3.Connection) -> None:
    first = rows.submit(db, rows.Submission(CLASS, JobSpec(("a",)), idempotency="k"), 1)
    again = rows.submit(db, rows.Submission("other", JobSpec(("b",)), idempotency="k"), 2)
    other = rows.submit(db, rows.Submission(CLASS, JobSpec(("a",)), idempotency="l"), 3)
    assert (first, again, other) == ((1, True), (1, False), (2, True))
    assert find(db, 1).spec == JobSpec(("a",))


def test_without_a_key_every_job_is_new(db: sqlite3.Connection) -> None:
    assert [submit(db) for _ in range(3)] == [1, 2, 3]


def test_a_job_is_read_back_as_it_was_handed_in(db: sqlite3.Connection) -> None:
    spec = JobSpec(("sh", "-c", "é\n"), {"A": "ü"}, {"TOKEN": "/secret"}, 5_000)
    number = submit(db, 7, spec=spec, priority=-3, retries=2)
    assert find(db, number) == Job(number, CLASS, JobState.WAITING, -3, 2, spec, 7, 7)


# Claiming.


def test_jobs_are_claimed_by_priority_then_in_their_order(db: sqlite3.Connection) -> None:
    for priority in (0, 5, -1, 5, 0):
        submit(db, priority=priority)
    claimed = [claim(db, f"shell-{number}").job for number in range(5)]
    assert claimed == [2, 4, 1, 5, 3]


def test_a_machine_gets_jobs_of_its_class_alone(db: sqlite3.Connection) -> None:
    submit(db, job_class="local/nix", priority=9)
    mine = submit(db)
    assert claim(db).job == mine
    rows.register(db, "shell-2", 1)
    assert rows.claim(db, "shell-2", CLASS, 2) is None


def test_a_machine_that_asks_again_gets_the_same_attempt_and_it_is_counted_once(
    db: sqlite3.Connection,
) -> None:
    submit(db)
    submit(db)
    first = claim(db, now=2)
    again = claim(db, now=3)
    assert (again.job, again.attempt, again.again) == (first.job, first.attempt, True)
    assert not first.again
    assert len(find(db, first.job).attempts) == 1
    assert rows.register(db, "shell-1", 4) == rows.WorkerRow("shell-1", 1, False, 2)


def test_each_attempt_is_numbered_and_kept(db: sqlite3.Connection) -> None:
    number = submit(db, retries=2)
    for attempt, machine in ((1, "shell-1"), (2, "shell-2")):
        assert claim(db, machine).attempt == attempt
        rows.finish(db, machine, exited(number, attempt, 7), 10 + attempt)
    claim(db, "shell-3")
    job = find(db, number)
    assert job.state is JobState.RUNNING
    assert [(item.number, item.machine, item.exit_code) for item in job.attempts] == [
        (1, "shell-1", 7),
        (2, "shell-2", 7),
        (3, "shell-3", None),
    ]


# Finishing.


@pytest.mark.parametrize(
    ("machine", "ended"),
    [
        pytest.param("shell-1", exited(1, 1, 9), id="late: it was retried since"),
        pytest.param("shell-9", exited(1, 2, 9), id="by a stranger"),
        pytest.param("shell-2", exited(2, 2, 9), id="of another job"),
        pytest.param("shell-2", exited(1, 3, 9), id="of an attempt still to come"),
        pytest.param("shell-2", exited(99, 1, 9), id="of no job"),
    ],
)
def test_a_finish_that_is_not_of_the_running_attempt_changes_nothing(
    db: sqlite3.Connection, machine: str, ended: Finished
) -> None:
    submit(db, retries=1)
    submit(db)
    claim(db, "shell-1")
    rows.finish(db, "shell-1", exited(1, 1, 1), 5)
    claim(db, "shell-2")
    before = list(db.iterdump())
    assert rows.finish(db, machine, ended, 9) is None
    assert list(db.iterdump()) == before


def test_a_finish_that_arrives_twice_counts_once(db: sqlite3.Connection) -> None:
    submit(db)
    claim(db)
    assert rows.finish(db, "shell-1", exited(1), 9) == rows.Settled(1, 1, CLASS, JobState.SUCCEEDED)
    before = list(db.iterdump())
    assert rows.finish(db, "shell-1", exited(1, code=1), 10) is None
    assert list(db.iterdump()) == before


@pytest.mark.parametrize(
    ("ended", "state"),
    [
        pytest.param(Finished(1, 1, "exited", 0), "succeeded", id="exit 0"),
        pytest.param(Finished(1, 1, "exited", 1), "failed", id="exit 1"),
        pytest.param(Finished(1, 1, "timeout", 0), "failed", id="a time-out is a failure whatever its code"),
        pytest.param(Finished(1, 1, "lost", -1), "failed", id="lost"),
        pytest.param(Finished(1, 1, "unstartable", 126, "no such file"), "failed", id="unstartable"),
    ],
)
def test_only_a_proper_end_with_code_0_is_a_success(
    db: sqlite3.Connection, ended: Finished, state: str
) -> None:
    submit(db)
    claim(db)
    rows.finish(db, "shell-1", ended, 9)
    job = find(db, 1)
    assert job.state == state
    last = job.attempts[0]
    assert (last.status, last.exit_code, last.detail) == (ended.status, ended.exit_code, ended.detail or None)
    assert last.finished_at == 9


# Cancel and retry.


def test_a_job_that_is_retried_by_hand_gets_one_more_try(db: sqlite3.Connection) -> None:
    make(db, "failed")
    assert rows.retry(db, 1, 9) == (JobState.FAILED, CLASS)
    assert claim(db, "shell-2").attempt == 2
    settled = rows.finish(db, "shell-2", exited(1, 2, 1), 10)
    assert settled is not None
    assert settled.state is JobState.FAILED


def test_a_cancelled_job_that_is_retried_is_wanted_again(db: sqlite3.Connection) -> None:
    make(db, "cancelled")
    rows.retry(db, 1, 9)
    assert not rows.is_cancelled(db, 1)
    claim(db)
    rows.finish(db, "shell-1", exited(1, 1, 1), 10)
    assert find(db, 1).state is JobState.FAILED


def test_what_does_not_exist_cannot_be_cancelled_or_retried(db: sqlite3.Connection) -> None:
    assert rows.cancel(db, 7, 1) is None
    assert rows.retry(db, 7, 1) is None
    assert not rows.is_cancelled(db, 7)
    assert rows.job(db, 7) is None


# Machines.


def test_a_closed_machine_is_free_when_it_has_no_job(db: sqlite3.Connection) -> None:
    assert rows.close(db, "shell-1", 1)
    submit(db)
    claim(db, "shell-2")
    assert not rows.close(db, "shell-2", 2)
    assert [row.closed for row in rows.workers(db)] == [True, True]


def test_closing_again_tells_the_same_and_keeps_the_time(db: sqlite3.Connection) -> None:
    rows.close(db, "shell-1", 1)
    assert rows.close(db, "shell-1", 9)
    assert rows.workers(db) == [rows.WorkerRow("shell-1", 0, True, 1)]


# Looking.


def test_jobs_are_listed_newest_first_by_state_and_class(db: sqlite3.Connection) -> None:
    for number in range(6):
        submit(db, job_class=f"c{number % 2}")
    rows.register(db, "m-1", 1)
    rows.claim(db, "m-1", "c0", 2)
    assert [job.id for job in rows.jobs(db)] == [6, 5, 4, 3, 2, 1]
    assert [job.id for job in rows.jobs(db, job_class="c0", most=2)] == [5, 3]
    assert [job.id for job in rows.jobs(db, states=["running"])] == [1]
    assert [job.id for job in rows.jobs(db, states=["running", "waiting"], job_class="c1")] == [6, 4, 2]
    assert rows.waiting_counts(db) == {"c0": 2, "c1": 3}
    assert rows.state_counts(db) == {"waiting": 5, "running": 1}
    assert rows.running(db) == [("m-1", 1, "c0")]


def test_ahead_of_a_job_are_those_that_are_claimed_before_it(db: sqlite3.Connection) -> None:
    priorities = (0, 5, 0, 5, 1)
    for priority in priorities:
        submit(db, priority=priority)
    submit(db, job_class="other", priority=9)
    order = [2, 4, 5, 1, 3]
    assert {number: rows.ahead_of(db, number) for number in order} == {
        number: place for place, number in enumerate(order)
    }


def runs(*numbers: int) -> list[Run]:
    return [Run("", number, 1) for number in numbers]


def test_ended_jobs_are_forgotten_a_slice_at_a_time_and_no_others(db: sqlite3.Connection) -> None:
    for number in range(1, 5):
        submit(db)
        claim(db, f"shell-{number}")
        rows.finish(db, f"shell-{number}", exited(number), 10 * number)
    running, waiting = submit(db), submit(db)
    claim(db, "shell-9")
    assert rows.forget_ended(db, 40, most=2) == (2, runs(1, 2))
    assert rows.forget_ended(db, 40) == (1, runs(3))
    assert rows.forget_ended(db, 40) == (0, [])
    assert [job.id for job in rows.jobs(db)] == [waiting, running, 4]
    assert db.execute("SELECT DISTINCT job FROM attempts ORDER BY job").fetchall() == [(4,), (running,)]


@pytest.mark.parametrize(
    ("excess", "gone"),
    [
        pytest.param(0, [], id="nothing is too much"),
        pytest.param(1, [3], id="the one that ended first"),
        pytest.param(50, [3], id="it is enough"),
        pytest.param(51, [3, 2, 1], id="one without output goes in its turn"),
        pytest.param(1_000, [3, 2, 1], id="no more than there are"),
    ],
)
def test_the_jobs_that_ended_first_make_room(db: sqlite3.Connection, excess: int, gone: list[int]) -> None:
    for number in range(1, 4):
        submit(db)
        claim(db, f"shell-{number}")
        rows.finish(db, f"shell-{number}", exited(number), 100 - number)
    running, waiting = submit(db), submit(db)
    claim(db, "shell-9")
    sizes = dict.fromkeys(runs(1, 3, running, waiting), 50)
    assert rows.forget_oldest(db, sizes, excess) == (len(gone), runs(*gone))
    left = {running, waiting, 1, 2, 3} - set(gone)
    assert {job.id for job in rows.jobs(db)} == left
    assert set(rows.ended_runs(db)) == set(runs(*left - {running, waiting}))


def test_room_is_made_a_slice_at_a_time(db: sqlite3.Connection) -> None:
    for number in range(1, 4):
        submit(db)
        claim(db, f"shell-{number}")
        rows.finish(db, f"shell-{number}", exited(number), number)
    assert rows.forget_oldest(db, {}, 1, most=2) == (2, runs(1, 2))
    assert rows.forget_oldest(db, {}, 1, most=2) == (1, runs(3))
    assert rows.forget_oldest(db, {}, 1, most=2) == (0, [])


def test_a_job_whose_words_are_damaged_is_listed_and_given_as_such(db: sqlite3.Connection) -> None:
    submit(db)
    submit(db)
    db.execute("UPDATE jobs SET spec = x'c1' WHERE id = 1")
    assert [job.spec for job in rows.jobs(db)] == [JobSpec(("true",)), rows.DAMAGED]
    assert claim(db).spec == rows.DAMAGED
    assert claim(db).again
