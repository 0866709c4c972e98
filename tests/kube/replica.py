"""
A replica as a process of its own: takes part in an election, and writes a ConfigMap again and again while it leads.

    python -m tests.kube.replica KUBECONFIG NAMESPACE IDENTITY

It says on stdout what happens, one word a line with the wall clock's seconds: `ready`, `leading`, `not-leading`,
`frozen` (just before it stops itself), `thawed`, `refused`. Told `freeze` on stdin it stops itself at the worst moment:
after it asked whether it leads, and before it writes.
"""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.errors import Fenced, KubeError
from remuda.kube.lease import Leadership, Term
from remuda.kube.resources import CONFIG_MAPS, Thing
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log, to_stream

TERM = Term(duration=3, act_for=2, renew_every=0.3)
LEASE = "election"


def say(word: str) -> None:
    print(word, time.time(), flush=True)  # noqa: T201 - it is what the test reads


async def write(leadership: Leadership, client: Client, namespace: str, freeze: asyncio.Event) -> None:
    count = 0
    while True:
        if leadership.holds():
            if freeze.is_set():
                freeze.clear()
                say("frozen")
                os.kill(os.getpid(), signal.SIGSTOP)
                say("thawed")
            count += 1
            body = {"metadata": {"name": "written"}, "data": {"by": leadership.identity, "count": str(count)}}
            try:
                await client.apply(CONFIG_MAPS, body, Thing, namespace, force=True)
            except Fenced:
                say("refused")
            except KubeError as error:
                sys.stderr.write(f"{error}\n")
        await asyncio.sleep(0.02)


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    clock, rng = SystemClock(), random.Random(identity)
    access = from_kubeconfig([Path(kubeconfig)], clock)
    freeze, stop = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(sys.stdin, lambda: freeze.set() if sys.stdin.readline().strip() == "freeze" else None)
    async with Client(access, clock, rng) as own:
        leadership = Leadership(
            own,
            LEASE,
            namespace,
            identity,
            clock,
            rng,
            Log(clock, to_stream()),
            lambda: say("leading" if leadership.holds() else "not-leading"),
            TERM,
        )
        async with Client(access, clock, rng, fence=leadership.holds) as client:
            tasks = [
                asyncio.create_task(leadership.run()),
                asyncio.create_task(write(leadership, client, namespace, freeze)),
            ]
            say("ready")
            await stop.wait()
            for task in reversed(tasks):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
