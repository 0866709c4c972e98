"""What operators set by hand is kept until it is cleared."""

import msgspec
from tests.builders import machine

from remuda.ledger.store import InlineStore
from remuda.pools.decide.model import Override
from remuda.pools.overrides import overrides, set_override


async def test_an_override_is_kept_replaced_and_cleared() -> None:
    store = InlineStore()
    await store.write(lambda db: set_override(db, "a", Override(max=3), 1))
    await store.write(lambda db: set_override(db, "b", Override(paused=True), 1))
    await store.write(lambda db: set_override(db, "a", Override(min=1, draining=True), 2))
    assert store.read(overrides) == {"a": Override(min=1, draining=True), "b": Override(paused=True)}
    await store.write(lambda db: set_override(db, "a", Override(), 3))
    await store.write(lambda db: set_override(db, "nobody", Override(), 3))
    assert store.read(overrides) == {"b": Override(paused=True)}
    store.close()


async def test_other_settings_are_no_overrides() -> None:
    store = InlineStore()
    await store.write(lambda db: db.execute("INSERT INTO settings VALUES ('overrides', x'00', 0)"))
    assert store.read(overrides) == {}
    store.close()


async def test_an_order_of_an_earlier_version_that_has_no_moment_is_read_and_removes_nothing() -> None:
    store = InlineStore()
    data = msgspec.msgpack.encode({"min": None, "max": 2, "finish_rollout": "t"})
    await store.write(lambda db: db.execute("INSERT INTO settings VALUES ('override/a', ?, 0)", (data,)))
    (found,) = store.read(overrides).values()
    assert found == Override(max=2, finish_rollout="t")
    assert not found.removes(machine("a-1", template="before"))
    store.close()
