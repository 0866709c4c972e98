"""
The little that SQLite and PostgreSQL cannot be told in the same words.

Everything else is written once. A function here takes either database and does the same with both.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from remuda.ledger.sql import Database

if TYPE_CHECKING:  # who keeps a file needs no driver
    from remuda.ledger.postgres import PostgresDatabase

#: what history is made of, and the columns of it that are large
_HISTORY = {
    "cycles": ("snapshot", "memory", "plan"),
    "stories": ("reason",),
    "operations": ("action", "outcome"),
    "policies": ("data",),
}
#: what a row takes beside its large columns: its header, the small columns, and its places in indexes
_ROW_BYTES = 250


def _postgres(db: Database) -> "PostgresDatabase | None":
    return None if isinstance(db, sqlite3.Connection) else db  # type: ignore[return-value]


def store_version(db: Database) -> int:
    """Which version of the ledger's tables a store has, counted from 1; 0 is an empty one."""
    query = "PRAGMA user_version" if _postgres(db) is None else "SELECT version FROM store"
    version: int = db.execute(query).fetchone()[0]
    return version


def last_operation(db: Database) -> int:
    """The last number that an operation was given, also one that is forgotten; 0 before the first."""
    if _postgres(db) is None:
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'operations'").fetchone()
        return int(row[0]) if row else 0
    last, is_given = db.execute("SELECT last_value, is_called FROM operations_id_seq").fetchone()
    return int(last) if is_given else 0


def number_from(db: Database, first: int) -> None:
    """Let no operation from now on have a smaller id."""
    last = last_operation(db)
    if last >= first - 1:
        return
    if _postgres(db) is not None:
        db.execute("SELECT setval('operations_id_seq', ?)", (first - 1,))
    elif (
        db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'operations'", (first - 1,)).rowcount == 0
    ):
        db.execute("INSERT INTO sqlite_sequence VALUES ('operations', ?)", (first - 1,))


def one_by_one(db: Database, sql: str, parameters: Sequence[Any]) -> Iterator[Any]:
    """The rows of a question that may have many large ones; others may be asked meanwhile."""
    found = _postgres(db)
    return iter(db.execute(sql, parameters)) if found is None else found.stream(sql, parameters)


def used_bytes(db: Database) -> int:
    """
    What the store takes of its disk.

    In PostgreSQL what history is made of: rows that were deleted take room until a vacuum, and would cost others theirs.
    """
    if _postgres(db) is None:
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)
    total = 0
    for table, columns in _HISTORY.items():
        # The length of what is stored apart is known without reading it.
        large = " + ".join(f"coalesce(sum(octet_length({column})), 0)" for column in columns)
        rows, size = db.execute(f"SELECT count(*), {large} FROM {table}").fetchone()  # noqa: S608 - ours
        total += int(rows) * _ROW_BYTES + int(size)
    return total


def give_back(db: Database, pages: int) -> None:
    """Give pages that were freed back to the disk; PostgreSQL sees to that by itself."""
    if _postgres(db) is None:
        for _ in range(pages):  # one page each: the driver does not go on by itself
            db.execute("PRAGMA incremental_vacuum(1)")
