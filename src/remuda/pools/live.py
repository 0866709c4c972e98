"""The live view of `remuda up` on a terminal and of `remuda top`."""

import asyncio
import contextlib
import shlex

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from remuda.control.client import Remuda
from remuda.control.notices import notices
from remuda.errors import RemudaError
from remuda.loop.clock import Clock
from remuda.model.jobs import JobList, JobState
from remuda.model.times import Instant
from remuda.output.moments import age, clock_time
from remuda.output.show import one_line
from remuda.pools.controller import LOOP
from remuda.pools.views import Decision, PoolsView

_COLOURS = {
    "busy": "yellow",
    "idle": "green",
    "creating": "cyan",
    "ended": "dim",
    "unknown": "blue",
    "draining": "magenta",
    "failed": "red",
}
#: jobs that are asked for: as many as a tall screen can show
_JOBS = 50
#: rows of each table where the height of the screen does not limit them
_MOST = 12
#: lines that are there whatever there is to show: the title, the last line, and three of each table but its rows
_FRAME = 14


def render(
    pools: PoolsView,
    jobs: JobList,
    decisions: list[Decision],
    now: Instant,
    height: int | None = None,
    first: tuple[str, ...] = (),
) -> Group:
    """One picture: pools, machines, jobs and the last decisions with their reasons, fitted to a height."""
    wants = (len(pools.pools), len(pools.machines), len(jobs.jobs), len(decisions))
    if height is None:
        rooms = [wants[0], *(min(_MOST, want) for want in wants[1:])]
    else:
        rooms = _share(height - _FRAME - len(first), wants)
    seen = f"seen {age(now - pools.seen_at)} ago" if pools.seen_at else "nothing seen yet"
    return Group(
        Text(f"remuda   {clock_time(now, now)}   {seen}", style="bold"),
        *(Text(one_line(line), style="bold red", no_wrap=True, overflow="ellipsis") for line in first),
        _pools(pools, rooms[0]),
        _machines(pools, now, rooms[1]),
        _jobs(jobs, now, rooms[2]),
        _decisions(decisions, now, rooms[3]),
    )


def _share(room: int, wants: tuple[int, ...]) -> list[int]:
    """Share the rows of a screen evenly; what one does not want is for the others. Each has at least one."""
    shares = [min(1, want) for want in wants]
    left = room - sum(shares)
    while left > 0 and any(share < want for share, want in zip(shares, wants, strict=True)):
        for index, want in enumerate(wants):
            if shares[index] < want and left > 0:
                shares[index] += 1
                left -= 1
    return shares


def _table(title: str, headings: tuple[str, ...], rows: list[tuple[str | Text, ...]]) -> Table:
    """Only the last column gives way when the screen is narrow. Nothing in a row can be read as markup."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        box=None,
        pad_edge=False,
        title_style="bold",
        padding=(0, 2, 0, 0),
        expand=True,
    )
    for index, heading in enumerate(headings):
        width = max([len(heading), *(len(row[index]) for row in rows)])
        if index == len(headings) - 1:
            table.add_column(heading, no_wrap=True, ratio=1, overflow="ellipsis")
        else:
            table.add_column(heading, no_wrap=True, width=width)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(one_line(cell)) for cell in row))
    return table


def _count(title: str, there: int, shown: int, more: str = "") -> str:
    parts = [str(there)] if not more else [more]
    return f"{title} ({', '.join(parts + [f'{shown} shown'] * (shown < there))})"


def _pools(view: PoolsView, most: int) -> Table:
    headings = ("POOL", "CLASS", "TARGET", "IDLE", "BUSY", "BOOTING", "WAITING", "MIN–MAX", "WHY")
    rows: list[tuple[str | Text, ...]] = [
        (
            pool.name,
            pool.job_class,
            str(pool.target),
            str(pool.idle),
            str(pool.busy),
            str(pool.creating),
            str(pool.waiting),
            f"{pool.min}–{pool.max}",
            pool.why.removeprefix(f"{pool.name} "),
        )
        for pool in view.pools[:most]
    ]
    return _table(_count("pools", len(view.pools), len(rows)), headings, rows)


def _machines(view: PoolsView, now: Instant, most: int) -> Table:
    shown = sorted(view.machines, key=lambda item: (item.state != "busy", -item.created_at))[:most]
    rows: list[tuple[str | Text, ...]] = [
        (
            machine.name,
            Text(machine.state, style=_COLOURS.get(machine.state, "default")),
            age(now - machine.since),
            machine.job or "",
            str(machine.uses),
            "old template" if machine.is_old else machine.ended or "",
        )
        for machine in shown
    ]
    title = _count("machines", len(view.machines), len(rows))
    return _table(title, ("MACHINE", "STATE", "FOR", "JOB", "JOBS TAKEN", ""), rows)


def _jobs(jobs: JobList, now: Instant, most: int) -> Table:
    counts = ", ".join(f"{count} {state}" for state, count in sorted(jobs.counts.items())) or "none yet"
    rows: list[tuple[str | Text, ...]] = [
        (
            str(job.id),
            job.job_class,
            job.state,
            age(now - job.changed_at),
            str(len(job.attempts)),
            shlex.join(job.spec.command),
        )
        for job in jobs.jobs[:most]
    ]
    return _table(f"jobs ({counts})", ("JOB", "CLASS", "STATE", "FOR", "TRIES", "COMMAND"), rows)


def _decisions(decisions: list[Decision], now: Instant, most: int) -> Table:
    shown = decisions[len(decisions) - min(most, len(decisions)) :]
    rows: list[tuple[str | Text, ...]] = [(clock_time(item.at, now), item.text) for item in shown]
    return _table("last decisions", ("AT", "WHAT AND WHY"), rows)


async def watch(remuda: Remuda, clock: Clock, stop: asyncio.Event, console: Console | None = None) -> None:
    """Draw the view once a second until stopped; a Remuda that is away for a moment is waited for."""
    screen = console or Console()
    last: Group | None = None
    with Live(console=screen, screen=screen.is_terminal, auto_refresh=False) as live:
        while not stop.is_set():
            line = Text("Ctrl-C to stop", style="dim")
            try:
                last = await asyncio.to_thread(picture, remuda, clock, screen.height)
            except RemudaError as error:
                line = Text("starting" if last is None else one_line(str(error)), style="red", no_wrap=True)
            live.update(Group(last, line) if last else line, refresh=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await stop.wait()


def picture(remuda: Remuda, clock: Clock, height: int | None = None) -> Group:
    """Ask for everything and draw it."""
    pools, jobs, decisions = ask(remuda)
    now = clock.now()
    return render(pools, jobs, decisions, now, height, notices(remuda, LOOP, pools.seen_at, now))


def ask(remuda: Remuda) -> tuple[PoolsView, JobList, list[Decision]]:
    """Everything that the view shows; jobs that run come first, however many wait behind them."""
    running = remuda.get("/v1/jobs", JobList, most=_JOBS, state=JobState.RUNNING)
    newest = remuda.get("/v1/jobs", JobList, most=_JOBS)
    shown = {job.id for job in running.jobs}
    others = tuple(job for job in newest.jobs if job.id not in shown and job.state is not JobState.RUNNING)
    return (
        remuda.get("/v1/pools", PoolsView),
        JobList(running.jobs + others, newest.counts),
        remuda.get("/v1/decisions", list[Decision]),
    )
