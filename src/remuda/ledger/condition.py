"""How a store is: its version, its size, whether it is whole, and what it says about clocks. Nothing is changed."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from remuda.errors import RemudaError
from remuda.ledger.dialects import store_version
from remuda.ledger.read_only import reading
from remuda.ledger.record import unpack
from remuda.ledger.schema import VERSIONS, Tables
from remuda.ledger.store import DamagedRow, explained
from remuda.model.times import SECOND, Instant

#: recorded cycles of each loop that are looked through for a clock that was set back
_LOOKED_THROUGH = 2_000
#: what clocks are corrected by without anybody noticing
_SLACK = 2 * SECOND


class LoopRecords(Struct, frozen=True):
    """What is recorded of one loop."""

    loop: str
    rows: int
    first_at: Instant
    last_at: Instant


class SetBack(Struct, frozen=True):
    """A clock that was set back: a cycle that was recorded after another and began before it ended."""

    loop: str
    before: Instant
    after: Instant


class Condition(Struct, frozen=True):
    """What there is to say about a store."""

    #: why it cannot be read, or is damaged
    trouble: str = ""
    version: int = 0
    known: int = len(VERSIONS)
    bytes: int = 0
    #: of these, what is in use; the rest is given back to the disk bit by bit
    used_bytes: int = 0
    rows: dict[str, int] = {}
    loops: tuple[LoopRecords, ...] = ()
    set_back: tuple[SetBack, ...] = ()


def look_at_store(path: Path, tables: Sequence[Tables] = ()) -> Condition:
    """How the store of a path is, also when it cannot be opened. All of it is read, to see whether it is whole."""
    size = sum(part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists())
    try:
        with reading(path, tables) as db, explained(path):
            return _look(db, size)
    except RemudaError as error:
        return Condition(str(error), bytes=size)


def last_cycles(db: sqlite3.Connection, most: int) -> dict[str, list[dict[str, Any]]]:
    """By loop, its last recorded cycles as plain data, oldest first; a part that cannot be read says so instead."""
    loops = db.execute("SELECT DISTINCT loop FROM cycles ORDER BY loop").fetchall()
    return {loop: _last_cycles(db, loop, most) for (loop,) in loops}


def _last_cycles(db: sqlite3.Connection, loop: str, most: int) -> list[dict[str, Any]]:
    rows = db.execute(
        "SELECT id, first_at, last_at, count, snapshot, memory, policies.data, plan FROM cycles"
        " LEFT JOIN policies ON policies.digest = cycles.policy WHERE loop = ? ORDER BY id DESC LIMIT ?",
        (loop, most),
    ).fetchall()
    return [
        {
            "id": number,
            "first_at": first_at,
            "last_at": last_at,
            "count": count,
            **{
                name: _plain(data)
                for name, data in zip(("snapshot", "memory", "policy", "plan"), parts, strict=True)
            },
        }
        for number, first_at, last_at, count, *parts in reversed(rows)
    ]


def _plain(data: bytes | None) -> Any:
    if data is None:
        return "not there"
    try:
        return unpack(data, Any, "this")
    except DamagedRow as error:
        return str(error)


def _look(db: sqlite3.Connection, size: int) -> Condition:
    problem: str = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem.splitlines()[-1])
    pages, free, page = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    names = [
        name
        for (name,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
    ]
    loops = db.execute(
        "SELECT loop, count(*), min(first_at), max(last_at) FROM cycles GROUP BY loop ORDER BY loop"
    ).fetchall()
    return Condition(
        version=store_version(db),
        bytes=size,
        used_bytes=(pages - free) * page,
        rows={name: _count(db, name) for name in names},
        loops=tuple(LoopRecords(*row) for row in loops),
        set_back=tuple(found for row in loops for found in _set_back(db, row[0])),
    )


def _count(db: sqlite3.Connection, table: str) -> int:
    """The rows of a table whose name the store itself gave."""
    count: int = db.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - see above
    return count


def _set_back(db: sqlite3.Connection, loop: str) -> list[SetBack]:
    rows = db.execute(
        "SELECT first_at, last_at FROM cycles WHERE loop = ? ORDER BY id DESC LIMIT ?",
        (loop, _LOOKED_THROUGH),
    ).fetchall()
    pairs = zip(rows[1:], rows, strict=False)
    return [SetBack(loop, before, after) for (_, before), (after, _) in pairs if before - after > _SLACK]
