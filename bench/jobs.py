"""Jobs through a real `remuda up`: how soon they start, and how many a second."""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
from tests.servers.postgres import PostgresServer, find_postgres

from bench.ledger import flush_ms
from bench.running import DEADLINE_S, pool, remuda_up, wait_ready
from bench.table import Row, at_least, at_most, quantile
from remuda.control.client import Remuda
from remuda.model.jobs import Job, JobList

WARM, LATENCIES, THROUGH, MACHINES = 4, 60, 3_000, 50


def latencies(remuda: Remuda, directory: Path) -> list[float]:
    """From the API's answer to the first moment of the job's own process, which writes down the time."""
    found = []
    stamp = directory / "stamp"
    for _ in range(LATENCIES):
        stamp.unlink(missing_ok=True)
        body = {
            "job_class": "bench/warm",
            "command": ["sh", "-c", f"date +%s%N > {stamp}.new; mv {stamp}.new {stamp}"],
        }
        remuda.post("/v1/jobs", body, dict[str, object])
        accepted = time.time_ns()
        while not stamp.exists():
            if time.time_ns() - accepted > DEADLINE_S * 1e9:
                sys.exit(f"a job did not write {stamp} within {DEADLINE_S} s")
            time.sleep(0.001)
        found.append((int(stamp.read_text()) - accepted) / 1e6)
        wait_ready(remuda, WARM)
    return found


async def submit_all(socket: Path) -> None:
    """Hand in many jobs over a few connections."""
    connector = aiohttp.UnixConnector(str(socket), limit=16)
    async with aiohttp.ClientSession("http://remuda", connector=connector) as http:

        async def some(count: int) -> None:
            for _ in range(count):
                body = {"job_class": "bench/many", "command": ["/bin/true"]}
                async with http.post("/v1/jobs", json=body) as answer:
                    assert answer.status == 200

        await asyncio.gather(*(some(THROUGH // 16) for _ in range(16)))


def throughput(remuda: Remuda, home: Path) -> float:
    count = THROUGH // 16 * 16
    began = time.monotonic()
    asyncio.run(submit_all(home / "control.sock"))
    while remuda.get("/v1/jobs", JobList, most=1).counts.get("succeeded", 0) < count:
        time.sleep(0.05)
    took = time.monotonic() - began
    last = remuda.get(f"/v1/jobs/{count}", Job)
    assert last.attempts[0].exit_code == 0
    return count / took


def throughput_on_postgres(text: str, option: str) -> float | None:
    """The same with the store or a shared queue in a PostgreSQL of our own on this host; None where there is none."""
    programs = find_postgres()
    if programs is None:
        return None
    with (
        PostgresServer(programs) as server,
        remuda_up(text, option, server.url()) as (remuda, _, home),
    ):
        wait_ready(remuda, MACHINES)
        return throughput(remuda, home)


def rows() -> list[Row]:
    text = pool("warm", min=WARM, max=WARM, singleTask=False)
    with remuda_up(text) as (remuda, _, home), tempfile.TemporaryDirectory(prefix="remuda-") as name:
        # Jobs see nothing of Remuda's data, and may have a user of their own.
        Path(name).chmod(0o777)
        wait_ready(remuda, WARM)
        delays = latencies(remuda, Path(name))
    text = pool("many", min=MACHINES, max=MACHINES, singleTask=False)
    with remuda_up(text) as (remuda, _, home):
        wait_ready(remuda, MACHINES)
        rate = throughput(remuda, home)
        flush = flush_ms(home)
    on_postgres = {
        "short jobs, store on PostgreSQL": throughput_on_postgres(text, "--store"),
        "short jobs, queue that hosts share": throughput_on_postgres(text, "--queue"),
    }
    conditions = f"{LATENCIES} jobs one by one, {WARM} warm machines; until the job's own process runs"
    through = f"{THROUGH} × /bin/true, handed in over HTTP meanwhile, {MACHINES} reused machines, {os.cpu_count()} cores"
    return [
        at_most("job accepted → started, median", quantile(delays, 0.5), 50, "ms", conditions),
        at_most("job accepted → started, p95", quantile(delays, 0.95), 200, "ms", conditions),
        at_least(
            "short jobs", rate, 300, "/s", f"{through}; synchronous=FULL, the disk flushes in {flush:.2f} ms"
        ),
        *(
            at_least(name, found, 300, "/s", f"{through}; on loopback, fsync on")
            for name, found in on_postgres.items()
            if found is not None
        ),
    ]
