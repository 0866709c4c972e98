"""
The store's tables, version by version.

A released version is never edited: a change is a new script at the end of `VERSIONS`, and additive. A store that is
newer than this program is refused, because writing to it could lose what the newer one keeps.
"""

import sqlite3

from remuda.errors import BadInput

#: "RMDA": tells our files from other SQLite databases
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

CREATE TABLE jobs (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  class        TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  priority     INTEGER NOT NULL,
  spec         BLOB    NOT NULL,
  retries      INTEGER NOT NULL,
  attempt      INTEGER NOT NULL DEFAULT 0,
  machine      TEXT,
  submitted_at INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  cancelled    INTEGER NOT NULL DEFAULT 0,
  idempotency  TEXT    UNIQUE
) STRICT;
CREATE INDEX jobs_waiting ON jobs (class, priority DESC, id) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (machine) WHERE state = 'running';
CREATE INDEX jobs_ended ON jobs (changed_at) WHERE state NOT IN ('waiting', 'running');

CREATE TABLE attempts (
  job         INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  machine     TEXT    NOT NULL,
  claimed_at  INTEGER NOT NULL,
  finished_at INTEGER,
  status      TEXT,
  exit_code   INTEGER,
  detail      TEXT,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  machine  TEXT    PRIMARY KEY,
  uses     INTEGER NOT NULL DEFAULT 0,
  closed   INTEGER NOT NULL DEFAULT 0,
  since    INTEGER NOT NULL
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

VERSIONS: tuple[str, ...] = (_V1, _V2)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """
    Bring the store to this program's version, one version a transaction; refuse what is not ours or newer.

    Two processes may do so at once: whoever comes second finds it done.
    """
    check(connection, path)
    for number, script in enumerate(VERSIONS, 1):
        if store_version(connection) >= number:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            if store_version(connection) < number:
                # Not executescript, which would end the transaction first.
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def store_version(connection: sqlite3.Connection) -> int:
    """Which of `VERSIONS` a store has, counted from 1; 0 is an empty one."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def check(connection: sqlite3.Connection, path: str) -> None:
    """Raise `BadInput` unless the file is empty or a store of a version this program knows."""
    version = store_version(connection)
    owner: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (version or tables) and owner != APPLICATION_ID:
        raise BadInput(f"{path} is a database of another program; choose another data directory")
    if version > len(VERSIONS):
        raise BadInput(
            f"{path} has store version {version} and this remuda knows up to {len(VERSIONS)}: "
            "install the newer remuda that wrote it, or choose another data directory"
        )
