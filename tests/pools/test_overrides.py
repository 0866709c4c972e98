"""What operators set by hand is kept until it is cleared."""

from remuda.ledger.store import InlineStore
from remuda.pools.decide.world import Override
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
