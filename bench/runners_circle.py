"""
A CircleCI that costs next to nothing: a process of its own that answers from bytes it has ready.

It is told on stdin what each class has, and tells on stdout when it first answered with a number that was changed.
"""

import asyncio
import json
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

TOKEN = "a-token"
_ENDS_S = 10


class Circle:
    """Serves from `__enter__` to `__exit__`. A class that nobody told of has two tasks waiting and three running."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "bench.runners_circle"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(_ENDS_S)

    def send(
        self, job_class: str, unclaimed: int = 0, running: int = 0, agents: list[Any] | None = None
    ) -> None:
        """What a class has from now on; without `agents`, those it had."""
        assert self._process.stdin is not None
        update = {"class": job_class, "unclaimed": unclaimed, "running": running, "agents": agents}
        self._process.stdin.write(json.dumps(update) + "\n")
        self._process.stdin.flush()

    def answered_at(self) -> float:
        """Wait until it answered with a number of waiting tasks that was changed; the monotonic second of that."""
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())


class _Classes:
    def __init__(self) -> None:
        self._bodies: dict[tuple[str, str], bytes] = {}
        self._fresh: set[str] = set()

    def take(self, line: bytes) -> None:
        update = json.loads(line)
        name, unclaimed = update["class"], _answer({"unclaimed_task_count": update["unclaimed"]})
        if self._bodies.get((name, "tasks"), unclaimed) != unclaimed:
            self._fresh.add(name)
        self._bodies[name, "tasks"] = unclaimed
        self._bodies[name, "running"] = _answer({"running_runner_tasks": update["running"]})
        if update["agents"] is not None:
            self._bodies[name, "runner"] = _answer({"items": update["agents"]})

    def answer(self, target: bytes) -> bytes:
        path, _, query = target.decode().partition("?")
        call, name = path.rpartition("/")[2], unquote(query.partition("=")[2])
        return self._bodies.get((name, call)) or _USUAL[call]

    def wrote(self, target: bytes) -> None:
        """Tell of the first answer with a changed number."""
        if self._fresh and b"/tasks?" in target:
            name = unquote(target.decode().partition("=")[2])
            if name in self._fresh:
                self._fresh.discard(name)
                print(time.monotonic(), flush=True)


class _Connection(asyncio.Protocol):
    def __init__(self, classes: _Classes) -> None:
        self._classes = classes
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for head in heads:
            target = head.split(b" ", 2)[1]
            self._transport.write(self._classes.answer(target))
            self._classes.wrote(target)


def _answer(body: object) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


_USUAL = {
    "tasks": _answer({"unclaimed_task_count": 2}),
    "running": _answer({"running_runner_tasks": 3}),
    "runner": _answer({"items": []}),
}


async def _serve() -> None:
    loop, classes = asyncio.get_running_loop(), _Classes()
    server = await loop.create_server(lambda: _Connection(classes), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        classes.take(line)


if __name__ == "__main__":
    asyncio.run(_serve())
