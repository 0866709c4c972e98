"""
A cycle of the shard as it runs: changes observed, decided, recorded on disk and handed to act, with 500,000 machines.

The provider is a table that answers at once. `python -m bench.fleet_shard MACHINES CYCLES` prints what it measured.
"""

import asyncio
import gc
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from remuda.fleet import states
from remuda.fleet.decide.engine import choose
from remuda.fleet.history.recorder import FleetLedger
from remuda.fleet.plan import Op
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Answer, Call, Changes, Report
from remuda.fleet.shard import PACE, Shard
from remuda.ledger.store import SqliteStore
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.shapes import Shape
from remuda.model.times import SECOND
from remuda.model.units import FleetNeed

CLUSTERS, NEEDS = 50, 10
START = 1_800_000_000_000
_ENDS = {
    Op.ASSIGN: states.CONFIGURED,
    Op.CREATE: states.IDLE,
    Op.PREEMPT: states.IDLE,
    Op.RECLAIM: states.IDLE,
    Op.RELEASE: states.SPECULATIVE,
}


class Clock:
    """Ten seconds a cycle, whatever the wall says."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return time.monotonic()


class Table:
    """A provider of machines of ten shapes; one in fifty is idle, the others serve a need each."""

    name = "table"

    def __init__(self, machines: int, clock: Clock) -> None:
        self._clock, self._random = clock, np.random.default_rng(1)
        self.shapes = [
            Shape(
                f"t{number}",
                zone=f"z{number % 3}",
                provider=self.name,
                allocatable={"cpu": 4_000, "memory": (8 + number) << 30},
                price=100_000 + number,
            )
            for number in range(NEEDS)
        ]
        self.bindings = [(f"c{c:03}", f"n{n}") for c in range(CLUSTERS) for n in range(NEEDS)]
        self.ids = [f"machine-{number:08}" for number in range(machines)]
        self.places = {name: place for place, name in enumerate(self.ids)}
        number = np.arange(machines)
        self.shape = (number % NEEDS).astype(np.int32)
        idle = number % 500 < 10
        self.binding = np.where(idle, -1, number % len(self.bindings)).astype(np.int32)
        self.state = np.where(idle, states.IDLE, states.CONFIGURED).astype(np.int8)
        self.since = np.full(machines, START - 1, np.int64)
        self._touched: list[int] = list(range(machines))
        self._gone: list[str] = []
        self.prepared: Changes | None = None
        self.nothing: Changes | None = None

    def needs(self) -> dict[str, tuple[FleetNeed, ...]]:
        count = np.bincount(self.binding[self.binding >= 0], minlength=len(self.bindings)).tolist()
        found: dict[str, list[FleetNeed]] = {}
        for (cluster, name), units in zip(self.bindings, count, strict=True):
            found.setdefault(cluster, []).append(
                FleetNeed(cluster, name, {"cpu": 3_000, "memory": 8 << 30}, units, priority=1_000)
            )
        return {cluster: tuple(asked) for cluster, asked in found.items()}

    def churn(self) -> int:
        """One machine in a hundred: a quarter becomes idle, and as many are new as fail or go."""
        serving = np.flatnonzero(self.state == states.CONFIGURED)
        number = len(self.ids) // 100
        rows = self._random.choice(serving, number * 5 // 8, replace=False)
        idle, failed, gone = np.split(rows, [number // 4, number // 4 + number * 3 // 16])
        self._set(idle, states.IDLE)
        self._set(failed, states.FAILED)
        self._gone += [self.ids[row] for row in gone.tolist()]
        self._set(gone, states.ABSENT)
        fresh = np.concatenate([failed, gone])
        first = len(self.ids)
        self.ids += [f"machine-{number:08}" for number in range(first, first + len(fresh))]
        self.places |= {name: first + place for place, name in enumerate(self.ids[first:])}
        self.shape = np.concatenate([self.shape, self.shape[fresh]])
        self.binding = np.concatenate([self.binding, np.full(len(fresh), -1, np.int32)])
        self.state = np.concatenate([self.state, np.full(len(fresh), states.IDLE, np.int8)])
        self.since = np.concatenate([self.since, np.full(len(fresh), self._clock.at, np.int64)])
        self._touched += range(first, len(self.ids))
        return len(rows) + len(fresh)

    def _set(self, rows: Any, state: int) -> None:
        self.state[rows], self.binding[rows], self.since[rows] = state, -1, self._clock.at
        self._touched += rows.tolist()

    def read(self, *, is_full: bool) -> Changes:
        touched = sorted(set(self._touched))
        self._touched = []
        rows = np.array(touched, np.int64)
        rows = rows[self.state[rows] != states.ABSENT]
        gone, self._gone = self._gone, []
        # Equal texts, not the same objects, as they come from outside.
        ids = [self.ids[row].encode().decode() for row in rows.tolist()]
        priority = np.where(self.binding[rows] >= 0, 1_000, 0).astype(np.int32)
        return Changes(
            self._clock.at, "1", is_full, ids, self.state[rows], self.shape[rows], self.binding[rows], priority,
            self.since[rows], self.shapes, self.bindings, gone,
        )  # fmt: skip

    async def changes(self, cursor: str) -> Changes:
        prepared, self.prepared = self.prepared, self.nothing
        assert prepared is not None
        assert prepared.is_full == (not cursor)
        return prepared

    def prepare(self, *, is_full: bool = False) -> None:
        """Make the next answer, outside of what is measured."""
        self.prepared = self.read(is_full=is_full)
        self.nothing = self.read(is_full=False)

    async def call(self, call: Call) -> Answer:
        row = self.places[call.machine]
        self.state[row], self.since[row] = _ENDS[call.op], self._clock.at
        self.binding[row] = self.bindings.index((call.cluster, call.need)) if call.cluster else -1
        self._touched.append(row)
        return Answer.ACCEPTED


class Inbox:
    """The clusters, which report once."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def take(self) -> Sequence[Report]:
        taken, self.reports = self.reports, []
        return taken


async def _acted(ledger: FleetLedger) -> None:
    """Wait until everything that was handed to act is done."""
    while any(operation.outcome is None for operation in ledger.operations()):  # noqa: ASYNC110 - nothing else tells
        await asyncio.sleep(0.001)


async def measure(machines: int, cycles: int, directory: Path) -> dict[str, object]:
    clock, inbox = Clock(), Inbox()
    table = Table(machines, clock)
    policy = Policy()
    shard = Shard([table], inbox, clock, lambda: policy, 1)
    store = SqliteStore(directory / "bench.db")
    log = Log(clock, lambda _: None, "error")
    tools = Tools(clock, random.Random(1), log, LoopMetrics(CollectorRegistry()))
    ledger = FleetLedger(store, shard.journal, shard.fleet.names)
    loop = Loop(shard, ledger, policy, tools, PACE)
    inbox.reports = [Report(cluster, needs) for cluster, needs in table.needs().items()]
    busy, cpu, quiet, changed, acted = [], [], [], [], []
    choose("numba")
    table.prepare(is_full=True)
    async with asyncio.TaskGroup() as acts:
        for cycle in range(cycles + 3):
            clock.at += 10 * SECOND
            number = table.churn() if cycle else 0
            if cycle:
                table.prepare()
            began, on = time.perf_counter(), time.process_time()
            plan = await loop.cycle(acts)
            took, used = (time.perf_counter() - began) * 1_000, (time.process_time() - on) * 1_000
            await _acted(ledger)
            if cycle == 2:
                gc.collect()
                gc.freeze()  # what stays is not looked at again and again
            if cycle >= 3:
                busy.append(took)
                cpu.append(used)
                changed.append(number)
                acted.append(sum(batch.machines for batch in plan.actions))
        for _ in range(6):  # until all that was begun is done, and nothing is left to say
            clock.at += 10 * SECOND
            table.prepare()
            await loop.cycle(acts)
            await _acted(ledger)
        for _ in range(cycles):
            clock.at += SECOND
            began = time.perf_counter()
            await loop.cycle(acts)
            quiet.append((time.perf_counter() - began) * 1_000)
    store.close()
    written = sum(file.stat().st_size for file in directory.iterdir())
    return {
        "machines": machines,
        "cycles": cycles,
        "median_ms": statistics.median(busy),
        "least_ms": min(busy),
        "cpu_ms": statistics.median(cpu),
        "most_ms": max(busy),
        "quiet_ms": statistics.median(quiet),
        "changed": statistics.median(changed),
        "actions": statistics.median(acted),
        "written_mb": written / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2]), Path(place)))))
