"""Which ended jobs are forgotten, with their output: those past an age, and the oldest while output is too much."""

import asyncio
from functools import partial

from remuda.ledger.retention import Retention
from remuda.ledger.store import Store
from remuda.model.times import Instant
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles


async def forget_jobs(store: Store, files: JobFiles, keep: Retention, now: Instant) -> None:
    """Forget what is too old or too much, a slice at a time. Jobs that wait or run are never touched."""
    while gone := await store.write(lambda db: rows.forget_ended(db, now - keep.age)):
        await _remove(files, gone)
    sizes = await asyncio.to_thread(files.sizes)
    if sum(sizes.values()) <= keep.output_bytes:
        return
    # Counted by what can go: output of jobs that run, or that nobody knows, must not cost others theirs.
    excess = sum(sizes.get(number, 0) for number in store.read(rows.ended)) - keep.output_bytes
    while excess > 0 and (gone := await store.write(partial(rows.forget_oldest, sizes=sizes, excess=excess))):
        excess -= sum(sizes.get(number, 0) for number, _ in gone)
        await _remove(files, gone)


async def _remove(files: JobFiles, gone: list[tuple[int, int]]) -> None:
    for number, attempts in gone:
        await asyncio.to_thread(files.forget, number, attempts)
