"""`remuda pools`, `machines` and `top`."""

from typing import Any

import click

from remuda.control.client import path_of
from remuda.control.command import Command, Group, Session, confirm, pass_session
from remuda.errors import BadInput
from remuda.output.moments import age, clock_time
from remuda.output.show import Report, Table
from remuda.pools.decide.model import Override
from remuda.pools.questions import answer_lines, complete_machines, complete_pools, first_lines
from remuda.pools.views import MachineView, PoolsView, PoolView
from remuda.pools.why import Why, describe_override

_HEADINGS = ("POOL", "CLASS", "TARGET", "IDLE", "BUSY", "BOOTING", "WAITING", "MIN", "MAX", "CEILING", "WHY")


@click.group(cls=Group)
def pools() -> None:
    """
    Look at pools and steer them.

    What is set by hand (scale, pause, drain) holds until it is cleared, also over a restart, and `remuda why` names
    it. A rollout that was ordered at once is over when the machines that were old then are gone.
    """


@pools.command("list")
@pass_session
def list_pools(session: Session) -> None:
    """All pools, a line each."""
    view = _view(session, None)
    table = Table(_HEADINGS, tuple(map(_row, view.pools)), note="no pools", is_list=True)
    session.show(Report(view, (table,), first_lines(session, view.seen_at)))


@pools.command()
@click.argument("name", required=False, shell_complete=complete_pools)
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
            str(pool.unknown),
            str(pool.leaving),
            _rollout(pool),
            describe_override(pool.override) or "-",
        )
        for pool in view.pools
    )
    headings = (
        "POOL",
        "HAS/TARGET",
        "IDLE",
        "BUSY",
        "BOOTING",
        "UNKNOWN",
        "LEAVING",
        "ROLLOUT",
        "SET BY HAND",
    )
    old = [machine.name for machine in view.machines if machine.is_old] if name else []
    lines = (f"still of an older template: {', '.join(old)}",) if old else ()
    first = first_lines(session, view.seen_at)
    session.show(Report(view, (Table(headings, rows, note="no pools"),), (*first, *lines)))


@pools.command()
@click.argument("name", shell_complete=complete_pools)
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
        f"by hand   {describe_override(pool.override) or 'nothing'}",
        "",
    )
    table = _machine_table(session, view.machines)
    session.show(
        Report(
            {"pool": pool, "machines": view.machines, "why": why_},
            (table,),
            (*first_lines(session, view.seen_at), *facts, *answer_lines(session, why_)),
        )
    )


@pools.command()
@click.argument("name", shell_complete=complete_pools)
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
    remuda pools scale shell --min 2    at least 2; its own max stays, unless it is less
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
@click.argument("name", shell_complete=complete_pools)
@pass_session
def pause(session: Session, name: str) -> None:
    """Make and remove nothing in a pool; its machines go on working."""
    _steer(session, name, "pause", {})


@pools.command()
@click.argument("name", shell_complete=complete_pools)
@pass_session
def resume(session: Session, name: str) -> None:
    """End a pause, a drain, or a rollout that was ordered at once."""
    _steer(session, name, "resume", {})


@pools.command()
@click.argument("name", shell_complete=complete_pools)
@pass_session
def drain(session: Session, name: str) -> None:
    """
    Let idle machines go and busy ones finish.

    The pool stays empty until it is resumed, also over a restart.
    """
    _steer(session, name, "drain", {})


@pools.command()
@click.argument("name", shell_complete=complete_pools)
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
@click.argument("name", shell_complete=complete_pools)
@pass_session
def userdata(session: Session, name: str) -> None:
    """What new VMs of a pool are told at boot; secrets are masked."""
    answer = session.remuda.get(path_of("v1", "pools", name, "userdata"), dict[str, Any])
    session.show(Report(answer, lines=(answer["text"].rstrip("\n"),)))


@click.group(cls=Group)
def machines() -> None:
    """Look at machines."""


@machines.command("list")
@click.option("--pool", shell_complete=complete_pools, help="Only this pool's.")
@pass_session
def list_machines(session: Session, pool: str | None) -> None:
    """All machines, a line each."""
    view = _view(session, pool)
    first = first_lines(session, view.seen_at)
    data = {"seen_at": view.seen_at, "machines": view.machines}
    session.show(Report(data, (_machine_table(session, view.machines),), first))


@machines.command("describe")
@click.argument("name", shell_complete=complete_machines)
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
    lines = (*first_lines(session, why_.at), *facts, *answer_lines(session, why_))
    session.show(Report({"machine": machine, "why": why_}, lines=lines))


@machines.command()
@click.argument("name", shell_complete=complete_machines)
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

    \b
    Tab, 1 to 4   another table          s, r    sort by the next column, in reverse
    up, down      another row            /       show only rows with some words
    Enter         why, as remuda why     Esc     back, or show all rows again
    q, Ctrl-C     end

    Jobs that run stay above those that wait, however they are sorted. In a pipe it is drawn once.
    """
    import asyncio
    import signal

    from rich.console import Console

    from remuda.loop.clock import SystemClock
    from remuda.pools.live import ask, render
    from remuda.pools.questions import why_report
    from remuda.pools.top import Top, browse

    screen = Console()
    session.timeout_s = 10  # who watches must be able to leave
    remuda, clock = session.remuda, SystemClock()
    seen, jobs, decisions = ask(remuda)
    if session.form != "table":
        rows = tuple((clock_time(item.at, clock.now()), item.text) for item in decisions)
        tables = (
            Table(_HEADINGS, tuple(map(_row, seen.pools)), title="pools", note="no pools"),
            _machine_table(session, seen.machines),
            Table(("AT", "WHAT AND WHY"), rows, title="last decisions", note="none"),
        )
        first_lines(session, seen.seen_at)
        session.show(Report({"pools": seen, "jobs": jobs, "decisions": decisions}, tables))
        return
    if once or not screen.is_terminal:
        screen.print(render(seen, jobs, decisions, clock.now(), first=first_lines(session, seen.seen_at)))
        return

    def explain(kind: str, name: str) -> tuple[str, ...]:
        return why_report(session, kind, name, history=True).lines

    async def follow() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await browse(Top(remuda, clock, explain), stop, screen)

    asyncio.run(follow())


def _view(session: Session, name: str | None) -> PoolsView:
    found: PoolsView = session.remuda.get(
        "/v1/pools" if name is None else path_of("v1", "pools", name), PoolsView
    )
    return found


def _row(pool: PoolView) -> tuple[str, ...]:
    return (
        pool.name,
        pool.job_class or "-",
        str(pool.target),
        str(pool.idle),
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
        ("MACHINE", "POOL", "STATE", "FOR", "JOB", "JOBS", "AGE", "TEMPLATE"),
        rows,
        note="no machines",
        is_list=True,
    )


def _steer(session: Session, name: str, verb: str, body: dict[str, Any]) -> None:
    override = session.remuda.post(path_of("v1", "pools", name, verb), body, Override)
    message = describe_override(override)
    session.show(Report(override, lines=(f"pool {name}: {message or 'nothing is set by hand'}",)))
