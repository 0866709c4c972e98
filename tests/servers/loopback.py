"""
Ports on loopback that nobody else gets meanwhile, and plain HTTP requests to the servers on them.

The standard library only: what is under test is not used to test.
"""

import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from typing import Any

REQUEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and text of a response, whatever the status, and what the server warns of."""

    status: int
    text: str
    warnings: tuple[str, ...] = ()

    def json(self) -> Any:
        """The body decoded."""
        return json.loads(self.text)

    def lines(self) -> list[Any]:
        """The body of a watch that ended, decoded event by event."""
        return [json.loads(line) for line in self.text.splitlines()]


def send(
    method: str,
    url: str,
    body: object = None,
    *,
    headers: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """Send one request, without any proxy, and read the whole response. Raises OSError when there is none."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data=data, headers=sent, method=method)
    handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)]
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=REQUEST_S) as response:
            warnings = tuple(response.headers.get_all("Warning", ()))
            return Answer(response.status, response.read().decode(), warnings)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read().decode())


class Reader:
    """
    Reads from one server, on connections that stay open: a handshake takes both sides ten times as long as an answer.

    May be used from any thread. A connection that the server closed meanwhile is replaced.
    """

    def __init__(self, address: str, port: int, context: ssl.SSLContext) -> None:
        self._address, self._port, self._context = address, port, context
        self._idle: list[HTTPSConnection] = []

    def get(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Read the whole response. Raises OSError when there is none."""
        while True:
            try:
                connection, is_new = self._idle.pop(), False
            except IndexError:
                connection, is_new = self._connect(), True
            try:
                connection.request("GET", path, headers=dict(headers))
                response = connection.getresponse()
                text = response.read().decode()
            except (OSError, HTTPException):
                connection.close()
                if is_new:
                    raise
                continue
            if response.will_close:
                connection.close()
            else:
                self._idle.append(connection)
            return Answer(response.status, text, tuple(response.headers.get_all("Warning", ())))

    def _connect(self) -> HTTPSConnection:
        return HTTPSConnection(self._address, self._port, timeout=REQUEST_S, context=self._context)

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop().close()


class Port:
    """
    A free loopback port that stays ours from now until `close`, also while no server listens on it.

    The port is held by a socket that is bound and never listens. A server that sets SO_REUSEPORT too can bind it;
    everyone else is refused, so that neither two test runs nor a restart can collide.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Let the port go."""
        self._socket.close()
