"""The store's file for who only reads it: one question, or many while somebody else may be writing."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from remuda.errors import BadInput, Unavailable
from remuda.ledger.schema import Tables, check, is_behind, migrate
from remuda.ledger.store import SqliteWrite, connect, explained, one_moment, row_explained

T = TypeVar("T")


class ReadOnlyStore:
    """A store that someone else may be writing: for dry runs."""

    is_apart = False
    is_writer = False

    def __init__(self, path: Path, tables: Sequence[Tables] = ()) -> None:
        """`tables` are those of jobs that keep their own."""
        self._path = path
        self._tables = tables
        self._file = _open(path, tables)
        self._version = _version(self._file)
        self._connection = _of_today(self._file, path, tables)

    async def write(self, change: SqliteWrite[T], *, durable: bool = True) -> T:
        """Refuse."""
        del change, durable
        raise Unavailable("nothing is written in a dry run")

    def read(self, question: SqliteWrite[T]) -> T:
        """Answer from committed data."""
        if self._connection is not self._file:
            self._copy_again()
        with one_moment(self._connection), row_explained(self._path):
            return question(self._connection)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
        self._file.close()

    def _copy_again(self) -> None:
        """A copy answers for what others have committed since it was made, too."""
        with explained(self._path):
            version = _version(self._file)
            if version != self._version:
                fresh = _of_today(self._file, self._path, self._tables)
                self._connection.close()
                self._connection, self._version = fresh, version


@contextmanager
def reading(path: Path, tables: Sequence[Tables] = ()) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a store that may or may not be in use; `BadInput` when there is none."""
    if not path.exists():
        raise BadInput(f"there is no store at {path}: nothing has run with this data directory yet")
    with (
        closing(_open(path, tables)) as file,
        closing(_of_today(file, path, tables)) as connection,
        one_moment(connection),
    ):
        yield connection


def _open(path: Path, tables: Sequence[Tables]) -> sqlite3.Connection:
    with explained(path):
        connection = connect(path, "ro")
        try:
            _check_written(connection, path, tables)
        except BaseException:
            connection.close()
            raise
        return connection


def _of_today(file: sqlite3.Connection, path: Path, tables: Sequence[Tables]) -> sqlite3.Connection:
    """The file itself; or of one that an older program left behind, a copy in memory that is brought to this one's version."""
    with explained(path):
        if not is_behind(file, tables):
            return file
        copy = connect(None, "memory")
        try:
            file.backup(copy)
            migrate(copy, str(path), tables)
        except BaseException:
            copy.close()
            raise
        return copy


def _version(file: sqlite3.Connection) -> int:
    """What changes whenever somebody else commits."""
    version: int = file.execute("PRAGMA data_version").fetchone()[0]
    return version


def _check_written(connection: sqlite3.Connection, path: Path, tables: Sequence[Tables]) -> None:
    check(connection, str(path), tables)
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        raise BadInput(f"the store at {path} is empty: nothing has run with this data directory yet")
