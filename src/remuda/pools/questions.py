"""`remuda why` and `replay`: what was decided and why, and what would be decided otherwise."""

from typing import TYPE_CHECKING

import click

from remuda.control.client import path_of
from remuda.control.command import Command, Session, pass_session
from remuda.control.notices import notices, say_first
from remuda.errors import NotFound, RemudaError
from remuda.model.jobs import Ahead, Attempt, Job, JobState
from remuda.model.machines import pool_of
from remuda.model.times import write_duration
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.output.steps import step_lines
from remuda.pools.controller import LOOP
from remuda.pools.decide.world import Policy
from remuda.pools.views import PoolsView
from remuda.pools.why import Event, Why

if TYPE_CHECKING:
    from remuda.objects.load import Objects


def complete_pools(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The pools whose names begin so, for a shell; none when they cannot be asked for."""
    del parameter
    session = context.find_object(Session)
    if session is None or context.params.get("kind", "pool") != "pool":
        return []
    try:
        found = session.remuda.get("/v1/pools", PoolsView)
    except RemudaError:
        return []
    return [pool.name for pool in found.pools if pool.name.startswith(begun)]


def answer_why(session: Session, kind: str, name: str, at: str | None, *, history: bool) -> None:
    """Show why a pool, a machine or a job is as it is, or was at a time."""
    instant = None if at is None else session.instant(at, 0)
    if kind == "job":
        _why_job(session, name, instant)
        return
    answer = session.remuda.get(path_of("v1", "why", kind, name), Why, at=instant)
    first = first_lines(session, answer.at) if instant is None else ()
    events = answer.history if history or kind == "machine" else ()
    if session.form == "markdown":
        session.show(
            Report(answer, _why_tables(session, answer, events), (f"**{_headline(session, answer)}**",))
        )
        return
    lines = [*first, *told_lines(session, answer)]
    if events:
        lines += _history(session, events)
    session.show(Report(answer, lines=tuple(lines)))


_STATES = {
    JobState.WAITING: "waits",
    JobState.RUNNING: "runs",
    JobState.SUCCEEDED: "succeeded",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
}


def _why_job(session: Session, name: str, at: int | None) -> None:
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
        told = f"attempt {attempt.number} on {attempt.machine} from {clock_time(attempt.claimed_at, now)}"
        lines.append(told + (f": {_ending(job, attempt)}" if attempt.status else ""))
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
        session.show(Report(data, tables, (text,)))
        return
    pool_lines = ["", *told_lines(session, pool_why)] if pool_why is not None else []
    session.show(Report(data, lines=(*first, headline, *(f"  {line}" for line in lines), *pool_lines)))


def _ending(job: Job, attempt: Attempt) -> str:
    """How an attempt ended, and by whose limit where it was one."""
    match attempt.status:
        case "exited":
            told = f"exited {attempt.exit_code}"
        case "timeout" if job.spec.timeout:
            told = f"timeout after {write_duration(job.spec.timeout)}, the job's own limit"
        case "timeout":
            took = age((attempt.finished_at or attempt.claimed_at) - attempt.claimed_at)
            told = f"timeout after {took}, the jobTimeout of pool {pool_of(attempt.machine)}"
        case "unstartable":
            told = "never started"
        case other:
            told = str(other)
    return f"{told}, {attempt.detail}" if attempt.detail else told


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


@click.command(cls=Command)
@click.option(
    "--since", default="1h", show_default=True, metavar="TIME", help="From a time, or how long ago."
)
@click.option("--until", metavar="TIME", help="To a time, or how long ago. Default: now.")
@click.option(
    "-f", "--file", "files", multiple=True, help="Changed objects, in the place of their namesakes."
)
@pass_session
def replay(session: Session, since: str, until: str | None, files: tuple[str, ...]) -> None:
    """
    What today's rules would have decided differently.

    Each recorded step goes through today's rules by itself, with the objects of then or, with -f, with changed ones.
    A difference is not carried on to the next step: the world went on as it did. Exits 1 when something differs.
    """
    from remuda.ledger.store import FILE, explained, reading
    from remuda.pools.policy import EXACT_SOURCES, change
    from remuda.pools.replay import Difference
    from remuda.pools.replay import replay as run

    begin = session.instant(since, 0)
    end = session.instant(until, session.now())
    changed = session.load(files) if files else None
    known = {"RunnerPool": set[str](), "Ceiling": set[str]()}

    def make(recorded: Policy) -> Policy:
        known["RunnerPool"].update(recorded.pools)
        known["Ceiling"].update(recorded.ceilings)
        return change(recorded, changed, EXACT_SOURCES) if changed else recorded

    def damaged(row: str) -> None:
        click.echo(f"{row}; it is left out", err=True)

    store = session.data_dir / FILE
    steps, cycles, differences = 0, 0, list[Difference]()
    with reading(store) as db, explained(store):
        for step in run(db, begin, end, make, damaged):
            steps, cycles = steps + 1, cycles + step.cycles
            differences += step.differences
    if not steps:
        raise NotFound(f"nothing is recorded since {since}")
    if changed:
        _tell_strangers(changed, known)
    now = session.now()
    lines = [f"{steps} recorded steps ({cycles} cycles), {len(differences)} decided differently"]
    for item in differences:
        lines += [
            "",
            f"{clock_time(item.at, now)}  pool {item.pool}   ({item.cycles} cycles, {age(item.until - item.at)})",
            f"  then {item.target_then:>3}  {item.then}" + _acts(item.actions_then),
            f"  now  {item.target_now:>3}  {item.now}" + _acts(item.actions_now),
        ]
    if differences:
        lines += ["", "One step each: a difference is not carried on to the next."]
    session.show(Report({"steps": steps, "cycles": cycles, "differences": differences}, lines=tuple(lines)))
    if differences:
        raise click.exceptions.Exit(1)


def _tell_strangers(changed: "Objects", known: dict[str, set[str]]) -> None:
    """Name the changed objects that change nothing of what is recorded; when that is all of them, refuse."""
    used = {
        str(item.spec.ceiling)
        for item in changed
        if item.name in known.get(item.kind, ()) and item.kind == "RunnerPool"
    }
    strangers = [
        item
        for item in changed
        if item.name not in known.get(item.kind, ()) and not (item.kind == "Ceiling" and item.name in used)
    ]
    if not strangers:
        return
    names = ", ".join(sorted(name for found in known.values() for name in found)) or "none"
    told = f"nothing recorded is called {', '.join(map(str, strangers))}; there is: {names}"
    if len(strangers) == len(changed):
        raise NotFound(told)
    click.echo(f"note: {told}", err=True)


def _acts(actions: tuple[str, ...]) -> str:
    return f"   [{', '.join(actions)}]" if actions else ""


def first_lines(session: Session, seen_at: int) -> tuple[str, ...]:
    """What comes before an answer: that nobody decides now, or that other files are in force."""
    return say_first(session, notices(session.remuda, LOOP, seen_at, session.now()))


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


def told_lines(session: Session, answer: Why) -> list[str]:
    """An answer for a person: its headline, and the arithmetic behind it."""
    return [_headline(session, answer, "   "), *step_lines(answer.steps)]


def _history(session: Session, events: tuple[Event, ...]) -> list[str]:
    now = session.now()
    return ["", *(f"  {clock_time(event.at, now)}  {event.text}" for event in events)]
