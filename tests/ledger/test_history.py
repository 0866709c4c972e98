"""What `why` and `replay` read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.contracts.stores import KINDS, Stored, opened, spoken
from tests.loop.toy import TOY_KINDS, Memory, Policy, Seen, Turn, steady, turn

from remuda.errors import BadInput
from remuda.ledger.history import cycle_at, cycles_between, newest, oldest, operation, operations_on, story
from remuda.ledger.record import Ledger
from remuda.ledger.store import DamagedRow, InlineStore
from remuda.model.plans import Outcome, Plan, Reason

FOREVER = 2**53


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stored]:
    """Cycles in force from 10 to 12, from 20 to 20 and from 30 to 35."""
    with opened(request.param, tmp_path, request) as made:
        ledger = Ledger(made, "toy", TOY_KINDS)
        for now, value in ((10, 1), (12, 1), (20, 2), (30, 3), (35, 3)):
            await ledger.record(
                Seen(value), Memory(), Policy(value), now, steady(code=f"c{value}"), Memory(), ()
            )
        yield made


def value_at(store: Stored, at: int) -> int | None:
    found = store.read(lambda db: cycle_at(db, "toy", at, TOY_KINDS))
    return found.snapshot.value if found else None


@pytest.mark.parametrize(
    ("at", "value"),
    [
        pytest.param(9, None, id="before the first nothing is known"),
        pytest.param(10, 1, id="at its first moment"),
        pytest.param(19, 1, id="between two it is the one before"),
        pytest.param(20, 2, id="the next one"),
        pytest.param(FOREVER, 3, id="the last one lasts"),
    ],
)
def test_the_cycle_at_an_instant_is_the_last_that_began_by_then(
    store: Stored, at: int, value: int | None
) -> None:
    assert value_at(store, at) == value


async def test_after_the_clock_was_set_back_the_newest_cycle_is_still_the_newest(store: Stored) -> None:
    ledger = Ledger(store, "toy", TOY_KINDS)
    await ledger.record(Seen(4), Memory(), Policy(), 15, steady(), Memory(), ())
    assert value_at(store, FOREVER) == 4
    assert value_at(store, 15) == 4


@pytest.mark.parametrize(
    ("since", "until", "values"),
    [
        pytest.param(0, FOREVER, [1, 2, 3], id="all"),
        pytest.param(11, 19, [1], id="one that began before and still held"),
        pytest.param(12, 30, [1, 2, 3], id="the ends count"),
        pytest.param(13, 19, [], id="a gap"),
        pytest.param(36, 99, [], id="after the end"),
    ],
)
def test_the_cycles_of_a_span_are_those_in_force_in_it(
    store: Stored, since: int, until: int, values: list[int]
) -> None:
    found = store.read(lambda db: list(cycles_between(db, "toy", since, until, TOY_KINDS, pytest.fail)))
    assert [cycle.snapshot.value for cycle in found] == values
    assert [cycle.policy.limit for cycle in found] == values


def test_history_begins_where_the_first_cycle_began(store: Stored) -> None:
    assert store.read(lambda db: oldest(db, "toy")) == 10
    assert store.read(lambda db: oldest(db, "other")) is None


def test_a_story_is_listed_oldest_first_and_ends_at_the_instant(store: Stored) -> None:
    def listed(until: int, most: int = 20) -> list[tuple[int, str]]:
        lines = store.read(lambda db: story(db, "toy", "toy/a", until, most))
        return [(line.at, line.reason.code) for line in lines]

    assert listed(FOREVER) == [(10, "c1"), (20, "c2"), (30, "c3")]
    assert listed(29) == [(10, "c1"), (20, "c2")]
    assert listed(FOREVER, 2) == [(20, "c2"), (30, "c3")]
    assert listed(9) == []


async def test_unless_asked_for_more_the_last_twenty_are_listed() -> None:
    store = InlineStore()
    ledger = Ledger(store, "toy", TOY_KINDS)
    for now in range(1, 24):
        plan = Plan((turn("a"),), (Reason(f"c{now}", "toy/b"),))
        (one,) = await ledger.record(Seen(now), Memory(), Policy(), now, plan, Memory(), ledger.operations())
        await ledger.finish(one, Outcome("done", now))
    lines = store.read(lambda db: story(db, "toy", "toy/b", FOREVER))
    assert [line.at for line in lines] == list(range(4, 24))
    done = store.read(lambda db: operations_on(db, "toy", "a", FOREVER))
    assert [one.started_at for one in done] == list(range(4, 24))


def test_the_newest_lines_of_all_stories_are_listed_oldest_first(store: Stored) -> None:
    assert [line.reason.code for line in store.read(lambda db: newest(db, 2))] == ["c2", "c3"]


async def test_operations_are_found_by_target_and_by_number() -> None:
    store = InlineStore()
    ledger = Ledger(store, "toy", TOY_KINDS)
    (first,) = await ledger.record(Seen(), Memory(), Policy(), 1, Plan((turn("a"),)), Memory(), ())
    await ledger.finish(first, Outcome("refused", 2, "not now"))
    (second,) = await ledger.record(
        Seen(1), Memory(), Policy(), 3, Plan((turn("a", "toy.again"),)), Memory(), ledger.operations()
    )
    done, under_way = store.read(lambda db: operations_on(db, "toy", "a", FOREVER))
    assert (done.id, done.kind, done.started_at, done.reason) == (
        first.id,
        "turn",
        1,
        Reason("toy.turn", "toy/a", {"n": 1}),
    )
    assert done.outcome == Outcome("refused", 2, "not now")
    assert (under_way.id, under_way.outcome) == (second.id, None)
    assert store.read(lambda db: operations_on(db, "toy", "a", 2)) == (done,)
    assert store.read(lambda db: operation(db, second.id)) == under_way
    assert store.read(lambda db: operation(db, 99)) is None


async def damage(store: Stored, statement: str) -> None:
    await store.write(lambda db: db.execute(spoken(store, statement)))


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE cycles SET snapshot = x'0011' WHERE id = 2", id="not compressed"),
        pytest.param("UPDATE cycles SET plan = x'789c03000000000100' WHERE id = 2", id="nothing in it"),
        pytest.param("UPDATE cycles SET policy = x'00' WHERE id = 2", id="its policy is gone"),
        pytest.param(
            "UPDATE policies SET data = x'00' WHERE digest = (SELECT policy FROM cycles WHERE id = 2)",
            id="its policy is damaged",
        ),
    ],
)
async def test_a_damaged_cycle_is_named_and_left_out(store: Stored, statement: str) -> None:
    await damage(store, statement)
    listed: list[str] = []
    found = store.read(lambda db: list(cycles_between(db, "toy", 0, FOREVER, TOY_KINDS, listed.append)))
    assert [cycle.snapshot.value for cycle in found] == [1, 3]
    assert len(listed) == 1
    assert "of cycle 2" in listed[0]
    with pytest.raises((DamagedRow, BadInput), match="of cycle 2"):
        value_at(store, 20)


async def test_a_damaged_line_of_a_story_is_reported_as_such(store: Stored) -> None:
    await damage(store, "UPDATE stories SET reason = x'c1' WHERE id = 2")
    lines = store.read(lambda db: newest(db, 10))
    assert [line.reason.code for line in lines] == ["c1", "damaged", "c3"]
    assert "story 2 cannot be read" in str(lines[1].reason.terms["row"])


async def test_a_damaged_operation_is_reported_as_such(store: Stored) -> None:
    ledger = Ledger(store, "toy", TOY_KINDS)
    (started,) = await ledger.record(Seen(), Memory(), Policy(), 40, Plan((turn("a"),)), Memory(), ())
    await damage(store, "UPDATE operations SET action = x'c1'")
    (done,) = store.read(lambda db: operations_on(db, "toy", "a", FOREVER))
    assert (done.id, done.kind, done.reason.code) == (started.id, "damaged", "damaged")


async def test_two_loops_may_have_a_subject_and_a_target_of_the_same_name() -> None:
    store = InlineStore()
    for at, loop in enumerate(("toy", "other"), 1):
        ledger = Ledger(store, loop, TOY_KINDS)
        plan: Plan[Turn] = Plan(
            (Turn(target="a", expects="", reason=Reason("wanted", "toy/a", {"by": loop})),)
        )
        await ledger.record(Seen(at), Memory(), Policy(), at, plan, Memory(), ())
    for loop in ("toy", "other"):
        (line,) = store.read(lambda db, loop=loop: story(db, loop, "toy/a", FOREVER))  # type: ignore[misc]
        (done,) = store.read(lambda db, loop=loop: operations_on(db, loop, "a", FOREVER))  # type: ignore[misc]
        assert line.reason.terms == done.reason.terms == {"by": loop}
