"""
How soon the page of a fleet answers with 500,000 machines: at first, while nothing changes, and after each recorded cycle.

`python -m bench.web_fleet MACHINES` is the process that serves and records: it prints its link and the name of a need, makes a cycle
for each line of its standard input, and ends with it.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from prometheus_client import CollectorRegistry

from bench.fleet_shard import Clock, Inbox, Table
from bench.table import Row, at_most, quantile
from remuda.control.loops import VIEWS as RECORDED
from remuda.fleet.decide.engine import choose
from remuda.fleet.history.packing import CHECKPOINT
from remuda.fleet.history.recorder import FleetLedger
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Report
from remuda.fleet.shard import PACE, Shard
from remuda.jobs import JOBS
from remuda.ledger.sql import Database
from remuda.ledger.store import SqliteStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.times import SECOND
from remuda.web.dashboard import Dashboard, WebOptions

MACHINES, CYCLES, LOOKS, WHYS = 500_000, 45, 12, 5


def _checkpoints(db: Database) -> int:
    count: int = db.execute(
        "SELECT count(*) FROM cycles WHERE substr(snapshot, 1, 1) = ?", (CHECKPOINT,)
    ).fetchone()[0]
    return count


async def serve(machines: int, home: Path) -> None:
    """A shard over a table of machines, one in a hundred of which changes each cycle, and the dashboard beside it."""
    JOBS.teach()
    clock, inbox, policy = Clock(), Inbox(), Policy()
    clock.at = SystemClock().now() - 3_600 * SECOND
    table = Table(machines, clock)
    store = SqliteStore(home / "remuda.db", tables=JOBS.tables())
    shard = Shard([table], inbox, clock, lambda: policy, 1)
    log = Log(clock, sys.stderr.write, "error")
    tools = Tools(clock, random.Random(1), log, LoopMetrics(CollectorRegistry()))
    ledger = FleetLedger(store, shard.journal, shard.fleet.names)
    loop = Loop(shard, ledger, policy, tools, PACE)
    inbox.reports = [Report(cluster, needs) for cluster, needs in table.needs().items()]
    choose("numpy")
    table.prepare(is_full=True)
    await loop.cycle(None)
    routes = (*JOBS.views(), *RECORDED)
    board = Dashboard(WebOptions(port=0), home, JOBS, routes, store, SystemClock(), log)
    board.listen()
    await board.start()
    cluster, asked = next(iter(table.needs().items()))
    print(board.link, f"{cluster}/{asked[0].name}", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        clock.at += 10 * SECOND
        table.churn()
        table.prepare()
        await loop.cycle(None)
        print(store.read(_checkpoints), flush=True)
    await board.stop()
    store.close()


def cpu_ms(pid: int) -> float:
    """What all threads of a process have used so far."""
    parts = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(part.read_text().split()[0]) for part in parts) / 1e6


def took(address: str, token: str) -> tuple[float, int]:
    """Milliseconds until the whole page is there, and its bytes."""
    request = urllib.request.Request(
        address, headers={"Authorization": f"Bearer {token}", "Accept": "text/html"}
    )
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        size = len(answer.read())
    return (time.perf_counter() - began) * 1_000, size


def rows() -> list[Row]:
    command = [sys.executable, "-m", "bench.web_fleet", str(MACHINES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdin is not None
        assert serving.stdout is not None
        link, need = serving.stdout.readline().split()
        where, _, token = link.partition("/?token=")
        took(f"{where}/why", token)  # templates are read, and the connection is known
        used = cpu_ms(serving.pid)
        first, size = took(f"{where}/fleet", token)
        first_cpu = cpu_ms(serving.pid) - used
        still = [took(f"{where}/fleet", token)[0] for _ in range(LOOKS)]
        chosen = [took(f"{where}/fleet?zone=z1&state=configured", token)[0] for _ in range(LOOKS)]
        moved, moved_cpu, known, anew = list[float](), list[float](), 1, (0.0, 0.0)
        asked, asked_cpu = list[float](), list[float]()
        for _ in range(CYCLES):
            serving.stdin.write("\n")
            serving.stdin.flush()
            checkpoints = int(serving.stdout.readline())
            used = cpu_ms(serving.pid)
            answered = took(f"{where}/fleet", token)[0]
            if checkpoints > known:
                anew = (answered, cpu_ms(serving.pid) - used)
            else:
                moved.append(answered)
                moved_cpu.append(cpu_ms(serving.pid) - used)
            known = checkpoints
            if len(asked) < WHYS:
                used = cpu_ms(serving.pid)
                asked.append(took(f"{where}/v1/why/need/{quote(need, safe='')}", token)[0])
                asked_cpu.append(cpu_ms(serving.pid) - used)
        serving.stdin.close()
    assert anew[0], "no checkpoint was recorded"
    world = f"{MACHINES:,} machines, 500 needs, 50 clusters; loopback, the whole page of {size / 1e3:.0f} kB"
    return [
        at_most(
            "fleet page after a recorded cycle",
            quantile(moved, 0.5),
            100,
            "ms",
            f"{world}; 1 % of machines changed; median of {len(moved)}, at most {max(moved):.0f} ms; {quantile(moved_cpu, 0.5):.0f} ms of CPU",
        ),
        at_most(
            "fleet page after a new checkpoint",
            anew[0],
            100,
            "ms",
            f"the same: all of it is read and counted anew, once in dozens of such cycles; {anew[1]:.0f} ms of CPU",
        ),
        at_most(
            "why a need, after a recorded cycle",
            quantile(asked, 0.5),
            2_000,
            "ms",
            f"the same fleet; what the cycle decided on is put together and judged again; median of {WHYS};"
            f" {quantile(asked_cpu, 0.5):.0f} ms of CPU",
        ),
        at_most(
            "fleet page, nothing changed",
            quantile(still, 0.5),
            100,
            "ms",
            f"the same; median of {LOOKS}; {quantile(chosen, 0.5):.0f} ms for one zone and state",
        ),
        at_most(
            "fleet page, first answer of a process",
            first,
            500,
            "ms",
            "the same, in the process of the shard: the checkpoint is read and counted, the page's code is imported;"
            f" {first_cpu:.0f} ms of CPU",
        ),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(serve(int(sys.argv[1]), Path(directory)))
