"""
The store on PostgreSQL: one thread and one connection that write, a few that read, as `SqliteStore` does with a file.

Writes that arrive together are committed together, each behind a savepoint of its own. Only who has the seat writes; see
`remuda.ledger.seat`. A server that goes away is connected to again by itself. Until then writes fail and have changed
nothing; one whose COMMIT was cut waits until it is known what became of it, because it may be done or not.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import psycopg

from remuda.errors import BadInput, RemudaError, Unavailable
from remuda.ledger import seat
from remuda.ledger.address import PostgresAddress
from remuda.ledger.batches import Harmed, refuse, run, run_apart
from remuda.ledger.postgres import (
    PostgresDatabase,
    Raw,
    connect,
    control,
    explain,
    one_moment,
    row_explained,
)
from remuda.ledger.postgres_schema import migrate
from remuda.ledger.schema import Tables
from remuda.ledger.seat import Claimant, Fenced, Seats, SeatTaken
from remuda.ledger.store import Write
from remuda.ledger.tasks import Task, answer, fail
from remuda.model.times import Instant

T = TypeVar("T")

_BATCH = 512
_READERS = 8
#: a server that just did not answer is not asked again for so long by whoever reads, who may be the event loop
_RESPITE_S = 3.0
#: how long to wait for the lock of a process that is just ending, and between two looks
_HANDOVER_S, _GLANCE_S = 5.0, 0.1
#: between two attempts to learn what became of a COMMIT
_DOUBT_S = 0.5
#: a process that stops in the middle of a transaction must not keep the next one from the seat
_WRITER = ("SET idle_in_transaction_session_timeout TO '10s'", "SET lock_timeout TO '30s'")

#: what a server says that became a standby, and knows of another that may be written
_DEMOTED = "25006"

STANDS_BY = "this Remuda stands by and may not write: ask the one that leads"


class _Lost(Exception):
    """The connection ended before COMMIT was sent: nothing was done."""


class _Doubt(Exception):
    """The connection ended while COMMIT was under way: all of it was done, or nothing."""

    def __init__(self, number: int, answers: list[tuple[Any, Exception | None]]) -> None:
        super().__init__(number)
        self.number, self.answers = number, answers


class _Order:
    """Something that the writer's thread does between two batches."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work
        self.future: Future[None] = Future()


class PostgresStore:
    """The store in a database. Open it once per process; `close` waits for what was asked before."""

    is_apart = True
    #: an upgrade is one transaction, and a copy is the business of who runs the server
    backup = None

    #: a process that has nothing to write shows after so long that it is there; None where nobody asks
    beat_s: float | None = None

    def __init__(
        self,
        address: PostgresAddress,
        now: Callable[[], Instant],
        *,
        tables: Sequence[Tables] = (),
        seats: Seats = seat,
    ) -> None:
        """Connect and bring the tables to this version. Nothing can be written before `take_seat`."""
        self.address = address
        self._seats = seats
        self._now = now
        self._tasks: SimpleQueue[Task | _Order | None] = SimpleQueue()
        self._idle: list[Raw] = []
        self._idle_lock = threading.Lock()
        self._readers = threading.BoundedSemaphore(_READERS)
        self._silent_until, self._silence = float("-inf"), ""
        self._closing = threading.Event()
        # Only the writer's thread changes these.
        self._raw: Raw | None = None
        self._token: str | None = None
        self._why_not = STANDS_BY
        self._has_lock = False
        #: transactions of this epoch that were committed, and those of them that a crash of the server cannot undo
        self._commits = self._flushed = 0
        raw = self._connect_writer()
        try:
            with raw.transaction():
                seats.check_place(PostgresDatabase(raw), address.schema)
                migrate(PostgresDatabase(raw), address, tables)
        except psycopg.Error as error:
            raw.close()
            raise explain(error, address) from None
        except BaseException:
            raw.close()
            raise
        self._raw = raw
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    @property
    def is_writer(self) -> bool:
        """Whether this process has the seat, as far as it knows."""
        return self._token is not None

    def take_seat(self, who: Claimant) -> None:
        """
        Begin to write, in the place of who did so before. It blocks: for seconds, while another process is just ending.

        `BadInput` names another process that writes, `Unavailable` says that the server does not answer.
        """
        self._order(lambda: self._take_seat(who))

    def leave_seat(self) -> None:
        """Stop writing; writes that were asked for before are done first."""
        self._order(self._leave_seat)

    def _order(self, work: Callable[[], None]) -> None:
        order = _Order(work)
        self._tasks.put(order)
        order.future.result()

    async def write(self, change: Write[T], *, durable: bool = True) -> T:
        """Run `change` in the writer thread; cancelling the caller does not undo it."""
        if self._closing.is_set():
            raise Unavailable(f"{self.address} is closed: remuda is stopping")
        from asyncio import Future, get_running_loop  # noqa: PLC0415 - as in SqliteStore

        future: Future[T] = get_running_loop().create_future()
        self._tasks.put(Task(change, durable=durable, future=future))
        return await future

    def read(self, question: Write[T]) -> T:
        """Answer from one of a few connections; a question is asked twice when the first connection was dead."""
        with self._readers:
            for is_again in (False, True):
                raw = self._reader()
                db = PostgresDatabase(raw)
                try:
                    with one_moment(db), row_explained(self.address):
                        answer = question(db)
                except psycopg.Error as error:
                    if raw.closed and not is_again:
                        self._close_readers()
                        continue
                    raw.close()
                    raise explain(error, self.address) from None
                except BaseException:
                    self._give_back(raw)
                    raise
                self._give_back(raw)
                return answer
        raise AssertionError  # pragma: no cover - the second time it raised or returned

    def _reader(self) -> Raw:
        with self._idle_lock:
            if self._idle:
                return self._idle.pop()
        if time.monotonic() < self._silent_until:
            raise Unavailable(self._silence)
        try:
            return connect(self.address, "primary")
        except RemudaError as error:
            self._silent_until, self._silence = time.monotonic() + _RESPITE_S, str(error)
            raise Unavailable(str(error)) from None

    def _give_back(self, raw: Raw) -> None:
        with self._idle_lock:
            if raw.closed or self._closing.is_set():
                raw.close()
            else:
                self._idle.append(raw)

    def _close_readers(self) -> None:
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for raw in idle:
            raw.close()

    def close(self) -> None:
        """Commit what was asked for, and let go of the seat and of all connections."""
        self._closing.set()
        self._tasks.put(None)
        self._thread.join()
        self._close_readers()

    # What follows runs in the writer's thread.

    def _work(self) -> None:
        while True:
            batch, last = self._next_batch()
            if batch:
                self._commit(batch)
            if isinstance(last, _Order):
                try:
                    last.work()
                except Exception as error:  # noqa: BLE001 - belongs to whoever asked
                    last.future.set_exception(error)
                else:
                    last.future.set_result(None)
            elif last is None:
                with suppress(RemudaError, psycopg.Error):
                    self._leave_seat()
                if self._raw is not None:
                    self._raw.close()
                return

    def _next_batch(self) -> tuple[list[Task], Task | _Order | None]:
        """What was asked for meanwhile, and what ended it: an order, the end of everything (None) or the last task."""
        try:
            task = self._tasks.get(timeout=self.beat_s)
        except Empty:
            beat = Task(lambda _: None, durable=True)
            return [beat], beat
        batch: list[Task] = []
        while isinstance(task, Task):
            batch.append(task)
            if len(batch) == _BATCH:
                break
            try:
                task = self._tasks.get_nowait()
            except Empty:
                break
        return batch, task

    def _commit(self, batch: list[Task]) -> None:
        """Commit a batch and answer it. One whose connection was lost before COMMIT is tried once more."""
        is_again = is_apart = False
        while True:
            try:
                answers = self._try_commit(batch, is_apart=is_apart)
            except Harmed:
                # Or two hosts waited for each other, and the server chose us to begin again.
                is_apart = True
                continue
            except _Lost as lost:
                self._drop()
                if is_again:
                    refuse(batch, explain(lost.__cause__ or lost, self.address))
                    return
                is_again = True
                continue
            except _Doubt as doubt:
                self._drop()
                try:
                    if not self._was_done(doubt):
                        continue
                except RemudaError as error:
                    refuse(batch, error)
                    return
                answers = doubt.answers
            except psycopg.Error as error:
                if error.sqlstate == _DEMOTED:
                    self._drop()
                refuse(batch, explain(error, self.address))
                return
            except RemudaError as error:
                refuse(batch, error)
                return
            break
        answer(batch, answers)

    def _try_commit(self, batch: list[Task], *, is_apart: bool) -> list[tuple[Any, Exception | None]]:
        if self._token is None:
            raise Unavailable(self._why_not)
        raw = self._ready()
        is_durable = any(task.durable for task in batch)
        try:
            control(raw, "BEGIN", *(() if is_durable else ("SET LOCAL synchronous_commit TO off",)))
            number = self._count(raw)
            answers = (run_apart if is_apart else run)(raw, batch, self.address)
        except BaseException as error:
            if raw.closed:
                raise _Lost from error
            with suppress(psycopg.Error):
                control(raw, "ROLLBACK")
            raise
        try:
            control(raw, "COMMIT")
        except psycopg.Error as error:
            if raw.closed:
                raise _Doubt(number, answers) from error
            raise
        self._commits = number
        if is_durable:
            self._flushed = number
        return answers

    def _count(self, raw: Raw) -> int:
        """The number of the transaction under way; `Fenced` when the seat is somebody else's."""
        assert self._token is not None
        number = self._seats.count_commit(PostgresDatabase(raw), self._token)
        if number is None:
            raise self._fenced(raw)
        return number

    def _was_done(self, doubt: _Doubt) -> bool:
        """What became of a COMMIT that was cut. Whoever writes meanwhile is told that the server does not answer."""
        while True:
            try:
                raw = self._ready(doubtful=doubt.number)
            except Fenced:
                raise
            except RemudaError as error:
                self._refuse_waiting(error)
                if self._closing.wait(_DOUBT_S):
                    raise Unavailable(
                        f"{error}; whether the last write was kept is not known, the next start finds out"
                    ) from None
                continue
            del raw
            return self._commits >= doubt.number

    def _refuse_waiting(self, error: RemudaError) -> None:
        kept: list[_Order | None] = []
        with suppress(Empty):
            while True:
                task = self._tasks.get_nowait()
                if isinstance(task, Task):
                    fail([task], Unavailable(str(error)))
                else:
                    kept.append(task)
        for each in kept:
            self._tasks.put(each)

    def _ready(self, doubtful: int = 0) -> Raw:
        """
        The connection, made anew where it is gone, and checked: the seat may be somebody else's since.

        `doubtful` is the number of a transaction of which is not known whether it was committed.
        """
        if self._raw is not None and self._raw.closed:
            self._drop()
        if self._raw is None:
            raw = self._connect_writer()
            try:
                self._look_around(raw, doubtful)
            except psycopg.Error as error:
                raw.close()
                raise explain(error, self.address) from None
            except BaseException:
                raw.close()
                raise
            self._raw = raw
        if self._token is not None and not self._has_lock:
            self._has_lock = self._seats.lock(PostgresDatabase(self._raw), self.address.schema)
        return self._raw

    def _look_around(self, raw: Raw, doubtful: int) -> None:
        """After a new connection: whether the store is the one that we left, and the seat still ours."""
        if self._token is None:
            return
        found = self._seats.standing(PostgresDatabase(raw), self._token)
        if found is None or found.commits < self._flushed:
            self._token = None
            self._why_not = (
                f"{self.address} has lost what it had confirmed: it was restored, or a standby took over that was behind;"
                " start Remuda again"
            )
            raise Fenced(self._why_not)
        self._commits = found.commits
        if found.is_ended and found.commits < doubtful:
            raise self._fenced(raw)

    def _fenced(self, raw: Raw) -> Fenced:
        self._token = None
        self._why_not = (
            f"{self.address} is written by another Remuda now ({self._seats.present_holder(PostgresDatabase(raw))}): this one may"
            " not any more"
        )
        return Fenced(self._why_not)

    def _connect_writer(self) -> Raw:
        raw = connect(self.address, "writable")
        try:
            control(raw, *_WRITER)
            if raw.execute("SHOW synchronous_commit").fetchone() == ("off",):
                control(raw, "SET synchronous_commit TO on")
        except psycopg.Error as error:
            raw.close()
            raise explain(error, self.address) from None
        return raw

    def _drop(self) -> None:
        if self._raw is not None:
            self._raw.close()
        self._raw, self._has_lock = None, False

    def _take_seat(self, who: Claimant) -> None:
        self._token = None
        with self._asked() as db:
            deadline = time.monotonic() + _HANDOVER_S
            while True:
                self._has_lock = self._has_lock or self._seats.lock(db, self.address.schema)
                try:
                    with db.raw.transaction():
                        token = self._seats.take(db, who, self._now(), has_lock=self._has_lock)
                except SeatTaken as taken:
                    if time.monotonic() < deadline and not self._closing.wait(_GLANCE_S):
                        continue
                    raise BadInput(
                        f"{self.address} is in use by another Remuda ({taken}): {self._seats.WAY_OUT}; one that is gone is"
                        " noticed within 30 s"
                    ) from None
                break
        self._token, self._commits, self._flushed = token, 0, 0

    def _leave_seat(self) -> None:
        self._token, self._why_not = None, STANDS_BY
        if self._has_lock and self._raw is not None:
            self._has_lock = False
            with self._asked() as db:
                self._seats.unlock(db, self.address.schema)

    @contextmanager
    def _asked(self) -> Iterator[PostgresDatabase]:
        """The connection, for something between batches."""
        raw = self._ready()
        try:
            yield PostgresDatabase(raw)
        except psycopg.Error as error:
            if raw.closed:
                self._drop()
            raise explain(error, self.address) from None
