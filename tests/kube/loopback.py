"""
A server that answers as a script says, also with what no API server would; and a wire that can be cut.

Both count and keep what came, so that a test can say how often something was asked.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

#: what is answered, and what happens to the connection then: kept, closed, reset or left silent
KEEP, CLOSE, RESET, SILENT = "keep", "close", "reset", "silent"


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """Bytes on the wire, and what happens to the connection then."""

    raw: bytes
    then: str = KEEP


def reply(
    body: object = None,
    status: str = "200 OK",
    *,
    kind: str = "application/json",
    then: str = KEEP,
    **headers: str,
) -> Reply:
    """An HTTP answer; anything that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return Reply("\r\n".join([*lines, "", ""]).encode() + data, then)


def streamed(*lines: object, then: str = SILENT) -> Reply:
    """The beginning of a watch: JSON lines in chunks, without an end."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = b"".join(_chunk(json.dumps(line).encode() + b"\n") for line in lines)
    return Reply(head + data + (b"0\r\n\r\n" if then == KEEP else b""), then)


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def failure(code: int, reason: str = "", message: str = "", **headers: str) -> Reply:
    """A Kubernetes status."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return reply(body, f"{code} {reason or 'Status'}", **headers)


Answer = Callable[[Asked], Reply | Awaitable[Reply]]


@dataclass
class Loopback:
    """Serves from `__aenter__` to `__aexit__`; a list of replies is used up one by one, the last one for ever."""

    answer: Answer | list[Reply]
    tls: ssl.SSLContext | None = None
    asked: list[Asked] = field(default_factory=list)
    #: connections that were opened, and requests for tunnels
    opened: int = 0
    tunnels: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self._tasks: set[asyncio.Task[Any]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next round

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.opened += 1
        try:
            # A cancelled one ends quietly, or asyncio complains that a connection's task was.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.transport.abort() if task.cancelling() else writer.close()
            self._tasks.discard(task)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        method, target, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        if method == "CONNECT":
            self.tunnels.append(target)
            return await self._tunnel(target, reader, writer)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        url = urlsplit(target)
        asked = Asked(method, url.path, parse_qs(url.query), headers, body)
        self.asked.append(asked)
        given = await self._reply(asked)
        writer.write(given.raw)
        await writer.drain()
        if given.then == SILENT:
            await asyncio.sleep(3600)
        if given.then == RESET:
            _reset(writer)
        return given.then == KEEP

    async def _reply(self, asked: Asked) -> Reply:
        if isinstance(self.answer, list):
            return self.answer.pop(0) if len(self.answer) > 1 else self.answer[0]
        given = self.answer(asked)
        return given if isinstance(given, Reply) else await given

    @staticmethod
    async def _tunnel(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_pour(reader, far_writer), _pour(far_reader, writer))
        finally:
            far_writer.transport.abort()
        return False


class Wire:
    """A TCP connection to a server that can be cut, refused or made silent, as networks do."""

    def __init__(self, to: str) -> None:
        self._to = urlsplit(to)
        self._open: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self.is_refusing = False
        self.opened = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{self._to.scheme}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next round

    @property
    def open_count(self) -> int:
        """How many connections were opened since the last cut."""
        return len(self._open)

    def cut(self) -> None:
        """Break every connection there is."""
        for writer in self._open:
            _reset(writer)
        self._open.clear()

    def refuse(self) -> None:
        """Break every connection, and every new one too, until `restore`."""
        self.is_refusing = True
        self.cut()

    def silence(self) -> None:
        """Let nothing pass, and break nothing, until `restore`."""
        self._passes.clear()

    def restore(self) -> None:
        self.is_refusing = False
        self._passes.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.opened += 1
        self._open.append(writer)
        if self.is_refusing:
            _reset(writer)
            return
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                far_reader, far_writer = await asyncio.open_connection(sock=await self._far())
                self._open.append(far_writer)
                pours = [
                    asyncio.create_task(_pour(reader, far_writer, self._passes)),
                    asyncio.create_task(_pour(far_reader, writer, self._passes)),
                ]
                try:
                    await asyncio.wait(pours, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pour in pours:
                        pour.cancel()
                    far_writer.transport.abort()
        finally:
            writer.transport.abort() if task.cancelling() else writer.close()
            self._tasks.discard(task)

    async def _far(self) -> socket.socket:
        """A connection that takes in little beyond what is read, so that a slow reader is soon noticed."""
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        far.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(far, (self._to.hostname, self._to.port))
        except BaseException:
            far.close()
            raise
        return far


async def _pour(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: asyncio.Event | None = None
) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(2**16):
            if passes is not None:
                await passes.wait()
            writer.write(data)
            await writer.drain()
    writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a reset instead of a goodbye."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
