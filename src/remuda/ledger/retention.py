"""What is forgotten: history past an age or a size. Jobs and machines that still matter are never touched."""

import sqlite3

from msgspec import Struct

from remuda.model.times import DAY, Instant

_SLICE = 500


class Retention(Struct, frozen=True):
    """How much history is kept."""

    age: int = 7 * DAY
    most_bytes: int = 256 * 1024 * 1024


def forget(db: sqlite3.Connection, keep: Retention, now: Instant) -> int:
    """
    Give up a slice of history that is too old or too much; return how many rows went.

    A slice at a time, so that no writer waits long; call it again while it returns something. The newest cycle of
    each loop always stays: it is what the world looked like last.
    """
    gone = _drop_cycles(db, "first_at < ?", (now - keep.age,))
    size = _used_bytes(db)
    if size > keep.most_bytes:
        gone += _drop_cycles(db, "1 = 1", ())
    gone += db.execute(
        "DELETE FROM stories WHERE id IN (SELECT id FROM stories WHERE at < ? AND id NOT IN"
        " (SELECT max(id) FROM stories GROUP BY subject) LIMIT ?)",
        (now - keep.age, _SLICE),
    ).rowcount
    gone += db.execute(
        "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE seen = 1 AND started_at < ? LIMIT ?)",
        (now - keep.age, _SLICE),
    ).rowcount
    if gone:
        db.execute(
            "DELETE FROM policies WHERE digest NOT IN (SELECT policy FROM cycles)",
        )
        db.execute("PRAGMA incremental_vacuum(1000)")
    return gone


def make_room(db: sqlite3.Connection) -> int:
    """Give up the oldest history at once, because jobs need the space more."""
    return _drop_cycles(db, "1 = 1", ())


def _drop_cycles(db: sqlite3.Connection, where: str, terms: tuple[object, ...]) -> int:
    return db.execute(
        f"DELETE FROM cycles WHERE id IN (SELECT id FROM cycles WHERE {where}"  # noqa: S608 - fixed words
        " AND id NOT IN (SELECT max(id) FROM cycles GROUP BY loop) ORDER BY id LIMIT ?)",
        (*terms, _SLICE),
    ).rowcount


def _used_bytes(db: sqlite3.Connection) -> int:
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
