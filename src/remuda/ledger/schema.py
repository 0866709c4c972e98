"""
The store's tables, version by version: the ledger's own here, and those that a job declares as `Tables` of its own.

A released version is never edited: a change is a new script at the end, and additive. A store that is newer than this
program is refused, because writing to it could lose what the newer one keeps. The version of the ledger's tables is
SQLite's `user_version`, that of every other part a row of `components`.
"""

import functools
import sqlite3
from collections.abc import Iterable

from msgspec import Struct

from remuda.errors import BadInput
from remuda.ledger.dialects import store_version
from remuda.ledger.sql import Database


class Tables(Struct, frozen=True):
    """
    The tables of one part of the store, version by version.

    The first script may find its tables there already: stores of before version 3 had those of the queue.
    """

    name: str
    versions: tuple[str, ...]
    #: statements that make rows fit each other again where a damaged store lost some
    repair: str = ""


#: "RMDA": distinguishes our files from other SQLite databases
APPLICATION_ID = 0x524D4441

_V1 = """
CREATE TABLE cycles (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  loop      TEXT    NOT NULL,
  first_at  INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  snapshot  BLOB    NOT NULL,
  memory    BLOB    NOT NULL,
  policy    BLOB    NOT NULL,
  plan      BLOB    NOT NULL
) STRICT;
CREATE INDEX cycles_by_time ON cycles (loop, first_at);
CREATE INDEX cycles_by_end ON cycles (last_at);
CREATE INDEX cycles_by_policy ON cycles (policy);

CREATE TABLE policies (
  digest BLOB PRIMARY KEY,
  data   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE memories (
  loop TEXT PRIMARY KEY,
  data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operations (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  loop       TEXT    NOT NULL,
  target     TEXT    NOT NULL,
  action     BLOB    NOT NULL,
  cycle      INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  outcome    BLOB,
  seen       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX operations_one_per_target ON operations (loop, target) WHERE outcome IS NULL;
CREATE INDEX operations_to_see ON operations (loop) WHERE seen = 0;
CREATE INDEX operations_by_target ON operations (target);
CREATE INDEX operations_by_time ON operations (started_at);

CREATE TABLE stories (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  subject TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  cycle   INTEGER NOT NULL,
  code    TEXT    NOT NULL,
  reason  BLOB    NOT NULL
) STRICT;
CREATE INDEX stories_by_subject ON stories (subject, at);
CREATE INDEX stories_by_time ON stories (at);

CREATE TABLE settings (
  name   TEXT    PRIMARY KEY,
  data   BLOB    NOT NULL,
  set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

_V2 = """
CREATE TABLE documents (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT    NOT NULL,
  at   INTEGER NOT NULL,
  data BLOB    NOT NULL
) STRICT;
CREATE INDEX documents_by_time ON documents (kind, at);
"""

_V3 = """
CREATE TABLE components (
  name    TEXT    PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
  number         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT    NOT NULL UNIQUE,
  since          INTEGER NOT NULL,
  last_operation INTEGER
) STRICT;
INSERT INTO identities (id, since) SELECT '', 0 FROM sqlite_sequence WHERE name = 'operations';

ALTER TABLE stories ADD COLUMN loop TEXT NOT NULL DEFAULT 'pools';
DROP INDEX stories_by_subject;
CREATE INDEX stories_by_subject ON stories (loop, subject, at);
DROP INDEX operations_by_target;
CREATE INDEX operations_by_target ON operations (loop, target)
"""

VERSIONS: tuple[str, ...] = (_V1, _V2, _V3)


def migrate(
    connection: sqlite3.Connection,
    path: str,
    tables: Iterable[Tables] = (),
    versions: tuple[str, ...] = VERSIONS,
) -> None:
    """
    Bring the store to this program's version, one version a transaction; refuse what is not ours or newer.

    Two processes may do so at once: whoever comes second finds it done.
    """
    tables = tuple(tables)
    check(connection, path, tables, versions)
    for number, script in enumerate(versions, 1):
        if store_version(connection) < number:  # pragma: no mutate - asked again when nobody else writes
            _upgrade(connection, None, number, script)
    for part in tables:
        for number, script in enumerate(part.versions, 1):
            if part_version(connection, part.name) < number:  # pragma: no mutate - likewise
                _upgrade(connection, part.name, number, script)


def make_in_memory(connection: sqlite3.Connection, tables: Iterable[Tables] = ()) -> None:
    """Make an empty database a store of this version, as `migrate` does, in a tenth of the time; it is lost with the process."""
    _empty(tuple(tables)).backup(connection)


@functools.cache
def _empty(tables: tuple[Tables, ...]) -> sqlite3.Connection:
    """To be copied only."""
    made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(made, "memory", tables)
    return made


def _upgrade(connection: sqlite3.Connection, part: str | None, number: int, script: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        before = store_version(connection) if part is None else part_version(connection, part)
        if before < number:
            # Not executescript, which would end the transaction first.
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
            if part is None:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number}")
            else:
                connection.execute(
                    "INSERT INTO components VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
                    (part, number),
                )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_behind(connection: Database, tables: Iterable[Tables] = ()) -> bool:
    """True for a store that an older program left behind, or that lacks the tables of a part."""
    return store_version(connection) < len(VERSIONS) or any(
        part_version(connection, part.name) < len(part.versions) for part in tables
    )


def part_version(connection: Database, part: str) -> int:
    """Which version a part's tables have, counted from 1; 0 when it has none, or only those of before version 3."""
    if store_version(connection) < 3:
        return 0
    row = connection.execute("SELECT version FROM components WHERE name = ?", (part,)).fetchone()
    return int(row[0]) if row else 0


def check(
    connection: sqlite3.Connection,
    path: str,
    tables: Iterable[Tables] = (),
    versions: tuple[str, ...] = VERSIONS,
) -> None:
    """Raise `BadInput` unless the file is empty or a store of a version this program knows."""
    version = store_version(connection)
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    count: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (version or count) and owner != APPLICATION_ID:
        raise BadInput(f"{path} is a database of another program; choose another data directory")
    if newer := newer_parts(connection, tables, versions):
        raise BadInput(
            f"{path} has {'; '.join(newer)}: install the newer remuda that wrote it, or choose another data directory"
        )


def newer_parts(db: Database, tables: Iterable[Tables], versions: tuple[str, ...] = VERSIONS) -> list[str]:
    """What of a store is newer than this program, in words."""
    version = store_version(db)
    if version > len(versions):
        return [f"store version {version} and this remuda knows up to {len(versions)}"]
    return [
        f"version {found} of the {part.name}'s tables and this remuda knows up to {len(part.versions)}"
        for part in tables
        if (found := part_version(db, part.name)) > len(part.versions)
    ]
