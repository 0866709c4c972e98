"""
Asks the API server: one connection pool, a rate limit, a deadline on everything, and errors that say what was wanted.

Only what is safe to repeat is repeated: reads, server-side applies and deletions with a precondition after a lost
connection or a 5xx; anything after a 429, which the server sends before it does anything.
"""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Generic, Self, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from remuda import __version__
from remuda.kube.config import Access
from remuda.kube.errors import Details, Gone, KubeError, Status, Unauthorized, error_for, unreachable
from remuda.kube.limits import RateLimit
from remuda.kube.resources import NODES, Resource
from remuda.loop.clock import Clock

T = TypeVar("T")

MANAGER = "remuda"
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # YAML holds JSON

_PAGE = 500
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 10.0
_PASSING = frozenset({500, 502, 503, 504})
_status = msgspec.json.Decoder(Status).decode


class Fenced(Exception):
    """A write was held back at the fence."""


class Listed(Struct, Generic[T], frozen=True):
    """All objects that were asked for, as of one version."""

    items: list[T]
    resource_version: str


class _ListMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class Client:
    """One API server. Close it, or use it as an async context manager."""

    def __init__(
        self,
        access: Access,
        clock: Clock,
        rng: random.Random,
        *,
        limit: RateLimit | None = None,
        timeout: float = 30.0,
        fence: Callable[[], bool] = lambda: True,
    ) -> None:
        """
        Without a `limit` requests are not held back.

        The `fence` is asked at the last moment before anything but a read is sent: whoever may not act any more, be it
        after a long sleep, sends nothing.
        """
        self.access = access
        self._fence = fence
        self._clock = clock
        self._rng = rng
        self._limit = limit
        self._timeout = timeout
        self._http: aiohttp.ClientSession | None = None
        self._tls_of: ssl.SSLContext | bool | None = None
        self._pages: dict[Any, msgspec.json.Decoder[Any]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    # Reading

    async def get(self, resource: Resource, name: str, kind: type[T], namespace: str | None = None) -> T:
        """One object."""
        data = await self.request(
            "GET",
            resource.path(namespace, name),
            doing=f"getting {resource.told(namespace, name)}",
            safe=True,
        )
        return msgspec.json.decode(data, type=kind)

    async def list(
        self,
        resource: Resource,
        kind: type[T],
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        page: int = _PAGE,
    ) -> Listed[T]:
        """All objects, page by page; begun again when the pages grew too old on the way."""
        decoder = self._pages.get(kind)
        if decoder is None:
            items_of: Any = list[kind] | None  # type: ignore[valid-type]
            shape = msgspec.defstruct(
                "Page", [("items", items_of, None), ("metadata", _ListMeta, _ListMeta())]
            )
            decoder = self._pages[kind] = msgspec.json.Decoder(shape)
        query = _selected(labels, fields) | {"limit": str(page)}
        doing = f"listing {resource.told(namespace)}"
        for attempt in range(3):
            items: list[T] = []
            more = ""
            try:
                while True:
                    asked = query | ({"continue": more} if more else {})
                    data = await self.request(
                        "GET", resource.path(namespace), query=asked, doing=doing, safe=True
                    )
                    answer = decoder.decode(data)
                    items += answer.items or []
                    more = answer.metadata.continue_
                    if not more:
                        return Listed(items, answer.metadata.resource_version)
            except Gone:
                if attempt == 2:
                    raise
        raise AssertionError  # the loop returns or raises

    async def watch(
        self,
        resource: Resource,
        version: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        silence: float = 90.0,
    ) -> AsyncIterator[bytes]:
        """
        Lines of a watch from a version on, until the server ends it.

        A server sends a bookmark about once a minute; `silence` seconds without any byte are an error.
        """
        query = _selected(labels, fields) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(self._rng.randint(290, 580)),
        }
        doing = f"watching {resource.told(namespace)}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=silence)
        if self._limit is not None:
            await self._limit.wait()
        try:
            async with await self._send("GET", resource.path(namespace), query, None, {}, timeout) as answer:
                if answer.status != 200:
                    raise error_for(doing, await _read_status(answer))
                rest = b""
                async for chunk in answer.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        if line:
                            yield line
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(doing, _told(error)) from error

    # Writing

    async def create(
        self, resource: Resource, body: Mapping[str, Any], kind: type[T], namespace: str | None = None
    ) -> T:
        """Make an object. Not repeated after a lost connection: it may have been made."""
        name = str(body.get("metadata", {}).get("name") or body.get("metadata", {}).get("generateName", ""))
        data = await self.request(
            "POST",
            resource.path(namespace),
            body=msgspec.json.encode(_whole(resource, body)),
            query={"fieldManager": MANAGER},
            doing=f"creating {resource.told(namespace, name)}",
        )
        return msgspec.json.decode(data, type=kind)

    async def replace(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        kind: type[T],
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> T:
        """Put an object; with a resourceVersion in it, only if nobody changed it since."""
        name = str(body["metadata"]["name"])
        data = await self.request(
            "PUT",
            resource.path(namespace, name, subresource),
            body=msgspec.json.encode(_whole(resource, body)),
            query={"fieldManager": MANAGER},
            doing=f"replacing {resource.told(namespace, name)}",
        )
        return msgspec.json.decode(data, type=kind)

    async def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        kind: type[T],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        force: bool = False,
    ) -> T:
        """Server-side apply: own exactly these fields. A field of another manager is a `Conflict` that names it."""
        name = str(body["metadata"]["name"])
        data = await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            body=msgspec.json.encode(_whole(resource, body)),
            query={"fieldManager": MANAGER, "force": "true" if force else "false"},
            content=APPLY_PATCH,
            doing=f"applying {resource.told(namespace, name)}",
            safe=True,
        )
        return msgspec.json.decode(data, type=kind)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Any,
        kind: type[T],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        content: str = MERGE_PATCH,
    ) -> T:
        """A merge patch, or a JSON patch with `content=JSON_PATCH`."""
        data = await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            body=msgspec.json.encode(body),
            query={"fieldManager": MANAGER},
            content=content,
            doing=f"patching {resource.told(namespace, name)}",
        )
        return msgspec.json.decode(data, type=kind)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace: int | None = None,
        propagation: str = "Background",
    ) -> None:
        """
        Delete an object; one that is gone already is fine.

        With `uid` or `version` only that very object, or state of it, else `Conflict`.
        """
        conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        body: dict[str, Any] = {"propagationPolicy": propagation}
        if conditions:
            body["preconditions"] = conditions
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            await self.request(
                "DELETE",
                resource.path(namespace, name),
                body=msgspec.json.encode(body),
                doing=f"deleting {resource.told(namespace, name)}",
                safe=bool(conditions),
            )
        except KubeError as error:
            if error.status.code != 404:
                raise

    async def evict(
        self, name: str, namespace: str, *, uid: str | None = None, grace: int | None = None
    ) -> bool:
        """Ask to evict a pod; False when a disruption budget says not now."""
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        }
        options: dict[str, Any] = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if options:
            body["deleteOptions"] = options
        try:
            await self.request(
                "POST",
                f"/api/v1/namespaces/{namespace}/pods/{name}/eviction",
                body=msgspec.json.encode(body),
                doing=f"evicting pods {namespace}/{name}",
                patient=False,
            )
        except KubeError as error:
            if error.status.code == 404:
                return True
            if error.status.code == 429:
                return False
            raise
        return True

    async def node_proxy(self, node: str, path: str) -> bytes:
        """Ask a node's kubelet through the API server, as `metrics/cadvisor` or `stats/summary`."""
        whole = f"{NODES.path(name=node, subresource='proxy')}/{path.lstrip('/')}"
        return await self.request("GET", whole, doing=f"asking nodes {node} for {path}", safe=True)

    # Requests

    async def request(
        self,
        method: str,
        path: str,
        *,
        doing: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content: str = JSON,
        safe: bool = False,
        patient: bool = True,
    ) -> bytes:
        """
        One request with its retries, within the deadline. Everything above comes through here.

        `safe` ones may be repeated whatever happened; a 429 is waited out for any, unless it is not `patient`.
        """
        deadline = self._clock.monotonic() + self._timeout
        wait, renewed = _FIRST_WAIT_S, False
        while True:
            error = await self._try(method, path, query, body, content, doing, deadline)
            if isinstance(error, bytes):
                return error
            code = error.status.code
            if isinstance(error, Unauthorized) and not renewed:
                renewed = True
                self.access.credentials.renew()
                continue
            again = (code == 429 and patient) or (safe and (code == 0 or code in _PASSING))
            pause = max(_retry_after(error.status), wait * self._rng.uniform(0.5, 1.0))
            if not again or self._clock.monotonic() + pause > deadline:
                raise error
            await asyncio.sleep(pause)
            wait = min(wait * 2, _LONGEST_WAIT_S)

    async def _try(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content: str,
        doing: str,
        deadline: float,
    ) -> bytes | KubeError:
        if self._limit is not None:
            await self._limit.wait()
        left = deadline - self._clock.monotonic()
        if left <= 0:
            return unreachable(doing, f"not done within {self._timeout:g} s")
        headers = {"Content-Type": content} if body is not None else {}
        timeout = aiohttp.ClientTimeout(total=left)
        try:
            async with await self._send(method, path, query or {}, body, headers, timeout) as answer:
                if answer.status < 300:
                    data = await answer.read()
                    return data if _is_json(answer) else unreachable(doing, _not_json(answer))
                if answer.status < 400:
                    return unreachable(
                        doing, f"the server redirects to {answer.headers.get('Location', 'nowhere')}"
                    )
                return error_for(doing, await _read_status(answer))
        except Fenced:
            return unreachable(doing, "this replica does not lead any more: nothing was sent")
        except TimeoutError:
            return unreachable(doing, f"no answer within {left:.0f} s")
        except (aiohttp.ClientError, OSError) as error:
            return unreachable(doing, _told(error))

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        headers: dict[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        proof = await self.access.credentials.proof()
        http = await self._session(proof.tls)
        if method != "GET" and not self._fence():
            raise Fenced
        if proof.token:
            headers = headers | {"Authorization": f"Bearer {proof.token}"}
        return await http.request(
            method,
            self.access.server + path,
            params=query,
            data=body,
            headers=headers,
            timeout=timeout,
            proxy=self.access.proxy,
            allow_redirects=False,
        )

    async def _session(self, tls: ssl.SSLContext | bool) -> aiohttp.ClientSession:  # noqa: FBT001 - as aiohttp names it
        """A session for these credentials; new client certificates mean a new one."""
        if self._http is None or self._tls_of is not tls:
            await self.close()
            # Bodies are not compressed inside a cluster: it costs more than it saves.
            base = {"User-Agent": f"remuda/{__version__}", "Accept": JSON, "Accept-Encoding": "identity"}
            connector = aiohttp.TCPConnector(ssl=tls, limit=64)
            self._http = aiohttp.ClientSession(
                connector=connector, headers=base, read_bufsize=2**20, auto_decompress=True
            )
            self._tls_of = tls
        return self._http


def _selected(labels: str | None, fields: str | None) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _whole(resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


async def _read_status(answer: aiohttp.ClientResponse) -> Status:
    """The status in the body, if it is one; whatever else came, the code is right."""
    retry = answer.headers.get("Retry-After", "")
    after = Details(retry_after_seconds=int(retry)) if retry.isdecimal() else None
    data = await answer.content.read(64 * 1024)
    try:
        read = _status(data)
    except msgspec.MsgspecError:
        text = data[:200].decode(errors="replace").strip()
        return Status(answer.status, answer.reason or "", text, after)
    return Status(answer.status, read.reason or answer.reason or "", read.message, read.details or after)


def _retry_after(status: Status) -> float:
    return float(status.details.retry_after_seconds) if status.details else 0.0


def _is_json(answer: aiohttp.ClientResponse) -> bool:
    return answer.content_type in (JSON, "text/plain") or answer.content_type.endswith("+json")


def _not_json(answer: aiohttp.ClientResponse) -> str:
    return f"the answer is {answer.content_type}, not JSON: is {answer.host} an API server?"


def _told(error: BaseException) -> str:
    return str(error) or type(error).__name__
