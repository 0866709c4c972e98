"""
The calls to CircleCI, over one pool of connections. An answer is good, or it is a `CircleError`; never a guess.

The token is asked for before each request, so that a changed Secret is used at once. It goes to the one host that was
named, never where that one redirects to, and into no text.
"""

import asyncio
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec
from msgspec import Struct
from yarl import URL

from remuda import __version__
from remuda.errors import BadInput, RemudaError
from remuda.loop.clock import Clock
from remuda.model.times import SECOND, Instant
from remuda.sources.circleci.agents import Listing, read_agents
from remuda.sources.circleci.errors import CircleError

#: a call that takes longer has failed
DEADLINE_S = 10.0
#: more tasks than this in one class is no number of tasks
MOST_TASKS = 1_000_000
_CONNECTIONS = 64
_LARGEST_COUNT = 64 * 1024
#: agents are listed for half a day after they went: tens of thousands
_LARGEST_LISTING = 32 * 2**20
_LONGEST_RETRY_S = 3600.0
_CLASS = "check the pool's class, and that the token is of a member of its organisation"
_RIGHT = (
    "give a personal API token of a member of the organisation, or a project's (not a resource class token)"
)
_ADDRESS = "check the source's url"
_WAIT = "it is asked again by itself"
T = TypeVar("T")


def check_url(url: str) -> str:
    """The address without its last slash, or `BadInput`; it is not shown, for it may hold a password."""
    try:
        read = urlsplit(url)
        is_right = read.scheme in {"http", "https"} and read.hostname and read.port != 0
    except ValueError:
        is_right = False
    if not is_right or read.username is not None or read.query or read.fragment:
        raise BadInput(
            "the url of CircleCI is no address: write one like https://runner.circleci.com/, or your server's"
        )
    return url.rstrip("/")


class Client:
    """One CircleCI, cloud or Server. Connections are opened when they are needed, until `close`."""

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        clock: Clock,
        *,
        proxy: str | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._url = check_url(url)
        self._token = token
        self._clock = clock
        self._proxy = proxy
        self._timeout = aiohttp.ClientTimeout(total=deadline_s)
        self._http: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Let go of all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def unclaimed(self, job_class: str) -> int:
        """How many tasks of a class wait."""
        asked = _Asked("/api/v3/runner/tasks", "unclaimed tasks", _LARGEST_COUNT)
        return await self._ask(asked, job_class, lambda answer: _count(answer, "unclaimed_task_count"))

    async def running(self, job_class: str) -> int:
        """How many tasks of a class run."""
        asked = _Asked("/api/v3/runner/tasks/running", "running tasks", _LARGEST_COUNT)
        return await self._ask(asked, job_class, lambda answer: _count(answer, "running_runner_tasks"))

    async def agents(self, job_class: str) -> Listing:
        """The agents of a class that called within the last hours."""
        asked = _Asked("/api/v3/runner", "agents", _LARGEST_LISTING)
        return await self._ask(asked, job_class, lambda answer: read_agents(_items(answer), job_class))

    async def _ask(self, asked: "_Asked", job_class: str, read: Callable[[dict[str, object]], T]) -> T:
        """What `read` finds in the answer; what it raises as `ValueError` is wrong with the answer."""
        doing = f"asking {self._url} for {asked.what} of class {job_class}"
        kind, data = await self._get(asked, job_class, doing)

        def understand() -> T:
            try:
                return read(_decode(kind, data, doing))
            except ValueError as error:
                raise _invalid_answer(doing, str(error)) from None

        # A listing of half a day's agents takes longer than anyone else should wait.
        return await asyncio.to_thread(understand) if len(data) > _LARGEST_COUNT else understand()

    async def _get(self, asked: "_Asked", job_class: str, doing: str) -> tuple[str, bytes]:
        """The type and the text of a good answer."""
        token = self._ask_token(doing)
        try:
            async with self._session().get(
                _address(self._url + asked.path, job_class),
                headers={"Circle-Token": token},
                timeout=self._timeout,
                proxy=self._proxy,
                allow_redirects=False,
            ) as answer:
                # A server that repeats the token must not get it into our errors.
                data = (await _read(answer, asked.most, doing)).replace(token.encode(), b"***")
                if answer.status == 200:
                    return answer.content_type, data
                to = answer.headers.get("Location", "nowhere").replace(token, "***")
                _refuse(answer, data, doing, to, self._clock.now())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _unanswered(doing, error, self._timeout.total) from None

    def _ask_token(self, doing: str) -> str:
        try:
            token = self._token().strip()
        except RemudaError as error:
            raise CircleError(f"{doing}: {error}", "token") from error
        except Exception as error:  # noqa: BLE001 - what holds a secret may say it in any error
            raise CircleError(
                f"{doing}: the token cannot be read ({type(error).__name__})", "token"
            ) from None
        if not token or not token.isascii() or not token.isprintable():
            what = "holds characters that no token has" if token else "is empty"
            raise CircleError(f"{doing}: the token {what}: {_RIGHT}", "token")
        return token

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS, keepalive_timeout=60),
                headers={"User-Agent": f"remuda/{__version__}", "Accept": "application/json"},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._http


class _Asked(Struct, frozen=True):
    path: str
    what: str
    #: bytes that an answer may have
    most: int


def _count(answer: dict[str, object], field: str) -> int:
    if field not in answer:
        raise ValueError(f"there is no {field}")
    count = answer[field]
    # A bool is an int to Python, and none to anybody else.
    if type(count) is not int or not 0 <= count <= MOST_TASKS:
        raise ValueError(f"{field} is {str(count)[:100]}, not a whole number from 0 to {MOST_TASKS:,}")
    return count


def _items(answer: dict[str, object]) -> list[object]:
    items = answer.get("items")
    if not isinstance(items, list):
        raise ValueError("there is no list in items")  # noqa: TRY004 - one kind of error for what is no answer
    return items


@lru_cache(4096)
def _address(endpoint: str, job_class: str) -> URL:
    # `/` must not stay as it is, and aiohttp would leave it.
    return URL(f"{endpoint}?resource-class={quote(job_class, safe='')}", encoded=True)


async def _read(answer: aiohttp.ClientResponse, most: int, doing: str) -> bytes:
    data = bytearray()
    while chunk := await answer.content.readany():
        data += chunk
        if len(data) > most:
            answer.close()
            raise _invalid_answer(doing, f"it is longer than {most:,} bytes")
    return bytes(data)


def _decode(content_type: str, data: bytes, doing: str) -> dict[str, object]:
    try:
        read = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        kind = "a web page" if content_type == "text/html" else "no whole JSON"
        raise _invalid_answer(doing, f"it is {kind}") from None
    if not isinstance(read, dict):
        raise _invalid_answer(doing, "it is JSON, but no object")
    return read


def _refuse(answer: aiohttp.ClientResponse, data: bytes, doing: str, to: str, now: Instant) -> NoReturn:
    """Raise the error of an answer that is not 200, with CircleCI's own words if there are any."""
    code = answer.status
    words = _words(data)
    message = f"{doing}: {code}" + (f": {words}" if words else "")
    match code:
        case 401 | 403:
            raise CircleError(f"{message}; the token is not accepted: {_RIGHT}", "unauthorized")
        case 404:
            raise CircleError(
                f"{message}; there is no such class, or the token may not see it: {_CLASS}", "missing"
            )
        case 429 | 503:
            after = retry_after(answer.headers.get("Retry-After"), now)
            if code == 429 or after is not None:
                wait = f"for {after:.0f} s " if after is not None else ""
                message = f"{message}; it wants to be left alone {wait}and then {_WAIT}"
                raise CircleError(message, "limited", is_limited=True, retry_after=after)
            raise CircleError(f"{message}; {_WAIT}", "broken")
        case _ if 300 <= code < 400:
            to = to.partition("?")[0][:200]
            raise CircleError(
                f"{message}; it redirects to {to}, where no token is sent: {_ADDRESS}", "redirect"
            )
        case _:
            raise CircleError(f"{message}; {_WAIT if code >= 500 else _ADDRESS}", "broken")


def retry_after(value: str | None, now: Instant) -> float | None:
    """
    Seconds to wait, at least one, by a header that says seconds or a date; None when it says neither.

    So it is when it says more than an hour: nobody means that, and a pool that asks nobody for long serves nobody.
    """
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.isdecimal():
        wait = float(text[:9])
    else:
        try:
            wait = parsedate_to_datetime(text).timestamp() - now / SECOND
        except (TypeError, ValueError, OverflowError):
            return None
    return max(wait, 1.0) if wait <= _LONGEST_RETRY_S else None


def _words(data: bytes) -> str:
    """What a refusal says of itself: the message, if it is CircleCI's."""
    try:
        read = msgspec.json.decode(data)
        message = read.get("message", "") if isinstance(read, dict) else ""
    except (ValueError, RecursionError):
        return ""
    return " ".join(message.split())[:300] if isinstance(message, str) else ""


def _invalid_answer(doing: str, why: str) -> CircleError:
    return CircleError(f"{doing}: the answer makes no sense: {why}; {_ADDRESS}", "nonsense")


def _unanswered(doing: str, error: BaseException, deadline: float | None) -> CircleError:
    """What went wrong on the way, in words."""
    match error:
        case TimeoutError():
            return CircleError(f"{doing}: no answer within {deadline:g} s; {_WAIT}", "timeout")
        case aiohttp.ClientConnectorCertificateError():
            why = f"the certificate of {error.host} does not hold: {error.certificate_error}"
        case aiohttp.ClientProxyConnectionError():
            why = f"cannot connect to the proxy: {error.os_error.strerror or 'no answer'}"
        case aiohttp.ClientConnectorError():
            why = f"cannot connect to {error.host}:{error.port}: {error.os_error.strerror or 'no answer'}"
        case aiohttp.ClientPayloadError():
            return CircleError(f"{doing}: the answer broke off; {_WAIT}", "nonsense")
        case aiohttp.ServerDisconnectedError() | OSError():
            why = "the connection was lost"
        case _:
            why = f"the answer is not HTTP ({type(error).__name__})"
    return CircleError(f"{doing}: {why}; {_WAIT}, but {_ADDRESS}", "unreachable")
