"""`remuda pools`, `machines`, `top`, `why` and `replay`."""

from typing import Any

import click

from remuda.control.client import path_of
from remuda.control.command import Command, Group, Session, confirm, pass_session
from remuda.errors import BadInput, NotFound
from remuda.model.jobs import Ahead, Job, JobState
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.pools.decide.world import Override
from remuda.pools.views import MachineView, PoolsView, PoolView
from remuda.pools.why import Event, Why, tell_override

#: an answer that is older, in milliseconds, is told to be
_OLD = 10_000
_HEADINGS = ("POOL", "CLASS", "WANTED", "READY", "BUSY", "BOOTING", "WAITING", "MIN", "MAX", "CEILING", "WHY")


@click.group(cls=Group)
def pools() -> None:
    """
    Look at pools and steer them.

    What is set by hand (scale, pause, drain) holds until it is cleared, also over a restart, and `remuda why` names
    it.
    """


@pools.command("list")
@pass_session
def list_pools(session: Session) -> None:
    """All pools, a line each."""
    view = _view(session, None)
    session.show(Report(view, (Table(_HEADINGS, tuple(map(_row, view.pools)), note="no pools"),)))


@pools.command()
@click.argument("name", required=False)
@pass_session
def status(session: Session, name: str | None) -> None:
    """How far each pool is: machines by state, and how a rollout goes."""
    view = _view(session, name)
    rows = tuple(
        (
            pool.name,
            f"{pool.live}/{pool.target}",
            str(pool.idle),
            str(pool.busy),
            str(pool.creating),
            str(pool.leaving),
            _rollout(pool),
            tell_override(pool.override) or "-",
        )
        for pool in view.pools
    )
    headings = ("POOL", "HAS/WANTS", "IDLE", "BUSY", "BOOTING", "LEAVING", "ROLLOUT", "SET BY HAND")
    old = [machine.name for machine in view.machines if machine.is_old] if name else []
    lines = (f"still of an older template: {', '.join(old)}",) if old else ()
    session.show(Report(view, (Table(headings, rows, note="no pools"),), lines))


@pools.command()
@click.argument("name")
@pass_session
def describe(session: Session, name: str) -> None:
    """Everything about one pool: its numbers, machines and reasons."""
    view = _view(session, name)
    why_ = session.remuda.get(path_of("v1", "why", "pool", name), Why)
    pool = view.pools[0]
    facts = (
        f"pool      {pool.name}",
        f"class     {pool.job_class}",
        f"bounds    {pool.min} to {pool.max}" + (f", under ceiling {pool.ceiling}" if pool.ceiling else ""),
        f"template  {pool.template}   {_rollout(pool)}",
        f"by hand   {tell_override(pool.override) or 'nothing'}",
        "",
    )
    table = _machine_table(session, view.machines)
    session.show(
        Report(
            {"pool": pool, "machines": view.machines, "why": why_}, (table,), (*facts, *_told(session, why_))
        )
    )


@pools.command()
@click.argument("name")
@click.argument("count", type=click.IntRange(0, 100_000), required=False)
@click.option("--min", "low", type=click.IntRange(0, 100_000), help="Fewest machines.")
@click.option("--max", "high", type=click.IntRange(0, 100_000), help="Most machines.")
@click.option("--clear", is_flag=True, help="Go by the pool's own bounds again.")
@pass_session
def scale(
    session: Session, name: str, count: int | None, low: int | None, high: int | None, clear: bool
) -> None:
    """
    Set a pool's bounds by hand, until cleared.

    \b
    remuda pools scale shell 4          exactly 4 machines
    remuda pools scale shell --min 2    at least 2; its own max stays
    remuda pools scale shell --clear    its own bounds again
    """
    given = sum((count is not None, low is not None or high is not None, clear))
    if given != 1:
        raise BadInput("say one of: a COUNT, --min and/or --max, or --clear")
    body: dict[str, int | None] = {}
    if clear:
        body = {"min": None, "max": None}
    elif count is not None:
        body = {"min": count, "max": count}
    else:
        body = {key: value for key, value in (("min", low), ("max", high)) if value is not None}
    _steer(session, name, "scale", body)


@pools.command()
@click.argument("name")
@pass_session
def pause(session: Session, name: str) -> None:
    """Make and remove nothing in a pool; its machines go on working."""
    _steer(session, name, "pause", {})


@pools.command()
@click.argument("name")
@pass_session
def resume(session: Session, name: str) -> None:
    """End a pause or a drain."""
    _steer(session, name, "resume", {})


@pools.command()
@click.argument("name")
@pass_session
def drain(session: Session, name: str) -> None:
    """
    Let idle machines go and busy ones finish.

    The pool stays empty until it is resumed, also over a restart.
    """
    _steer(session, name, "drain", {})


@pools.command()
@click.argument("name")
@click.option("--immediate", is_flag=True, help="Remove machines of an older template now, busy or not.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_session
def rollout(session: Session, name: str, immediate: bool, yes: bool) -> None:
    """
    Show or hasten the rollout of a changed template.

    New machines get the new template at once. Old ones finish what they do; idle ones are replaced a few at a time.
    With --immediate all old ones go now, and the jobs they run die or are retried.
    """
    view = _view(session, name)
    pool = view.pools[0]
    if not immediate:
        session.show(Report(pool, lines=(f"{name}: {_rollout(pool)}",)))
        return
    old = [machine for machine in view.machines if machine.is_old and machine.state != "ended"]
    busy = sum(machine.job is not None for machine in old)
    if not old:
        session.show(Report(pool, lines=(f"{name}: {_rollout(pool)}; there is nothing to hasten",)))
        return
    die = "No job dies with them." if not busy else f"{_counted(busy, 'job')} on them will be ended."
    confirm(f"Remove {_counted(len(old), 'machine')} of {name} now? {die}", yes=yes)
    _steer(session, name, "rollout", {"immediate": True})


@pools.command()
@click.argument("name")
@pass_session
def userdata(session: Session, name: str) -> None:
    """What new VMs of a pool are told at boot; secrets are masked."""
    answer = session.remuda.get(path_of("v1", "pools", name, "userdata"), dict[str, Any])
    session.show(Report(answer, lines=(answer["text"].rstrip("\n"),)))


@click.group(cls=Group)
def machines() -> None:
    """Look at machines."""


@machines.command("list")
@click.option("--pool", help="Only this pool's.")
@pass_session
def list_machines(session: Session, pool: str | None) -> None:
    """All machines, a line each."""
    view = _view(session, pool)
    session.show(Report(view.machines, (_machine_table(session, view.machines),)))


@machines.command("describe")
@click.argument("name")
@pass_session
def describe_machine(session: Session, name: str) -> None:
    """Everything about one machine, and why it was made."""
    machine = session.remuda.get(path_of("v1", "machines", name), MachineView)
    why_ = session.remuda.get(path_of("v1", "why", "machine", name), Why)
    now = session.now()
    facts = (
        f"machine   {machine.name}",
        f"pool      {machine.pool}",
        f"state     {machine.state} for {age(now - machine.since)}",
        f"made      {clock_time(machine.created_at, now)} ({age(now - machine.created_at)} ago)",
        f"template  {machine.template}" + ("   (old)" if machine.is_old else ""),
        f"jobs      {machine.uses} taken" + (f", now {machine.job}" if machine.job else ""),
        "",
    )
    session.show(Report({"machine": machine, "why": why_}, lines=(*facts, *_told(session, why_))))


@machines.command()
@click.argument("name")
@pass_session
def console(session: Session, name: str) -> None:
    """What a machine said last."""
    answer = session.remuda.get(path_of("v1", "machines", name, "console"), dict[str, Any])
    session.show(Report(answer, lines=(answer["text"].rstrip("\n"),)))


@click.command(cls=Command)
@click.option("--once", is_flag=True, help="Draw it once and end.")
@pass_session
def top(session: Session, once: bool) -> None:
    """
    A live view of pools, machines, jobs and decisions.

    Ctrl-C ends it. In a pipe it is drawn once.
    """
    import asyncio
    import signal

    from rich.console import Console

    from remuda.loop.clock import SystemClock
    from remuda.pools.live import ask, render, watch

    screen = Console()
    remuda, clock = session.remuda, SystemClock()
    seen, jobs, decisions = ask(remuda)
    if session.form != "table":
        told = tuple((clock_time(item.at, clock.now()), item.text) for item in decisions)
        tables = (
            Table(_HEADINGS, tuple(map(_row, seen.pools)), title="pools", note="no pools"),
            _machine_table(session, seen.machines),
            Table(("AT", "WHAT AND WHY"), told, title="last decisions", note="none"),
        )
        session.show(Report({"pools": seen, "jobs": jobs, "decisions": decisions}, tables))
        return
    if once or not screen.is_terminal:
        screen.print(render(seen, jobs, decisions, clock.now()))
        return

    async def follow() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await watch(remuda, clock, stop, screen)

    asyncio.run(follow())


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["pool", "machine", "job"]))
@click.argument("name")
@click.option("--at", metavar="TIME", help="At another time: 2026-01-31T14:05:00Z, or how long ago: 10m.")
@click.option("--history", is_flag=True, help="Also what came before.")
@pass_session
def why(session: Session, kind: str, name: str, at: str | None, history: bool) -> None:
    """
    Why a pool, a machine or a job is as it is.

    \b
    remuda why pool shell
    remuda why pool shell --at 10m
    remuda why machine shell-7
    remuda why job 12
    """
    instant = session.instant(at, session.now()) if at else None
    if kind == "job":
        _why_job(session, name, instant)
        return
    answer = session.remuda.get(path_of("v1", "why", kind, name), Why, at=instant)
    if instant is None:
        _tell_age(session, answer.at)
    lines = _told(session, answer)
    if history or kind == "machine":
        lines += _history(session, answer.history)
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
    lines = [
        f"job {job.id} of class {job.job_class} {_STATES[job.state]}   since {clock_time(job.changed_at, now)} ({age(now - job.changed_at)})"
    ]
    lines.append(
        f"  submitted {clock_time(job.submitted_at, now)}, priority {job.priority}, retries allowed: {job.retries}"
    )
    for attempt in job.attempts:
        told = f"  attempt {attempt.number} on {attempt.machine} from {clock_time(attempt.claimed_at, now)}"
        if attempt.status:
            told += f": {attempt.status}" + (f" {attempt.exit_code}" if attempt.status == "exited" else "")
            told += f", {attempt.detail}" if attempt.detail else ""
        lines.append(told)
    pool_why = None
    if job.state is JobState.WAITING:
        before = session.remuda.get(path_of("v1", "jobs", job.id, "ahead"), Ahead)
        lines.append(f"  jobs of its class ahead of it: {before.ahead}")
        pool = next(
            (p for p in session.remuda.get("/v1/pools", PoolsView).pools if p.job_class == job.job_class),
            None,
        )
        if pool is None:
            lines.append(f"  no pool serves class {job.job_class} now")
        else:
            pool_why = session.remuda.get(path_of("v1", "why", "pool", pool.name), Why, at=at)
            lines += ["", *_told(session, pool_why)]
    session.show(Report({"job": job, "pool": pool_why}, lines=tuple(lines)))


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
    make = (lambda recorded: change(recorded, changed, EXACT_SOURCES)) if changed else None
    store = session.data_dir / FILE
    steps, cycles, differences = 0, 0, list[Difference]()
    with reading(store) as db, explained(store):
        for step in run(db, begin, end, make):
            steps, cycles = steps + 1, cycles + step.cycles
            differences += step.differences
    if not steps:
        raise NotFound(f"nothing is recorded since {since}")
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


def _acts(actions: tuple[str, ...]) -> str:
    return f"   [{', '.join(actions)}]" if actions else ""


def _view(session: Session, name: str | None) -> PoolsView:
    found: PoolsView = session.remuda.get(
        "/v1/pools" if name is None else path_of("v1", "pools", name), PoolsView
    )
    _tell_age(session, found.seen_at)
    return found


def _tell_age(session: Session, seen_at: int) -> None:
    """Say when an answer is an old one: nothing runs, or the loop does not."""
    since = session.now() - seen_at
    if seen_at and since > _OLD and session.form == "table" and not session.quiet:
        click.echo(
            f"as of {clock_time(seen_at, session.now())}, {age(since)} ago: nothing was seen since", err=True
        )


def _row(pool: PoolView) -> tuple[str, ...]:
    return (
        pool.name,
        pool.job_class or "-",
        str(pool.target),
        str(pool.ready),
        str(pool.busy),
        str(pool.creating),
        str(pool.waiting),
        str(pool.min),
        str(pool.max),
        pool.ceiling or "-",
        pool.why.removeprefix(f"{pool.name} "),
    )


def _rollout(pool: PoolView) -> str:
    if not pool.old:
        return "all machines are up to date"
    return f"{_counted(pool.old, 'machine')} of {pool.live} with an old template"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _machine_table(session: Session, found: tuple[MachineView, ...]) -> Table:
    now = session.now()
    rows = tuple(
        (
            machine.name,
            machine.pool,
            machine.state,
            age(now - machine.since),
            machine.job or "-",
            str(machine.uses),
            age(now - machine.created_at),
            "old" if machine.is_old else "current",
        )
        for machine in found
    )
    return Table(
        ("MACHINE", "POOL", "STATE", "FOR", "JOB", "JOBS", "AGE", "TEMPLATE"), rows, note="no machines"
    )


def _steer(session: Session, name: str, verb: str, body: dict[str, Any]) -> None:
    override = session.remuda.post(path_of("v1", "pools", name, verb), body, Override)
    told = tell_override(override)
    session.show(Report(override, lines=(f"pool {name}: {told or 'nothing is set by hand'}",)))


def _told(session: Session, answer: Why) -> list[str]:
    now = session.now()
    cycles = f", {answer.cycles} cycle{'s' * (answer.cycles != 1)}" if answer.cycles else ""
    lines = [
        f"{answer.headline}   since {clock_time(answer.since, now)} ({age(answer.at - answer.since)}{cycles})"
    ]
    width = max((len(step.text) for step in answer.steps), default=0)
    lines += [
        f"  {step.label:<9} {step.text:<{min(width, 60)}}   {step.remark}".rstrip() for step in answer.steps
    ]
    return lines


def _history(session: Session, events: tuple[Event, ...]) -> list[str]:
    now = session.now()
    return ["", *(f"  {clock_time(event.at, now)}  {event.text}" for event in events)]
