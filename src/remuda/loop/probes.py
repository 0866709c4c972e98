"""
A small HTTP server for probes and Prometheus, in a thread with an event loop of its own.

It must answer when everything else is stuck, and must not be what gets the process stuck: connections are bounded, the
oldest gives way to a new one, and each has one deadline for everything. One request is answered, then it is closed.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from remuda.errors import BadInput
from remuda.loop.health import Health

#: status, content type and body
Page = Callable[[], tuple[int, str, bytes]]
#: open at once; probes and scrapes need a handful
MOST_CONNECTIONS = 64
#: seconds from accepting a connection until its answer has been read
DEADLINE_S = 5.0
_LARGEST_REQUEST = 16 * 1024
_TEXT = "text/plain; charset=utf-8"


class HealthServer:
    """Answers each path with what its page returns, until closed."""

    def __init__(
        self, address: str, port: int, pages: dict[str, Page], deadline_s: float = DEADLINE_S
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            listening = socket.create_server((address, port), family=family, backlog=MOST_CONNECTIONS)
        except OSError as error:
            # Its own words repeat the address, which the caller names.
            why = str(error.strerror or error).partition(" (while attempting")[0]
            raise BadInput(
                f"health port {port} cannot be used: {why}; choose another one, or 0 for any"
            ) from error
        self.port: int = listening.getsockname()[1]
        #: those that are open, oldest first
        self.connections: dict[_Connection, None] = {}
        self._loop = asyncio.new_event_loop()
        # A peer that is gone or a descriptor that is missing is nothing to report: the next probe asks again.
        self._loop.set_exception_handler(lambda *_: None)
        self._stop = asyncio.Event()
        self._thread = threading.Thread(
            target=self._run, args=(listening, pages, deadline_s), name=f"health-{self.port}", daemon=True
        )
        self._thread.start()

    def _run(self, listening: socket.socket, pages: dict[str, Page], deadline_s: float) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve(listening, pages, deadline_s))

    async def _serve(self, listening: socket.socket, pages: dict[str, Page], deadline_s: float) -> None:
        server = await self._loop.create_server(
            lambda: _Connection(pages, self.connections, deadline_s),
            sock=listening,
            backlog=MOST_CONNECTIONS,
        )
        await self._stop.wait()
        server.close()
        for connection in tuple(self.connections):
            connection.abort()
        await asyncio.sleep(0)  # lets go of their descriptors

    def close(self) -> None:
        """Stop answering."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


class _Connection(asyncio.Protocol):
    """One request and its answer."""

    def __init__(
        self, pages: dict[str, Page], connections: "dict[_Connection, None]", deadline_s: float
    ) -> None:
        self._pages = pages
        self._connections = connections
        self._deadline_s = deadline_s
        self._request = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._connections) >= MOST_CONNECTIONS:
            next(iter(self._connections)).abort()
        self._connections[self] = None
        self._deadline = asyncio.get_running_loop().call_later(self._deadline_s, transport.abort)

    def abort(self) -> None:
        """Close it at once, whatever was still to be said."""
        self._connections.pop(self, None)
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # whoever went away needs no answer
        self._deadline.cancel()
        self._connections.pop(self, None)

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._request += data
        if b"\r\n\r\n" not in self._request and len(self._request) <= _LARGEST_REQUEST:
            return
        with contextlib.suppress(OSError):
            self._transport.write(_answer(self._request, self._pages))
        self._transport.close()


def _answer(request: bytes, pages: dict[str, Page]) -> bytes:
    """The whole answer to a request, of which only the first line is looked at."""
    method, _, rest = request.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    path, _, version = rest.partition(" ")
    if len(request) > _LARGEST_REQUEST:
        status, kind, body = 431, _TEXT, b"the request is too large\n"
    elif not version.startswith("HTTP/1."):
        status, kind, body = 400, _TEXT, b"not a request of HTTP/1\n"
    elif method not in ("GET", "HEAD"):
        status, kind, body = 405, _TEXT, b"only GET and HEAD are answered\n"
    else:
        status, kind, body = _page(path.partition("?")[0], pages)
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)


def _page(path: str, pages: dict[str, Page]) -> tuple[int, str, bytes]:
    page = pages.get(path)
    if page is None:
        return 404, _TEXT, f"not found; there is {' '.join(sorted(pages))}\n".encode()
    try:
        return page()
    except Exception as error:  # noqa: BLE001 - a probe that gets no answer learns nothing
        return 500, _TEXT, f"{type(error).__name__}: {error}\n".encode()


def health_page(question: Callable[[], Health]) -> Page:
    """A page that answers 200 or 503 with the details as JSON."""

    def page() -> tuple[int, str, bytes]:
        health = question()
        return (200 if health.ok else 503), "application/json", msgspec.json.encode(health)

    return page


def metrics_page(registry: CollectorRegistry) -> Page:
    """The Prometheus exposition."""
    return lambda: (200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(registry))
