"""
What is recorded of pools over a span of time: who had and wanted how many machines, and what was held by what.

A recorded cycle holds until the next one. Where nothing was recorded for ten times as long as usual, and for a minute at most,
Remuda did not run, or was stuck, and nothing is said of that time.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from typing import Any

from msgspec import Struct

from remuda.ledger.dialects import one_by_one
from remuda.ledger.record import unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.plans import Reason
from remuda.model.times import MINUTE, SECOND, Instant
from remuda.pools.controller import LOOP
from remuda.pools.decide.model import Policy, Snapshot
from remuda.pools.kinds import POOL_KINDS

#: without a record for so many times what is usual, but within these bounds, nothing ran
_TIMES, _SHORTEST, _LONGEST = 10, 5 * SECOND, MINUTE
#: recorded cycles that tell what is usual
_USUAL = 2_000
#: snapshots that are looked through for how long machines took to boot
_SNAPSHOTS = 400


class Span(Struct, frozen=True):
    """A time in which the same was decided, and the reasons of all pools."""

    begin: Instant
    end: Instant
    reasons: tuple[Reason, ...]
    policy: Policy


class _Decided(Struct, frozen=True):
    """All that is read of a plan."""

    reasons: tuple[Reason, ...] = ()


def spans(db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]) -> Iterator[Span]:
    """Recorded times within a span, oldest first; one that cannot be read is left out, and `damaged` hears of it."""
    policies: dict[bytes, Policy] = {}
    away = _silence(db, since, until)
    rows = one_by_one(
        db,
        "SELECT id, first_at, last_at, plan, policy FROM cycles"
        " WHERE loop = ? AND last_at >= ? AND first_at <= ? ORDER BY first_at, id",
        (LOOP, since - _LONGEST, until),
    )
    before: tuple[Any, ...] | None = None
    for row in (*rows, None):
        if before is not None:
            number, first_at, last_at, plan, digest = before
            is_followed = row is not None and 0 <= row[1] - last_at <= away
            end = min(row[1] if row is not None and is_followed else last_at, until)
            begin = max(first_at, since)
            try:
                if digest not in policies:
                    policies[digest] = _policy(db, digest, number)
                decided: _Decided = unpack(plan, _Decided, f"the plan of cycle {number}")
            except DamagedRow as error:
                damaged(str(error))
            else:
                if end > begin:
                    yield Span(begin, end, decided.reasons, policies[digest])
        before = row


def _silence(db: Database, since: Instant, until: Instant) -> int:
    """After how long without a record nothing ran, by how often cycles are recorded."""
    rows = db.execute(
        "SELECT first_at, last_at, count FROM cycles WHERE loop = ? AND last_at >= ? AND first_at <= ?"
        " ORDER BY id DESC LIMIT ?",
        (LOOP, since - _LONGEST, until, _USUAL),
    ).fetchall()
    between = [newer[0] - older[1] for newer, older in pairwise(rows) if newer[0] >= older[1]]
    within = [(last - first) / (count - 1) for first, last, count in rows if count > 1]
    usual = median([*between, *within]) if between or within else 0
    return max(_SHORTEST, min(_LONGEST, round(_TIMES * usual)))


def _policy(db: Database, digest: bytes, cycle: int) -> Policy:
    found = db.execute("SELECT data FROM policies WHERE digest = ?", (digest,)).fetchone()
    if found is None:
        raise DamagedRow(f"the policy of cycle {cycle} is not there")
    read: Policy = unpack(found[0], Policy, f"the policy of cycle {cycle}")
    return read


def boot_times(db: Database, since: Instant, until: Instant) -> dict[str, list[int]]:
    """By pool, how long machines took from their order until they were ready, in milliseconds; a sample of all."""
    numbers = [
        number
        for (number,) in db.execute(
            "SELECT id FROM cycles WHERE loop = ? AND last_at >= ? AND first_at <= ? ORDER BY id",
            (LOOP, since, until),
        ).fetchall()
    ]
    every = max(1, len(numbers) // _SNAPSHOTS)
    found: dict[str, dict[tuple[str, Instant], int]] = {}
    for number in numbers[::every]:
        row = db.execute("SELECT snapshot FROM cycles WHERE id = ?", (number,)).fetchone()
        try:
            seen: Snapshot = unpack(row[0], POOL_KINDS.snapshot, f"the snapshot of cycle {number}")
        except DamagedRow:
            continue
        for pool in seen.pools:
            for machine in pool.machines:
                if machine.ready_at is not None:
                    took = max(0, machine.ready_at - machine.created_at)
                    found.setdefault(pool.name, {})[machine.name, machine.created_at] = took
    return {pool: list(times.values()) for pool, times in found.items()}
