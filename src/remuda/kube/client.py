"""
Asks the API server: one connection pool, a rate limit, a deadline on everything, and errors that say what was wanted.

Only what is safe to repeat is repeated: reads, server-side applies and deletions with a precondition after a lost
connection or a 5xx; anything after a 429, which the server sends before it does anything.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, Self, TypeVar

import aiohttp
import msgspec
from msgspec import Struct

from remuda.kube.channels import CHANNELS, Ran, read_channels
from remuda.kube.config import Access
from remuda.kube.errors import Gone, KubeError, Missing, Status, Unreachable, broken
from remuda.kube.limits import RateLimit
from remuda.kube.resources import NODES, PODS, Resource
from remuda.kube.transport import JSON, Request, Transport, check_is_json
from remuda.loop.clock import Clock

T = TypeVar("T")

MANAGER = "remuda"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # YAML holds JSON

_PAGE = 500
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 10.0
_PASSING = frozenset({500, 502, 503, 504})
_OURS = {"fieldManager": MANAGER}


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

        The `fence` is asked at the last moment before anything but a read is sent, each time it is: whoever may not act
        any more, be it after a long sleep or a wait for a connection, sends nothing and gets `Fenced`.
        """
        self.access = access
        self._clock = clock
        self._rng = rng
        self._limit = limit
        self._timeout = timeout
        self._transport = Transport(access, fence)
        self._pages: dict[Any, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        await self._transport.close()

    # Reading

    async def get(
        self,
        resource: Resource,
        name: str,
        kind: type[T],
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> T:
        """One object."""
        doing = f"getting {resource.describe(namespace, name)}"
        path = resource.path(namespace, name, subresource)
        return decoded(await self.request("GET", path, doing=doing, safe=True), kind, doing)

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
        for _ in range(2):
            try:
                return await self._list(resource, kind, namespace, _selected(labels, fields), page)
            except Gone:
                continue
        return await self._list(resource, kind, namespace, _selected(labels, fields), page)

    async def _list(
        self, resource: Resource, kind: type[T], namespace: str | None, query: dict[str, str], page: int
    ) -> Listed[T]:
        shape, doing = self._page_of(kind), f"listing {resource.describe(namespace)}"
        items: list[T] = []
        query = query | {"limit": str(page)}
        while True:
            data = await self.request("GET", resource.path(namespace), query=query, doing=doing, safe=True)
            answer = decoded(data, shape, doing)
            items += answer.items or []
            if not answer.metadata.continue_:
                return Listed(items, answer.metadata.resource_version)
            query["continue"] = answer.metadata.continue_

    def _page_of(self, kind: type[T]) -> Any:
        if kind not in self._pages:
            items: Any = list[kind] | None  # type: ignore[valid-type]
            fields = [("items", items, None), ("metadata", _ListMeta, _ListMeta())]
            self._pages[kind] = msgspec.defstruct("Page", fields)
        return self._pages[kind]

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        version: str,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        silence: float = 90.0,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """
        Lines of a watch from a version on, until the server ends it; entered when the server has agreed.

        A server sends a bookmark about once a minute; `silence` seconds without any byte are an error.
        """
        query = _selected(labels, fields) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(self._rng.randint(290, 580)),
        }
        asked = Request("GET", resource.path(namespace), f"watching {resource.describe(namespace)}", query)
        timeout = aiohttp.ClientTimeout(
            total=None, connect=self._timeout, sock_connect=self._timeout, sock_read=silence
        )
        await self._pass()
        async with self._transport.send(asked, timeout) as answer:
            check_is_json(asked.doing, answer)
            yield _lines(answer)

    # Writing

    async def create(
        self, resource: Resource, body: Mapping[str, Any], kind: type[T], namespace: str | None = None
    ) -> T:
        """Make an object. Not repeated after a lost connection: it may have been made."""
        meta = body.get("metadata", {})
        doing = f"creating {resource.describe(namespace, meta.get('name') or meta.get('generateName'))}"
        whole = msgspec.json.encode(_whole(resource, body))
        data = await self.request("POST", resource.path(namespace), body=whole, query=_OURS, doing=doing)
        return decoded(data, kind, doing)

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
        doing = f"replacing {resource.describe(namespace, name)}"
        path, whole = (
            resource.path(namespace, name, subresource),
            msgspec.json.encode(_whole(resource, body)),
        )
        data = await self.request("PUT", path, body=whole, query=_OURS, doing=doing)
        return decoded(data, kind, doing)

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
        doing = f"applying {resource.describe(namespace, name)}"
        data = await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            body=msgspec.json.encode(_whole(resource, body)),
            query=_OURS | {"force": "true" if force else "false"},
            content=APPLY_PATCH,
            doing=doing,
            safe=True,
        )
        return decoded(data, kind, doing)

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
        doing = f"patching {resource.describe(namespace, name)}"
        path = resource.path(namespace, name, subresource)
        whole = msgspec.json.encode(body)
        data = await self.request("PATCH", path, body=whole, query=_OURS, content=content, doing=doing)
        return decoded(data, kind, doing)

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
        options = _delete_options(uid, version, grace) | {"propagationPolicy": propagation}
        with suppress(Missing):
            await self.request(
                "DELETE",
                resource.path(namespace, name),
                body=msgspec.json.encode(options),
                doing=f"deleting {resource.describe(namespace, name)}",
                safe="preconditions" in options,
            )

    async def evict(
        self, name: str, namespace: str, *, uid: str | None = None, grace: int | None = None
    ) -> bool:
        """Ask to evict a pod; False when a disruption budget says not now. With `uid` only that very pod."""
        options = _delete_options(uid, None, grace)
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        try:
            await self.request(
                "POST",
                PODS.path(namespace, name, "eviction"),
                body=msgspec.json.encode(body),
                doing=f"evicting {PODS.describe(namespace, name)}",
                safe="preconditions" in options,
            )
        except Missing:
            return True
        except KubeError as error:
            if error.status.has_cause("DisruptionBudget"):
                return False
            raise
        return True

    async def node_proxy(self, node: str, path: str) -> bytes:
        """Ask a node's kubelet through the API server, once, as `metrics/cadvisor` or `stats/summary`."""
        whole = f"{NODES.path(name=node, subresource='proxy')}/{path.lstrip('/')}"
        return await self.request("GET", whole, doing=f"asking nodes {node} for {path}")

    async def pod_log(self, name: str, namespace: str, container: str, *, most: int) -> bytes:
        """The last of what a container said, at most so many bytes."""
        # The server counts bytes from the beginning; lines of a console are longer than ten bytes.
        query = {"container": container, "tailLines": str(most // 10)}
        doing = f"reading the log of {PODS.describe(namespace, name)}, container {container}"
        path = PODS.path(namespace, name, "log")
        return (await self.request("GET", path, query=query, doing=doing, safe=True))[-most:]

    async def exec(
        self, name: str, namespace: str, container: str, command: Sequence[str], *, within: float, most: int
    ) -> Ran:
        """
        Run a command in a container, once, and see how it ends: at most so many bytes of what it prints.

        It needs `get` on `pods/exec` because a WebSocket begins as a GET, and from Kubernetes 1.35 on `create`, too.
        """
        doing = f"running {command[0]} in {PODS.describe(namespace, name)}, container {container}"
        query = {"container": container, "command": tuple(command), "stdout": "true", "stderr": "true"}
        asked = Request("GET", PODS.path(namespace, name, "exec"), doing, query)
        await self._pass()
        async with self._transport.open_socket(asked, CHANNELS, within) as socket:
            return await read_channels(socket, doing, most)

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
    ) -> bytes:
        """
        One request with its retries, within the deadline, which begins when the rate limit lets it pass.

        `safe` ones may be repeated whatever happened; a 429 is waited out for any.
        """
        asked = Request(method, path, doing, query or {}, body, content)
        await self._pass()
        deadline = self._clock.monotonic() + self._timeout
        wait = _FIRST_WAIT_S
        while True:
            timeout = aiohttp.ClientTimeout(total=max(0.001, deadline - self._clock.monotonic()))
            try:
                async with self._transport.send(asked, timeout) as answer:
                    check_is_json(doing, answer)
                    return await answer.read()
            except KubeError as error:
                pause = max(_retry_after(error.status), wait * self._rng.uniform(0.5, 1.0))
                if not _is_worth_repeating(error, safe=safe) or self._clock.monotonic() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)
            await self._pass()
            wait = min(wait * 2, _LONGEST_WAIT_S)

    async def _pass(self) -> None:
        if self._limit is not None:
            await self._limit.wait()


def _is_worth_repeating(error: KubeError, *, safe: bool) -> bool:
    if error.status.code == 429:
        # A disruption budget does not open within a request's time.
        return not error.status.has_cause("DisruptionBudget")
    return safe and (isinstance(error, Unreachable) or error.status.code in _PASSING)


def _retry_after(status: Status) -> float:
    return float(status.details.retry_after_seconds) if status.details else 0.0


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in answer.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def decoded(data: bytes, kind: type[T], doing: str) -> T:
    """An answer's body as this type, or an error that says what it was for."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise broken(doing, error) from None


def _delete_options(uid: str | None, version: str | None, grace: int | None) -> dict[str, Any]:
    conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
    options: dict[str, Any] = {"preconditions": conditions} if conditions else {}
    return options if grace is None else options | {"gracePeriodSeconds": grace}


def _selected(labels: str | None, fields: str | None) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _whole(resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
