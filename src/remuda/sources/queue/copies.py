"""
Copies of what jobs wrote, in a queue that several hosts share: each host can show it, also when the one that ran the job is gone.

The file of an attempt stays on its host. When the attempt has ended, a copy goes into the queue, soon after and not with the
end itself: a job never waits for it. Of much output the beginning and the end are copied.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import islice

from remuda.ledger.address import PostgresAddress
from remuda.ledger.place import place_of, reading
from remuda.ledger.retention import Retention
from remuda.ledger.schema import Tables
from remuda.ledger.sql import Database
from remuda.ledger.store import Store
from remuda.loop.clock import Clock
from remuda.model.jobs import Finished, Run
from remuda.model.times import SECOND, Instant
from remuda.sources.queue.output import JobFiles

#: of one attempt, from its beginning and from its end
HEAD, TAIL = 64 * 1024, 192 * 1024
#: copied at a time, so that other writes need not wait for long
_MOST_RUNS, _MOST_BYTES = 200, 8 * 1024 * 1024
#: those that wait to be copied; of a host whose server is away for long, the oldest are left out
_MOST_WAITING = 5_000
#: how long somebody who asks waits for the copy of an attempt that has just ended
_PATIENCE, _GLANCE_S = 5 * SECOND, 0.25

_V1 = """
CREATE TABLE outputs (
  job     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  bytes   INTEGER NOT NULL,
  data    BLOB    NOT NULL,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID
"""
TABLES = Tables("outputs", (_V1,))


class Copies:
    """What this host has yet to copy into the queue."""

    def __init__(self, files: JobFiles, most_at_once: int = _MOST_RUNS) -> None:
        self._files, self._most = files, most_at_once
        self._waiting: deque[Run] = deque(maxlen=_MOST_WAITING)

    def add(self, ended: Finished) -> None:
        """An attempt has ended here."""
        if ended.output_bytes:
            self._waiting.append(ended.run)

    async def write(self, store: Store) -> None:
        """Copy what has ended since; `RemudaError` when the queue does not answer, and all of it waits then."""
        while self._waiting:
            copies = await asyncio.to_thread(self._read, [*islice(self._waiting, self._most)])
            await store.write(partial(put, copies=copies))
            for _ in copies:
                self._waiting.popleft()

    def _read(self, runs: Iterable[Run]) -> list[tuple[Run, bytes]]:
        found, size = list[tuple[Run, bytes]](), 0
        for run in runs:
            if size >= _MOST_BYTES:
                break
            found.append((run, shortened(self._files, run)))
            size += len(found[-1][1])
        return found


def shortened(files: JobFiles, run: Run) -> bytes:
    """An attempt's output, of much of it the beginning and the end."""
    size = files.output_size(run)
    if size <= HEAD + TAIL:
        return files.read(run, 0, HEAD + TAIL)
    gap = f"\n[remuda: {size - HEAD - TAIL:,} bytes are left out here; host {files.host} has them]\n".encode()
    return files.read(run, 0, HEAD) + gap + files.read(run, size - TAIL, TAIL)


def put(db: Database, copies: Iterable[tuple[Run, bytes]]) -> None:
    """Keep copies; one that is there already is replaced."""
    db.executemany(
        "INSERT INTO outputs (job, attempt, bytes, data) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (job, attempt) DO UPDATE SET bytes = excluded.bytes, data = excluded.data",
        [(run.job, run.attempt, len(data), data) for run, data in copies if data],
    )


def copy_of(db: Database, run: Run) -> bytes | None:
    """What was copied of an attempt; None when nothing was, or it was forgotten."""
    row = db.execute(
        "SELECT data FROM outputs WHERE job = ? AND attempt = ?", (run.job, run.attempt)
    ).fetchone()
    return None if row is None else bytes(row[0])


def borrow(store: Store, clock: Clock) -> Callable[[Run, Instant], Awaitable[bytes | None]]:
    """What output that another host has is asked of; the copy of what has just ended is waited for."""

    async def ask(run: Run, finished_at: Instant) -> bytes | None:
        while True:
            found = await asyncio.to_thread(store.read, lambda db: copy_of(db, run))
            if found is not None or not 0 <= clock.now() - finished_at < _PATIENCE:
                return found
            await asyncio.sleep(_GLANCE_S)

    return ask


def borrow_at_rest(address: PostgresAddress) -> Callable[[Run, Instant], Awaitable[bytes | None]]:
    """As `borrow`, for a command while nothing runs here: what is there now."""

    async def ask(run: Run, _: Instant) -> bytes | None:
        with reading(place_of(address), (TABLES,)) as db:
            return copy_of(db, run)

    return ask


def forget_copies(db: Database, keep: Retention) -> None:
    """Forget copies of jobs that are forgotten, and the oldest while all of them are more than is kept of history."""
    db.execute("DELETE FROM outputs WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = outputs.job)")
    db.execute(
        "DELETE FROM outputs WHERE (job, attempt) IN (SELECT job, attempt FROM (SELECT job, attempt,"
        " sum(bytes) OVER (ORDER BY job DESC, attempt DESC) AS size FROM outputs) AS counted WHERE size > ?)",
        (keep.most_bytes,),
    )
