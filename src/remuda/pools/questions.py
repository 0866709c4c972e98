"""`remuda why` and `replay`: what was decided and why, and what would be decided otherwise."""

import re

from msgspec import structs

from remuda.control.client import path_of
from remuda.control.command import Session
from remuda.control.completion import completes
from remuda.control.notices import notices, show_notices
from remuda.errors import NotFound, RemudaError
from remuda.model.jobs import Ahead, Attempt, Job, JobList, JobState
from remuda.model.machines import Confinement, pool_of
from remuda.model.times import write_duration
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.output.steps import Step, step_lines
from remuda.pools.controller import LOOP
from remuda.pools.views import PoolsView
from remuda.pools.why import Event, Why

#: the most jobs that are given at once
_PAGE = 1_000

complete_pools = completes("/v1/pools", PoolsView, lambda view: (pool.name for pool in view.pools))
complete_machines = completes(
    "/v1/pools", PoolsView, lambda view: (machine.name for machine in view.machines)
)
complete_jobs = completes("/v1/jobs", JobList, lambda found: (str(job.id) for job in found.jobs), most=1000)


def known_pools(session: Session, name: str) -> list[str]:
    """Pools that `remuda why` can be asked about."""
    del name
    return [pool.name for pool in session.remuda.get("/v1/pools", PoolsView).pools]


def known_machines(session: Session, name: str) -> list[str]:
    """Machines there are, and the one of that name if it is gone and something of it is recorded."""
    found = [machine.name for machine in session.remuda.get("/v1/pools", PoolsView).machines]
    if name in found:
        return found
    try:
        session.remuda.get(path_of("v1", "why", "machine", name), Why)
    except NotFound:
        return found
    return [*found, name]


def known_jobs(session: Session, name: str) -> list[str]:
    """The job of that number, if there is one: no other number is a better guess than the next."""
    if not re.fullmatch("[0-9]{1,18}", name):
        return []
    try:
        return [str(session.remuda.get(path_of("v1", "jobs", name), Job).id)]
    except NotFound:
        return []


def jobs_between(session: Session, since: int, until: int) -> list[Job]:
    """The jobs of our own queue that were handed in within a span, the newest first; none where there is no queue."""
    found: list[Job] = []
    before: int | None = None
    while True:
        page = session.remuda.get("/v1/jobs", JobList, most=_PAGE, before=before).jobs
        found += [job for job in page if since <= job.submitted_at <= until]
        if len(page) < _PAGE or page[-1].submitted_at < since:
            return found
        before = page[-1].id


def answer_why(session: Session, kind: str, name: str, at: str | None, *, history: bool) -> None:
    """Show why a pool, a machine or a job is as it is, or was at a time."""
    instant = None if at is None else session.past(at)
    session.show(why_report(session, kind, name, instant, history=history))


def why_report(
    session: Session, kind: str, name: str, instant: int | None = None, *, history: bool = False
) -> Report:
    """The answer to why a pool, a machine or a job is as it is, or was at an instant."""
    if kind == "job":
        return _why_job(session, name, instant)
    answer = session.remuda.get(path_of("v1", "why", kind, name), Why, at=instant)
    first = first_lines(session, answer.at) if instant is None else ()
    if kind == "machine" and instant is None:
        answer = structs.replace(answer, steps=(*answer.steps, *_confinement(session, name)))
    events = answer.history if history or kind == "machine" else ()
    if session.form == "markdown":
        return Report(answer, _why_tables(session, answer, events), (f"**{_headline(session, answer)}**",))
    lines = [*first, *answer_lines(session, answer)]
    if events:
        lines += _history(session, events)
    return Report(answer, lines=tuple(lines))


def _confinement(session: Session, machine: str) -> tuple[Step, ...]:
    """What holds the jobs of a machine in, where it is one of this host and somebody can be asked."""
    try:
        found = session.remuda.get(path_of("v1", "machines", machine, "confinement"), Confinement)
    except RemudaError:
        return ()
    return tuple(Step(label, text) for label, text in found.facts)


_STATES = {
    JobState.WAITING: "waits",
    JobState.RUNNING: "runs",
    JobState.SUCCEEDED: "succeeded",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
}


def _why_job(session: Session, name: str, at: int | None) -> Report:
    job = session.remuda.get(path_of("v1", "jobs", name), Job)
    now = session.now()
    then = now if at is None else at
    if then < job.submitted_at:
        when = f"{clock_time(then, now)}: that was {clock_time(job.submitted_at, now)}"
        raise NotFound(f"job {job.id} was not submitted yet at {when}")
    attempts = tuple(_as_of(attempt, then) for attempt in job.attempts if attempt.claimed_at <= then)
    state, since = _state_at(job, attempts, then)
    doing = _STATES[state] + (f" on {attempts[-1].machine}" if state is JobState.RUNNING and attempts else "")
    headline = f"job {job.id} of class {job.job_class} {doing}   since {clock_time(since, now)} ({age(then - since)})"
    lines = [
        f"submitted {clock_time(job.submitted_at, now)}, priority {job.priority}, retries allowed: {job.retries}"
    ]
    for attempt in attempts:
        message = f"attempt {attempt.number} on {attempt.machine} from {clock_time(attempt.claimed_at, now)}"
        lines.append(message + (f": {_ending(job, attempt)}" if attempt.status else ""))
    pool_why, first = None, tuple[str, ...]()
    if state is JobState.WAITING:
        if at is None:
            before = session.remuda.get(path_of("v1", "jobs", job.id, "ahead"), Ahead)
            lines.append(f"jobs of its class ahead of it: {before.ahead}")
        view = session.remuda.get("/v1/pools", PoolsView)
        first = first_lines(session, view.seen_at) if at is None else ()
        pool = next((pool for pool in view.pools if pool.job_class == job.job_class), None)
        if pool is None:
            lines.append(f"no pool serves class {job.job_class} now")
        elif at is None and view.seen_at < job.submitted_at:
            lines.append(
                f"pool {pool.name} serves its class; nothing was decided since the job was submitted"
            )
        else:
            pool_why = session.remuda.get(path_of("v1", "why", "pool", pool.name), Why, at=at)
    data = {"job": job, "at": then, "state": state, "since": since, "pool": pool_why}
    if session.form == "markdown":
        text = "\n".join(["**" + " ".join(headline.split()) + "**", "", *(f"- {line}" for line in lines)])
        tables: tuple[Table, ...] = ()
        if pool_why is not None:
            text += f"\n\n**{_headline(session, pool_why)}**"
            tables = _why_tables(session, pool_why, ())
        return Report(data, tables, (text,))
    pool_lines = ["", *answer_lines(session, pool_why)] if pool_why is not None else []
    return Report(data, lines=(*first, headline, *(f"  {line}" for line in lines), *pool_lines))


def _ending(job: Job, attempt: Attempt) -> str:
    """How an attempt ended, and by whose limit where it was one."""
    match attempt.status:
        case "exited":
            message = f"exited {attempt.exit_code}"
        case "timeout" if attempt.detail:
            message = "timeout"
        case "timeout" if job.spec.timeout:
            message = f"timeout after {write_duration(job.spec.timeout)}, the job's own limit"
        case "timeout":
            took = age((attempt.finished_at or attempt.claimed_at) - attempt.claimed_at)
            message = f"timeout after {took}, the jobTimeout of pool {pool_of(attempt.machine)}"
        case "unstartable" | "returned":
            message = "never started"
        case other:
            message = str(other)
    return f"{message}, {attempt.detail}" if attempt.detail else message


def _as_of(attempt: Attempt, at: int) -> Attempt:
    """An attempt as it was known at an instant."""
    if attempt.finished_at is None or attempt.finished_at <= at:
        return attempt
    return Attempt(attempt.number, attempt.machine, attempt.claimed_at)


def _state_at(job: Job, attempts: tuple[Attempt, ...], at: int) -> tuple[JobState, int]:
    """What a job did at an instant, and since when; `attempts` are those that had begun by then."""
    last = attempts[-1] if attempts else None
    if last is not None and last.status is None:
        return JobState.RUNNING, last.claimed_at
    if at >= job.changed_at or (last is not None and last.number == len(job.attempts) and job.state.is_end):
        return job.state, job.changed_at
    return JobState.WAITING, job.submitted_at if last is None else last.finished_at or last.claimed_at


def first_lines(session: Session, seen_at: int) -> tuple[str, ...]:
    """What comes before an answer: that nobody decides now, or that other files are in force."""
    return show_notices(session, notices(session.remuda, LOOP, seen_at, session.now()))


def _headline(session: Session, answer: Why, gap: str = " ") -> str:
    cycles = f", {answer.cycles} cycle{'s' * (answer.cycles != 1)}" if answer.cycles else ""
    since = clock_time(answer.since, session.now())
    return f"{answer.headline}{gap}since {since} ({age(answer.at - answer.since)}{cycles})"


def _why_tables(session: Session, answer: Why, events: tuple[Event, ...]) -> tuple[Table, ...]:
    now = session.now()
    steps = Table(
        ("TERM", "VALUE", "REMARK"), tuple((step.label, step.text, step.remark) for step in answer.steps)
    )
    history = Table(
        ("AT", "WHAT"), tuple((clock_time(event.at, now), event.text) for event in events), title="before"
    )
    return (steps, history) if events else (steps,)


def answer_lines(session: Session, answer: Why) -> list[str]:
    """An answer for a person: its headline, and the arithmetic behind it."""
    return [_headline(session, answer, "   "), *step_lines(answer.steps)]


def _history(session: Session, events: tuple[Event, ...]) -> list[str]:
    now = session.now()
    return ["", *(f"  {clock_time(event.at, now)}  {event.text}" for event in events)]
