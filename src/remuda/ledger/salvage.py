"""
A new store of whatever can still be read of a damaged one.

SQLite stops at the first page that it cannot read. Here each table is read in pieces that are halved where they fail, so
that what is lost is what lies on broken pages, and no more. What a loop remembers is left out on purpose: losing it is
safe, and following a damaged memory is not.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from remuda.errors import BadInput
from remuda.ledger.schema import Tables
from remuda.ledger.store import SqliteStore

#: written by whoever makes the new store, or better left out
_NOT_CARRIED = frozenset({"components", "memories"})
_LARGEST_KEY = 2**40
#: bytes before the first page's content; and a length that no store has, whatever a broken header says
_HEADER, _LONGEST = 100, 2**40
#: questions that fail before the rest of a table is given up: a broken page can hold any number of keys
_MOST_FAILURES = 20_000


class Salvaged(Struct, frozen=True):
    """What became of one table: rows that were carried over, and which could not be read."""

    table: str
    kept: int
    unreadable: tuple[str, ...] = ()


def salvage(source: Path, target: Path, tables: Sequence[Tables]) -> tuple[Salvaged, ...]:
    """
    Write a new store at `target`, which must not exist, from what can be read of `source`, which is not changed.

    `BadInput` when nothing at all can be read.
    """
    SqliteStore(target, tables=tables).close()
    with (
        _of_full_length(source, target) as whole,
        contextlib.closing(_connect(whole, "ro")) as old,
        contextlib.closing(_connect(target, "rw")) as new,
    ):
        try:
            there = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.DatabaseError as error:
            raise BadInput(f"nothing can be read of {source}: {error}") from error
        new.execute("BEGIN IMMEDIATE")
        ours = [
            name
            for (name,) in new.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        done = tuple(
            _carry(old, new, name)
            for name in ours
            if name in there and name not in _NOT_CARRIED and not name.startswith("sqlite_")
        )
        if "identities" not in there:
            new.execute("INSERT INTO identities (id, since) VALUES ('', 0)")
        _carry_numbers(old, new)
        for part in tables:
            for statement in filter(str.strip, part.repair.split(";")):
                new.execute(statement)
        new.execute("COMMIT")
    return done


@contextlib.contextmanager
def _of_full_length(source: Path, target: Path) -> Iterator[Path]:
    """
    The store, or beside the new one a copy that is as long as the store says it was.

    Of a file that was cut off SQLite reads nothing at all; of one with empty pages at its end, all others.
    """
    with source.open("rb") as file:
        head = file.read(_HEADER)
    size = int.from_bytes(head[16:18], "big")
    full = (65_536 if size == 1 else size) * int.from_bytes(head[28:32], "big")
    if not source.stat().st_size < full <= _LONGEST:
        yield source
        return
    copy = target.with_name(f"{target.name}.copy")
    endings = ("", "-wal", "-shm")
    try:
        for ending in endings[:2]:
            if (part := source.with_name(source.name + ending)).exists():
                shutil.copyfile(part, copy.with_name(copy.name + ending))
        os.truncate(copy, full)
        yield copy
    finally:
        for ending in endings:
            copy.with_name(copy.name + ending).unlink(missing_ok=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)


def _carry(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> Salvaged:
    """One table, with the columns that both stores have; others have their defaults."""
    had = {name for _, name, *_ in old.execute(f"PRAGMA table_info({table})")}
    columns = [
        (name, kind, place)
        for _, name, kind, _, _, place in new.execute(f"PRAGMA table_info({table})")
        if name in had
    ]
    names = ", ".join(name for name, *_ in columns)
    key, kind = next((name, kind) for name, kind, place in columns if place == 1)
    gaps, lost, kept = list[tuple[int, int]](), list[str](), 0
    query = f"SELECT {names} FROM {table}"  # noqa: S608 - ours
    if kind == "INTEGER":
        rows = _by_halves(old, query, key, 0, _largest(old, table, key), gaps)
    else:
        rows = _from_both_ends(old, f"{query} ORDER BY {key}", lost)
    places = ", ".join("?" * len(columns))
    for row in rows:
        try:
            found = new.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})", row)  # noqa: S608 - ours
            kept += found.rowcount
        except sqlite3.DatabaseError:
            lost.append(f"{key} {row[0]!r:.40}")
    return Salvaged(table, kept, (*_joined(gaps, key), *lost))


def _joined(ranges: list[tuple[int, int]], key: str) -> Iterator[str]:
    """Ranges that touch, as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first == merged[-1][1] + 1:
            merged[-1] = merged[-1][0], last
        else:
            merged.append((first, last))
    return (f"{key} {first} to {last}" if first < last else f"{key} {first}" for first, last in merged)


def _largest(db: sqlite3.Connection, table: str, key: str) -> int:
    """The largest key, or one that is surely larger when it cannot be read."""
    with contextlib.suppress(sqlite3.DatabaseError):
        return int(db.execute(f"SELECT max({key}) FROM {table}").fetchone()[0] or 0)  # noqa: S608 - ours
    with contextlib.suppress(sqlite3.DatabaseError):
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return int(row[0]) if row else _LARGEST_KEY
    return _LARGEST_KEY


def _by_halves(
    db: sqlite3.Connection, query: str, key: str, low: int, high: int, gaps: list[tuple[int, int]]
) -> Iterator[tuple[Any, ...]]:
    """Rows with keys in a range; where they cannot be read, each half of it by itself, to the single key."""
    left = [(low, high)]
    failures = 0
    while left:
        low, high = left.pop()
        if failures > _MOST_FAILURES:
            gaps.append((low, high))
            continue
        try:
            rows = db.execute(f"{query} WHERE {key} BETWEEN ? AND ?", (low, high)).fetchall()
        except sqlite3.DatabaseError:
            failures += 1
            middle = (low + high) // 2
            if low == high:
                gaps.append((low, high))
            else:
                left += [(middle + 1, high), (low, middle)]
        else:
            yield from rows


def _from_both_ends(db: sqlite3.Connection, query: str, lost: list[str]) -> Iterator[tuple[Any, ...]]:
    """Rows from the first up to what cannot be read, and from the last down to it."""
    for direction in ("", " DESC"):
        try:
            rows = db.execute(query + direction)
            while (row := rows.fetchone()) is not None:
                yield row
        except sqlite3.DatabaseError:
            continue
        return
    lost.append("some rows")


def _carry_numbers(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Go on counting where the old store was, so that no number is used twice."""
    try:
        last = old.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    except sqlite3.DatabaseError:
        return  # numbers may start over; the new identity keeps them apart
    for name, number in last:
        new.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (number, name))
        new.execute(
            "INSERT INTO sqlite_sequence (name, seq) SELECT ?, ?"
            " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)",
            (name, number, name),
        )
