"""The live view of `remuda up` on a terminal and of `remuda top`."""

import asyncio
import contextlib

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from remuda.control.client import Remuda
from remuda.errors import RemudaError
from remuda.loop.clock import Clock
from remuda.model.jobs import JobList
from remuda.model.times import Instant
from remuda.output.moments import age, clock_time
from remuda.pools.views import Decision, PoolsView

_COLOURS = {
    "busy": "yellow",
    "idle": "green",
    "creating": "cyan",
    "ended": "dim",
    "draining": "magenta",
    "failed": "red",
}
_MOST = 12


def render(pools: PoolsView, jobs: JobList, decisions: list[Decision], now: Instant) -> Group:
    """One picture: pools, machines, jobs and the last decisions with their reasons."""
    return Group(
        Text(f"remuda   {clock_time(now, now)}   seen {age(now - pools.seen_at)} ago", style="bold"),
        _pools(pools),
        _machines(pools, now),
        _jobs(jobs, now),
        _decisions(decisions, now),
        Text("Ctrl-C to stop", style="dim"),
    )


def _table(title: str, headings: tuple[str, ...], rows: list[tuple[str | Text, ...]]) -> Table:
    """Only the last column gives way when the screen is narrow."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        box=None,
        pad_edge=False,
        title_style="bold",
        padding=(0, 2, 0, 0),
    )
    for index, heading in enumerate(headings):
        width = max(len(heading), *(len(row[index]) for row in rows)) if rows else len(heading)
        is_last = index == len(headings) - 1
        table.add_column(heading, no_wrap=True, min_width=0 if is_last else width, overflow="ellipsis")
    for row in rows:
        table.add_row(*row)
    return table


def _pools(view: PoolsView) -> Table:
    headings = ("POOL", "CLASS", "WANTED", "READY", "BUSY", "BOOTING", "WAITING", "MIN–MAX", "WHY")
    rows: list[tuple[str | Text, ...]] = [
        (
            pool.name,
            pool.job_class,
            str(pool.target),
            str(pool.ready),
            str(pool.busy),
            str(pool.creating),
            str(pool.waiting),
            f"{pool.min}–{pool.max}",
            pool.why.removeprefix(f"{pool.name} "),
        )
        for pool in view.pools
    ]
    return _table("pools", headings, rows)


def _machines(view: PoolsView, now: Instant) -> Table:
    shown = sorted(view.machines, key=lambda item: (item.state != "busy", -item.created_at))[:_MOST]
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
    title = f"machines ({len(view.machines)}" + (f", {_MOST} shown)" if len(view.machines) > _MOST else ")")
    return _table(title, ("MACHINE", "STATE", "FOR", "JOB", "JOBS TAKEN", ""), rows)


def _jobs(jobs: JobList, now: Instant) -> Table:
    counts = ", ".join(f"{count} {state}" for state, count in sorted(jobs.counts.items())) or "none yet"
    rows: list[tuple[str | Text, ...]] = [
        (
            str(job.id),
            job.job_class,
            job.state,
            age(now - job.changed_at),
            str(len(job.attempts)),
            " ".join(job.spec.command).replace("\n", " "),
        )
        for job in jobs.jobs[:_MOST]
    ]
    return _table(f"jobs ({counts})", ("JOB", "CLASS", "STATE", "FOR", "TRIES", "COMMAND"), rows)


def _decisions(decisions: list[Decision], now: Instant) -> Table:
    rows: list[tuple[str | Text, ...]] = [(clock_time(item.at, now), item.text) for item in decisions[-8:]]
    return _table("last decisions", ("AT", "WHAT AND WHY"), rows)


async def watch(remuda: Remuda, clock: Clock, stop: asyncio.Event, console: Console | None = None) -> None:
    """Draw the view once a second until stopped; a Remuda that is away for a moment is waited for."""
    screen = console or Console()
    with Live(console=screen, screen=screen.is_terminal, auto_refresh=False) as live:
        while not stop.is_set():
            with contextlib.suppress(RemudaError):
                live.update(await asyncio.to_thread(picture, remuda, clock), refresh=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await stop.wait()


def picture(remuda: Remuda, clock: Clock) -> Group:
    """Ask for everything and draw it."""
    pools = remuda.get("/v1/pools", PoolsView)
    jobs = remuda.get("/v1/jobs", JobList, most=_MOST)
    told = remuda.get("/v1/decisions", list[Decision])
    return render(pools, jobs, told, clock.now())
