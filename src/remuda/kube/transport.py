"""
One request, sent once: connections, TLS, proxies, credentials, the fence, and every failure as a `KubeError`.

Nothing here is repeated but a request that the server refused with 401, which is shown newer credentials once.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from msgspec import Struct

from remuda import __version__
from remuda.errors import RemudaError
from remuda.kube.config import Access
from remuda.kube.credentials import Proof
from remuda.kube.errors import (
    Details,
    Fenced,
    KubeError,
    Status,
    Unauthorized,
    Unreachable,
    Untrusted,
    error_for,
)

JSON = "application/json"
#: more of an error is not read
_MOST_OF_AN_ERROR = 2**20
#: so long the other end of a WebSocket may take to agree that it is closed
_CLOSE_S = 1.0
_status = msgspec.json.Decoder(Status).decode


class Request(Struct, frozen=True):
    """What is asked, and in words for errors what for."""

    method: str
    path: str
    doing: str
    query: Mapping[str, str | Sequence[str]] = {}
    body: bytes | None = None
    content: str = JSON


class _Connector(aiohttp.TCPConnector):
    """Asks the fence when a connection stands and nothing was sent: to get one may have taken long."""

    def __init__(self, fence: Callable[[], bool]) -> None:
        super().__init__(limit=64)
        self._fence = fence

    async def connect(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if req.method != "GET" and not self._fence():
            connection.release()
            raise _ShutError
        return connection


class _ShutError(Exception):
    """The fence is shut."""


class _LostError(aiohttp.ClientError):
    """A connection that broke, under a name that aiohttp does not repeat a PUT or DELETE for."""


class _NoSocketError(Exception):
    """The server answered instead of opening a WebSocket; aiohttp would keep what it said to itself."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status


async def _once(request: ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    try:
        answer = await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostError(_lost(error)) from error
    if "Sec-WebSocket-Key" in request.headers and answer.status != 101:
        async with answer:
            raise _NoSocketError(await _read_status(answer))
    return answer


class Transport:
    """Sends requests to one server."""

    def __init__(self, access: Access, fence: Callable[[], bool]) -> None:
        self._access = access
        self._fence = fence
        self._http: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Let go of all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    @asynccontextmanager
    async def send(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, if it is a good one; anything else, also while it is read, is a `KubeError`."""
        try:
            answer = await self._send(request, timeout, renews=True)
            async with answer:
                if answer.status >= 300:
                    raise error_for(request.doing, await _read_status(answer))
                yield answer
        except _ShutError:
            raise _fenced(request.doing) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failed(request.doing, error, timeout) from error

    async def _send(
        self, request: Request, timeout: aiohttp.ClientTimeout, *, renews: bool
    ) -> aiohttp.ClientResponse:
        proof = await self._proof(request.doing, timeout.total or timeout.connect)
        headers = {"Authorization": f"Bearer {proof.token}"} if proof.token else {}
        if request.body is not None:
            headers["Content-Type"] = request.content
        try:
            answer = await self._request(request, proof, headers, timeout)
        except UnicodeError as error:
            raise aiohttp.ClientError(f"no host can have this name: {error}") from error
        if answer.status == 401 and renews:
            answer.release()
            self._access.credentials.renew(proof)
            return await self._send(request, timeout, renews=False)
        return answer

    async def _request(
        self, request: Request, proof: Proof, headers: Mapping[str, str], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await self._session().request(
            request.method,
            self._access.server + request.path,
            params=request.query,
            data=request.body,
            headers=headers,
            timeout=timeout,
            proxy=self._access.proxy,
            # Connections are pooled by their TLS context: new certificates mean new ones, and old ones end in peace.
            ssl=proof.tls,
            server_hostname=self._access.server_name,
            allow_redirects=False,
        )

    @asynccontextmanager
    async def open_socket(
        self, request: Request, protocol: str, within: float
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A WebSocket for so many seconds; what the server says instead of opening one is a `KubeError`."""
        if not self._fence():
            raise _fenced(request.doing)
        try:
            async with asyncio.timeout(within):
                async with await self._open_socket(request, protocol, within, renews=True) as socket:
                    yield socket
        except _NoSocketError as error:
            raise error_for(request.doing, error.status) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failed(request.doing, error, aiohttp.ClientTimeout(total=within)) from error

    async def _open_socket(
        self, request: Request, protocol: str, within: float, *, renews: bool
    ) -> aiohttp.ClientWebSocketResponse:
        proof = await self._proof(request.doing, within)
        try:
            return await self._session().ws_connect(
                self._access.server + request.path,
                params=request.query,
                protocols=(protocol,),
                headers={"Authorization": f"Bearer {proof.token}"} if proof.token else {},
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_S),
                proxy=self._access.proxy,
                ssl=proof.tls,
                server_hostname=self._access.server_name,
            )
        except _NoSocketError as error:
            if error.status.code != 401 or not renews:
                raise
        self._access.credentials.renew(proof)
        return await self._open_socket(request, protocol, within, renews=False)

    async def _proof(self, doing: str, within: float | None) -> Proof:
        try:
            async with asyncio.timeout(within):
                return await self._access.credentials.proof()
        except TimeoutError:
            message = f"there were no credentials within {within:.3g} s: the credential plug-in hangs"
            raise Unauthorized(doing, Status(message=message)) from None
        except RemudaError as error:
            raise Unauthorized(doing, Status(message=str(error))) from error

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            # Bodies are not compressed inside a cluster: it costs more than it saves.
            headers = {"User-Agent": f"remuda/{__version__}", "Accept": JSON, "Accept-Encoding": "identity"}
            self._http = aiohttp.ClientSession(
                connector=_Connector(self._fence),
                headers=headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(_once,),
                read_bufsize=2**20,
            )
        return self._http


def check_is_json(doing: str, answer: aiohttp.ClientResponse) -> None:
    """Raise for an answer of another kind: a login page of some proxy says 200 too."""
    if answer.content_type not in (JSON, "text/plain") and not answer.content_type.endswith("+json"):
        message = f"the answer is {answer.content_type}, not JSON: is {answer.host} an API server?"
        raise KubeError(doing, Status(answer.status, answer.reason or "", message))


async def _read_status(answer: aiohttp.ClientResponse) -> Status:
    """The status in the body, if it is one; whatever else came, the code is right."""
    code, reason = answer.status, answer.reason or ""
    if code < 400:
        to = answer.headers.get("Location", "nowhere").partition("?")[0]
        return Status(code, reason, f"the server redirects to {to}; give its right address")
    retry = answer.headers.get("Retry-After", "")
    after = int(retry) if retry.isdecimal() and len(retry) < 9 else 0
    data = b""
    while len(data) < _MOST_OF_AN_ERROR and (chunk := await answer.content.readany()):
        data += chunk
    try:
        read = _status(data)
    except (ValueError, RecursionError):
        text = " ".join(data[:300].decode(errors="replace").split())
        return Status(code, reason, text, Details(retry_after_seconds=after))
    details = read.details or Details()
    if after > details.retry_after_seconds:
        details = msgspec.structs.replace(details, retry_after_seconds=after)
    return Status(code, read.reason or reason, read.message, details)


def _fenced(doing: str) -> Fenced:
    return Fenced(doing, Status(message="this replica may not act any more, nothing was sent"))


def _failed(doing: str, error: BaseException, timeout: aiohttp.ClientTimeout) -> KubeError:
    """What went wrong on the way, in words."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why: Any = error.certificate_error
            message = f"the certificate of {error.host} does not hold: {getattr(why, 'verify_message', why)}"
            return Untrusted(doing, Status(message=message))
        case aiohttp.ClientProxyConnectionError():
            message = f"cannot connect to the proxy {error.host}:{error.port}: {_lost(error.os_error)}"
        case aiohttp.ClientConnectorError():
            message = f"cannot connect to {error.host}:{error.port}: {_lost(error.os_error)}"
        case aiohttp.ClientHttpProxyError():
            message = f"the proxy says {error.status} {error.message}"
        case TimeoutError():
            message = f"no answer within {timeout.total or timeout.sock_read:.3g} s"
        case aiohttp.ClientResponseError():
            message = f"the answer is not HTTP: {error.message}"
        case _:
            message = _lost(error)
    return Unreachable(doing, Status(message=message))


def _lost(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, OSError) and error.strerror:
        # asyncio puts the address in there too, which is message already; what names do wrong has numbers below zero.
        return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return str(error) or type(error).__name__
