"""
A dashboard over the records of one pool of many machines, some of which change each second; run by `bench.web`.

Prints its link once it serves, and ends with its standard input.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from remuda.control.loops import VIEWS as RECORDED
from remuda.jobs import JOBS
from remuda.ledger.record import Ledger
from remuda.ledger.store import SqliteStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import (
    Bounds,
    Memory,
    Policy,
    PoolAction,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)
from remuda.pools.kinds import POOL_KINDS
from remuda.web.dashboard import Dashboard, WebOptions

#: machines that begin or end a job each second
CHANGES = 10


def seen(count: int, step: int, now: int) -> Snapshot:
    """The pool: half of its machines are busy, and each second others of them."""
    machines = []
    for number in range(count):
        turn = (number + step * CHANGES) // count
        is_busy = (number + turn) % 2 == 0
        machines.append(
            Machine(
                name=f"big-{number}",
                pool="big",
                state=State.CONFIGURED if is_busy else State.IDLE,
                template="t",
                created_at=now - 3_600_000,
                since=now - 60_000 * (number % 60),
                ready_at=now - 3_590_000,
                job=str(number) if is_busy else None,
                uses=1,
            )
        )
    busy = sum(machine.job is not None for machine in machines)
    return Snapshot((PoolSeen("big", Need(step % 7, busy), tuple(machines)),))


async def main(count: int) -> None:
    JOBS.teach()
    clock = SystemClock()
    rules = Policy({"big": PoolPolicy("big", "bench/big", "t", Bounds(count, count))})
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        store = SqliteStore(home / "remuda.db", tables=JOBS.tables())
        ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
        begun, memory = clock.now(), Memory()
        routes = (*JOBS.views(), *RECORDED)
        board = Dashboard(WebOptions(port=0), home, JOBS, routes, store, clock, Log(clock, sys.stderr.write))
        board.listen()
        await board.start()
        reading = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        step = 0
        while not reading.done():
            world, now = seen(count, step, begun), clock.now()
            plan, after = decide(world, memory, rules, now)
            await ledger.record(world, memory, rules, now, plan, after, ())
            memory, step = after, step + 1
            if step == 1:
                print(board.link, flush=True)
            await asyncio.sleep(1)
        await board.stop()
        store.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
