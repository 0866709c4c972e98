"""
The same work with our client and with others, each in a fresh process of its own.

    python -m bench.kube_work CLIENT WORK DIRECTORY

prints one JSON object of what was measured. CLIENT is `remuda`, `lightkube` or `kubernetes`, and only that one is
imported. The directory holds a kubeconfig, the pages of a list and the lines of a watch as the server sent them, and
the version from which the watch began.
"""

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

PAGE, APPLIES, AT_ONCE, NAMESPACE = 500, 1_000, 32, "bench"
#: each thing is told of the best of so many tries, or of as many as began in so many seconds; memory and applies once
TRIES, TRYING_S = 5, 10.0

Measured = dict[str, float]


class Client(Protocol):
    """The work, as one client does it."""

    def decode(self, pages: list[bytes]) -> object:
        """Make objects of the pages of a list."""

    def listed(self) -> list[Any]:
        """All nodes, from the server, in pages."""

    def handle(self, lines: list[bytes]) -> float:
        """CPU seconds to bring a store of all nodes up to date with the lines of a watch."""

    def watch(self, from_version: str, count: int) -> object:
        """Watch nodes on the server until so many events came."""

    def hold(self) -> tuple[object, int]:
        """Something that holds all nodes, and how many."""

    async def apply(self, bodies: list[dict[str, Any]]) -> Measured:
        """What `apply_all` measures."""


def best(work: Callable[[], object]) -> Measured:
    """The least CPU and the least wall seconds; what a try made is let go before the next."""
    walls: list[float] = []
    cpus: list[float] = []
    while len(walls) < TRIES and sum(walls) < TRYING_S:
        gc.collect()
        began, cpu_began = time.perf_counter(), time.process_time()
        made = work()
        cpus.append(time.process_time() - cpu_began)
        walls.append(time.perf_counter() - began)
        del made
    return {"wall": min(walls), "cpu": min(cpus)}


async def apply_all(
    bodies: list[dict[str, Any]], one: Callable[[dict[str, Any]], Awaitable[object]]
) -> Measured:
    """Apply all, a few at once; the first few, which open the connections, are not counted."""

    async def some(left: Iterator[dict[str, Any]]) -> None:
        for body in left:
            await one(body)

    await asyncio.gather(*(one(body) for body in bodies[:AT_ONCE]))
    left = iter(bodies[AT_ONCE:])
    began, cpu_began = time.perf_counter(), time.process_time()
    await asyncio.gather(*(some(left) for _ in range(AT_ONCE)))
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu_began}


class Lightkube:
    """`lightkube`: typed msgspec models of everything, over httpx."""

    def __init__(self, kubeconfig: Path) -> None:
        self._all = import_module("lightkube")
        self._core = import_module("lightkube.resources.core_v1")
        self._decoders = import_module("lightkube.core.decoders")
        self._config = self._all.KubeConfig.from_file(kubeconfig)

    def decode(self, pages: list[bytes]) -> object:
        return [item for page in pages for item in self._decoders.decode_list(page, self._core.Node)[2]]

    def listed(self) -> list[Any]:
        return list(self._all.Client(config=self._config).list(self._core.Node, chunk_size=PAGE))

    def handle(self, lines: list[bytes]) -> float:
        store = {}
        began = time.process_time()
        for line in lines:
            event = self._decoders.decode_watch_event(line)
            node = self._decoders.decode_object(event.object, self._core.Node)
            store[node.metadata.name] = node
        return time.process_time() - began

    def watch(self, from_version: str, count: int) -> object:
        client, store = self._all.Client(config=self._config), {}
        for event in client.watch(self._core.Node, resource_version=from_version):
            store[event[1].metadata.name] = event[1]
            if len(store) == count:
                return store
        raise AssertionError("the watch ended")

    def hold(self) -> tuple[object, int]:
        store = {node.metadata.name: node for node in self.listed()}
        return store, len(store)

    async def apply(self, bodies: list[dict[str, Any]]) -> Measured:
        client = self._all.AsyncClient(config=self._config, field_manager="bench")
        maps = import_module("lightkube.models.meta_v1")

        async def one(body: dict[str, Any]) -> None:
            meta = maps.ObjectMeta(**body["metadata"])
            await client.apply(self._core.ConfigMap(metadata=meta, data=body["data"]))

        return await apply_all(bodies, one)


class Official:
    """`kubernetes`, the official client: generated models, urllib3; its `aio` half for the applies."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client = import_module("kubernetes.client")
        self._kubeconfig = str(kubeconfig)
        import_module("kubernetes.config").load_kube_config(self._kubeconfig)
        self._api = self._client.CoreV1Api()

    def decode(self, pages: list[bytes]) -> object:
        make = self._client.ApiClient().deserialize
        return [
            item for page in pages for item in make(page.decode(), "V1NodeList", "application/json").items
        ]

    def listed(self) -> list[Any]:
        found: list[Any] = []
        token = None
        while token != "":
            page = self._api.list_node(limit=PAGE, _continue=token)
            found += page.items
            token = page.metadata.var_continue or ""
        return found

    def handle(self, lines: list[bytes]) -> float:
        take, store = import_module("kubernetes.watch").Watch().unmarshal_event, {}
        began = time.process_time()
        for line in lines:
            node = take(line.decode(), "V1Node")["object"]
            store[node.metadata.name] = node
        return time.process_time() - began

    def watch(self, from_version: str, count: int) -> object:
        stream, store = import_module("kubernetes.watch").Watch().stream, {}
        for event in stream(self._api.list_node, resource_version=from_version):
            store[event["object"].metadata.name] = event["object"]
            if len(store) == count:
                return store
        raise AssertionError("the watch ended")

    def hold(self) -> tuple[object, int]:
        store = {node.metadata.name: node for node in self.listed()}
        return store, len(store)

    async def apply(self, bodies: list[dict[str, Any]]) -> Measured:
        await import_module("kubernetes.aio.config").load_kube_config(self._kubeconfig)
        aio = import_module("kubernetes.aio.client")
        async with aio.ApiClient() as client:
            patch = aio.CoreV1Api(client).patch_namespaced_config_map

            async def one(body: dict[str, Any]) -> None:
                name = body["metadata"]["name"]
                how = {"field_manager": "bench", "_content_type": "application/apply-patch+yaml"}
                await patch(name, NAMESPACE, body, **how)

            return await apply_all(bodies, one)


def made(name: str, kubeconfig: Path) -> Client:
    match name:
        case "lightkube":
            return Lightkube(kubeconfig)
        case "kubernetes":
            return Official(kubeconfig)
        case _:
            return import_module("bench.kube_ours").Remuda(kubeconfig)  # type: ignore[no-any-return]


def resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def config_maps(of: str) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{of}-{number}", "namespace": NAMESPACE},
            "data": {f"key-{i}": f"value {i} of {number}" for i in range(10)},
        }
        for number in range(APPLIES + AT_ONCE)
    ]


def measure(client: Client, name: str, work: str, given: Path) -> Measured:
    match work:
        case "decode":
            pages = [path.read_bytes() for path in sorted(given.glob("page-*"))]
            return best(lambda: client.decode(pages))
        case "list":
            return best(client.listed)
        case "handle":
            lines = (given / "lines").read_bytes().splitlines()
            return {"cpu": min(client.handle(lines) for _ in range(TRIES)) / len(lines)}
        case "watch":
            count, begins = len((given / "lines").read_bytes().splitlines()), (given / "version").read_text()
            took = best(lambda: client.watch(begins, count))
            return {what: seconds / count for what, seconds in took.items()}
        case "hold":
            before = resident_mb()
            held, count = client.hold()
            added = resident_mb() - before
            del held
            return {"mb": added, "objects": count}
        case _:
            return asyncio.run(client.apply(config_maps(name)))


def main() -> None:
    name, work, given = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if work == "version":
        print(json.dumps(version(name)))
        return
    print(json.dumps(measure(made(name, given / "kubeconfig"), name, work, given)))


if __name__ == "__main__":
    main()
