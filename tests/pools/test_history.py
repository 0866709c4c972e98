"""Pools over time: recorded cycles as they were, in a bounded number of points, and what comes next."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NOW, machine, policy, pool, settings, snapshot
from tests.loop.toy import virtually

from remuda.errors import BadInput, NotFound
from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, Policy, PoolAction, PoolSeen, Snapshot
from remuda.pools.history import pools_history, start_times, what_next
from remuda.pools.kinds import POOL_KINDS

RULES = policy(settings("a", min=0, max=50), settings("b", min=1, max=50))


class History:
    """A store, and cycles that are recorded in it."""

    def __init__(self) -> None:
        self.store = InlineStore()
        self.ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(self.store, LOOP, POOL_KINDS)
        self.memory = Memory()

    async def record(self, at: int, *pools: PoolSeen) -> None:
        seen = snapshot(*pools)
        plan, after = decide(seen, self.memory, RULES, at)
        await self.ledger.record(seen, self.memory, RULES, at, plan, after, ())
        self.memory = after


@pytest.fixture
def history() -> Iterator[History]:
    made = History()
    yield made
    made.store.close()


def busy(name: str, count: int, waiting: int = 0) -> PoolSeen:
    machines = (machine(f"{name}-{number}", job=str(number)) for number in range(count))
    return pool(name, *machines, running=count, waiting=waiting)


@virtually
async def test_each_recorded_cycle_is_a_point_until_there_are_too_many() -> None:
    history = History()
    for step in range(6):
        await history.record(NOW + step * SECOND, busy("a", step))
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + 5 * SECOND, 100))
    assert found.times == [NOW + step * SECOND for step in range(6)]
    (series,) = [each for each in found.pools if each.pool == "a"]
    assert series.live == series.busy == [0, 1, 2, 3, 4, 5]
    assert series.grant == [None] * 6, "it is under no ceiling"
    assert "a has" in series.why[-1]
    few = history.store.read(lambda db: pools_history(db, NOW, NOW + 5 * SECOND, 2))
    assert len(few.times) <= 4
    assert few.pools[0].live[-1] == 5, "of each part the last one counts"
    history.store.close()


@virtually
async def test_time_in_which_nothing_is_recorded_is_a_gap() -> None:
    history = History()
    await history.record(NOW, busy("a", 2))
    await history.record(NOW + 2 * HOUR, busy("a", 2, waiting=1))
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + 3 * HOUR, 100, only="a"))
    assert found.pools[0].live == [2, 2, None, 2]
    history.store.close()


@virtually
async def test_a_quiet_cycle_lasts_as_long_as_it_was_seen() -> None:
    history = History()
    for step in range(30):
        await history.record(NOW + step * SECOND, busy("b", 2))
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + HOUR, 100, only="b"))
    assert (found.times[0], found.times[-1]) == (NOW, NOW + 29 * SECOND)
    assert set(found.pools[0].live) == {2}
    history.store.close()


@virtually
async def test_a_pool_that_came_later_has_nothing_before() -> None:
    history = History()
    await history.record(NOW, busy("a", 1))
    await history.record(NOW + SECOND, busy("a", 1), busy("b", 3))
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + SECOND, 100))
    assert {each.pool: each.live for each in found.pools} == {"a": [1, 1], "b": [None, 3]}
    history.store.close()


@virtually
async def test_a_pool_that_never_was_is_refused_with_those_there_are_and_one_that_is_gone_is_shown() -> None:
    history = History()
    await history.record(NOW, busy("old", 1))
    await history.record(NOW + MINUTE, busy("new", 1))

    def asked(name: str, since: int, until: int) -> list[str]:
        found = history.store.read(lambda db: pools_history(db, since, until, 10, name))
        return [each.pool for each in found.pools]

    for name, since in (("none", NOW), ("old", NOW + MINUTE)):
        with pytest.raises(NotFound, match=f"there is no pool {name}; there is: new"):
            asked(name, since, since + MINUTE)
    assert asked("old", NOW, NOW + MINUTE) == ["old"]
    assert asked("new", NOW - MINUTE, NOW) == ["new"]
    history.store.close()


@virtually
async def test_the_share_of_a_ceiling_is_shown_where_there_is_one() -> None:
    store = InlineStore()
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    rules = policy(settings("a", max=9, ceiling="c"), c=4)
    seen = snapshot(busy("a", 2, waiting=7))
    plan, after = decide(seen, Memory(), rules, NOW)
    await ledger.record(seen, Memory(), rules, NOW, plan, after, ())
    found = store.read(lambda db: pools_history(db, NOW - MINUTE, NOW, 10))
    assert found.pools[0].grant == [4]
    store.close()


@pytest.mark.parametrize(("since", "until", "points"), [(0, 10, 1), (0, 10, 501), (10, 10, 10), (11, 10, 10)])
def test_a_span_that_makes_no_sense_is_refused(history: History, since: int, until: int, points: int) -> None:
    with pytest.raises(BadInput, match=r"points wants|must come after"):
        history.store.read(lambda db: pools_history(db, since, until, points))


def test_without_records_there_is_nothing(history: History) -> None:
    found = history.store.read(lambda db: pools_history(db, 0, NOW, 10))
    assert (found.times, found.pools) == ([], [])
    with pytest.raises(NotFound, match="nothing is recorded"):
        history.store.read(lambda db: what_next(db, "a", NOW))


@virtually
async def test_a_damaged_row_is_left_out() -> None:
    history = History()
    await history.record(NOW, busy("a", 1))
    await history.record(NOW + SECOND, busy("a", 2))
    await history.store.write(lambda db: db.execute("UPDATE cycles SET plan = x'ff' WHERE id = 1"))
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + SECOND, 100))
    assert found.pools[0].live == [2]
    await history.store.write(lambda db: db.execute("UPDATE cycles SET snapshot = x'ff' WHERE id = 1"))
    assert history.store.read(lambda db: start_times(db, "a", NOW, NOW + SECOND)).times == [50_000] * 2
    history.store.close()


@virtually
async def test_a_machine_counts_once_with_the_time_it_took_to_start() -> None:
    history = History()
    first = machine("a-1", created_at=NOW - 5_000, ready_at=NOW - 3_000)
    namesake = machine("a-1", created_at=NOW, ready_at=NOW + 500)
    booting = machine("a-2", "creating", created_at=NOW)
    await history.record(NOW, pool("a", first, booting))
    await history.record(NOW + SECOND, pool("a", first, booting, waiting=1))
    await history.record(NOW + 2 * SECOND, pool("a", namesake, booting))
    found = history.store.read(lambda db: start_times(db, "a", NOW, NOW + MINUTE))
    assert found.times == [500, 2_000]
    assert history.store.read(lambda db: start_times(db, "b", NOW, NOW + MINUTE)).times == []
    history.store.close()


@virtually
async def test_what_comes_next_is_what_the_rules_say_now() -> None:
    history = History()
    await history.record(NOW, pool("a", waiting=3))
    coming = history.store.read(lambda db: what_next(db, "a", NOW))
    assert len(coming.actions) == 3
    assert coming.actions[0].startswith("create a/")
    with pytest.raises(NotFound, match="there is no pool z; there is: a"):
        history.store.read(lambda db: what_next(db, "z", NOW))
    history.store.close()


@given(
    steps=st.lists(st.tuples(st.integers(1, 3 * MINUTE), st.integers(0, 4)), min_size=1, max_size=40),
    points=st.integers(2, 30),
)
def test_safety_a_span_never_has_many_more_points_than_asked_for_and_ends_as_it_is(
    steps: list[tuple[int, int]], points: int
) -> None:
    history = History()

    @virtually
    async def record() -> None:
        at = NOW
        for length, count in steps:
            await history.record(at, busy("a", count))
            at += length

    record()
    found = history.store.read(lambda db: pools_history(db, NOW, NOW + 4 * HOUR, points, only="a"))
    parts = points + 2
    assert len(found.times) <= 3 * parts + 1
    assert found.times == sorted(found.times)
    assert found.pools[0].live[-1] == steps[-1][1]
    history.store.close()
