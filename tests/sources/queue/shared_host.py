"""A host of a shared queue within a test: its store, its queue, and a clock that the test may hand in."""

import json
import time
from collections.abc import Callable
from pathlib import Path

from tests.servers.postgres import PostgresServer

from remuda.ledger.address import read_address
from remuda.ledger.seat import Claimant
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.machines.process.lease import steady, write_lease
from remuda.sources.queue import copies, hosts
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import Site
from remuda.sources.queue.shared import SharedQueue


def now() -> int:
    return time.time_ns() // 1_000_000


class SharedHost:
    """One host. `steady` is the clock by which leases are counted."""

    def __init__(
        self,
        server: PostgresServer,
        schema: str,
        directory: Path,
        name: str,
        *,
        lease_ms: int = 600_000,
        steady: Callable[[], float] = steady,
    ) -> None:
        from remuda.sources.queue.shared_store import SharedStore

        self.name, self.logged = name, list[str]()
        files = JobFiles(directory / name / "jobs", name)
        files.prepare()
        self.lease_file = str(directory / name / "lease")
        self.store = SharedStore(
            read_address(server.url(schema), "--queue"),
            now,
            name,
            lease_ms,
            tables=(TABLES, hosts.TABLES, copies.TABLES),
            steady=steady,
            renewed=lambda tenure, began: write_lease(self.lease_file, tenure, began, lease_ms / 1000),
        )
        self.store.take_seat(Claimant(f"test, {name}", "queue"))
        clock = SystemClock()
        self.queue = SharedQueue(
            self.store,
            Site(files, name, None, lambda: self.store.tenure, self.lease_file),
            clock,
            lambda: None,
            Log(clock, self.logged.append),
            steady,
            identity=f"s{name}",
        )

    @property
    def lease(self) -> dict[str, object]:
        """What the machines of this host read."""
        found: dict[str, object] = json.loads(Path(self.lease_file).read_bytes())
        return found

    def close(self) -> None:
        self.store.close()
