"""Changed cycles that the ledger records in a second."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from msgspec import structs

from bench.table import Row, at_least, quantile
from remuda.ledger.record import Ledger
from remuda.ledger.store import SqliteStore
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.pools.decide import decide
from remuda.pools.decide.model import Bounds, Memory, Policy, PoolPolicy, PoolSeen, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.sources.queue.schema import TABLES

POOLS, EACH, CYCLES = 20, 5, 2_000


def flush_ms(directory: Path) -> float:
    """What the disk's own flush costs."""
    file = os.open(directory / "flush", os.O_CREAT | os.O_WRONLY)
    times = []
    for _ in range(100):
        os.write(file, b"x" * 4096)
        began = time.perf_counter()
        os.fsync(file)
        times.append((time.perf_counter() - began) * 1_000)
    os.close(file)
    return quantile(times, 0.5)


def pools() -> tuple[tuple[PoolSeen, ...], Policy]:
    names = [f"pool-{i:02}" for i in range(POOLS)]
    seen = tuple(
        PoolSeen(
            name,
            Need(1, 2),
            tuple(
                Machine(f"{name}-{j}", name, State.IDLE, "t", 1_000 * j, 1_000, 1_000) for j in range(EACH)
            ),
        )
        for name in names
    )
    return seen, Policy({name: PoolPolicy(name, name, "t", Bounds(3, 10)) for name in names})


async def record(directory: Path) -> float:
    seen, policy = pools()
    store = SqliteStore(directory / "remuda.db", tables=(TABLES,))
    ledger = Ledger(store, "pools", POOL_KINDS)
    memory = Memory()
    plan, _ = decide(Snapshot(seen), memory, policy, 10_000)
    plan = structs.replace(plan, actions=())
    began = time.perf_counter()
    for cycle in range(CYCLES):
        # Another pool's need changes each time, so that each cycle is a new row.
        pool = structs.replace(seen[cycle % POOLS], need=Need(cycle, 2))
        changed = (*seen[: cycle % POOLS], pool, *seen[cycle % POOLS + 1 :])
        await ledger.record(Snapshot(changed), memory, policy, 10_000 + cycle, plan, memory, ())
    took = time.perf_counter() - began
    store.close()
    return CYCLES / took


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=".") as name:
        flush = flush_ms(Path(name))
        rate = asyncio.run(record(Path(name).absolute()))
    conditions = f"{CYCLES} cycles one after another, {POOLS} pools of {EACH} machines; the disk flushes in {flush:.2f} ms"
    return [at_least("changed cycles recorded", rate, 1_000, "/s", conditions)]
