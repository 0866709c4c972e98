"""What a loop writes: one transaction a cycle, quiet cycles extended, operations one per target."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest
from tests.contracts.stores import KINDS, Stored, opened
from tests.loop.toy import TOY_KINDS, Memory, Policy, Seen, Turn, steady, turn

from remuda.errors import BadInput
from remuda.ledger.dialects import number_from
from remuda.ledger.history import cycle_at, story
from remuda.ledger.record import Ledger, MemoryRecorder
from remuda.ledger.retention import Retention, forget
from remuda.ledger.store import InlineStore, SqliteStore
from remuda.model.plans import Operation, Outcome, Plan, Reason

T = TypeVar("T")
ToyLedger: TypeAlias = Ledger[Seen, Memory, Policy, Turn]
POLICY = Policy()
EMPTY = Memory()
DONE = Outcome("done", 5)
FOREVER = 2**53


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    with opened(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture
def ledger(store: Stored) -> ToyLedger:
    return reopened(store)


def reopened(store: Stored, loop: str = "toy") -> ToyLedger:
    """The ledger as the next process finds it."""
    return Ledger(store, loop, TOY_KINDS)


async def record(
    ledger: ToyLedger,
    now: int,
    plan: Plan[Turn] | None = None,
    *,
    value: int = 0,
    memory: Memory = EMPTY,
    after: Memory | None = None,
    policy: Policy = POLICY,
) -> tuple[Operation[Turn], ...]:
    """A cycle as a loop records it."""
    saw = ledger.operations()
    return await ledger.record(
        Seen(value, saw), memory, policy, now, steady() if plan is None else plan, after or memory, saw
    )


def cycles(store: Stored) -> list[tuple[int, int, int]]:
    return store.read(
        lambda db: db.execute("SELECT first_at, last_at, count FROM cycles ORDER BY id").fetchall()
    )


def count(store: Stored, table: str) -> int:
    number: int = store.read(lambda db: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    return number


async def test_a_quiet_cycle_extends_the_row_of_the_one_before(store: Stored, ledger: ToyLedger) -> None:
    for now in range(100, 110):
        await record(ledger, now)
    assert cycles(store) == [(100, 109, 10)]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"value": 1}, id="snapshot"),
        pytest.param({"memory": Memory(1)}, id="memory"),
        pytest.param({"policy": Policy(11)}, id="policy"),
        pytest.param({"plan": steady(code="toy.other")}, id="plan"),
    ],
)
async def test_a_change_of_any_part_adds_one_row(
    store: Stored, ledger: ToyLedger, change: dict[str, object]
) -> None:
    await record(ledger, 100)
    await record(ledger, 101)
    await record(ledger, 102, **change)  # type: ignore[arg-type]
    await record(ledger, 103, **change)  # type: ignore[arg-type]
    assert cycles(store) == [(100, 101, 2), (102, 103, 2)]


async def test_a_clock_that_was_set_back_does_not_shorten_what_was_seen(
    store: Stored, ledger: ToyLedger
) -> None:
    for now in (100, 101, 50):
        await record(ledger, now)
    assert cycles(store) == [(100, 101, 3)]


async def test_what_is_read_back_is_what_was_recorded(store: Stored, ledger: ToyLedger) -> None:
    plan = Plan((turn("a"),), (Reason("toy.busy", "toy/a", {"n": 3, "at": None, "who": "é"}),))
    await record(ledger, 100, plan, value=7, memory=Memory(3), after=Memory(4), policy=Policy(9))
    found = store.read(lambda db: cycle_at(db, "toy", FOREVER, TOY_KINDS))
    assert found is not None
    assert (found.snapshot, found.memory, found.policy, found.plan) == (Seen(7), Memory(3), Policy(9), plan)
    assert reopened(store).memory() == Memory(4)


async def test_a_policy_is_stored_once_however_often_it_is_used(store: Stored, ledger: ToyLedger) -> None:
    for now in range(10):
        await record(ledger, now, value=now, policy=Policy(now % 2))
    assert count(store, "cycles") == 10
    assert count(store, "policies") == 2


def test_a_loop_without_a_past_has_an_empty_memory_and_no_operations(ledger: ToyLedger) -> None:
    assert ledger.memory() == Memory()
    assert ledger.operations() == ()


async def test_the_whole_cycle_is_one_transaction(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "remuda.db")
    ledger = Ledger(store, "toy", TOY_KINDS)
    await ledger.record(Seen(), Memory(), POLICY, 1, steady(), Memory(1), ())

    def spoil(db: sqlite3.Connection) -> None:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON operations BEGIN SELECT raise(ABORT, 'spoilt'); END")

    await store.write(spoil)
    plan = Plan((turn("a"),), (Reason("toy.new", "toy/a"),))
    with pytest.raises(sqlite3.IntegrityError, match="spoilt"):
        await ledger.record(Seen(9), Memory(1), Policy(5), 2, plan, Memory(2), ())
    assert ledger.memory() == Memory(1)
    for table, rows in (("cycles", 1), ("policies", 1), ("stories", 1), ("operations", 0)):
        query = f"SELECT count(*) FROM {table}"
        assert store.read(lambda db, query=query: db.execute(query).fetchone()) == (rows,), table  # type: ignore[misc]

    await store.write(lambda db: db.execute("DROP TRIGGER no"))
    started = await ledger.record(Seen(9), Memory(1), Policy(5), 3, plan, Memory(2), ())
    assert [operation.action.target for operation in started] == ["a"]
    store.close()


# Operations.


async def test_operations_are_one_per_target_and_an_action_on_a_busy_target_is_left_out(
    ledger: ToyLedger,
) -> None:
    first = await record(ledger, 1, Plan((turn("a"), turn("b"))))
    assert [operation.action.target for operation in first] == ["a", "b"]
    second = await record(ledger, 2, Plan((turn("b"), turn("c"), turn("c"))))
    assert [operation.action.target for operation in second] == ["c"]
    assert [operation.action.target for operation in ledger.operations()] == ["a", "b", "c"]


async def test_loops_do_not_see_each_others_operations(store: Stored, ledger: ToyLedger) -> None:
    other = reopened(store, "other")
    await record(ledger, 1, Plan((turn("a"),)))
    assert other.operations() == ()
    assert len(await record(other, 1, Plan((turn("a"),)))) == 1


async def test_an_outcome_stays_until_a_plan_was_recorded_that_saw_it(
    store: Stored, ledger: ToyLedger
) -> None:
    (operation,) = await record(ledger, 1, Plan((turn("a"),)))
    saw_it_running = ledger.operations()
    await ledger.finish(operation, DONE)
    await ledger.record(Seen(0, saw_it_running), Memory(), POLICY, 2, steady(), Memory(), saw_it_running)
    assert ledger.operations() == (Operation(operation.id, turn("a"), DONE),)
    assert reopened(store).operations() == ledger.operations()
    await record(ledger, 3)
    assert ledger.operations() == ()


async def test_a_quiet_cycle_that_saw_an_outcome_is_not_quiet(store: Stored, ledger: ToyLedger) -> None:
    """A loop whose snapshot leaves operations out must still get rid of their outcomes."""
    (operation,) = await record(ledger, 1, Plan((turn("a"),)))
    for now in (2, 3):
        await ledger.record(Seen(), Memory(), POLICY, now, steady(), Memory(), ledger.operations())
    await ledger.finish(operation, DONE)
    await ledger.record(Seen(), Memory(), POLICY, 4, steady(), Memory(), ledger.operations())
    assert ledger.operations() == ()
    assert cycles(store) == [(1, 1, 1), (2, 3, 2), (4, 4, 1)]


async def test_the_first_outcome_is_kept_and_a_second_changes_nothing(ledger: ToyLedger) -> None:
    (operation,) = await record(ledger, 1, Plan((turn("a"),)))
    await ledger.finish(operation, DONE)
    await ledger.finish(operation, Outcome("failed", 9, "again"))
    assert ledger.operations()[0].outcome == DONE


async def test_unfinished_operations_are_found_again_by_the_next_process(
    store: Stored, ledger: ToyLedger
) -> None:
    first, second = await record(ledger, 1, Plan((turn("a"), turn("b"))))
    await ledger.finish(first, DONE)
    found = reopened(store).operations()
    assert found == (Operation(first.id, turn("a"), DONE), second)


async def test_the_number_of_an_operation_is_never_used_again(store: Stored, ledger: ToyLedger) -> None:
    (first,) = await record(ledger, 1, Plan((turn("a"),)))
    await ledger.finish(first, DONE)
    await record(ledger, 2)
    await store.write(lambda db: db.execute("DELETE FROM operations"))
    (second,) = await record(ledger, 3, Plan((turn("a"),)))
    assert second.id > first.id


# Stories.


async def codes(store: Stored, subject: str = "toy/a") -> list[tuple[int, str]]:
    return [(line.at, line.reason.code) for line in store.read(lambda db: story(db, "toy", subject, FOREVER))]


async def test_a_story_gets_a_line_only_when_the_code_changes(store: Stored, ledger: ToyLedger) -> None:
    for now, (value, code) in enumerate([(0, "x"), (1, "x"), (2, "y"), (3, "y"), (4, "x")]):
        await record(ledger, now, Plan((), (Reason(code, "toy/a", {"n": value}),)), value=value)
    assert await codes(store) == [(0, "x"), (2, "y"), (4, "x")]


async def test_every_action_is_a_line_of_its_subject(store: Stored, ledger: ToyLedger) -> None:
    for now in (1, 2):
        await record(ledger, now, Plan((turn(f"t{now}"),), (Reason("x", "toy/a"),)))
    assert await codes(store) == [(1, "x")]
    assert await codes(store, "toy/t1") == [(1, "toy.turn")]
    assert await codes(store, "toy/t2") == [(2, "toy.turn")]


async def test_a_restart_does_not_repeat_the_last_line_of_a_story(store: Stored, ledger: ToyLedger) -> None:
    acting = Plan((turn("a", "toy.made"),), (Reason("x", "toy/a"),))
    await record(ledger, 1, acting)
    await record(reopened(store), 2, Plan((), (Reason("x", "toy/a"),)))
    assert await codes(store) == [(1, "x"), (1, "toy.made")]


async def test_a_subject_that_went_and_came_back_begins_anew(store: Stored, ledger: ToyLedger) -> None:
    await record(ledger, 1, steady("toy/a", code="x"))
    await record(ledger, 2, steady("toy/b", code="x"))
    await record(ledger, 3, steady("toy/a", code="x"))
    assert await codes(store) == [(1, "x"), (3, "x")]


# The notebook.


@pytest.fixture(params=["ledger", "notebook"])
def recorder(
    request: pytest.FixtureRequest, ledger: ToyLedger
) -> "ToyLedger | MemoryRecorder[Seen, Memory, Policy, Turn]":
    return ledger if request.param == "ledger" else MemoryRecorder(Memory())


async def test_notebook_and_ledger_treat_operations_alike(
    recorder: "ToyLedger | MemoryRecorder[Seen, Memory, Policy, Turn]",
) -> None:
    async def step(plan: Plan[Turn]) -> list[tuple[int, str]]:
        saw = recorder.operations()
        started = await recorder.record(Seen(), Memory(), POLICY, 1, plan, Memory(), saw)
        return [(operation.id, operation.action.target) for operation in started]

    assert await step(Plan((turn("a"), turn("b")))) == [(1, "a"), (2, "b")]
    assert await step(Plan((turn("a"),))) == []
    await recorder.finish(recorder.operations()[0], DONE)
    assert [operation.outcome for operation in recorder.operations()] == [DONE, None]
    assert [target for _, target in await step(Plan((turn("a"),)))] == ["a"]
    assert [operation.action.target for operation in recorder.operations()] == ["b", "a"]


async def test_a_dry_run_starts_nothing_and_keeps_its_memory_to_itself() -> None:
    recorder: MemoryRecorder[Seen, Memory, Policy, Turn] = MemoryRecorder(Memory(1), starts=False)
    plan = Plan((turn("a"),))
    assert await recorder.record(Seen(), Memory(1), POLICY, 1, plan, Memory(2), ()) == ()
    assert recorder.operations() == ()
    assert recorder.memory() == Memory(2)


async def test_cycles_of_several_loops_are_recorded_side_by_side(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "remuda.db")
    ledgers = [Ledger(store, f"loop-{number}", TOY_KINDS) for number in range(5)]

    async def live(ledger: ToyLedger) -> None:
        for now in range(20):
            await ledger.record(Seen(now // 2), Memory(), POLICY, now, steady(), Memory(), ())

    await asyncio.gather(*map(live, ledgers))
    query = "SELECT loop, count(*), sum(count) FROM cycles GROUP BY loop ORDER BY loop"
    found = store.read(lambda db: db.execute(query).fetchall())
    assert found == [(f"loop-{number}", 10, 20) for number in range(5)]
    store.close()


async def test_ids_begin_where_no_other_store_can_have_used_them(store: Stored, ledger: ToyLedger) -> None:
    (first,) = await record(ledger, 1, Plan((turn("a"),), ()))
    assert first.id == 1
    ledger.number_from(1_000)
    assert [each.id for each in await record(ledger, 2, Plan((turn("b"), turn("c")), ()))] == [1_000, 1_001]
    later = reopened(store)
    later.number_from(900)
    assert [each.id for each in await record(later, 3, Plan((turn("d"),), ()))] == [1_002]


async def test_ids_of_a_new_store_begin_there_too(ledger: ToyLedger) -> None:
    ledger.number_from(1_000)
    (first,) = await record(ledger, 1, Plan((turn("a"),), ()))
    assert first.id == 1_000


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        pytest.param("UPDATE memories SET data = x'00112233'", "the memory of loop toy", id="memory"),
        pytest.param("UPDATE operations SET action = x'c1'", "operation 1", id="operations under way"),
    ],
)
async def test_damage_in_what_holds_now_is_reported_with_the_file(
    statement: str, what: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "remuda.db")
    ledger = Ledger(store, "toy", TOY_KINDS)
    await ledger.record(Seen(0), EMPTY, POLICY, 1, Plan((turn("a"),)), Memory(1), ())
    await store.write(lambda db: db.execute(statement))
    with pytest.raises(BadInput, match=f"remuda.db is damaged .{what} cannot be read"):
        (ledger.memory(), ledger.operations())
    store.close()


async def test_a_damaged_last_plan_keeps_nobody_from_starting(store: Stored, ledger: ToyLedger) -> None:
    await record(ledger, 1)
    await store.write(lambda db: db.execute("UPDATE cycles SET plan = ?", (b"\0",)))
    assert await store.write(lambda db: forget(db, Retention(), 10)) == 0
    again = reopened(store)
    await record(again, 2)
    assert count(store, "stories") == 2


_RACE = """
import sys, threading
import msgspec
from remuda.ledger.record import decode

sys.setswitchinterval(1e-6)
data = msgspec.msgpack.encode({"id": 1, "action": {"a": 1, "b": "x"}})
for _ in range(100):
    inner = msgspec.defstruct("Inner", [("a", int), ("b", str)])
    kind = msgspec.defstruct("Kind", [("id", int), ("action", inner)])
    gate = threading.Barrier(3)

    def read():
        gate.wait()
        assert decode(data, kind, "it").action.b == "x"

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.slow
def test_threads_may_read_a_kind_for_the_first_time_at_once() -> None:
    """A process of its own, because msgspec would end it with a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", _RACE], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("last", "following"),
    [
        pytest.param(None, 10, id="none was ever numbered"),
        pytest.param(3, 10, id="a smaller one was the last"),
        pytest.param(9, 10, id="the one before it was"),
        pytest.param(10, 11, id="it was used itself"),
        pytest.param(30, 31, id="a larger one was"),
    ],
)
def test_numbers_begin_where_they_are_told_to_and_none_is_used_twice(
    last: int | None, following: int
) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE operations (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    if last is not None:
        db.execute("INSERT INTO operations VALUES (?)", (last,))
        db.execute("DELETE FROM operations")
    number_from(db, 10)
    assert db.execute("INSERT INTO operations DEFAULT VALUES").lastrowid == following
    db.close()


class Noting(InlineStore):
    """Notes which writes wait for the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[bool] = []

    async def write(self, change: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        self.waits.append(durable)
        return await super().write(change, durable=durable)


async def test_no_cycle_waits_for_the_disk_as_the_next_one_sees_the_world_anew() -> None:
    store = Noting()
    ledger: ToyLedger = Ledger(store, "toy", TOY_KINDS)
    (operation,) = await record(ledger, 1, Plan((turn("a"),), ()))
    await ledger.finish(operation, DONE)
    await record(ledger, 2)
    await record(ledger, 3)
    await record(ledger, 4)
    assert store.waits == [False] * 5


async def test_of_two_actions_on_one_target_in_a_plan_one_is_started(
    recorder: "ToyLedger | MemoryRecorder[Seen, Memory, Policy, Turn]",
) -> None:
    plan = Plan((turn("a"), turn("a"), turn("b")))
    started = await recorder.record(Seen(), Memory(), POLICY, 1, plan, Memory(), ())
    assert [operation.action.target for operation in started] == ["a", "b"]
