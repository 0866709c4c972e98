"""What is measured of CircleCI and KubeVirt in processes of their own: `python -m bench.runners_work WORK [URL]`."""

import asyncio
import gc
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remuda.sources.circleci.client import Client

#: classes of the cycle, and VMs of each
CLASSES, EACH = 200, 5
#: pools of the VMs that are cached, and VMs of each
POOLS, VMS_EACH = 100, 100
CYCLES, CHANGES = 20, 60
MADE_AT = 1_767_571_200_000
Measured = dict[str, float | list[float]]


def resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Counts:
    """CircleCI's client; agents, which are listed every ten seconds at most, are known without asking."""

    def __init__(self, client: "Client", agents: dict[str, Any]) -> None:
        self.unclaimed, self.running, self.close = client.unclaimed, client.running, client.close
        self._agents = agents

    async def agents(self, job_class: str) -> Any:
        return self._agents[job_class]


class Listed:
    """A provider whose machines are known."""

    def __init__(self, machines: tuple[Any, ...]) -> None:
        self._machines = machines

    async def list(self) -> tuple[Any, ...]:
        return self._machines


async def cycles(url: str) -> Measured:
    """Ask for the counts of all classes, observe and decide, again and again."""
    before = resident_mb()
    from prometheus_client import CollectorRegistry

    from remuda.loop.clock import SystemClock
    from remuda.loop.logs import Log
    from remuda.model.machines import Supplied
    from remuda.model.needs import Worker
    from remuda.pools.controller import PoolsController
    from remuda.pools.decide.model import Bounds, Memory, Policy, PoolPolicy
    from remuda.pools.meters import PoolMeters
    from remuda.pools.policy import PoolSetup
    from remuda.sources.circleci.agents import Listing
    from remuda.sources.circleci.client import Client
    from remuda.sources.circleci.meters import CircleMeters
    from remuda.sources.circleci.pace import Host
    from remuda.sources.circleci.source import CircleCI

    imported = resident_mb()
    clock, registry = SystemClock(), CollectorRegistry()
    pools = {f"p{i:03}": f"org/class-{i:03}" for i in range(CLASSES)}
    machines = [
        Supplied(f"{pool}-{j}", pool, "t", MADE_AT, MADE_AT + 1) for pool in pools for j in range(EACH)
    ]
    agents = {
        job_class: Listing(
            {
                f"{pool}-{j}": Worker(MADE_AT, "task" if j < 3 else None, int(j < 3), connected_at=MADE_AT)
                for j in range(EACH)
            }
        )
        for pool, job_class in pools.items()
    }
    client = Client(url, lambda: "a-token", clock)
    source = CircleCI(
        Counts(client, agents),
        clock,
        random.Random(1),
        Log(clock, print),
        lambda: None,
        CircleMeters(registry),
        host=Host(float("inf")),
    )
    source.serve(pools)
    provider: Any = Listed(tuple(machines))
    job = PoolsController({"circleci": source}, {"kubevirt": provider}, dict, clock, PoolMeters(registry))
    job.setups = {
        pool: PoolSetup(pool, name, "circleci", "kubevirt", "t", {}, None, 1, 0)
        for pool, name in pools.items()
    }
    policy = Policy(
        {pool: PoolPolicy(pool, name, "t", Bounds(3, 10), idle_window=60_000) for pool, name in pools.items()}
    )
    walls, cpus, memory = [], [], Memory()
    for _ in range(CYCLES + 1):
        began, used = time.perf_counter(), time.process_time()
        await source.refresh()
        seen = await job.observe(())
        _, memory = job.decide(seen, memory, policy, clock.now())
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - used)
        assert all(
            pool.need and pool.need.unclaimed == 2 and len(pool.machines) == EACH for pool in seen.pools
        )
    after = resident_mb()
    await client.close()
    return {
        "first": walls[0],
        "walls": walls[1:],
        "cpus": cpus[1:],
        "mb": after - before,
        "mb_alone": after - imported,
    }


def main() -> None:
    work = sys.argv[1]
    if work == "cycles":
        found = asyncio.run(cycles(sys.argv[2]))
    else:
        from bench.runners_change import changes

        found = asyncio.run(changes())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
