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


def _table(title: str, *headings: str) -> Table:
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, title_style="bold", padding=(0, 2, 0, 0)
    )
    for heading in headings:
        table.add_column(heading, style="default", no_wrap=True)
    return table


def _pools(view: PoolsView) -> Table:
    table = _table(
        "\npools", "POOL", "CLASS", "WANTED", "READY", "BUSY", "BOOTING", "WAITING", "MIN–MAX", "WHY"
    )
    for pool in view.pools:
        table.add_row(
            pool.name,
            pool.job_class,
            str(pool.target),
            str(pool.ready),
            str(pool.busy),
            str(pool.creating),
            str(pool.waiting),
            f"{pool.min}–{pool.max}",
            pool.why,
        )
    return table


def _machines(view: PoolsView, now: Instant) -> Table:
    table = _table(f"\nmachines ({len(view.machines)})", "MACHINE", "STATE", "FOR", "JOB", "JOBS DONE", "")
    shown = sorted(view.machines, key=lambda item: (item.state != "busy", -item.created_at))[:_MOST]
    for machine in shown:
        state = Text(machine.state, style=_COLOURS.get(machine.state, "default"))
        note = "old template" if machine.is_old else machine.ended or ""
        table.add_row(
            machine.name, state, age(now - machine.since), machine.job or "", str(machine.uses), note
        )
    if len(view.machines) > _MOST:
        table.add_row(f"… {len(view.machines) - _MOST} more", "", "", "", "", "")
    return table


def _jobs(jobs: JobList, now: Instant) -> Table:
    counts = ", ".join(f"{count} {state}" for state, count in sorted(jobs.counts.items())) or "none yet"
    table = _table(f"\njobs ({counts})", "JOB", "CLASS", "STATE", "FOR", "TRIES", "COMMAND")
    for job in jobs.jobs[:_MOST]:
        command = " ".join(job.spec.command).replace("\n", " ")
        table.add_row(
            str(job.id),
            job.job_class,
            job.state,
            age(now - job.changed_at),
            str(len(job.attempts)),
            command[:60],
        )
    return table


def _decisions(decisions: list[Decision], now: Instant) -> Table:
    table = _table("\nlast decisions", "AT", "WHAT AND WHY")
    for decision in decisions[-8:]:
        table.add_row(clock_time(decision.at, now), decision.text)
    return table


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
