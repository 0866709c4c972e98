"""What every record of a loop promises: the ledger and the notebook alike."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import NOW, closing, policy, pool, settings, snapshot
from tests.contracts.stores import KINDS, opened

from remuda.ledger.record import Ledger, MemoryRecorder
from remuda.loop.controller import Recorder
from remuda.model.plans import Operation, Outcome, Plan
from remuda.pools.decide.model import Memory, Policy, PoolAction, PoolMemory, Snapshot
from remuda.pools.kinds import POOL_KINDS

PoolsRecorder = Recorder[Snapshot, Memory, Policy, PoolAction]
SEEN, RULES = snapshot(pool()), policy(settings())
DONE = Outcome("done", NOW)


@pytest.fixture(params=[*KINDS, "notebook"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PoolsRecorder]:
    if request.param == "notebook":
        yield MemoryRecorder(Memory())
        return
    with opened(request.param, tmp_path, request) as store:
        yield Ledger(store, "pools", POOL_KINDS)


async def record(
    recorder: PoolsRecorder, *targets: str, after: Memory | None = None
) -> tuple[Operation[PoolAction], ...]:
    plan = Plan(tuple(closing(0, target).action for target in targets))
    saw = recorder.operations()
    return await recorder.record(SEEN, Memory(), RULES, NOW, plan, after or Memory(), saw)


async def test_a_fresh_record_knows_nothing(recorder: PoolsRecorder) -> None:
    assert (recorder.memory(), recorder.operations()) == (Memory(), ())


async def test_each_action_becomes_an_operation_with_a_number_of_its_own(recorder: PoolsRecorder) -> None:
    first = await record(recorder, "a-1", "a-2")
    second = await record(recorder, "a-3")
    assert [operation.action.target for operation in (*first, *second)] == ["a-1", "a-2", "a-3"]
    assert len({operation.id for operation in (*first, *second)}) == 3
    assert recorder.operations() == (*first, *second)


async def test_a_target_that_is_busy_gets_no_second_operation(recorder: PoolsRecorder) -> None:
    first = await record(recorder, "a-1")
    assert [operation.action.target for operation in await record(recorder, "a-1", "a-2")] == ["a-2"]
    assert recorder.operations()[0] == first[0]


async def test_a_target_named_twice_in_one_plan_gets_one_operation(recorder: PoolsRecorder) -> None:
    assert [operation.action.target for operation in await record(recorder, "a-1", "a-1")] == ["a-1"]


async def test_an_outcome_stays_until_a_plan_saw_it(recorder: PoolsRecorder) -> None:
    (operation,) = await record(recorder, "a-1")
    await recorder.finish(operation, DONE)
    (ended,) = recorder.operations()
    assert (ended.id, ended.outcome) == (operation.id, DONE)
    await record(recorder)
    assert recorder.operations() == ()


async def test_an_outcome_that_came_after_the_plan_looked_is_kept(recorder: PoolsRecorder) -> None:
    (operation,) = await record(recorder, "a-1")
    saw = recorder.operations()
    await recorder.finish(operation, DONE)
    await recorder.record(SEEN, Memory(), RULES, NOW, Plan(), Memory(), saw)
    assert [ended.outcome for ended in recorder.operations()] == [DONE]


async def test_a_target_is_free_again_once_its_operation_has_ended(recorder: PoolsRecorder) -> None:
    (operation,) = await record(recorder, "a-1")
    await recorder.finish(operation, Outcome("failed", NOW, "no"))
    (again,) = await record(recorder, "a-1")
    assert again.id != operation.id


async def test_the_memory_after_a_changed_cycle_is_the_one_before_the_next(recorder: PoolsRecorder) -> None:
    after = Memory({"a": PoolMemory(failures=3)})
    await record(recorder, "a-1", after=after)
    assert recorder.memory() == after


async def test_many_operations_end_side_by_side(recorder: PoolsRecorder) -> None:
    started = await record(recorder, *(f"a-{number}" for number in range(20)))
    await asyncio.gather(*(recorder.finish(operation, DONE) for operation in started))
    assert [operation.outcome for operation in recorder.operations()] == [DONE] * 20
