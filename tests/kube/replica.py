"""
A replica as a process of its own: takes part in an election, and writes a ConfigMap again and again while it leads.

    python -m tests.kube.replica KUBECONFIG NAMESPACE IDENTITY DURATION ACT_FOR RENEW_EVERY

It says on stdout what happens, one word a line with the wall clock's seconds: `ready`, `leading`, `not-leading`,
`frozen` (just before it stops itself), `thawed`, `refused`. Told `freeze` on stdin it stops itself at the worst moment:
after it asked whether it leads, and before it writes, once a write of its own was accepted; told `go on`, it does not.
"""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.errors import Fenced, KubeError
from remuda.kube.lease import Leadership, Term
from remuda.kube.resources import CONFIG_MAPS, KubeObject
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log, to_stream

TERM = Term(duration=8, act_for=6, renew_every=0.5)
LEASE = "election"


def say(word: str) -> None:
    print(word, time.time(), flush=True)  # noqa: T201 - it is what the test reads


async def write(leadership: Leadership, client: Client, namespace: str, freeze: asyncio.Event) -> None:
    count, has_written = 0, False
    while True:
        if leadership.holds():
            if freeze.is_set() and has_written:
                freeze.clear()
                say("frozen")
                os.kill(os.getpid(), signal.SIGSTOP)
                say("thawed")
            count += 1
            body = {"metadata": {"name": "written"}, "data": {"by": leadership.identity, "count": str(count)}}
            try:
                await client.apply(CONFIG_MAPS, body, KubeObject, namespace, force=True)
                has_written = True
            except Fenced:
                say("refused")
            except KubeError as error:
                sys.stderr.write(f"{error}\n")
        await asyncio.sleep(0.02)


async def main(kubeconfig: str, namespace: str, identity: str, term: Term) -> None:
    clock, rng = SystemClock(), random.Random(identity)
    access = from_kubeconfig([Path(kubeconfig)], clock)
    freeze, stop = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    orders = {"freeze": freeze.set, "go on": freeze.clear, "": stop.set}

    def obey() -> None:
        # nothing to read means that whoever gave orders is gone
        for words in os.read(sys.stdin.fileno(), 4096).decode().splitlines() or [""]:
            orders[words]()

    loop.add_reader(sys.stdin, obey)
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
            term,
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


class Replica:
    """A replica that runs, and what it said so far: words and wall-clock seconds."""

    def __init__(self, kubeconfig: Path, namespace: str, identity: str, log: Path, term: Term = TERM) -> None:
        self.identity = identity
        self.said: list[tuple[str, float]] = []
        numbers = [str(number) for number in (term.duration, term.act_for, term.renew_every)]
        self._log = log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.kube.replica", str(kubeconfig), namespace, identity, *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            word, at = line.split()
            self.said.append((word, float(at)))

    def times(self, word: str) -> list[float]:
        """When it said a word."""
        return [at for said, at in self.said if said == word]

    def is_leading(self) -> bool:
        """Whether it leads, as it said last."""
        changes = [word for word, _ in self.said if word in ("leading", "not-leading")]
        return changes[-1:] == ["leading"]

    def order(self, words: str) -> None:
        """`freeze`: stop itself before its next write; `go on`: not any more."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """Kill it, if it still runs."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self._log):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


if __name__ == "__main__":
    _, kubeconfig_path, its_namespace, its_identity, *numbers = sys.argv
    asyncio.run(main(kubeconfig_path, its_namespace, its_identity, Term(*map(float, numbers))))
