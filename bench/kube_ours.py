"""What `remuda.kube` does of the work that is compared."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.kube_work import NAMESPACE, PAGE, Measured, apply_all
from remuda.kube.cache import Cache
from remuda.kube.client import Client, Listed
from remuda.kube.config import from_kubeconfig
from remuda.kube.resources import CONFIG_MAPS, NODES, KubeObject
from remuda.loop.clock import SystemClock

SYNC_S = 60.0


class Taint(Struct, frozen=True, gc=False):
    """A taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Condition(Struct, frozen=True, gc=False):
    """A condition."""

    type: str = ""
    status: str = ""
    reason: str = ""


class NodeSpec(Struct, frozen=True, gc=False):
    """What decides whether pods may come."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True, gc=False):
    """What a node offers, and how it is."""

    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class Node(KubeObject, frozen=True, gc=False):
    """A node with all its metadata that is ever read, as jobs that place pods read it."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Replayed(Client):
    """Answers every request and watch with what the server sent once, without a network."""

    def replay(self, pages: list[bytes], lines: list[bytes]) -> None:
        self._left = iter(pages)
        self._recorded = lines
        self.began = 0.0
        self.ended = asyncio.Event()

    async def request(self, *_: Any, **__: Any) -> bytes:
        return next(self._left)

    @asynccontextmanager
    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        self.began = time.process_time()
        yield self._lines()

    async def _lines(self) -> AsyncIterator[bytes]:
        for line in self._recorded:
            yield line
        self.ended.set()


class Later(Client):
    """Lists nothing, as of a version; watches the server from there."""

    version = ""

    async def list(self, *_: Any, **__: Any) -> Listed[Any]:
        return Listed([], self.version)


async def listed(client: Client) -> list[Node]:
    """All nodes. A list, since `asyncio.run` writes down what it returns, and of a list only the beginning."""
    async with client:
        return (await client.list(NODES, Node, page=PAGE)).items


class Remuda:
    """`remuda.kube`: a projection of what is read, over aiohttp."""

    def __init__(self, kubeconfig: Path) -> None:
        self._clock, self._rng = SystemClock(), random.Random(1)
        self._access = from_kubeconfig([kubeconfig], self._clock)

    def decode(self, pages: list[bytes]) -> object:
        client = Replayed(self._access, self._clock, self._rng)
        client.replay(pages, [])
        return asyncio.run(listed(client))

    def listed(self) -> list[Any]:
        return asyncio.run(listed(self._client()))

    def handle(self, lines: list[bytes]) -> float:
        async def run() -> float:
            async with Replayed(self._access, self._clock, self._rng) as client:
                client.replay([b"{}"], lines)
                cache = Cache(client, NODES, Node, self._clock, self._rng)
                running = asyncio.create_task(cache.run())
                await client.ended.wait()
                took = time.process_time() - client.began
                running.cancel()
                assert len(cache.objects) == len(lines)
                return took

        return asyncio.run(run())

    def watch(self, from_version: str, count: int) -> object:
        async def run() -> object:
            full = asyncio.Event()
            async with Later(self._access, self._clock, self._rng) as client:
                client.version = from_version
                cache = Cache(
                    client,
                    NODES,
                    Node,
                    self._clock,
                    self._rng,
                    lambda: full.set() if len(cache.objects) == count else None,
                )
                running = asyncio.create_task(cache.run())
                await full.wait()
                running.cancel()
                return cache.objects

        return asyncio.run(run())

    def hold(self) -> tuple[object, int]:
        async def run() -> tuple[object, int]:
            async with self._client() as client:
                cache = Cache(client, NODES, Node, self._clock, self._rng)
                running = asyncio.create_task(cache.run())
                await cache.wait_synced(SYNC_S)
                running.cancel()
                return cache, len(cache.objects)

        return asyncio.run(run())

    async def apply(self, bodies: list[dict[str, Any]]) -> Measured:
        async with self._client() as client:
            return await apply_all(
                bodies, lambda body: client.apply(CONFIG_MAPS, body, KubeObject, NAMESPACE)
            )

    def _client(self) -> Client:
        return Client(self._access, self._clock, self._rng)
