"""Processes that never outlive the one that starts them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.servers import keeper
from tests.servers.found import ServersError

READY_S = 60.0  # kube-apiserver takes 5 s on an idle machine
POLL_S = 0.05
KEEPER_S = 30.0
TAIL_LINES = 25
#: servers written in Go spend a quarter of their time on memory; there is enough of it that they need not
_ENVIRON = {"GOGC": "300"}


class Kept:
    """
    A directory and the processes in it, all gone after `close` or when this process ends, also by kill -9.

    Methods may be called from any thread, one at a time.
    """

    def __init__(self) -> None:
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,  # Ctrl-C at the terminal is for the tests; the keeper ends after them
        )
        assert self._keeper.stdout is not None
        group, _, directory = self._keeper.stdout.readline().rstrip("\n").partition(" ")
        self._group = int(group)
        self.directory = Path(directory)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], is_ready: Callable[[], bool]) -> None:
        """
        Start a process under a name and wait until it is ready; its output is added to NAME.log.

        Raises ServersError with the end of that log when the process exits or is not ready in time.
        """
        log = self.directory / f"{name}.log"
        with log.open("ab") as output:
            process = self.processes[name] = subprocess.Popen(
                command,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=self._group,
                env={**os.environ, **_ENVIRON},
            )
        deadline = time.monotonic() + READY_S
        while not is_ready():
            if process.poll() is not None:
                raise ServersError(
                    f"{name} exited with {process.returncode} before it was ready\n{_tail(log)}"
                )
            if time.monotonic() > deadline:
                self.kill(name)
                raise ServersError(f"{name} was not ready after {READY_S:.0f} s\n{_tail(log)}")
            time.sleep(POLL_S)

    def kill(self, name: str) -> None:
        """End a process with SIGKILL and wait for it; one that is not running stays so."""
        process = self.processes.pop(name, None)
        if process is not None:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End everything and remove the directory; closing twice is harmless."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.stdout.close()
        self._keeper.wait(KEEPER_S)
        for name in tuple(self.processes):
            self.kill(name)


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    return "\n".join(f"  {line}" for line in lines)
