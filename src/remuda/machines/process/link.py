"""
The shim's side of the control socket: HTTP/1.1 with JSON bodies, by hand.

Part of the shim: the standard library only, and little of it (`http.client` alone would double the time to start).
"""

from __future__ import annotations

import json
import os
import re
import socket
import time

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import Any

ANSWER_S = 45.0  # Remuda answers a long poll within 30 s
CHUNK = 256 * 1024


class Link:
    """One HTTP request at a time to Remuda's control socket, never blocking, repeated until it is answered."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sock: socket.socket | None = None
        self.request = self.unsent = self.received = b""
        self.due = 0.0  # when to connect, or when an answer is overdue
        self.failures = 0

    def ask(self, path: str, body: dict[str, Any]) -> None:
        """Send a request now; the answer to an earlier one is not wanted any more."""
        if self.request:
            self._close()
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: remuda\r\nContent-Type: application/json\r\n"
        self.request = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
        self.unsent, self.received = self.request, b""
        self.due = time.monotonic() + (ANSWER_S if self.sock else 0)
        if self.sock:
            self.step()

    def on_time(self, now: float) -> None:
        """Connect when it is time to, and give up an answer that is overdue."""
        if not self.request or now < self.due:
            return
        if self.sock:
            self.back_off()
            return
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        try:
            self.sock.connect(self.path)
        except OSError:
            self.back_off()
        else:
            self.due = now + ANSWER_S
            self.step()

    def step(self) -> dict[str, Any] | None:
        """Send or receive what the socket takes or has; the answer once it is whole."""
        if self.sock is None:
            return None
        try:
            if self.unsent:
                self.unsent = self.unsent[self.sock.send(self.unsent) :]
                return None
            chunk = self.sock.recv(CHUNK)
            if not chunk:
                raise ConnectionResetError
            self.received += chunk
            return self._answer()
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            self.back_off()
        return None

    def back_off(self) -> None:
        """Repeat the request on a new connection, after 50 ms at first and 2 s at last, less some jitter."""
        self._close()
        pause = min(2.0, 0.05 * 2 ** min(self.failures, 10)) * (0.5 + os.urandom(1)[0] / 512)
        self.failures += 1
        self.unsent, self.received = self.request, b""
        self.due = time.monotonic() + pause

    def _answer(self) -> dict[str, Any] | None:
        head, split, body = self.received.partition(b"\r\n\r\n")
        if not split:
            return None
        length = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d+)", head)
        status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        if length is None or status is None:
            raise ValueError("not an answer")
        if len(body) < int(length[1]):
            return None
        answer = json.loads(body)
        if int(status[1]) >= 500 or not isinstance(answer, dict) or "do" not in answer:
            raise ValueError("not an answer")
        self.request, self.failures = b"", 0
        if re.search(rb"(?i)\r\nconnection:[ \t]*close", head):
            self._close()
        return answer

    def _close(self) -> None:
        if self.sock:
            self.sock.close()
            self.sock = None
