"""What a person sees of pools and machines, from the last recorded cycle."""

from tests.builders import NOW, machine, policy, pool, settings, snapshot
from tests.loop.toy import virtually

from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.views import pools_view


@virtually
async def test_a_machine_of_which_nobody_ever_said_whether_it_works_is_neither_idle_nor_ready() -> None:
    store = InlineStore()
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    seen = snapshot(
        pool(
            "a",
            machine("a-1", unsure=True),
            machine("a-2"),
            machine("a-3", job="7"),
            unsure_since=NOW - 5_000,
        )
    )
    rules = policy(settings("a", min=3))
    plan, after = decide(seen, Memory(), rules, NOW)
    await ledger.record(seen, Memory(), rules, NOW, plan, after, ())
    view = store.read(pools_view)
    assert [one.state for one in view.machines] == ["unknown", "idle", "busy"]
    (shown,) = view.pools
    assert (shown.live, shown.ready, shown.idle, shown.busy, shown.unknown) == (3, 2, 1, 1, 1)
    store.close()
