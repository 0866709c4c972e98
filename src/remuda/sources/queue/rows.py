"""
The queue's transactions. Each function here is one change or one question on the store, and nothing else.

A job goes waiting → running → an end, or back to waiting when it may be retried. Only the attempt that is running
can finish a job, so a finish that arrives twice, late or from a stranger changes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from remuda.ledger.sql import Database
from remuda.model.jobs import Attempt, Finished, Job, JobSpec, JobState, Run
from remuda.model.times import Instant

_encode = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(JobSpec).decode
#: in the place of one that cannot be read; no job that was handed in has an empty command
DAMAGED = JobSpec(())


def _spec(data: bytes) -> JobSpec:
    """What to run; `DAMAGED` when the row is, because one job must not hide or hold up the others."""
    try:
        return _read(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return DAMAGED


class Submission(Struct, frozen=True):
    """A job as it is handed in. A second one with the same `idempotency` key is the first one again."""

    job_class: str
    spec: JobSpec
    priority: int = 0
    retries: int = 0
    idempotency: str | None = None
    #: in a queue that hosts share, the only one that may run it
    host: str = ""


class Claim(Struct, frozen=True):
    """A job given to a machine."""

    job: int
    attempt: int
    job_class: str
    spec: JobSpec
    #: the store's identity when it was first given
    store: str = ""
    #: given before, but the machine may not have heard of it
    again: bool = False
    #: where hosts share the queue, the lease under which it was given
    tenure: str = ""


class Settled(Struct, frozen=True):
    """A job whose attempt ended, and where that left it."""

    job: int
    attempt: int
    job_class: str
    state: JobState


class WorkerRow(Struct, frozen=True):
    """What the store knows of a machine that pulls from the queue."""

    machine: str
    uses: int
    closed: bool
    since: Instant


def submit(db: Database, job: Submission, now: Instant) -> tuple[int, bool]:
    """Add a job; return its id and whether it is new. Another host may be handing in the same one just now."""
    known = _known(db, job.idempotency)
    if known is not None:
        return known, False
    row = db.execute(
        "INSERT INTO jobs (class, state, priority, spec, retries, submitted_at, changed_at, idempotency)"
        " VALUES (?, 'waiting', ?, ?, ?, ?, ?, ?) ON CONFLICT (idempotency) DO NOTHING RETURNING id",
        (job.job_class, job.priority, _encode(job.spec), job.retries, now, now, job.idempotency),
    ).fetchone()
    if row is None:
        known = _known(db, job.idempotency)
        assert known is not None
        return known, False
    if job.host:
        db.execute("UPDATE jobs SET host = ? WHERE id = ?", (job.host, row[0]))
    return int(row[0]), True


def _known(db: Database, key: str | None) -> int | None:
    if key is None:
        return None
    row = db.execute("SELECT id FROM jobs WHERE idempotency = ?", (key,)).fetchone()
    return int(row[0]) if row else None


def register(db: Database, machine: str, now: Instant, uses: int = 0, *, is_freed: bool = False) -> WorkerRow:
    """
    Know a machine from its first call on, and of how many jobs it says itself that it has taken.

    `is_freed` says that it is without a job since now.
    """
    row = db.execute(
        "INSERT INTO workers (machine, since, uses) VALUES (?, ?, ?) ON CONFLICT (machine) DO UPDATE SET"
        " uses = CASE WHEN workers.uses < excluded.uses THEN excluded.uses ELSE workers.uses END,"
        " since = CASE WHEN ? = 1 THEN excluded.since ELSE workers.since END"
        " RETURNING uses, closed, since",
        (machine, now, uses, int(is_freed)),
    ).fetchone()
    return WorkerRow(machine, row[0], bool(row[1]), row[2])


def claim(db: Database, machine: str, job_class: str, now: Instant, identity: str = "") -> Claim | None:
    """
    Give the machine the job that it has, else the next one of its class.

    `identity` is the store's own, which the attempt carries from now on.
    """
    return held_by(db, machine) or take_next(db, machine, job_class, now, identity)


def held_by(db: Database, machine: str) -> Claim | None:
    """The job that a machine has, to be given to it again."""
    held = db.execute(
        "SELECT jobs.id, jobs.attempt, class, spec, store FROM jobs"
        " JOIN attempts ON job = jobs.id AND attempts.attempt = jobs.attempt"
        " WHERE jobs.machine = ? AND state = 'running'",
        (machine,),
    ).fetchone()
    return Claim(held[0], held[1], held[2], _spec(held[3]), held[4], again=True) if held else None


_BEGIN = "UPDATE jobs SET state = 'running', attempt = attempt + 1, machine = ?, changed_at = ? WHERE id ="
_NEXT = " (SELECT id FROM jobs WHERE class = ? AND state = 'waiting'"
_FIRST = " ORDER BY priority DESC, id LIMIT 1"


def take_next(
    db: Database, machine: str, job_class: str, now: Instant, identity: str, host: str = ""
) -> Claim | None:
    """
    Give a machine that has none a job of a class: highest priority first, then first come, first served.

    `host` is the machine's, where several share the queue: what another one is just taking is passed over.
    """
    if host:
        mine = " AND (host IS NULL OR host = ?)"
        row = db.execute(
            f"{_BEGIN}{_NEXT}{mine}{_FIRST} FOR UPDATE SKIP LOCKED) RETURNING id, attempt, spec",
            (machine, now, job_class, host),
        ).fetchone()
    else:
        row = db.execute(
            f"{_BEGIN}{_NEXT}{_FIRST}) RETURNING id, attempt, spec", (machine, now, job_class)
        ).fetchone()
    if row is None:
        return None
    db.execute(
        "INSERT INTO attempts (job, attempt, machine, claimed_at, store) VALUES (?, ?, ?, ?, ?)",
        (row[0], row[1], machine, now, identity),
    )
    db.execute("UPDATE workers SET uses = uses + 1, since = ? WHERE machine = ?", (now, machine))
    return Claim(row[0], row[1], job_class, _spec(row[2]), identity)


def finish(db: Database, machine: str, ended: Finished, now: Instant) -> Settled | None:
    """End the attempt if it is the one running on this machine, which is free then; None when it is not."""
    settled = end_attempt(db, machine, ended, now)
    if settled is not None:
        db.execute("UPDATE workers SET since = ? WHERE machine = ?", (now, machine))
    return settled


def end_attempt(db: Database, machine: str, ended: Finished, now: Instant) -> Settled | None:
    """As `finish`, for who registers the machine as free itself."""
    is_good = int(ended.status == "exited" and ended.exit_code == 0)
    # The machine was at fault before anything ran: it is no try that the job has used up.
    is_returned = int(ended.status == "returned")
    row = db.execute(
        "UPDATE jobs SET machine = NULL, changed_at = ?,"
        " state = CASE WHEN ? = 1 THEN 'succeeded' WHEN cancelled = 1 THEN 'cancelled'"
        " WHEN ? = 1 OR attempt <= retries THEN 'waiting' ELSE 'failed' END,"
        " retries = retries + CASE WHEN ? = 1 AND cancelled = 0 THEN 1 ELSE 0 END"
        " WHERE id = ? AND attempt = ? AND machine = ? AND state = 'running'"
        " AND EXISTS (SELECT 1 FROM attempts WHERE job = jobs.id AND attempt = jobs.attempt AND store = ?)"
        " RETURNING class, state",
        (now, is_good, is_returned, is_returned, ended.job, ended.attempt, machine, ended.store),
    ).fetchone()
    if row is None:
        return None
    db.execute(
        "UPDATE attempts SET finished_at = ?, status = ?, exit_code = ?, detail = ?, output_bytes = ?"
        " WHERE job = ? AND attempt = ?",
        (
            ended.finished_at or now,
            ended.status,
            ended.exit_code,
            ended.detail or None,
            ended.output_bytes,
            ended.job,
            ended.attempt,
        ),
    )
    return Settled(ended.job, ended.attempt, row[0], JobState(row[1]))


def close(db: Database, machine: str, now: Instant) -> bool:
    """Give the machine no more work; True when it has none."""
    register(db, machine, now)
    db.execute("UPDATE workers SET closed = 1, since = ? WHERE machine = ? AND closed = 0", (now, machine))
    return running_on(db, machine) is None


def forget(db: Database, machine: str) -> None:
    """The machine is gone for good."""
    db.execute("DELETE FROM workers WHERE machine = ?", (machine,))


def running_on(db: Database, machine: str) -> Run | None:
    """The attempt that a machine works on."""
    row = db.execute(
        "SELECT store, jobs.id, jobs.attempt FROM jobs"
        " JOIN attempts ON job = jobs.id AND attempts.attempt = jobs.attempt"
        " WHERE jobs.machine = ? AND state = 'running'",
        (machine,),
    ).fetchone()
    return Run(*row) if row else None


def cancel(db: Database, number: int, now: Instant) -> tuple[JobState, str] | None:
    """Mark a job cancelled; one that waits ends at once. Return its state before and its class."""
    row = db.execute(
        "UPDATE jobs SET cancelled = 1, changed_at = CASE WHEN state = 'waiting' THEN ? ELSE changed_at END,"
        " state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END"
        " WHERE id = ? AND state IN ('waiting', 'running') RETURNING state, class",
        (now, number),
    ).fetchone()
    if row is not None:
        return (JobState.WAITING if row[0] == JobState.CANCELLED else JobState.RUNNING), row[1]
    return _state(db, number)


def retry(db: Database, number: int, now: Instant) -> tuple[JobState, str] | None:
    """Let an ended job wait again with one more attempt allowed. Return its state before and its class."""
    before = _state(db, number)
    if before is None or not before[0].is_end:
        return before
    row = db.execute(
        "UPDATE jobs SET state = 'waiting', cancelled = 0, changed_at = ?,"
        " retries = CASE WHEN retries < attempt THEN attempt ELSE retries END WHERE id = ? AND state = ? RETURNING id",
        (now, number, before[0]),
    ).fetchone()
    # Somebody else has retried it just now.
    return before if row is not None else _state(db, number)


def _state(db: Database, number: int) -> tuple[JobState, str] | None:
    row = db.execute("SELECT state, class FROM jobs WHERE id = ?", (number,)).fetchone()
    return None if row is None else (JobState(row[0]), row[1])


def is_cancelled(db: Database, number: int) -> bool:
    """True when someone asked for the job to end."""
    row = db.execute("SELECT cancelled FROM jobs WHERE id = ?", (number,)).fetchone()
    return bool(row and row[0])


_JOB = "SELECT id, class, state, priority, retries, spec, submitted_at, changed_at, cancelled FROM jobs"


def job(db: Database, number: int) -> Job | None:
    """One job with its attempts."""
    row = db.execute(f"{_JOB} WHERE id = ?", (number,)).fetchone()
    return next(_jobs(db, [row])) if row else None


def jobs(
    db: Database,
    *,
    states: Iterable[str] = (),
    job_class: str | None = None,
    before: int | None = None,
    most: int = 100,
) -> list[Job]:
    """The newest jobs first, of some states, a class or before a number if asked."""
    where, terms = _which(states, job_class, None if before is None else before - 1)
    rows = db.execute(f"{_JOB} WHERE {where} ORDER BY id DESC LIMIT ?", (*terms, most)).fetchall()
    return list(_jobs(db, rows))


def count_jobs(db: Database, *, states: Iterable[str], job_class: str | None, before: int | None) -> int:
    """How many there are of those that `jobs` finds."""
    where, terms = _which(states, job_class, None if before is None else before - 1)
    return int(db.execute(f"SELECT count(*) FROM jobs WHERE {where}", terms).fetchone()[0])  # noqa: S608 - ours


def numbers(db: Database, *, states: Iterable[str], job_class: str | None, up_to: int) -> list[int]:
    """The numbers of all jobs of some states, and of a class if asked, up to one; the oldest first."""
    where, terms = _which(states, job_class, up_to)
    return [number for (number,) in db.execute(f"SELECT id FROM jobs WHERE {where} ORDER BY id", terms)]  # noqa: S608


def _which(states: Iterable[str], job_class: str | None, up_to: int | None) -> tuple[str, list[object]]:
    where, terms = ["1 = 1"], list[object]()
    asked = list(states)
    if asked:
        where.append(f"state IN ({', '.join('?' * len(asked))})")
        terms += asked
    if job_class is not None:
        where.append("class = ?")
        terms.append(job_class)
    if up_to is not None:
        where.append("id <= ?")
        terms.append(up_to)
    return " AND ".join(where), terms


def _jobs(db: Database, rows: list[tuple[Any, ...]]) -> Iterator[Job]:
    for row in rows:
        attempts = db.execute(
            "SELECT attempt, machine, claimed_at, finished_at, status, exit_code, detail, store, output_bytes"
            " FROM attempts"
            " WHERE job = ? ORDER BY attempt",
            (row[0],),
        ).fetchall()
        number, job_class, state, priority, retries, spec, submitted_at, changed_at, cancelled = row
        yield Job(
            id=number,
            job_class=job_class,
            state=JobState(state),
            priority=priority,
            retries=retries,
            spec=_spec(spec),
            submitted_at=submitted_at,
            changed_at=changed_at,
            cancelled=bool(cancelled),
            attempts=tuple(Attempt(*attempt) for attempt in attempts),
        )


def ahead_of(db: Database, number: int) -> int:
    """How many waiting jobs of the same class come before one."""
    row = db.execute(
        "SELECT count(*) FROM jobs AS other JOIN jobs AS mine ON mine.id = ? AND other.class = mine.class"
        " WHERE other.state = 'waiting' AND (other.priority > mine.priority"
        " OR (other.priority = mine.priority AND other.id < mine.id))",
        (number,),
    ).fetchone()
    return int(row[0])


def bound_to(db: Database, number: int) -> str:
    """Of a queue that hosts share, the only one that may run a job; nothing when all may."""
    row = db.execute("SELECT host FROM jobs WHERE id = ?", (number,)).fetchone()
    return str(row[0] or "") if row else ""


def waiting_counts(db: Database) -> dict[str, int]:
    """How many jobs wait, by class."""
    return dict(
        db.execute("SELECT class, count(*) FROM jobs WHERE state = 'waiting' GROUP BY class").fetchall()
    )


def state_counts(db: Database) -> dict[str, int]:
    """How many jobs there are, by state."""
    return dict(db.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())


def running(db: Database, prefix: str = "") -> list[tuple[str, int, str]]:
    """Machine, job and class of everything that runs on machines that are called so; without the prefix."""
    found = db.execute(
        "SELECT machine, id, class FROM jobs WHERE state = 'running' AND substr(machine, 1, ?) = ? ORDER BY id",
        (len(prefix), prefix),
    )
    return [(machine[len(prefix) :], number, job_class) for machine, number, job_class in found.fetchall()]


def workers(db: Database, prefix: str = "") -> list[WorkerRow]:
    """Every machine that is called so, ever called and is not gone; without the prefix."""
    found = db.execute(
        "SELECT machine, uses, closed, since FROM workers WHERE substr(machine, 1, ?) = ? ORDER BY machine",
        (len(prefix), prefix),
    ).fetchall()
    return [
        WorkerRow(machine[len(prefix) :], uses, bool(closed), since) for machine, uses, closed, since in found
    ]


def knows(db: Database, run: Run) -> bool:
    """True when this store gave out the attempt, whatever became of it."""
    row = db.execute(
        "SELECT 1 FROM attempts WHERE job = ? AND attempt = ? AND store = ?",
        (run.job, run.attempt, run.store),
    ).fetchone()
    return row is not None


def all_runs(db: Database) -> set[Run]:
    """Every attempt that this store knows of."""
    return {Run(*row) for row in db.execute("SELECT store, job, attempt FROM attempts")}


def ended_runs(db: Database) -> list[Run]:
    """The attempts of all jobs that ended."""
    rows = db.execute(
        "SELECT store, job, attempts.attempt FROM attempts JOIN jobs ON jobs.id = job"
        " WHERE state NOT IN ('waiting', 'running')"
    )
    return [Run(*row) for row in rows]


def forget_ended(db: Database, before: Instant, most: int = 500) -> tuple[int, list[Run]]:
    """Forget a slice of the jobs that ended before an instant; return how many, and their attempts, for the files."""
    found = db.execute(
        "SELECT id FROM jobs WHERE state NOT IN ('waiting', 'running') AND changed_at < ? ORDER BY id LIMIT ?",
        (before, most),
    ).fetchall()
    return _forget(db, found)


def forget_oldest(
    db: Database, sizes: Mapping[Run, int], excess: int, most: int = 500
) -> tuple[int, list[Run]]:
    """Forget a slice of the jobs that ended first, until their `sizes` add up to `excess`; return as `forget_ended`."""
    by_job: dict[int, int] = {}
    for run, size in sizes.items():
        by_job[run.job] = by_job.get(run.job, 0) + size
    found = []
    for row in db.execute(
        "SELECT id FROM jobs WHERE state NOT IN ('waiting', 'running') ORDER BY changed_at, id LIMIT ?",
        (most,),
    ):
        if excess <= 0:
            break
        excess -= by_job.get(row[0], 0)
        found.append(row)
    return _forget(db, found)


def _forget(db: Database, found: list[tuple[int]]) -> tuple[int, list[Run]]:
    runs = [
        Run(*row)
        for number in found
        for row in db.execute(
            "SELECT store, job, attempt FROM attempts WHERE job = ? ORDER BY attempt", number
        ).fetchall()
    ]
    db.executemany("DELETE FROM attempts WHERE job = ?", found)
    db.executemany("DELETE FROM jobs WHERE id = ?", found)
    return len(found), runs


def forget_ended_shared(db: Database, before: Instant, most: int = 500) -> int:
    """As `forget_ended`, beside other hosts that do the same or run one of the jobs once more; return how many."""
    found = db.execute(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state NOT IN ('waiting', 'running')"
        " AND changed_at < ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED) RETURNING id",
        (before, most),
    ).fetchall()
    db.executemany("DELETE FROM attempts WHERE job = ?", found)
    return len(found)
