"""
Write `tests/data/store-vN.sql`: the store of a short real run, as text.

Run it once for each released version (`python -m tests.ledger.make_store`) and never again for that one: the file
stands for the stores people have. Two pools share a ceiling; jobs succeed, fail, are retried, cancelled, run and wait;
a document is kept.
"""

import asyncio
import sqlite3
from pathlib import Path

from remuda.ledger.documents import put
from remuda.ledger.record import pack
from remuda.ledger.schema import VERSIONS
from remuda.ledger.store import InlineStore
from remuda.model.times import SECOND
from remuda.pools.decide.model import Bounds, Override, Policy, PoolPolicy
from remuda.pools.policy import Setup
from remuda.sim.clock import MONDAY
from remuda.sim.faults import Fault
from remuda.sim.full import FullPoolHistory
from remuda.sim.loop import run
from remuda.sim.provider import Behaviour
from remuda.sim.scenario import Arrival, Event, Hand, Scenario, pool_setup
from remuda.sources.queue.schema import TABLES

PATH = Path(__file__).parents[1] / "data" / f"store-v{len(VERSIONS)}.sql"

_POOLS = (
    PoolPolicy("shell", "local/shell", "t1", Bounds(1, 4, 1), scale_down_delay=20 * SECOND, ceiling="laptop"),
    PoolPolicy("quick", "local/quick", "t2", Bounds(0, 3), max_surge=1, ceiling="laptop", priority=10),
)
_EVENTS: tuple[Event, ...] = (
    *(Arrival(5 + number, "local/shell", 15) for number in range(3)),
    Arrival(8, "local/quick", 5, exit_code=3, retries=1),
    Arrival(9, "local/quick", 4),
    Hand(20, "quick", Override(max=2)),
    Arrival(40, "local/shell", 30, cancelled_after=5),
    *(Arrival(80, "local/shell", 60) for number in range(6)),
)
#: the moment of the picture: jobs run and wait, operations are under way
_UNTIL_S = 84.0


async def history() -> InlineStore:
    """Live until the moment and leave everything as it is."""
    policies = {policy.name: policy for policy in _POOLS}
    uses = {"shell": 1, "quick": None}
    setups = {name: pool_setup(policy, max_uses=uses[name]) for name, policy in policies.items()}
    setup = Setup(Policy(policies, {"laptop": 4}), setups)
    slow = {"provider.create": Fault(delay=1, longest_delay_s=6)}
    world = FullPoolHistory(Scenario(setup, _EVENTS, 1_000, Behaviour(boot_s=3.0), slow), 1)
    life = asyncio.get_running_loop().create_task(world.live())
    await asyncio.sleep(_UNTIL_S)
    store = InlineStore((TABLES,))
    world.store.read(lambda db: store.read(db.backup))
    await store.write(lambda db: put(db, "notes/example", MONDAY, pack({"told": "kept"})))
    life.cancel()
    await asyncio.wait([life])
    await world.end()
    return store


def as_text(db: sqlite3.Connection) -> str:
    """Everything, the marks of version and owner included."""
    marks = [
        f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};"
        for name in ("application_id", "user_version")
    ]
    return "\n".join([*db.iterdump(), *marks]) + "\n"


if __name__ == "__main__":
    PATH.write_text(run(history()).read(as_text), encoding="utf-8")
