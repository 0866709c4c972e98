"""Reads what a closed-loop simulation is fed with, and `remuda simulate pools --from-ledger`."""

from collections.abc import Callable
from typing import Any

import click

from remuda.control.command import Session
from remuda.errors import BadInput, NotFound, RemudaError
from remuda.ledger.place import place_of, reading
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.output.moments import age
from remuda.output.show import Report, Table
from remuda.pools.decide.model import Policy
from remuda.pools.figures import Figures, add_up
from remuda.pools.past import Span, boot_times, spans
from remuda.pools.policy import EXACT_SOURCES, change
from remuda.pools.questions import jobs_between
from remuda.sim.from_ledger import Outcome, Recorded, choose, live_again, recorded_waits


def read_recorded(session: Session, since: Instant, until: Instant) -> tuple[Figures, Recorded | None]:
    """
    The sums of what is recorded in a span, and what a simulation of it is fed with; None where no job of our own queue ran.

    `NotFound` when nothing is recorded there, and `BadInput` when there is no store to be read.
    """
    if session.server is not None:
        raise BadInput(
            "what is recorded is read from the store: say --data-dir instead of --server, where it is"
        )
    policies: list[tuple[Instant, Policy]] = []
    ends: list[Instant] = []

    def kept(span: Span) -> Span:
        ends[:] = [max(span.end, *ends)] if ends else [span.end]
        if not policies or policies[-1][1] != span.policy:
            policies.append((span.begin, span.policy))
        return span

    def damaged(row: str) -> None:
        click.echo(f"{row}; it is left out", err=True)

    with reading(place_of(session.home)) as db:
        figures = add_up(map(kept, spans(db, since, until, damaged)), since, until)
        boots = boot_times(db, since, until)
    if not policies:
        raise NotFound(
            f"nothing is recorded of pools since {age(session.now() - since)} ago in {session.data_dir}"
        )
    try:
        jobs = jobs_between(session, since, until)
    except RemudaError:
        jobs = []  # tasks of other sources are theirs to keep
    chosen, left_out = choose(jobs, policies)
    if not chosen:
        return figures, None
    recorded = Recorded(
        since=max(since, policies[0][0]),
        until=ends[0],
        policies=tuple(policies),
        jobs=chosen,
        boots=boots,
        machine_ms=sum(pool.machine_ms for pool in figures.pools.values()),
        busy_ms=sum(pool.busy_ms for pool in figures.pools.values()),
        left_out=left_out,
    )
    return figures, recorded


def changed_by(objects: Objects) -> Callable[[Policy], Policy]:
    """Recorded settings with changed objects in the place of their namesakes."""
    return lambda policy: change(policy, objects, EXACT_SOURCES)


def compare_settings(session: Session, since: str, until: str | None, files: tuple[str, ...]) -> None:
    """Show how long jobs waited, wait in the simulation, and would have waited with changed objects."""
    begin, now = session.past(since), session.now()
    end = min(now, session.past(until))
    changed = session.load(files) if files else None
    with session.progress() as progress:
        progress("what is recorded")
        _, recorded = read_recorded(session, begin, end)
        if recorded is None:
            raise NotFound(
                "no job of the local queue is recorded there: tasks of other sources are not kept one by one"
            )
        if changed is not None:
            _refuse_strangers(changed, recorded)
        outcomes = {"recorded": recorded_waits(recorded)}
        progress("what was, once more")
        outcomes["simulated, as it was set"] = live_again(recorded)
        if changed is not None:
            progress("what would have been")
            outcomes["simulated, with the files"] = live_again(recorded, changed_by(changed))
    rows = tuple((name, *_row(outcome)) for name, outcome in outcomes.items())
    headings = ("", "JOBS", "MEAN WAIT", "P50", "P95", "LONGEST", "WAITED IN ALL", "MACHINES")
    lines = tuple(f"left out: {count} jobs {why}" for why, count in recorded.left_out.items())
    data: dict[str, Any] = {
        "since": begin,
        "until": end,
        "left_out": recorded.left_out,
        "outcomes": {name: _data(outcome) for name, outcome in outcomes.items()},
    }
    session.show(Report(data, (Table(headings, rows),), lines))


def _refuse_strangers(changed: Objects, recorded: Recorded) -> None:
    known = {name for _, policy in recorded.policies for name in (*policy.pools, *policy.ceilings)}
    strangers = [str(item) for item in changed if item.name not in known]
    if strangers:
        raise NotFound(
            f"nothing recorded is called {', '.join(strangers)}; there is: {', '.join(sorted(known))}"
        )


def _row(outcome: Outcome) -> tuple[str, ...]:
    waits = outcome.all_waits
    mean = outcome.waiting_ms // max(1, len(waits))
    hours = f"{outcome.machine_ms / 3_600_000:,.1f} h" if outcome.machine_ms else "-"
    lengths = (mean, outcome.at(50), outcome.at(95), waits[-1] if waits else 0, outcome.waiting_ms)
    return (f"{len(waits):,}", *map(precise, lengths), hours)


def precise(ms: int) -> str:
    """A length of time, with tenths of a second where it is short."""
    return f"{ms / 1_000:.1f}s" if ms < 60_000 else age(ms)


def _data(outcome: Outcome) -> dict[str, Any]:
    waits = outcome.all_waits
    return {
        "jobs": len(waits),
        "mean_wait_ms": outcome.waiting_ms // max(1, len(waits)),
        "p50_ms": outcome.at(50),
        "p95_ms": outcome.at(95),
        "waiting_ms": outcome.waiting_ms,
        "machine_ms": outcome.machine_ms,
        "busy_ms": outcome.busy_ms,
        "classes": {
            name: {"jobs": len(each), "waiting_ms": sum(each)} for name, each in outcome.waits.items()
        },
    }
