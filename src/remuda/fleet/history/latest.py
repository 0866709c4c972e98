"""
The decisions of a fleet as pages ask for them again and again: read and counted once each, however many look.

Of the newest cycle only what was recorded since the one before it is read. A cycle is known by its number, its time and the
checksums that its records end with, so that stores are never taken for each other.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from remuda.errors import NotFound
from remuda.fleet.history.packing import CHECKPOINT, unpack_counted
from remuda.fleet.history.stored import StoredPlan
from remuda.fleet.policy import Policy
from remuda.fleet.situation import Situation, situation
from remuda.fleet.snapshot import LOOP
from remuda.fleet.standing import Standing
from remuda.ledger.dialects import one_by_one
from remuda.ledger.record import unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.times import Instant

#: what a cycle is known by
Mark: TypeAlias = tuple[Any, ...]
#: cycles that are kept counted: the newest, and some that people look at with another time
_MOST_KEPT = 8
#: after every instant
LATER = 2**62
_MARK = (
    "id, first_at, policy, length(snapshot), substr(snapshot, length(snapshot) - 3), length(plan),"
    " substr(plan, length(plan) - 3)"
)


class Found(Struct, frozen=True):
    """A recorded cycle: what is known by its mark, and how long and how often it was found so."""

    mark: Mark
    id: int
    first_at: Instant
    last_at: Instant
    count: int


def find_cycle(db: Database, at: Instant = LATER) -> Found | None:
    """The cycle in force at an instant; None where none was recorded by then."""
    # Where there is none at all the index says so; the cycles of all other loops are not gone through.
    if db.execute("SELECT 1 FROM cycles WHERE loop = ? LIMIT 1", (LOOP,)).fetchone() is None:
        return None
    row = db.execute(
        f"SELECT last_at, count, {_MARK} FROM cycles WHERE loop || '' = ? AND first_at <= ? ORDER BY id DESC LIMIT 1",  # noqa: S608 - ours
        (LOOP, at),
    ).fetchone()
    if row is None:
        return None
    last_at, count, *mark = row
    return Found(_mark(mark), mark[0], mark[1], last_at, count)


def _mark(row: Sequence[Any]) -> Mark:
    """What a driver gives as a view of bytes is only equal to itself."""
    return tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)


class Situations:
    """What was counted of late. Any thread may ask; each cycle is counted by one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: OrderedDict[Mark, Situation] = OrderedDict()
        #: what the newest cycle that was read stands at, and its mark
        self._standing, self._mark = Standing(), tuple[Any, ...]()

    def of(self, db: Database, found: Found) -> Situation:
        """
        A recorded cycle, counted.

        `NotFound` when its checkpoint is no longer kept, `DamagedRow` when it cannot be read.
        """
        with self._lock:
            known = self._counted.get(found.mark)
            if known is None:
                known = self._counted[found.mark] = self._count(db, found)
                if len(self._counted) > _MOST_KEPT:
                    self._counted.popitem(last=False)
            self._counted.move_to_end(found.mark)
            return known

    def _count(self, db: Database, found: Found) -> Situation:
        """Read what is to be read. The newest cycle is gone on from; an older one is put together apart."""
        is_of_here = self._is_of(db)
        is_apart = is_of_here and self._mark[0] > found.id
        if is_of_here and not is_apart:
            standing, last = self._standing, self._mark[0]
            self._mark = ()  # until it is read to the end, nothing is known
        else:
            standing, last = Standing(), 0
        _advance(db, standing, last, found.id)
        counted = situation(standing, *_judged(db, found.id))
        if not is_apart:
            self._standing, self._mark = standing, found.mark
        return counted

    def _is_of(self, db: Database) -> bool:
        """Whether what is known is a cycle of this store that is still kept."""
        if not self._mark:
            return False
        row = db.execute(
            f"SELECT {_MARK} FROM cycles WHERE id = ? AND loop = ?",  # noqa: S608 - ours
            (self._mark[0], LOOP),
        ).fetchone()
        return row is not None and _mark(row) == self._mark


def _advance(db: Database, standing: Standing, last: int, to: int) -> None:
    """Read the snapshots after cycle `last` up to cycle `to`, from the last checkpoint among them on."""
    row = db.execute(
        "SELECT max(id) FROM cycles WHERE loop = ? AND id > ? AND id <= ? AND substr(snapshot, 1, 1) = ?",
        (LOOP, last, to, CHECKPOINT),
    ).fetchone()
    if row[0] is None and not last:
        raise NotFound(
            f"the snapshot of cycle {to} cannot be read: its checkpoint is no longer kept; ask for a later time"
        )
    rows = one_by_one(
        db,
        "SELECT id, snapshot FROM cycles WHERE loop = ? AND id BETWEEN ? AND ? ORDER BY id",
        (LOOP, last + 1 if row[0] is None else row[0], to),
    )
    for number, data in rows:
        what = f"the snapshot of cycle {number}"
        record = unpack_counted(data, what)
        try:
            standing.apply(record)
        except (ValueError, IndexError, KeyError) as error:
            raise DamagedRow(f"{what} cannot be read: {error}") from error


def _judged(db: Database, number: int) -> tuple[StoredPlan, Policy]:
    what = f"of cycle {number}"
    plan, policy = db.execute(
        "SELECT plan, (SELECT data FROM policies WHERE digest = policy) FROM cycles WHERE id = ?", (number,)
    ).fetchone()
    if policy is None:
        raise DamagedRow(f"the policy {what} is not there")
    return unpack(plan, StoredPlan, f"the plan {what}"), unpack(policy, Policy, f"the policy {what}")
