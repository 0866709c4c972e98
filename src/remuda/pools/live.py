"""The live view of `remuda up` on a terminal and of `remuda top`."""

import shlex
from collections.abc import Callable, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from remuda.control.client import Remuda
from remuda.model.jobs import JobList, JobState
from remuda.model.times import Instant
from remuda.output.moments import age, clock_time
from remuda.output.show import one_line
from remuda.pools.browsing import Browsing, Order, Row, arranged
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

HEADINGS = (
    ("POOL", "CLASS", "TARGET", "IDLE", "BUSY", "BOOTING", "WAITING", "MIN–MAX", "WHY"),
    ("MACHINE", "STATE", "FOR", "JOB", "JOBS TAKEN", ""),
    ("JOB", "CLASS", "STATE", "FOR", "TRIES", "COMMAND"),
    ("AT", "WHAT AND WHY"),
)


def tables_of(
    pools: PoolsView, jobs: JobList, decisions: list[Decision], now: Instant, at: Browsing | None = None
) -> list[list[Row]]:
    """The rows of every table, as a person has them sorted and filtered."""
    rows = (_pools(pools), _machines(pools, now), _jobs(jobs, now), _decisions(decisions, now))
    if at is None:
        return list(rows)
    return [arranged(each, order, at.filter) for each, order in zip(rows, at.orders, strict=True)]


def render(
    pools: PoolsView,
    jobs: JobList,
    decisions: list[Decision],
    now: Instant,
    height: int | None = None,
    first: tuple[str, ...] = (),
    at: Browsing | None = None,
) -> Group:
    """One picture: pools, machines, jobs and the last decisions with their reasons, fitted to a height."""
    tables = tables_of(pools, jobs, decisions, now, at)
    wants = tuple(map(len, tables))
    if height is None:
        rooms = [wants[0], *(min(_MOST, want) for want in wants[1:])]
    else:
        rooms = _share(height - _FRAME - len(first), wants)
    seen = f"seen {age(now - pools.seen_at)} ago" if pools.seen_at else "nothing seen yet"
    counts = ", ".join(f"{count} {state}" for state, count in sorted(jobs.counts.items())) or "none yet"
    totals = (len(pools.pools), len(pools.machines), len(tables[2]), len(decisions))
    titles = [
        _count("pools", totals[0], min(rooms[0], wants[0])),
        _count("machines", totals[1], min(rooms[1], wants[1])),
        f"jobs ({counts})",
        "last decisions",
    ]
    return Group(
        Text(f"remuda   {clock_time(now, now)}   {seen}", style="bold"),
        *(
            Text(one_line(line), style="bold red", no_wrap=height is not None, overflow="ellipsis")
            for line in first
        ),
        *(
            _drawn(titles[index], HEADINGS[index], rows, rooms[index], at, index)
            for index, rows in enumerate(tables)
        ),
    )


def _drawn(
    title: str, headings: tuple[str, ...], rows: list[Row], room: int, at: Browsing | None, index: int
) -> Table:
    """A table with as many rows as it has room for; the chosen row is among them."""
    is_chosen = at is not None and at.table == index
    begin = max(0, at.row - room + 1) if at is not None and is_chosen else 0
    if title == "last decisions" and not is_chosen and (at is None or at.orders[index].column is None):
        begin = max(0, len(rows) - room)  # the newest are last
    marked = at.row - begin if at is not None and is_chosen else None
    order = Order() if at is None else at.orders[index]
    return _table(
        ("▸ " if is_chosen else "") + title, _marked(headings, order), rows[begin : begin + room], marked
    )


def _marked(headings: tuple[str, ...], order: Order) -> tuple[str, ...]:
    arrow = "▾" if order.is_reversed else "▴"
    return tuple(
        f"{heading} {arrow}".strip() if index == order.column else heading
        for index, heading in enumerate(headings)
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


def _table(title: str, headings: tuple[str, ...], rows: Sequence[Row], chosen: int | None) -> Table:
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
    texts = [
        [cell if isinstance(cell, Text) else Text(one_line(str(cell))) for cell in row.cells] for row in rows
    ]
    for index, heading in enumerate(headings):
        width = max([len(heading), *(len(row[index]) for row in texts)])
        if index == len(headings) - 1:
            table.add_column(heading, no_wrap=True, ratio=1, overflow="ellipsis")
        else:
            table.add_column(heading, no_wrap=True, width=width)
    for index, row in enumerate(texts):
        table.add_row(*row, style="reverse" if index == chosen else "")
    return table


def _count(title: str, there: int, shown: int) -> str:
    return f"{title} ({', '.join([str(there)] + [f'{shown} shown'] * (shown < there))})"


def _pools(view: PoolsView) -> list[Row]:
    found = []
    for pool in view.pools:
        numbers = (pool.target, pool.idle, pool.busy, pool.creating, pool.waiting)
        why = pool.why.removeprefix(f"{pool.name} ")
        found.append(
            Row(
                (pool.name, pool.job_class, *map(str, numbers), f"{pool.min}–{pool.max}", why),
                (pool.name, pool.job_class, *numbers, pool.max, why),
                ("pool", pool.name),
            )
        )
    return found


def _machines(view: PoolsView, now: Instant) -> list[Row]:
    found = []
    for machine in sorted(view.machines, key=lambda item: (item.state != "busy", -item.created_at)):
        remark = "old template" if machine.is_old else machine.ended or ""
        state = Text(machine.state, style=_COLOURS.get(machine.state, "default"))
        found.append(
            Row(
                (machine.name, state, age(now - machine.since), machine.job or "", str(machine.uses), remark),
                (machine.name, machine.state, now - machine.since, machine.job or "", machine.uses, remark),
                ("machine", machine.name),
            )
        )
    return found


def _jobs(jobs: JobList, now: Instant) -> list[Row]:
    found = []
    for job in jobs.jobs:
        command, tries = shlex.join(job.spec.command), len(job.attempts)
        found.append(
            Row(
                (str(job.id), job.job_class, job.state, age(now - job.changed_at), str(tries), command),
                (job.id, job.job_class, job.state, now - job.changed_at, tries, command),
                ("job", str(job.id)),
                comes_first=job.state is JobState.RUNNING,
            )
        )
    return found


def _decisions(decisions: list[Decision], now: Instant) -> list[Row]:
    found = []
    for item in decisions:
        kind, _, name = item.subject.partition("/")
        subject = (kind, name) if kind in {"pool", "machine"} and name else None
        found.append(Row((clock_time(item.at, now), item.text), (item.at, item.text), subject))
    return found


def lost(message: str) -> Text:
    """A line that says why nothing new is shown."""
    return Text(one_line(message), style="red", no_wrap=True)


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


def closely(title: str, lines: Sequence[str], height: int, scrolled: int) -> Group:
    """What `remuda why` says of one thing, from a line on."""
    room = max(1, height - 3)
    begin = max(0, min(scrolled, len(lines) - room))
    more = len(lines) - begin - room
    shown = [Text(one_line(line), no_wrap=True, overflow="ellipsis") for line in lines[begin : begin + room]]
    return Group(
        Text(title, style="bold"), *shown, *([Text(f"… {more} more", style="dim")] if more > 0 else [])
    )


#: makes the lines that `remuda why` prints of a kind and a name
Explain = Callable[[str, str], tuple[str, ...]]
