"""What a guest calls: the package repository and CircleCI's API for agents, on a loopback port with TLS."""

import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CLAIM = "/api/v3/runner/claim"
REFUSED = 401


@dataclass(slots=True)
class Services:
    """
    Both services for one guest, and what it asked of them; `with` starts and ends them.

    A path in `failing` answers 503 that many times before it answers well. `tasks` are handed out in order, to runners
    that show `token`.
    """

    certificate: tuple[Path, Path]
    files: Mapping[str, bytes]
    token: str
    failing: dict[str, int] = field(default_factory=dict)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    #: tokens that were good once
    refused: AbstractSet[str] = frozenset()
    #: paths that were asked for
    asked: Counter[str] = field(default_factory=Counter)
    #: bodies of what runners with the token said, by path
    said: dict[str, list[Any]] = field(default_factory=dict)
    #: tokens that were shown, right and wrong
    tokens: set[str] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _server: ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """Where they listen."""
        assert self._server is not None
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate)
        server = self._server = _Server(("127.0.0.1", 0), _handler(self))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, what: Callable[[], bool], deadline_s: float) -> None:
        """Wait until something is so."""
        with self._changed:
            assert self._changed.wait_for(what, deadline_s), f"{self.asked} {self.said}"

    def answer(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        """Status and body for a request."""
        with self._changed:
            self.asked[path] += 1
            self._changed.notify_all()
            if self.failing.get(path, 0) > 0:
                self.failing[path] -= 1
                return 503, b"unavailable"
            if path in self.files:
                return 200, self.files[path]
            if not path.startswith("/api/"):
                return 404, b"not found"
            self.tokens.add(token)
            if token != self.token or token in self.refused:
                return REFUSED, b"{}"
            self.said.setdefault(path.rpartition("/")[2], []).append(
                json.loads(body) | {"at": time.monotonic()}
            )
            task = self.tasks.pop(0) if path == CLAIM and self.tasks else None
            return 200, json.dumps(task).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A guest that is gone in the middle of a request is no news."""


def _handler(services: Services) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 300

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _answer(self, body: bytes) -> None:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, content = services.answer(self.path.partition("?")[0], token, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    return Handler
