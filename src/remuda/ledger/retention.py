"""What is forgotten: history past an age or a size. Jobs and machines that still matter are never touched."""

from msgspec import Struct

from remuda.ledger.dialects import give_back, used_bytes
from remuda.ledger.record import unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.plans import Reason
from remuda.model.times import DAY, Instant

#: rows of each table, and pages given back to the disk, at a time
_SLICE = 500
_FOREVER = 2**62


class Retention(Struct, frozen=True):
    """How much is kept: for how long, and how many bytes of history and of ended jobs' output."""

    age: int = 7 * DAY
    most_bytes: int = 256 * 1024 * 1024
    output_bytes: int = 2 * 1024 * 1024 * 1024


def forget(db: Database, keep: Retention, now: Instant) -> int:
    """
    Give up a slice of history that is too old or too much; return how many rows went.

    A slice at a time, so that no writer waits long; call it again while it returns something. The newest cycle of
    each loop always stays: it is what the world looked like last. So does what began the present state of each
    subject that it speaks of.
    """
    gone = _drop(db, now - keep.age)
    if used_bytes(db) > keep.most_bytes:
        gone += _drop(db, _FOREVER)
    if gone:
        give_back(db, _SLICE)
    return gone


def make_room(db: Database) -> int:
    """Give up the oldest history at once, because jobs need the space more."""
    return _drop(db, _FOREVER)


def _drop(db: Database, before: Instant) -> int:
    gone = db.execute(
        "DELETE FROM cycles WHERE id IN (SELECT id FROM cycles WHERE last_at < ?"
        " AND id NOT IN (SELECT max(id) FROM cycles GROUP BY loop) ORDER BY last_at LIMIT ?)",
        (before, _SLICE),
    ).rowcount
    kept = _stories_in_force(db)
    old = db.execute("SELECT id FROM stories WHERE at < ? ORDER BY at LIMIT ?", (before, _SLICE + len(kept)))
    stories = [row for row in old.fetchall() if row[0] not in kept][:_SLICE]
    db.executemany("DELETE FROM stories WHERE id = ?", stories)
    gone += len(stories)
    gone += db.execute(
        "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE started_at < ? AND seen = 1"
        " ORDER BY started_at LIMIT ?)",
        (before, _SLICE),
    ).rowcount
    if gone:
        db.execute("DELETE FROM policies WHERE NOT EXISTS (SELECT 1 FROM cycles WHERE policy = digest)")
    return gone


class _Judged(Struct, frozen=True):
    reasons: tuple[Reason, ...] = ()


def _stories_in_force(db: Database) -> set[int]:
    """The line that began the present state of each subject of the newest plans."""
    plans = db.execute("SELECT loop, plan FROM cycles WHERE id IN (SELECT max(id) FROM cycles GROUP BY loop)")
    found = []
    for loop, packed in plans.fetchall():
        try:
            plan: _Judged = unpack(packed, _Judged, "the last plan")
        except DamagedRow:
            continue
        for reason in plan.reasons:
            found += db.execute(
                "SELECT max(id) FROM stories WHERE loop = ? AND subject = ? AND code = ?",
                (loop, reason.subject, reason.code),
            ).fetchone()
    return {number for number in found if number is not None}
