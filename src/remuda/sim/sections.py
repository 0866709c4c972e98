"""What `remuda report` says of pools: what other settings would have changed comes first, then what is recorded."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from remuda.control.command import Session
from remuda.errors import InvariantError, NotFound
from remuda.ledger.place import may_be_there, place_of
from remuda.model.times import HOUR
from remuda.output.moments import age
from remuda.output.sections import Section, Wanted
from remuda.output.show import Table
from remuda.pools.figures import Figures
from remuda.pools.report import sections_of
from remuda.sim.from_ledger import Outcome, Recorded, recorded_waits
from remuda.sim.recorded import precise, read_recorded
from remuda.sim.what_if import Effect, best, candidates, savings, try_out

#: jobs that are simulated at most, the newest: each change lives through all of them again
_MOST_JOBS = 2_000


def pool_sections(session: Session, wanted: Wanted, progress: Callable[[str], None]) -> Iterator[Section]:
    """The sections of pools; none where no pool is recorded."""
    if session.server is None and not may_be_there(place_of(session.home)):
        return
    progress("what is recorded of pools")
    try:
        figures, recorded = read_recorded(session, wanted.since, wanted.until)
    except NotFound:
        return
    if recorded is not None and wanted.simulates:
        yield _what_if(figures, _newest(recorded), progress)
    yield from sections_of(figures, recorded.jobs if recorded else (), wanted)


def _newest(recorded: Recorded) -> Recorded:
    """As many jobs as can be lived through several times, and the time since the first of them."""
    if len(recorded.jobs) <= _MOST_JOBS:
        return recorded
    jobs = recorded.jobs[-_MOST_JOBS:]
    since = jobs[0].submitted_at
    before = [item for item in recorded.policies if item[0] <= since][-1:] or recorded.policies[:1]
    policies = (*before, *(item for item in recorded.policies if item[0] > since))
    older = {**recorded.left_out, f"older than the newest {_MOST_JOBS:,}": len(recorded.jobs) - _MOST_JOBS}
    return structs.replace(
        recorded, since=since, policies=policies, jobs=jobs, machine_ms=0, busy_ms=0, left_out=older
    )


def _what_if(figures: Figures, recorded: Recorded, progress: Callable[[str], None]) -> Section:
    title = "What would have changed"
    changes = list(candidates(recorded.policies[-1][1], figures))
    try:
        before, effects = try_out(recorded, changes, progress)
    except InvariantError as error:
        return Section(title, notes=(f"It could not be simulated: {error}",), comes_first=True)
    top = best(before, effects)
    rest = [effect for effect in effects if effect not in top]
    headings = ("CHANGE", "WAITED LESS", "MACHINE-HOURS", "P95 WAIT", "WAITING SAVED PER MACHINE-HOUR")
    tables = [
        Table(headings, tuple(map(_row, top)), note="no change that was tried would have saved waiting"),
    ]
    if saving := savings(before, rest):
        tables.append(
            Table(headings, tuple(map(_row, saving)), title="Fewer machines, and nobody would have noticed")
        )
    if others := [effect for effect in rest if effect not in saving]:
        tables.append(Table(headings, tuple(map(_row, others)), title="Tried, and not worth it"))
    was = recorded_waits(recorded)
    sentences = (
        f"{len(recorded.jobs):,} recorded jobs were lived through again with each of {len(changes)} other settings."
        + (f" Best: {top[0].change.words}." if top else ""),
        f"With the settings of then they wait {_waits(before)} in the simulation; they really waited {_waits(was)}.",
    )
    notes = [f"Left out: {count:,} jobs {why}." for why, count in recorded.left_out.items()]
    notes.append(
        "Machines boot as fast as they usually did and never fail, jobs run as long as they did, and what was set by hand, maxUses and"
        " idleTimeout are not simulated. Three changes that save most waiting per machine-hour come first."
    )
    data: dict[str, Any] = {
        "recorded": _data(was),
        "simulated": _data(before),
        "changes": [
            {
                "change": effect.change.words,
                "waiting_saved_ms": effect.waiting_saved_ms,
                "machines_added_ms": effect.machines_added_ms,
                **_data(effect.outcome),
            }
            for effect in effects
        ],
    }
    return Section(title, sentences, tuple(tables), (), tuple(notes), data, comes_first=True)


def _row(effect: Effect) -> tuple[str, ...]:
    added = effect.machines_added_ms
    saved = (
        f"{effect.waiting_saved_ms / added * HOUR / 60_000:,.1f} min" if added > 60_000 else "costs nothing"
    )
    return (
        effect.change.words,
        _signed(effect.waiting_saved_ms),
        f"{added / HOUR:+,.1f}" if abs(added) >= HOUR else f"{'+' if added > 0 else ''}{_signed(added)}",
        precise(effect.outcome.at(95)),
        saved if effect.waiting_saved_ms > 0 else "-",
    )


def _signed(ms: int) -> str:
    return ("-" if ms < 0 else "") + age(abs(ms))


def _waits(outcome: Outcome) -> str:
    mean = outcome.waiting_ms // max(1, len(outcome.all_waits))
    return f"{precise(mean)} on average, {precise(outcome.at(50))} in the middle and {precise(outcome.at(95))} at the 95th percentile"


def _data(outcome: Outcome) -> dict[str, int]:
    return {
        "jobs": len(outcome.all_waits),
        "waiting_ms": outcome.waiting_ms,
        "p50_ms": outcome.at(50),
        "p95_ms": outcome.at(95),
        "machine_ms": outcome.machine_ms,
    }
