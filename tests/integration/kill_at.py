"""
`remuda up` that kills itself with -9 when it reaches a step for the n-th time; also one with a quota on its store.

    python kill_at.py FILE DATA_DIR [--step NAME --nth N] [--most-bytes N]
"""

import argparse
import asyncio
import os
import random
import signal
from pathlib import Path

from remuda.app import App, Options
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log, to_stream
from remuda.loop.loop import Pace


async def main() -> None:
    """Run until stopped or killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--step")
    parser.add_argument("--nth", type=int, default=1)
    parser.add_argument("--most-bytes", type=int)
    given = parser.parse_args()
    reached = 0

    async def fault_point(step: str) -> None:
        nonlocal reached
        reached += step == given.step
        if reached == given.nth:
            os.kill(os.getpid(), signal.SIGKILL)

    clock = SystemClock()
    options = Options(
        files=(given.file,),
        data_dir=given.data_dir,
        health_port=0,
        live_port=0,
        most_bytes=given.most_bytes,
        pace=Pace(interval=0.2),
    )
    app = App(options, clock, random.Random(), Log(clock, to_stream()), fault_point)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await app.run(stop)


if __name__ == "__main__":
    asyncio.run(main())
