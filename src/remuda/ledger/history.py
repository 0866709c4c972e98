"""What `why` and `replay` read: recorded cycles, and the story of one subject."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from msgspec import Struct

from remuda.ledger.dialects import one_by_one
from remuda.ledger.record import Kinds, decode, unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.plans import Action, Outcome, Plan, Reason
from remuda.model.times import Instant

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)


class Cycle(Struct, Generic[S, M, P, A], frozen=True):
    """One recorded step: what was seen, remembered and set, and what was decided."""

    id: int
    first_at: Instant
    last_at: Instant
    count: int
    snapshot: S
    memory: M
    policy: P
    plan: Plan[A]


class Line(Struct, frozen=True):
    """A line of a subject's story: a reason that was new then."""

    at: Instant
    cycle: int
    reason: Reason


class Done(Struct, frozen=True):
    """An operation on a target and how it ended, if it did."""

    id: int
    target: str
    kind: str
    started_at: Instant
    reason: Reason
    outcome: Outcome | None = None


_CYCLE = "SELECT id, first_at, last_at, count, snapshot, memory, policy, plan FROM cycles"


def cycle_at(db: Database, loop: str, at: Instant, kinds: Kinds[S, M, P, A]) -> Cycle[S, M, P, A] | None:
    """
    The cycle in force at an instant: the last recorded one that began by then.

    In the order of recording, because the wall clock may have been set back since.
    """
    # Not by the index of times, which would read and sort all that came before: the last is near the end.
    row = db.execute(
        f"{_CYCLE} WHERE loop || '' = ? AND first_at <= ? ORDER BY id DESC LIMIT 1", (loop, at)
    ).fetchone()
    return _cycle(db, row, kinds) if row else None


def cycles_between(
    db: Database,
    loop: str,
    since: Instant,
    until: Instant,
    kinds: Kinds[S, M, P, A],
    damaged: Callable[[str], None],
) -> Iterator[Cycle[S, M, P, A]]:
    """
    Recorded cycles that were in force in the span, oldest first, read one by one.

    One that cannot be read is left out, and `damaged` is called with what it is.
    """
    rows = one_by_one(
        db,
        f"{_CYCLE} WHERE loop = ? AND last_at >= ? AND first_at <= ? ORDER BY first_at, id",
        (loop, since, until),
    )
    for row in rows:
        try:
            cycle = _cycle(db, row, kinds)
        except DamagedRow as error:
            damaged(str(error))
        else:
            yield cycle


def _cycle(db: Database, row: tuple[Any, ...], kinds: Kinds[S, M, P, A]) -> Cycle[S, M, P, A]:
    number, first_at, last_at, count, snapshot, memory, policy, plan = row
    what = f"of cycle {number}"
    found = db.execute("SELECT data FROM policies WHERE digest = ?", (policy,)).fetchone()
    if found is None:
        raise DamagedRow(f"the policy {what} is not there")
    return Cycle(
        number,
        first_at,
        last_at,
        count,
        unpack(snapshot, kinds.snapshot, f"the snapshot {what}"),
        unpack(memory, kinds.memory, f"the memory {what}"),
        unpack(found[0], kinds.policy, f"the policy {what}"),
        unpack(plan, kinds.plan, f"the plan {what}"),
    )


def oldest(db: Database, loop: str) -> Instant | None:
    """When the recorded history begins."""
    at: Instant | None = db.execute("SELECT min(first_at) FROM cycles WHERE loop = ?", (loop,)).fetchone()[0]
    return at


def story(db: Database, loop: str, subject: str, until: Instant, most: int = 20) -> tuple[Line, ...]:
    """The last lines of the story of a loop's subject up to an instant, oldest first."""
    rows = db.execute(
        "SELECT id, subject, at, cycle, reason FROM stories WHERE loop = ? AND subject = ? AND at <= ?"
        " ORDER BY id DESC LIMIT ?",
        (loop, subject, until, most),
    ).fetchall()
    return _lines(rows)


def newest(db: Database, most: int) -> tuple[Line, ...]:
    """The last lines of all stories, oldest first."""
    rows = db.execute(
        "SELECT id, subject, at, cycle, reason FROM stories ORDER BY id DESC LIMIT ?", (most,)
    ).fetchall()
    return _lines(rows)


def _lines(rows: list[tuple[int, str, Instant, int, bytes]]) -> tuple[Line, ...]:
    return tuple(
        Line(at, cycle, _reason(reason, subject, f"story {number}"))
        for number, subject, at, cycle, reason in reversed(rows)
    )


def _reason(data: bytes, subject: str, what: str) -> Reason:
    """What is recorded, or that it is damaged: one row must not hide all the others."""
    try:
        read: Reason = decode(data, Reason, what)
    except DamagedRow as error:
        return Reason("damaged", subject, {"row": str(error)})
    return read


def operations_on(db: Database, loop: str, target: str, until: Instant, most: int = 20) -> tuple[Done, ...]:
    """The last operations of a loop on a target up to an instant, oldest first: loops may use the same names."""
    rows = db.execute(
        "SELECT id, target, started_at, action, outcome FROM operations"
        " WHERE loop = ? AND target = ? AND started_at <= ? ORDER BY id DESC LIMIT ?",
        (loop, target, until, most),
    ).fetchall()
    return tuple(_done(*row) for row in reversed(rows))


def operation(db: Database, number: int) -> Done | None:
    """One operation by its id."""
    row = db.execute(
        "SELECT id, target, started_at, action, outcome FROM operations WHERE id = ?", (number,)
    ).fetchone()
    return _done(*row) if row else None


def _done(number: int, target: str, started_at: Instant, action: bytes, outcome: bytes | None) -> Done:
    what = f"operation {number}"
    try:
        read: _Recorded = decode(action, _Recorded, what)
        ended: Outcome | None = decode(outcome, Outcome, what) if outcome else None
    except DamagedRow as error:
        return Done(number, target, "damaged", started_at, Reason("damaged", target, {"row": str(error)}))
    return Done(number, target, read.type, started_at, read.reason, ended)


class _Recorded(Struct, frozen=True):
    """What all actions have."""

    type: str
    reason: Reason
