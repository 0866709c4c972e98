"""
`remuda up --cluster` that sends itself a signal when it reaches a step for the n-th time, with any term of a lease.

Operations may be begun late: what another left under way is then taken up when all is read, and really done again.
"""

import argparse
import asyncio
import os
import random
import signal
from pathlib import Path

from remuda.app import App, Options
from remuda.cluster.replica import ReplicaConfig
from remuda.kube.config import find_access
from remuda.kube.lease import Term
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log, to_stream


async def main() -> None:
    """Run until stopped, frozen or killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--step")
    parser.add_argument("--nth", type=int)
    parser.add_argument("--signal")
    parser.add_argument("--term", type=float)
    parser.add_argument("--acting-after", type=float)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--health-port", type=int)
    parser.add_argument("--live-port", type=int)
    given = parser.parse_args()
    reached = 0

    async def fault_point(step: str) -> None:
        nonlocal reached
        if step == "loop.acting" and given.acting_after:
            await asyncio.sleep(given.acting_after)
        if step == given.step:
            reached += 1
            if reached == given.nth:
                os.kill(os.getpid(), signal.Signals[f"SIG{given.signal}"])

    clock = SystemClock()
    term = Term(given.term, given.term * 2 / 3, given.term / 8)
    replica = ReplicaConfig(
        find_access(os.environ, clock), os.environ["POD_NAMESPACE"], os.environ["POD_NAME"], term
    )
    options = Options((), given.data_dir, given.health_port, given.live_port, cluster=replica)
    app = App(options, clock, random.Random(), Log(clock, to_stream()), fault_point)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await app.run(stop)


if __name__ == "__main__":
    asyncio.run(main())
