"""One request, sent once: connections, TLS, the proxy, secrets, and every failure as a `PrometheusError`."""

import base64
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
from msgspec import Struct

from remuda import __version__
from remuda.errors import BadInput
from remuda.loop.clock import Clock
from remuda.prometheus.access import Access
from remuda.prometheus.answers import page, redirected, refused, retry_after
from remuda.prometheus.errors import PrometheusError

_MOST_OF_AN_ERROR = 64 * 1024
_CONNECT_S = 10.0
_SHORTEST_SECRET = 4


class Asked(Struct, frozen=True):
    """A path of the API, the form that is sent to it, and for errors what for."""

    path: str
    what: str
    form: tuple[tuple[str, str], ...] = ()
    #: without a byte for so long it is given up; as long as all others where it is None
    within_s: float | None = None


class Transport:
    """Sends requests to one server."""

    def __init__(self, access: Access, clock: Clock, *, timeout_s: float, connections: int) -> None:
        self._access = access
        self._clock = clock
        self._timeout_s = timeout_s
        self._connections = connections
        self._http: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Let go of all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    def doing(self, asked: Asked) -> str:
        """What an error begins with."""
        return f"asking {self._access.url} for {asked.what}"

    @asynccontextmanager
    async def send(self, asked: Asked) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of a good answer as they come in; anything else, also on the way, is a `PrometheusError`."""
        doing = self.doing(asked)
        timeout_s = self._timeout_s if asked.within_s is None else min(asked.within_s, self._timeout_s)
        try:
            headers = self._access.headers()
        except BadInput as error:
            raise PrometheusError(f"{doing}: {error}", "unauthorized") from None
        try:
            async with self._session().request(
                "POST" if asked.form else "GET",
                self._access.url + asked.path,
                data=aiohttp.FormData(asked.form) if asked.form else None,
                headers=headers,
                proxy=self._access.proxy,
                ssl=self._access.tls if self._access.tls is not None else True,
                allow_redirects=False,
                # A whole answer may take as long again as the server thinks about it.
                timeout=aiohttp.ClientTimeout(
                    total=2 * timeout_s, sock_connect=min(_CONNECT_S, timeout_s), sock_read=timeout_s
                ),
            ) as answer:
                if answer.status != 200:
                    raise await self._refused(answer, doing)
                if answer.content_type in {"text/html", "application/xhtml+xml"}:
                    raise page(doing)
                yield answer.content.iter_any()
        except PrometheusError as error:
            raise _masked(error, headers) from None
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            raise _failed(doing, error, timeout_s) from None

    async def _refused(self, answer: aiohttp.ClientResponse, doing: str) -> PrometheusError:
        if 300 <= answer.status < 400:
            return redirected(doing, answer.status, answer.headers.get("Location", ""))
        body = b""
        while len(body) < _MOST_OF_AN_ERROR and (chunk := await answer.content.readany()):
            body += chunk
        after = retry_after(answer.headers.get("Retry-After"), self._clock.now())
        is_page = answer.content_type == "text/html"
        return refused(answer.status, body, doing, retry_after=after, is_page=is_page)

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                headers={
                    "User-Agent": f"remuda/{__version__}",
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                },
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=2**18,
            )
        return self._http


def _masked(error: PrometheusError, headers: Mapping[str, str]) -> PrometheusError:
    """A server that repeats a secret does not get it into our words."""
    text = str(error)
    for value in headers.values():
        last = value.rpartition(" ")[2]
        secrets = [value, last, _password(last) if value.startswith("Basic ") else ""]
        for secret in secrets:
            # What is shorter keeps nothing secret, and stands in many words.
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
    error.args = (text,)
    return error


def _password(basic: str) -> str:
    try:
        return base64.b64decode(basic).decode().partition(":")[2]
    except ValueError:
        return ""


def _failed(doing: str, error: BaseException, timeout_s: float) -> PrometheusError:
    """What went wrong on the way, in words."""
    kind, is_passing, help_ = "unreachable", True, "check the URL of Prometheus, and that it runs"
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = f"the certificate of {error.host} does not hold: {error.certificate_error}"
            is_passing, help_ = False, "name its authority's file in REMUDA_PROMETHEUS_CA_FILE"
        case aiohttp.ClientProxyConnectionError():
            why = f"cannot connect to the proxy: {_lost(error.os_error)}"
        case aiohttp.ClientConnectorError():
            why = f"cannot connect to {error.host}:{error.port}: {_lost(error.os_error)}"
        case aiohttp.ConnectionTimeoutError():
            why = "cannot connect: nobody answers"
        case TimeoutError():
            why, kind, help_ = f"no answer within {timeout_s:g} s", "timeout", "look at its load"
        case aiohttp.ClientPayloadError():
            why, help_ = "the answer broke off", "look at its log"
        case aiohttp.ClientHttpProxyError():
            why = f"the proxy says {error.status}"
        case aiohttp.ClientResponseError():
            why, kind, is_passing = "the answer is not HTTP", "invalid", False
        case UnicodeError():
            message = f"{doing}: the query or the name of the host holds what is no text; correct it"
            return PrometheusError(message, "query")
        case _:
            why = f"the connection was lost ({_lost(error)})"
    return PrometheusError(f"{doing}: {why}; {help_}", kind, is_passing=is_passing)


def _lost(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, OSError) and error.strerror:
        return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return type(error).__name__
