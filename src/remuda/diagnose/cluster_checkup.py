"""One look at the cluster that is meant without a word, if Remuda's kinds are installed there."""

import asyncio
import os
import random
from collections.abc import Callable

from remuda.control.command import Session
from remuda.diagnose.job import JOB
from remuda.diagnose.observe.cluster import Collector
from remuda.diagnose.snapshot import Snapshot
from remuda.job import load
from remuda.kube.client import Client
from remuda.kube.config import Access, choose_namespace
from remuda.kube.discovery import find_resource
from remuda.kube.resources import RUNNER_POOLS
from remuda.loop.clock import SystemClock

#: seconds that it has to answer a question, and to say whether it knows Remuda
TIMEOUT_S = 10.0


async def look_at_cluster(
    session: Session, access: Access, progress: Callable[[str], None]
) -> Snapshot | None:
    """Everything that checks of pools read; None where Remuda's kinds are not installed."""
    namespace = choose_namespace(os.environ, access, None)
    async with Client(access, SystemClock(), random.Random(), timeout=TIMEOUT_S) as client:
        async with asyncio.timeout(TIMEOUT_S):
            if await find_resource(client, RUNNER_POOLS.group, RUNNER_POOLS.plural) is None:
                return None
        ask_circleci = load(session.jobs.backends[JOB.name][0].make)
        needs = session.jobs.permissions()["up"]
        return await Collector(client, namespace, ask_circleci, progress, needs).collect(session.now())
