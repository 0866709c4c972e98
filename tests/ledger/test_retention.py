"""What is forgotten, and what never is."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.stores import KINDS, Stored, opened
from tests.loop.toy import TOY_KINDS, Memory, Policy, Seen, Turn, steady, turn

from remuda.ledger.history import cycle_at, oldest, story
from remuda.ledger.record import Ledger
from remuda.ledger.retention import Retention, forget, make_room
from remuda.ledger.schema import Tables
from remuda.ledger.store import InlineStore, SqliteStore
from remuda.model.plans import Outcome, Plan, Reason
from remuda.model.times import DAY, HOUR

NOW = 100 * DAY
WEEK = Retention(age=7 * DAY)
FOREVER = 2**53


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    with opened(request.param, tmp_path, request) as made:
        yield made


async def record(store: Stored, *times: int, loop: str = "toy", policy: Policy | None = None) -> None:
    """A changed cycle at each time."""
    ledger = Ledger(store, loop, TOY_KINDS)
    for now in times:
        plan = steady(code=f"c{now}")
        await ledger.record(Seen(now), Memory(), policy or Policy(), now, plan, Memory(), ())


def first_times(store: Stored) -> list[int]:
    return [
        at
        for (at,) in store.read(lambda db: db.execute("SELECT first_at FROM cycles ORDER BY id").fetchall())
    ]


async def forget_all(store: Stored, keep: Retention = WEEK, now: int = NOW) -> None:
    while await store.write(lambda db: forget(db, keep, now)):
        pass


async def test_cycles_past_the_age_go_and_the_others_stay(store: Stored) -> None:
    times = [NOW - 9 * DAY, NOW - 8 * DAY, NOW - 6 * DAY, NOW]
    await record(store, *times)
    await forget_all(store)
    assert first_times(store) == times[2:]
    assert store.read(lambda db: oldest(db, "toy")) == times[2]


async def test_the_newest_cycle_of_each_loop_stays_however_old(store: Stored) -> None:
    await record(store, 1, 2)
    await record(store, 3, 4, loop="other")
    await forget_all(store)
    assert first_times(store) == [2, 4]
    newest = store.read(lambda db: cycle_at(db, "toy", FOREVER, TOY_KINDS))
    assert newest is not None
    assert newest.snapshot == Seen(2)


async def test_a_cycle_that_was_in_force_until_now_is_not_old(store: Stored) -> None:
    """A pool that was quiet for two weeks has one long row: it tells of yesterday too."""
    ledger = Ledger(store, "toy", TOY_KINDS)
    for now in (NOW - 14 * DAY, NOW - HOUR):
        await ledger.record(Seen(), Memory(), Policy(), now, steady(), Memory(), ())
    await record(store, NOW)
    await forget_all(store)
    assert len(first_times(store)) == 2


async def test_policies_that_nothing_refers_to_go_too(store: Stored) -> None:
    await record(store, 1, 2, policy=Policy(1))
    await record(store, NOW, policy=Policy(2))
    await forget_all(store)
    assert store.read(lambda db: db.execute("SELECT count(*) FROM policies").fetchone()) == (1,)
    newest = store.read(lambda db: cycle_at(db, "toy", FOREVER, TOY_KINDS))
    assert newest is not None
    assert newest.policy == Policy(2)


async def test_of_a_story_the_line_that_began_the_present_state_stays(store: Stored) -> None:
    ledger = Ledger(store, "toy", TOY_KINDS)
    for now, code in ((1, "a"), (2, "b"), (3, "c")):
        plan = Plan((turn("machine"), turn("t", f"acted-{now}")), (Reason(code, "toy/t"),))
        await ledger.record(Seen(), Memory(), Policy(), now, plan, Memory(), ())
    await forget_all(store)
    lines = store.read(lambda db: story(db, "toy", "toy/t", FOREVER))
    assert [(line.at, line.reason.code) for line in lines] == [(3, "c")]
    assert store.read(lambda db: story(db, "toy", "toy/machine", FOREVER)) == ()


async def test_operations_go_once_they_are_seen_and_old(store: Stored) -> None:
    ledger = Ledger(store, "toy", TOY_KINDS)
    targets = [turn(name) for name in ("seen", "unseen", "unfinished")]
    seen, unseen, _ = await ledger.record(Seen(), Memory(), Policy(), 1, Plan(tuple(targets)), Memory(), ())
    await ledger.finish(seen, Outcome("done", 2))
    await ledger.record(Seen(1), Memory(), Policy(), 3, Plan(), Memory(), ledger.operations())
    await ledger.finish(unseen, Outcome("done", 4))
    await forget_all(store)
    left = store.read(lambda db: db.execute("SELECT target FROM operations ORDER BY id").fetchall())
    assert left == [("unseen",), ("unfinished",)]


async def test_a_clock_far_ahead_forgets_no_more_than_it_must(store: Stored) -> None:
    await record(store, NOW - DAY, NOW)
    await forget_all(store, now=NOW + 365 * DAY)
    assert first_times(store) == [NOW]


async def test_what_is_set_by_hand_is_never_touched(store: Stored) -> None:
    await store.write(lambda db: db.execute("INSERT INTO settings VALUES ('override/a', ?, 1)", (b"",)))
    await record(store, 1, 2)
    await forget_all(store, Retention(age=1, most_bytes=1))
    assert store.read(lambda db: db.execute("SELECT count(*) FROM settings").fetchone()) == (1,)


async def test_tables_of_a_job_are_never_touched() -> None:
    store = InlineStore((Tables("toy", ("CREATE TABLE toys (name TEXT) STRICT",)),))
    await store.write(lambda db: db.execute("INSERT INTO toys VALUES ('bear')"))
    await record(store, 1, 2)
    await forget_all(store, Retention(age=1, most_bytes=1))
    assert store.read(lambda db: db.execute("SELECT name FROM toys").fetchall()) == [("bear",)]


@pytest.mark.slow
async def test_history_over_its_size_goes_oldest_first_and_the_file_shrinks(tmp_path: Path) -> None:
    path, dice = tmp_path / "remuda.db", random.Random(1)
    store = SqliteStore(path)
    ledger = Ledger(store, "toy", TOY_KINDS)
    for now in range(NOW, NOW + 1_500):
        plan: Plan[Turn] = Plan((), (Reason("x", "toy/a", {"n": dice.randbytes(1_000).hex()}),))
        await ledger.record(Seen(now), Memory(), Policy(), now, plan, Memory(), ())
    store.close()
    large = path.stat().st_size
    store = SqliteStore(path)
    while await store.write(
        lambda db: forget(db, Retention(most_bytes=large // 2), NOW + DAY), durable=False
    ):
        pass
    query = "SELECT count(*), min(first_at), max(first_at) FROM cycles"
    rows, first, last = store.read(lambda db: db.execute(query).fetchone())
    assert 250 < rows <= 1_000
    assert (first, last) == (NOW + 1_500 - rows, NOW + 1_499)
    store.close()
    assert path.stat().st_size < large * 0.8


def test_by_default_a_week_a_quarter_of_a_gibibyte_and_two_of_output_are_kept() -> None:
    assert Retention() == Retention(7 * DAY, 256 * 2**20, 2 * 2**30)


async def test_room_that_is_free_within_the_file_is_not_history(store: Stored) -> None:
    await record(store, NOW - 2, NOW - 1, NOW)
    await store.write(
        lambda db: db.execute("INSERT INTO settings VALUES ('large', ?, 1)", (bytes(1_000_000),))
    )
    await store.write(lambda db: db.execute("DELETE FROM settings"))
    await forget_all(store, Retention(most_bytes=500_000))
    assert len(first_times(store)) == 3


async def test_size_takes_stories_and_operations_as_well(store: Stored) -> None:
    ledger = Ledger(store, "toy", TOY_KINDS)
    for now in range(50):
        for operation in ledger.operations():
            await ledger.finish(operation, Outcome("done", now))
        saw = ledger.operations()
        await ledger.record(Seen(), Memory(), Policy(), NOW, Plan((turn(f"t{now}"),)), Memory(), saw)
    await forget_all(store, Retention(most_bytes=1))
    for table, left in (("cycles", 1), ("stories", 0), ("operations", 1)):
        query = f"SELECT count(*) FROM {table}"
        assert store.read(lambda db, query=query: db.execute(query).fetchone()) == (left,), table  # type: ignore[misc]


async def test_making_room_takes_the_oldest_and_says_when_nothing_is_left(store: Stored) -> None:
    await record(store, *range(NOW, NOW + 700))
    assert await store.write(make_room) > 0
    assert first_times(store) == list(range(NOW + 500, NOW + 700))
    while await store.write(make_room):
        pass
    assert first_times(store) == [NOW + 699]


async def test_the_room_of_what_is_forgotten_goes_back_to_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "remuda.db")
    many = [("toy", n, n, 1, bytes(20_000), b"", b"", b"") for n in range(30)]
    await store.write(
        lambda db: db.executemany(
            "INSERT INTO cycles (loop, first_at, last_at, count, snapshot, memory, policy, plan)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            many,
        )
    )
    pages = store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    assert await store.write(lambda db: forget(db, WEEK, NOW)) == 29
    after = store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    free = store.read(lambda db: db.execute("PRAGMA freelist_count").fetchone()[0])
    store.close()
    assert (pages - after > 100, free) == (True, 0)
