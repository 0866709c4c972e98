"""
Asks a running Remuda, or answers from the store when none runs.

Only the standard library, and imported late: a command should not pay for a web framework.
"""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from remuda.control.routes import Call, Route, check_query, match
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.output.show import one_line

if TYPE_CHECKING:  # not while something runs
    from remuda.ledger.address import PostgresAddress

T = TypeVar("T")
_SOCKET = "control.sock"
#: bytes of an answer: far more than any real one, and less than what takes all memory when it never ends
_LARGEST_ANSWER = 256 * 1024 * 1024


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("remuda", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Deadline:
    """Cuts a connection when its time is up."""

    def __init__(self, line: socket.socket, after_s: float) -> None:
        self.has_passed = False
        self._line = line
        self._timer = threading.Timer(after_s, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def _cut(self) -> None:
        self.has_passed = True
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def cancel(self) -> None:
        self._timer.cancel()


class Remuda:
    """The Remuda of a data directory, or the one at a URL."""

    def __init__(
        self,
        data_dir: Path,
        server: str | None,
        views: Callable[[], tuple[Route, ...]],
        warn: Callable[[str], None] = lambda _: None,
        timeout_s: float = 60,
        token: str = "",
        address: "PostgresAddress | None" = None,
        queue: "PostgresAddress | None" = None,
        most_bytes: int = _LARGEST_ANSWER,
    ) -> None:
        """
        `warn` is called once when what is read comes from the store because the process died.

        `token` is for a `server` elsewhere: the socket of this host needs none. `address` is where the store is when it is
        not in the data directory, `queue` where the jobs are when they are not in the store. An answer of more than
        `most_bytes` is not believed to end.
        """
        self._token = token if server and not server.startswith("unix:") else ""
        self._timeout_s, self._most_bytes = timeout_s, most_bytes
        self._data_dir = data_dir
        self._address, self._queue = address, queue
        self._server = server
        self._views = views
        self._warn = warn
        self._has_answered = self._has_warned = False

    def get(self, path: str, kind: type[T], **query: object) -> T:
        """Read something: from the running process, else from the store."""
        asked = {name: str(value) for name, value in query.items() if value is not None}
        try:
            body = self._request("GET", path + (f"?{urlencode(asked)}" if asked else ""), None)
        except NothingRuns as nothing:
            if self._server is not None:
                raise
            self._warn_if_dead(nothing)
            body = msgspec.json.encode(self._from_store(path, asked), enc_hook=str)
        return _read(body, kind)

    def post(self, path: str, body: object, kind: type[T]) -> T:
        """Change something; only a running process can."""
        try:
            sent = msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise BadInput(f"{error.object!r:.100} is not UTF-8 text") from None
        return _read(self._request("POST", path, sent), kind)

    def stream(self, path: str) -> Iterator[bytes]:
        """Read bytes as they come."""
        connection = self._connect(timeout=None)
        try:
            response = self._ask(connection, "GET", path, None)
            while piece := response.read1(65536):
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise _lost(error) from error
        finally:
            connection.close()

    def is_running(self) -> bool:
        """True when a process answers."""
        try:
            self._request("GET", "/v1/loops", None)
        except (Unavailable, BadInput):
            return False
        return True

    def _warn_if_dead(self, nothing: "NothingRuns") -> None:
        if (nothing.is_refused or self._has_answered) and not self._has_warned:
            self._has_warned = True
            self._warn(
                f"remuda in {self._data_dir} no longer answers: this is what it recorded until it ended;"
                " start it again with `remuda up FILE…`"
            )

    def _from_store(self, path: str, query: dict[str, str]) -> Any:
        from remuda.ledger.place import place_of, reading  # noqa: PLC0415 - not while something runs

        try:
            route, names = match(self._views(), "GET", path)
        except NotFound:
            raise NothingRuns(self._data_dir) from None
        if route.view is None:
            raise NothingRuns(self._data_dir)
        check_query(route, query)
        home = self._address or self._data_dir
        if route.is_of_queue and self._queue is not None:
            home = self._queue
        with reading(place_of(home), route.tables) as db:
            return route.view(db, Call(names, query))

    def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        connection = self._connect(timeout=self._timeout_s)
        # The timeout of a socket is for one piece: an answer that comes in drips would never be late.
        late = _Deadline(connection.sock, self._timeout_s)
        try:
            answer = _body(self._ask(connection, method, path, body), self._most_bytes)
        except (OSError, http.client.HTTPException) as error:
            if late.has_passed or isinstance(error, TimeoutError):
                raise Unavailable(f"remuda did not answer within {self._timeout_s} s") from error
            raise _lost(error) from error
        finally:
            late.cancel()
            connection.close()
        if late.has_passed:
            raise Unavailable(f"remuda did not answer within {self._timeout_s} s")
        return answer

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None
    ) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json"} if body else {}
        if self._token:
            if not (self._token.isascii() and self._token.isprintable()):
                raise BadInput(
                    "the token in REMUDA_TOKEN holds what no token does, a line break or a letter that is not ASCII: copy it"
                    " again"
                )
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        self._has_answered = True
        if response.status < 300:
            return response
        if response.status < 400:
            to = one_line(response.getheader("Location", "") or "nowhere")
            raise Unavailable(f"{self._server} sends elsewhere, to {to:.200}: give --server where Remuda is")
        message = one_line(_error_in(_body(response, self._most_bytes), response.status))
        if response.status == 401:
            known = (
                "the token in REMUDA_TOKEN is not known there" if self._token else "set REMUDA_TOKEN to one"
            )
            raise BadInput(f"{self._server} wants a token: {known}")
        if response.status == 404:
            raise NotFound(message)
        raise BadInput(message) if response.status < 500 else Unavailable(message)

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        address = self._server or f"unix:{self._data_dir / _SOCKET}"
        connection: http.client.HTTPConnection
        if address.startswith("unix:"):
            connection = _UnixConnection(address.removeprefix("unix:").removeprefix("//"), timeout or 3600.0)
        else:
            connection = _web_connection(address, timeout)
        try:
            connection.connect()
        except (FileNotFoundError, ConnectionRefusedError) as error:
            connection.close()
            is_refused = isinstance(error, ConnectionRefusedError)
            raise NothingRuns(self._data_dir, is_refused=is_refused, server=self._server or "") from None
        except OSError as error:
            connection.close()
            raise Unavailable(
                f"cannot reach remuda at {address}: {error}; --server is where its dashboard is"
                if self._server
                else f"cannot reach remuda at {address}: {error}"
            ) from error
        return connection


def _web_connection(address: str, timeout: float | None) -> http.client.HTTPConnection:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.username is not None:
        raise BadInput("--server takes no user: the token is in REMUDA_TOKEN; write http://HOST:PORT")
    has_more = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not host or has_more:
        raise BadInput(f"--server {address!r} is no address: write unix:PATH or http://HOST:PORT")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(host, port, timeout=timeout)


def _read(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unavailable(
            f"the answer is not as it should be ({error}): is it a remuda of this version that answers?"
        ) from error


def _body(response: http.client.HTTPResponse, most: int) -> bytes:
    body = response.read(most + 1)
    if len(body) > most:
        raise Unavailable("the answer does not end: is it a remuda that answers?")
    # `read` of so many bytes does not say when fewer come than were announced
    if response.length:
        raise http.client.IncompleteRead(body, response.length)
    return body


def _lost(error: Exception) -> Unavailable:
    return Unavailable(one_line(f"the connection to remuda was lost: {error}"))


class NothingRuns(Unavailable):
    """Nobody answers, so only the store can be read."""

    def __init__(self, where: Path | str, *, is_refused: bool = False, server: str = "") -> None:
        """
        `is_refused` when there is still a socket that nobody listens at, which only a process that died leaves behind.

        `server` is the address that was given in the place of a data directory.
        """
        self.is_refused = is_refused
        super().__init__(
            f"nobody answers at {server}: start Remuda there with `remuda up`, or give --server the address of its dashboard"
            if server
            else f"no remuda runs with {where}: start one with `remuda up FILE…`"
        )


def path_of(*parts: object) -> str:
    """A path from its parts, each safe whatever it holds."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def _error_in(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"remuda answered {status}"
