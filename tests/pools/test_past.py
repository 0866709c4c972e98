"""Recorded times of pools: each holds until the next, and nothing is said of times when nothing ran."""

import sqlite3
from pathlib import Path

import pytest

from remuda.ledger.read_only import reading
from remuda.ledger.record import Ledger
from remuda.ledger.store import FILE, SqliteStore
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.model.times import MINUTE, SECOND
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Bounds, Memory, Policy, PoolAction, PoolPolicy, PoolSeen, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.past import boot_times, spans

T0 = 1_767_571_200_000
POLICY = Policy({"a": PoolPolicy("a", "c/a", "t", Bounds(0, 3))})


def machine(number: int, boot: int | None) -> Machine:
    ready = None if boot is None else T0 + boot
    return Machine(f"a-{number}", "a", State.IDLE if boot else State.CREATING, "t", T0, T0, ready)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A pool whose queue grows at once, is looked at for a while, and again an hour later."""
    store = SqliteStore(tmp_path / FILE)
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    memory = Memory()
    for at, waiting in ((0, 1), (10, 2), (20, 2), (3_600, 0)):
        seen = Snapshot((PoolSeen("a", Need(waiting, 0), (machine(1, 4_000), machine(2, None))),))
        plan, after = decide(seen, memory, POLICY, T0 + at * SECOND)
        await ledger.record(seen, memory, POLICY, T0 + at * SECOND, plan, after, ())
        memory = after
    store.close()
    return tmp_path / FILE


def read(
    path: Path, since: int, until: int, damaged: list[str] | None = None
) -> list[tuple[int, int, object]]:
    heard = damaged if damaged is not None else []
    with reading(path) as db:
        return [
            ((span.begin - T0) // SECOND, (span.end - T0) // SECOND, span.reasons[0].terms["unclaimed"])
            for span in spans(db, T0 + since * SECOND, T0 + until * SECOND, heard.append)
        ]


async def test_a_cycle_holds_until_the_next_but_no_longer_than_something_ran(path: Path) -> None:
    found = read(path, 0, 4_000)
    assert found[0] == (0, 10, 1)
    assert (found[1][0], found[-1][1]) == (10, 20)


@pytest.mark.parametrize(
    ("interval", "outage", "is_gap"),
    [
        pytest.param(1, 16, True, id="a short outage of a loop that looks each second"),
        pytest.param(1, 8, False, id="a slow cycle"),
        pytest.param(30, 50, False, id="a loop that looks each half a minute"),
        pytest.param(30, 70, True, id="a minute is long for any loop"),
    ],
)
async def test_an_outage_is_what_is_long_for_its_loop(
    tmp_path: Path, interval: int, outage: int, *, is_gap: bool
) -> None:
    store = SqliteStore(tmp_path / FILE)
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    memory, at = Memory(), 0
    for step in range(40):
        seen = Snapshot((PoolSeen("a", Need(step // 4, 0), ()),))
        plan, after = decide(seen, memory, POLICY, T0 + at * SECOND)
        await ledger.record(seen, memory, POLICY, T0 + at * SECOND, plan, after, ())
        memory, at = after, at + (outage if step == 19 else interval)
    store.close()
    found = read(tmp_path / FILE, 0, at)
    known = sum(end - begin for begin, end, _ in found)
    assert known == 38 * interval + (0 if is_gap else outage)


async def test_only_what_lies_within_a_span_counts(path: Path) -> None:
    assert read(path, 5, 15)[0] == (5, 10, 1)
    assert read(path, 5, 15)[-1][1] == 15
    assert read(path, 5_000, 6_000) == []


async def test_a_damaged_row_is_named_and_left_out(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE cycles SET plan = x'00' WHERE first_at = ?", (T0,))
    db.close()
    heard: list[str] = []
    assert read(path, 0, 4_000, heard)[0][0] == 10
    assert "the plan of cycle 1" in heard[0]


async def test_boot_times_are_of_machines_that_became_ready(path: Path) -> None:
    with reading(path) as db:
        assert boot_times(db, T0, T0 + 60 * MINUTE) == {"a": [4_000]}
