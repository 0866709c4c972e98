"""One decision for 1,000 pools."""

import time

from bench.table import Row, at_most, quantile
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.pools.decide import decide
from remuda.pools.decide.model import Bounds, Memory, Policy, PoolPolicy, PoolSeen, Snapshot

POOLS, EACH, UNDER_ONE = 1_000, 4, 10


def world() -> tuple[Snapshot, Policy]:
    policy = Policy(
        {
            f"p{i:04}": PoolPolicy(
                f"p{i:04}", f"c{i}", "t", Bounds(3, 10), ceiling=f"c{i // UNDER_ONE}", scale_down_delay=60_000
            )
            for i in range(POOLS)
        },
        {f"c{i}": 45 for i in range(POOLS // UNDER_ONE)},
    )
    # Every tenth pool has work waiting and grows; the others are steady.
    pools = tuple(
        PoolSeen(
            f"p{i:04}",
            Need(3 if i % 10 == 0 else 2, 2),
            tuple(
                Machine(
                    f"p{i:04}-{j}",
                    f"p{i:04}",
                    State.IDLE if j % 2 else State.CONFIGURED,
                    "t",
                    1_000,
                    2_000,
                    1_500,
                    job=None if j % 2 else "7",
                    uses=1,
                )
                for j in range(EACH)
            ),
        )
        for i in range(POOLS)
    )
    return Snapshot(pools), policy


def rows() -> list[Row]:
    seen, policy = world()
    _, memory = decide(seen, Memory(), policy, 100_000)
    times = []
    for step in range(100):
        began = time.perf_counter()
        plan, _ = decide(seen, memory, policy, 100_000 + step)
        times.append((time.perf_counter() - began) * 1_000)
    conditions = (
        f"median of {len(times)}; {EACH} machines each, ceilings of {UNDER_ONE} members, delay on, "
        f"{len(plan.actions)} actions"
    )
    return [at_most("one decision for 1,000 pools", quantile(times, 0.5), 10, "ms", conditions)]
