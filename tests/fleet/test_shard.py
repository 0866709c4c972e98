"""The shard on the loop that every controller runs on: what it observes, records and calls, and what `why` says of it later."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from tests.cli.conftest import Run, run
from tests.fleet.builders import NOW, need, shape

from remuda.errors import NotFound
from remuda.fleet import states
from remuda.fleet.history.recorder import FleetLedger
from remuda.fleet.history.replay import cycle_at, cycles_between, replay
from remuda.fleet.plan import Op
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Answer, Call, Changes, Report
from remuda.fleet.shard import Shard
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.plans import Operation
from remuda.model.times import SECOND
from remuda.model.units import FleetNeed

__all__ = ["run"]
SHAPE = shape(provider="p")


class Clock:
    at = NOW

    def now(self) -> int:
        return self.at

    def monotonic(self) -> float:
        return self.at / SECOND


class Provider:
    """Two idle machines that do what they are called for at once."""

    name = "p"

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.calls: list[Call] = []
        self.machines = {"m1": states.IDLE, "m2": states.IDLE}
        self.serves: dict[str, tuple[str, str]] = {}
        self.answer = Answer.ACCEPTED
        self.fails = False

    async def changes(self, cursor: str) -> Changes:
        if self.fails:
            raise OSError("no route")
        names = list(self.machines)
        serves = [self.serves.get(name) for name in names]
        bindings = sorted({each for each in serves if each})
        return Changes(
            self.clock.at, "next", not cursor, names, np.array([*self.machines.values()], np.int8),
            np.zeros(len(names), np.int32),
            np.array([bindings.index(each) if each else -1 for each in serves], np.int32),
            np.zeros(len(names), np.int32), np.full(len(names), NOW, np.int64), [SHAPE], bindings,
        )  # fmt: skip

    async def call(self, call: Call) -> Answer:
        self.calls.append(call)
        if self.answer is Answer.ACCEPTED and call.op is Op.ASSIGN:
            self.machines[call.machine] = states.CONFIGURED
            self.serves[call.machine] = (call.cluster, call.need)
        return self.answer


class Clusters:
    def __init__(self, *needs: FleetNeed) -> None:
        self.reports = [Report("c", needs)]

    def take(self) -> Sequence[Report]:
        taken, self.reports = self.reports, []
        return taken


class Process:
    """A shard, its loop and its ledger on a store in a directory."""

    def __init__(
        self, directory: Path, *needs: FleetNeed, epoch: int = 1, provider: Provider | None = None
    ) -> None:
        self.clock = Clock()
        self.provider = provider or Provider(self.clock)
        self.store = SqliteStore(directory / FILE)
        self.policy = Policy()
        self.shard = Shard([self.provider], Clusters(*needs), self.clock, lambda: self.policy, epoch)
        self.ledger = FleetLedger(self.store, self.shard.journal, self.shard.fleet.names)
        tools = Tools(
            self.clock, random.Random(1), Log(self.clock, lambda _: None, "error"), LoopMetrics(CollectorRegistry())
        )  # fmt: skip
        self.loop = Loop(self.shard, self.ledger, self.policy, tools)

    async def cycle(self, *, acts: bool = True) -> None:
        async with asyncio.TaskGroup() as group:
            await self.loop.cycle(group if acts else None)
        self.clock.at += 10 * SECOND


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, need("web", 1), need("db", 3))
    yield made
    made.store.close()


async def test_idle_machines_are_given_to_needs_by_calls_with_growing_tokens(process: Process) -> None:
    await process.cycle()
    calls = process.provider.calls
    assert [call.op for call in calls] == [Op.ASSIGN, Op.ASSIGN]
    assert sorted(call.need for call in calls) == ["db", "web"]
    assert calls[0].token < calls[1].token
    await process.cycle()
    assert process.shard.fleet.state.tolist() == [states.CONFIGURED] * 2
    assert len(calls) == 2


async def test_nothing_is_decided_before_every_provider_was_read(process: Process) -> None:
    process.provider.fails = True
    await process.cycle()
    assert process.provider.calls == []
    process.provider.fails = False
    await process.cycle()
    assert len(process.provider.calls) == 2


async def test_what_a_call_failed_on_is_held_back(process: Process) -> None:
    process.provider.answer = Answer.ERROR
    await process.cycle()
    await process.cycle()
    assert len(process.provider.calls) == 2
    assert (process.shard.fleet.not_before >= process.clock.at).all()
    assert process.shard.fleet.state.tolist() == [states.IDLE] * 2


async def test_what_a_provider_does_not_know_is_forgotten(process: Process) -> None:
    process.provider.answer = Answer.UNKNOWN
    await process.cycle()
    process.provider.fails = True
    await process.cycle()
    assert len(process.shard.fleet) == 0


async def test_a_batch_is_in_the_columns_before_the_next_decision_even_when_nothing_was_called(
    process: Process,
) -> None:
    await process.cycle(acts=False)
    assert process.provider.calls == []
    await process.cycle(acts=False)
    assert process.shard.fleet.state.tolist() == [states.CONFIGURING] * 2


async def test_a_batch_of_another_process_is_not_carried_on(process: Process, tmp_path: Path) -> None:
    await process.cycle(acts=False)
    process.store.close()
    next_ = Process(tmp_path, need("web", 1), epoch=2)
    [left] = next_.ledger.operations()
    assert (left.action.op, left.action.machines, left.action.block) == ("assign", 2, None)
    outcome = await next_.shard.act(Operation(left.id, left.action))
    assert outcome.status == "refused"
    assert next_.provider.calls == []
    next_.store.close()


async def test_memory_is_restored_by_names(process: Process, tmp_path: Path) -> None:
    await process.cycle()
    [since] = process.loop._memory.unmet_since.tolist()
    process.store.close()
    next_ = Process(tmp_path, epoch=2)
    memory = next_.ledger.memory()
    names = next_.shard.fleet.names
    assert [names.subject(number) for number in memory.unmet.tolist()] == ["need/c/db"]
    assert memory.unmet_since.tolist() == [since]
    next_.store.close()


async def test_while_nothing_changes_the_last_row_is_extended(process: Process) -> None:
    for _ in range(8):
        await process.cycle()
    cycles = process.store.read(lambda db: list(cycles_between(db, 0, 1 << 60, print)))
    assert sum(cycle.count for cycle in cycles) == 8
    assert cycles[-1].count > 3


async def test_a_recorded_cycle_replays_with_the_same_rules_and_with_changed_ones(process: Process) -> None:
    for _ in range(3):
        await process.cycle()

    def steps(rails: bool) -> list[bool]:
        from msgspec.structs import replace

        def change(policy: Policy) -> Policy:
            return replace(policy, rails=replace(policy.rails, paused=True)) if rails else policy

        return process.store.read(lambda db: [step.is_same for step in replay(db, 0, 1 << 60, change, print)])

    assert all(steps(rails=False))
    assert not all(steps(rails=True))


async def test_a_cycle_whose_checkpoint_is_gone_says_so(process: Process) -> None:
    for _ in range(3):
        await process.cycle()
    await process.store.write(
        lambda db: db.execute("DELETE FROM cycles WHERE id = (SELECT min(id) FROM cycles)")
    )
    with pytest.raises(NotFound, match="its checkpoint is no longer kept"):
        process.store.read(lambda db: cycle_at(db, 1 << 60))
    damaged: list[str] = []
    assert process.store.read(lambda db: list(cycles_between(db, 0, 1 << 60, damaged.append))) == []
    assert damaged


def test_why_need_answers_from_what_was_recorded(tmp_path: Path, run: Run) -> None:
    async def live() -> None:
        process = Process(tmp_path, need("web", 1), need("db", 3))
        await process.cycle()
        await process.cycle()
        process.store.close()

    asyncio.run(live())
    ran = run("why", "need", "c/db", "--data-dir", tmp_path)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("c/db misses 2 of 3 units")
    before = run("why", "need", "c/db", "--data-dir", tmp_path, "--at", "1969-01-01T00:00:00Z")
    assert before.code == 2
    assert "no shard recorded a decision by then" in before.err
