"""
The store: one SQLite file, one thread that writes it, many readers.

Writes that arrive together are committed together (group commit): the price of durability is one flush a batch, not
one a write. Each write has a savepoint of its own, so one that fails does not harm its neighbours.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from remuda.errors import BadInput, Unavailable
from remuda.ledger.backup import back_up
from remuda.ledger.ballast import Ballast, gave_room, is_full
from remuda.ledger.schema import Tables, check, make_in_memory, migrate
from remuda.ledger.seat import Claimant
from remuda.ledger.sql import Database
from remuda.ledger.tasks import Task, answer, fail

T = TypeVar("T")
Write = Callable[[Database], T]
#: what asks SQLite alone may use all that it has
SqliteWrite = Callable[[sqlite3.Connection], T]

FILE = "remuda.db"


class DamagedRow(sqlite3.DatabaseError):
    """SQLite can read the row, but what is in it makes no sense; the message names the row."""


_BATCH = 512
_PAGE = 4_096


class Store(Protocol):
    """Where writes go. `write` returns once the write is committed; a failed one changed nothing."""

    @property
    def is_apart(self) -> bool:
        """True where what keeps the store can crash while this process goes on: what it acts upon must be durable then."""
        ...

    @property
    def is_writer(self) -> bool:
        """False where another process writes the store, and this one only reads: a replica that stands by."""
        ...

    async def write(self, change: Write[T], *, durable: bool = True) -> T:
        """
        Run `change` in a transaction of its own and return what it returns.

        `durable` writes survive a crash of what keeps the store; the others survive the end of this process, however it
        ends.
        """
        ...

    def read(self, question: Write[T]) -> T:
        """Answer a question from committed data, at once and all of it as of one moment."""
        ...


class OpenStore(Store, Protocol):
    """The store of a process that runs: where several could write it, who has its seat does."""

    @property
    def backup(self) -> Path | None:
        """The copy that was made before an upgrade, if this was one."""
        ...

    def take_seat(self, who: Claimant) -> None:
        """
        Begin to write, in the place of who did so before. It blocks, for seconds.

        `BadInput` names another process that writes, `Unavailable` says that it cannot be known now.
        """
        ...

    def leave_seat(self) -> None:
        """Stop writing; writes that were asked for before are done first."""
        ...

    def close(self) -> None:
        """Commit what was asked for, and let go of it."""
        ...


class SqliteStore:
    """The store in a file. Open it once per process; `close` waits for what was asked before."""

    is_apart = False
    is_writer = True

    def __init__(
        self,
        path: Path,
        *,
        tables: Sequence[Tables] = (),
        most_bytes: int | None = None,
        make_room: Callable[[sqlite3.Connection], int] | None = None,
        ballast: Ballast | None = None,
    ) -> None:
        """
        `tables` are those of jobs that keep their own.

        `most_bytes` is a quota; `make_room` gives up history when the disk or the quota is full, in the room that
        `ballast` kept for it.
        """
        self.path = path
        self._make_room = make_room
        self._ballast = ballast
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._readers = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._is_full_sync = True
        self._is_closed = False
        #: `backup` is the copy that was made before an upgrade, if this was one
        self._connection, self.backup = _open_for_writing(path, most_bytes, tables)
        self._file = _file_at(path)
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    async def write(self, change: SqliteWrite[T], *, durable: bool = True) -> T:
        """Run `change` in the writer thread; cancelling the caller does not undo it."""
        if self._is_closed:
            raise Unavailable(f"{self.path} is closed: remuda is stopping")
        # What is written now would be in a file that nobody can open again.
        self._check_place()
        from asyncio import Future, get_running_loop  # noqa: PLC0415 - who only reads or keeps a document has no event loop

        future: Future[T] = get_running_loop().create_future()
        self._tasks.put(Task(change, durable=durable, future=future))
        return await future

    def read(self, question: SqliteWrite[T]) -> T:
        """Answer from a read-only connection of the calling thread."""
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            self._check_place()
            connection = connect(self.path, "ro")
            self._readers.connection = connection
            self._open_readers.append(connection)
        with one_moment(connection), row_explained(self.path):
            return question(connection)

    def _check_place(self) -> None:
        if _file_at(self.path) != self._file:
            raise Unavailable(
                f"{self.path} was removed or replaced while remuda runs: put it back, or stop remuda and start it again"
            )

    def take_seat(self, who: Claimant) -> None:
        """Nothing: who holds the data directory has it."""

    def leave_seat(self) -> None:
        """Nothing: it goes with the data directory."""

    def close(self) -> None:
        """Commit what was asked for and let go of the file."""
        self._is_closed = True
        self._tasks.put(None)
        self._thread.join()
        for reader in self._open_readers:
            reader.close()
        self._connection.close()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            batch: list[Task] = []
            while task is not None:
                batch.append(task)
                if len(batch) == _BATCH:
                    break
                try:
                    task = self._tasks.get_nowait()
                except Empty:
                    break
            if batch:
                self._commit(batch)
            if task is None:
                return

    def _commit(self, batch: list[Task]) -> None:
        while True:
            try:
                answers = self._try_commit(batch)
            except sqlite3.Error as error:
                if _is_full(error) and gave_room(self._connection, self._make_room, self._ballast):
                    continue
                if _is_full(error) and len(batch) > 1:
                    # What is too large must not keep out what still fits.
                    for task in batch:
                        self._commit([task])
                    return
                self._fail(batch, error)
                return
            break
        answer(batch, answers)

    def _try_commit(self, batch: list[Task]) -> list[tuple[Any, Exception | None]]:
        connection = self._connection
        wants_full_sync = any(task.durable for task in batch)
        if wants_full_sync != self._is_full_sync:
            connection.execute(f"PRAGMA synchronous = {'FULL' if wants_full_sync else 'NORMAL'}")
            self._is_full_sync = wants_full_sync
        answers: list[tuple[Any, Exception | None]] = []
        connection.execute("BEGIN IMMEDIATE")
        try:
            for task in batch:
                connection.execute("SAVEPOINT one")
                try:
                    answers.append((task.change(connection), None))
                except sqlite3.Error as error:
                    if _is_full(error) or not connection.in_transaction:
                        raise
                    connection.execute("ROLLBACK TO one")
                    answers.append((None, error))
                except Exception as error:  # noqa: BLE001 - belongs to whoever asked
                    connection.execute("ROLLBACK TO one")
                    answers.append((None, error))
                connection.execute("RELEASE one")  # pragma: no mutate - the commit would release all of them
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answers

    def _fail(self, batch: list[Task], error: sqlite3.Error) -> None:
        if _is_full(error):
            problem: Exception = Unavailable(
                f"{self.path} cannot grow: its disk or quota is full; free some space"
            )
        else:
            problem = Unavailable(f"writing {self.path}: {error}")
        fail(batch, problem)


class InlineStore:
    """A store in memory that writes at once in the calling thread: for simulations and dry runs."""

    is_apart = False
    is_writer = True

    def __init__(self, tables: Sequence[Tables] = ()) -> None:
        """`tables` are those of jobs that keep their own."""
        self._connection = connect(None, "memory")
        make_in_memory(self._connection, tables)

    async def write(self, change: SqliteWrite[T], *, durable: bool = True) -> T:
        """Run `change` now."""
        del durable
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            return change(self._connection)

    def read(self, question: SqliteWrite[T]) -> T:
        """Answer from the same connection."""
        return question(self._connection)

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """
    One transaction of a process that is not the one that runs here: made beside it, and committed at the end.

    The store is made where there is none. `BadInput` says why it cannot be written, `Unavailable` that it is full or busy.
    """
    connection, _ = _open_for_writing(path, None, ())
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if _is_full(error):
            message = f"{path} cannot grow: its disk or quota is full; free some space"
        else:
            message = f"writing {path}: {error}"
        raise Unavailable(message) from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Several questions see the same state, whatever is committed in between."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's words about a broken file into ours, which say what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        fix = "check that you may read and write it"
        if _is_full(error) or is_full(path):
            fix = "its disk is full; free some space"
        raise BadInput(f"{path} cannot be opened: {error}; {fix}") from error
    except sqlite3.DatabaseError as error:
        raise BadInput(
            f"{path} is damaged ({error}). Nothing was changed. `remuda store salvage` makes a new store of what can "
            "still be read. To start afresh move it away: its job queue and history are lost then; machines that run "
            "are kept, and `remuda store foreign` lists them"
        ) from error


@contextmanager
def row_explained(path: Path) -> Iterator[None]:
    """Likewise of a row that makes no sense."""
    try:
        yield
    except DamagedRow:
        with explained(path):
            raise


def _open_for_writing(
    path: Path, most_bytes: int | None, tables: Sequence[Tables]
) -> tuple[sqlite3.Connection, Path | None]:
    """The store, of this program's version; and the copy of it as it was, where it was older."""
    with explained(path):
        try:
            # Before SQLite makes it: its companions take over the mode.
            path.touch(mode=0o600)
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror) from error
        connection = connect(path, "rw")
        try:
            # Before anything is set, because settings are kept in the file.
            check(connection, str(path), tables)
            _check_whole(connection)
            path.chmod(0o600)
            # Not for an existing file: it takes effect only before the first table.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA cache_size = -4096")
            # Some builds overwrite what is deleted, for which a full disk has no room; there are no secrets in it.
            connection.execute("PRAGMA secure_delete = OFF").fetchall()
            backup = back_up(connection, path, tables)
            migrate(connection, str(path), tables)
            if most_bytes is not None:
                connection.execute(f"PRAGMA max_page_count = {max(1, most_bytes // _PAGE)}")
        except BaseException:
            connection.close()
            raise
    return connection, backup


def _check_whole(connection: sqlite3.Connection) -> None:
    problem: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem.splitlines()[-1])


def connect(path: Path | None, mode: str) -> sqlite3.Connection:
    """Without a path, a database in memory."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}" if path is not None else ":memory:",
        uri=True,
        timeout=10,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def _file_at(path: Path) -> tuple[int, int] | None:
    """Which file is at a path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
