"""This host's part in a queue that several share: its name, its lease, and its connection."""

import os
import random
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remuda.errors import BadInput
from remuda.ledger.seat import Claimant
from remuda.machines.process.lease import steady, write_lease
from remuda.machines.process.records import read_json, write_json
from remuda.runtime import Services, SharedPlace
from remuda.sources.queue import copies, hosts
from remuda.sources.queue.output import HOST_FILE, JobFiles
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import Site
from remuda.sources.queue.shared import SharedQueue

if TYPE_CHECKING:
    from remuda.sources.queue.shared_store import SharedStore

_LEASE = "queue-lease"


def host_name(data_dir: Path, rng: random.Random, hostname: str) -> str:
    """
    What this data directory is called in a queue, made once: machines outlive Remuda, and are known by it.

    A directory that was copied to another computer gets a new one there, because the other may still have machines.
    """
    path = str(data_dir / HOST_FILE)
    known = read_json(path) or {}
    if known.get("hostname") == hostname and isinstance(known.get("host"), str):
        return str(known["host"])
    plain = re.sub(r"[^a-z0-9-]+", "-", hostname.partition(".")[0].lower()).strip("-") or "host"
    made = f"{plain[:40]}-{rng.getrandbits(24):06x}"
    try:
        write_json(path, {"host": made, "hostname": hostname}, sync=True)
    except OSError as problem:
        raise BadInput(f"{path} cannot be written: {problem.strerror}") from problem
    return made


def join(services: Services, place: SharedPlace, files: JobFiles, identity: str) -> "Joined":
    """Take this host's seat at the queue; `BadInput` or `Unavailable` says why that cannot be."""
    # First what says how to install what is missing.
    from remuda.ledger import postgres  # noqa: F401, PLC0415 - an extra
    from remuda.sources.queue.shared_store import SharedStore  # noqa: PLC0415

    hostname = socket.gethostname()
    host = host_name(services.data_dir, services.rng, hostname)
    files.host = host
    lease_file = str(services.data_dir / _LEASE)
    store = SharedStore(
        place.address,
        services.clock.now,
        host,
        place.lease_ms,
        tables=(TABLES, hosts.TABLES, copies.TABLES),
        steady=steady,
        renewed=lambda tenure, began: write_lease(lease_file, tenure, began, place.lease_ms / 1000),
    )
    try:
        store.take_seat(Claimant(f"{hostname}, pid {os.getpid()}", "queue"))
        files.borrow = copies.borrow(store, services.clock)
        site = Site(files, host, services.store.read, lambda: store.tenure, lease_file)
        queue = SharedQueue(
            store,
            site,
            services.clock,
            services.wake,
            services.log,
            steady,
            services.fault_point,
            identity,
        )
    except BaseException:
        store.close()
        raise
    services.log.info("taking from a shared queue", queue=str(place.address), host=host)
    return Joined(host, store, queue)


@dataclass(frozen=True, slots=True)
class Joined:
    """What `join` made."""

    host: str
    store: "SharedStore"
    queue: SharedQueue
