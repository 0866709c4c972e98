"""Which ended jobs are forgotten, with their output: those past an age, and the oldest while output is too much."""

import asyncio
from functools import partial

from remuda.ledger.retention import Retention
from remuda.ledger.store import Store
from remuda.model.jobs import Run
from remuda.model.times import Instant
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles


async def forget_jobs(store: Store, files: JobFiles, keep: Retention, now: Instant) -> None:
    """Forget what is too old or too much, a slice at a time. Jobs that wait or run are never touched."""
    count = 1
    while count:
        count, gone = await store.write(lambda db: rows.forget_ended(db, now - keep.age))
        await _remove(files, gone)
    sizes = await asyncio.to_thread(files.sizes)
    # Counted by what can go: output of jobs that run, or that nobody knows, must not cost others theirs.
    ended = {run: sizes[run] for run in store.read(rows.ended_runs) if run in sizes}
    excess = sum(ended.values()) - keep.output_bytes
    while excess > 0:
        count, gone = await store.write(partial(rows.forget_oldest, sizes=ended, excess=excess))
        if not count:
            return
        excess -= sum(ended.get(run, 0) for run in gone)
        await _remove(files, gone)


async def _remove(files: JobFiles, gone: list[Run]) -> None:
    for run in gone:
        await asyncio.to_thread(files.forget, run)
