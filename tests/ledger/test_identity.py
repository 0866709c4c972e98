"""Who a store is: what it made is its own, what another one made is not, also after a copy was restored."""

import random
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.ledger.identity import Lineage, lineage, new_identity, renew
from remuda.ledger.schema import migrate


def store() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, "memory")
    return db


def operate(db: sqlite3.Connection, count: int = 1) -> int:
    """Number operations; the last number."""
    for _ in range(count):
        db.execute(
            "INSERT INTO operations (loop, target, action, cycle, started_at, outcome) VALUES ('pools', 'a', x'', 1, 1, x'')"
        )
    last: int = db.execute("SELECT max(id) FROM operations").fetchone()[0]
    return last


def copy_of(db: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    db.backup(copy)
    return copy


def test_a_store_made_what_it_numbered_under_an_identity_that_it_had() -> None:
    db = store()
    renew(db, "s1", 1)
    first = operate(db, 3)
    renew(db, "s2", 2)
    second = operate(db, 2)
    known = lineage(db)
    assert known.made("s1", first)
    assert known.made("s2", second)
    assert not known.made("s1", second), "numbered after that identity was given up"
    assert not known.made("s2", second + 1), "not numbered yet"
    assert not known.made("s9", first), "another store's"
    assert not known.made("", 1)


def test_numbers_that_were_forgotten_still_count_as_made() -> None:
    db = store()
    renew(db, "s1", 1)
    last = operate(db, 5)
    db.execute("DELETE FROM operations")
    assert lineage(db).made("s1", last)


def test_a_restored_copy_knows_what_was_made_before_it_and_nothing_after() -> None:
    db = store()
    renew(db, "s1", 1)
    before = operate(db, 2)
    copy = copy_of(db)
    after = operate(db, 2)
    renew(copy, "s2", 3)
    known = lineage(copy)
    assert known.made("s1", before)
    assert not known.made("s1", after), "the original made it after the copy was taken"
    # The same numbers again, under the identity of the copy.
    assert operate(copy, 2) == after
    assert lineage(copy).made("s2", after)
    assert not lineage(db).made("s2", after)


def test_a_store_that_was_made_anew_knows_nothing_of_the_one_before() -> None:
    old, new = store(), store()
    renew(old, "s1", 1)
    last = operate(old, 3)
    renew(new, "s2", 2)
    operate(new, 3)
    assert not lineage(new).made("s1", last)


@given(
    st.lists(
        st.one_of(st.just("restart"), st.just("copy"), st.just("restore"), st.integers(1, 3)), max_size=12
    )
)
def test_safety_no_two_lives_of_a_store_claim_what_one_of_them_made(steps: list[str | int]) -> None:
    """Each order is told from all others by identity and number, however often copies are restored."""
    db, rng, copies = store(), random.Random(7), list[sqlite3.Connection]()
    made: set[tuple[str, int]] = set()
    current = new_identity(rng, lineage(db))
    renew(db, current, 1)
    for step in steps:
        if step == "copy":
            copies.append(copy_of(db))
        elif step == "restart" or (step == "restore" and copies):
            db = copy_of(copies[-1]) if step == "restore" else db
            current = new_identity(rng, lineage(db))
            renew(db, current, 1)
        elif isinstance(step, int):
            for _ in range(step):
                order = (current, operate(db))
                assert order not in made
                made.add(order)
                assert lineage(db).made(*order)


@pytest.mark.parametrize("seed", range(3))
def test_an_identity_is_new_also_when_the_dice_fall_as_before(seed: int) -> None:
    first = new_identity(random.Random(seed))
    second = new_identity(random.Random(seed), Lineage({first: 7}))
    assert first != second
    assert {len(first), len(second)} == {13}
    assert first.startswith("s")
    assert not first.isdecimal()


def test_a_store_that_numbered_nothing_made_nothing() -> None:
    db = store()
    renew(db, "s1", 1)
    assert lineage(db) == Lineage({"s1": 0})
