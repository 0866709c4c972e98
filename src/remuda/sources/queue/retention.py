"""Which ended jobs are forgotten, with their output: those past an age, and the oldest while output is too much."""

import asyncio
from collections.abc import Collection
from functools import partial

from remuda.ledger.retention import Retention
from remuda.ledger.store import Store
from remuda.model.jobs import Run
from remuda.model.times import Instant
from remuda.sources.queue import rows
from remuda.sources.queue.copies import forget_copies
from remuda.sources.queue.hosts import forget_hosts
from remuda.sources.queue.output import JobFiles


async def forget_jobs(store: Store, files: JobFiles, keep: Retention, now: Instant) -> None:
    """Forget what is too old or too much, a slice at a time. Jobs that wait or run are never touched."""
    count = 1
    while count:
        count, gone = await store.write(lambda db: rows.forget_ended(db, now - keep.age))
        await _remove(files, gone)
    sizes = await asyncio.to_thread(files.sizes)
    # Counted by what can go: output of jobs that run, or that nobody knows, must not cost others theirs.
    known = (
        await asyncio.to_thread(store.read, rows.ended_runs)
        if store.is_apart
        else store.read(rows.ended_runs)
    )
    ended = {run: sizes[run] for run in known if run in sizes}
    excess = sum(ended.values()) - keep.output_bytes
    while excess > 0:
        count, gone = await store.write(partial(rows.forget_oldest, sizes=ended, excess=excess))
        if not count:
            return
        excess -= sum(ended.get(run, 0) for run in gone)
        await _remove(files, gone)


async def forget_shared_jobs(
    store: Store, files: JobFiles, running: Collection[str], keep: Retention, now: Instant
) -> None:
    """
    Forget what is too old in a queue that hosts share, and of this host's output what is too old or too much.

    A job is the queue's, whoever ran it, so that output which is too much goes without its job.
    """
    count = 1
    while count:
        count = await store.write(lambda db: rows.forget_ended_shared(db, now - keep.age))
    await store.write(lambda db: forget_hosts(db, now))
    await store.write(lambda db: forget_copies(db, keep))
    sizes, ages = await asyncio.to_thread(lambda: (files.sizes(), files.ages()))
    ended = sorted((ages.get(run, 0), run) for run in sizes if str(run.job) not in running)
    excess = sum(sizes[run] for _, run in ended) - keep.output_bytes
    gone = []
    for written_at, run in ended:
        if written_at < now - keep.age or excess > 0:
            excess -= sizes[run]
            gone.append(run)
    await _remove(files, gone)


async def _remove(files: JobFiles, gone: list[Run]) -> None:
    for run in gone:
        await asyncio.to_thread(files.forget, run)
