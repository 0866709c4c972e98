"""
How pools fared over a span of time, in a bounded number of points, and what is about to happen.

A point is a recorded cycle as it was: of each part of the span the last one, so that a day costs as much as an hour.
"""

import functools
from collections.abc import Iterator

from msgspec import Struct

from remuda.errors import BadInput, NotFound
from remuda.ledger.record import unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.plans import Reason
from remuda.model.times import MINUTE, Instant
from remuda.output.words import number, sentence
from remuda.pools.arithmetic import demand, pool_lines
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.views import last_cycle

MOST_POINTS = 500
#: a pause between two cycles that is longer is shown as one: nothing ran, or it was paused
_GAP = MINUTE
#: decoded plans that are kept; a page that is watched asks for the same ones each second
_KEPT = 2_048


class PoolPoint(Struct, frozen=True, gc=False):
    """A pool at one moment: how many machines, of what kind, how many were asked for, and why."""

    pool: str
    demand: int
    target: int
    live: int
    busy: int
    idle: int
    creating: int
    waiting: int
    #: what its ceiling gave it; None without one
    grant: int | None
    code: str
    why: str


class PoolSeries(Struct, frozen=True):
    """One pool's numbers at `times` of the history; None where nothing is recorded, or there was no such pool."""

    pool: str
    demand: list[int | None]
    target: list[int | None]
    live: list[int | None]
    busy: list[int | None]
    waiting: list[int | None]
    grant: list[int | None]
    why: list[str]


class PoolsHistory(Struct, frozen=True):
    """Pools over a span of time."""

    since: Instant
    until: Instant
    times: list[Instant]
    pools: list[PoolSeries]


class StartTimes(Struct, frozen=True):
    """How long machines of a pool took from being made to being able to work, in milliseconds, of those in the records."""

    pool: str
    since: Instant
    times: list[int]


class Next(Struct, frozen=True):
    """What a cycle right now would decide for a pool, were the world as it was last seen."""

    pool: str
    seen_at: Instant
    headline: str
    actions: list[str]


def pools_history(
    db: Database, since: Instant, until: Instant, points: int, only: str | None = None
) -> PoolsHistory:
    """All pools, or one, between two instants."""
    if not 2 <= points <= MOST_POINTS:
        raise BadInput(f"points wants 2 to {MOST_POINTS}, found {points}")
    if until <= since:
        raise BadInput("until must come after since")
    times: list[Instant] = []
    rows: list[dict[str, PoolPoint]] = []
    ended = since
    for begin, end, plan in _sampled(db, since, until, max(1, (until - since) // points)):
        if times and begin - ended > _GAP:
            times += [ended, ended + 1]
            rows += [rows[-1], {}]
        times.append(max(begin, since))
        rows.append(plan)
        ended = end
    if times and ended > times[-1]:
        times.append(min(ended, until))
        rows.append(rows[-1])
    names = sorted({name for row in rows for name in row})
    if only is not None:
        if only not in names:
            refuse_unknown(db, only)
        names = [only]
    return PoolsHistory(since, until, times, [_series(name, rows) for name in names])


def refuse_unknown(db: Database, pool: str) -> None:
    """`NotFound` for a pool that is not there now, with those that are."""
    cycle = last_cycle(db)
    there = [seen.name for seen in cycle.snapshot.pools] if cycle else []
    if pool not in there:
        raise NotFound(f"there is no pool {pool}; there is: {', '.join(there) or 'none'}")


def _series(name: str, rows: list[dict[str, PoolPoint]]) -> PoolSeries:
    points = [row.get(name) for row in rows]

    def of(field: str) -> list[int | None]:
        return [None if point is None else getattr(point, field) for point in points]

    numbers = {field: of(field) for field in ("demand", "target", "live", "busy", "waiting", "grant")}
    return PoolSeries(pool=name, **numbers, why=[point.why if point else "" for point in points])


def _sampled(
    db: Database, since: Instant, until: Instant, bucket: int
) -> Iterator[tuple[Instant, Instant, dict[str, PoolPoint]]]:
    """Of each part of the span, when its cycles began and ended, and what the last one decided."""
    parts = db.execute(
        "SELECT max(id), min(first_at), max(last_at) FROM cycles WHERE loop = ? AND last_at >= ? AND first_at <= ?"
        " GROUP BY first_at / ? ORDER BY 1",
        (LOOP, since, until, bucket),
    ).fetchall()
    for number_, begin, end in parts:
        row = db.execute("SELECT plan FROM cycles WHERE id = ?", (number_,)).fetchone()
        try:
            yield begin, end, _points(row[0])
        except DamagedRow:
            continue  # the page of a pool shows a gap; `remuda replay` names the row


@functools.lru_cache(maxsize=_KEPT)
def _points(plan: bytes) -> dict[str, PoolPoint]:
    reasons: tuple[Reason, ...] = unpack(plan, POOL_KINDS.plan, "a plan").reasons
    found = (_point(reason) for reason in reasons if reason.subject.startswith("pool/"))
    return {point.pool: point for point in found}


def _point(reason: Reason) -> PoolPoint:
    terms = reason.terms
    return PoolPoint(
        pool=reason.subject.removeprefix("pool/"),
        demand=demand(terms),
        target=number(terms, "target"),
        live=number(terms, "live"),
        busy=number(terms, "busy"),
        idle=number(terms, "idle"),
        creating=number(terms, "creating"),
        waiting=number(terms, "unclaimed"),
        grant=number(terms, "grant") if terms.get("ceiling") is not None else None,
        code=reason.code,
        why="\n".join(
            [sentence(reason), *(f"{label}: {text}" for label, text, _ in pool_lines(reason))],
        ),
    )


def start_times(db: Database, pool: str, since: Instant, until: Instant) -> StartTimes:
    """How long the machines that are recorded took to become able to work."""
    span = max(1, (until - since) // MOST_POINTS)
    rows = db.execute(
        "SELECT max(id) FROM cycles WHERE loop = ? AND last_at >= ? AND first_at <= ? GROUP BY first_at / ?",
        (LOOP, since, until, span),
    ).fetchall()
    took: dict[tuple[str, str], int] = {}
    for (number_,) in rows:
        data = db.execute("SELECT snapshot FROM cycles WHERE id = ?", (number_,)).fetchone()[0]
        try:
            found = _started(data)
        except DamagedRow:
            continue
        took.update(found.get(pool, {}))
    return StartTimes(pool, since, sorted(took.values()))


@functools.lru_cache(maxsize=_KEPT)
def _started(snapshot: bytes) -> dict[str, dict[tuple[str, str], int]]:
    """By pool and machine, how long it took to become ready."""
    seen = unpack(snapshot, POOL_KINDS.snapshot, "a snapshot")
    return {
        each.name: {
            (machine.name, machine.identity): machine.ready_at - machine.created_at
            for machine in each.machines
            if machine.ready_at is not None
        }
        for each in seen.pools
    }


def what_next(db: Database, pool: str, now: Instant) -> Next:
    """What today's rules would decide for a pool now, from what was last seen and remembered."""
    cycle = last_cycle(db)
    if cycle is None:
        raise NotFound("nothing is recorded yet")
    row = db.execute("SELECT data FROM memories WHERE loop = ?", (LOOP,)).fetchone()
    memory = unpack(row[0], POOL_KINDS.memory, "the memory") if row else cycle.memory
    plan, _ = decide(cycle.snapshot, memory, cycle.policy, max(now, cycle.last_at))
    reason = next((item for item in plan.reasons if item.subject == f"pool/{pool}"), None)
    if reason is None:
        known = ", ".join(seen.name for seen in cycle.snapshot.pools) or "none"
        raise NotFound(f"there is no pool {pool}; there is: {known}")
    acts = [
        f"{type(action).__name__.lower()} {action.target}: {sentence(action.reason)}"
        for action in plan.actions
        if action.pool == pool
    ]
    return Next(pool, cycle.last_at, sentence(reason), acts)
