"""A KubeVirt provider at a real API server, and what tests ask of the objects behind it."""

import asyncio
import random
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.cluster import Cluster

from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.secrets import Secrets
from remuda.loop.clock import SystemClock
from remuda.loop.faults import no_fault
from remuda.loop.logs import Log
from remuda.model.machines import Order, Supplied
from remuda.providers.kubevirt.provider import KubevirtProvider

DEADLINE_S = 120.0
TOKEN = "s3cret-class-token"
SPEC = {
    "domain": {"devices": {}, "resources": {"requests": {"memory": "64Mi"}}},
}
SETTINGS: dict[str, Any] = {
    "spec": SPEC,
    "token": {"secret": "runner", "key": "token"},
    "class": "my-org/linux",
    "url": "https://runner.circleci.com/",
    "maxRunTime": "1h",
}


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Steps:
    """Where a process is killed: at the step of this name, once."""

    kill_at: str = ""
    passed: list[str] = field(default_factory=list)

    async def __call__(self, step: str) -> None:
        self.passed.append(step)
        if step == self.kill_at:
            self.kill_at = ""
            raise Killed(step)
        await no_fault(step)


@dataclass
class Rig:
    """A provider that runs, its steps, and the API server behind it."""

    provider: KubevirtProvider
    cluster: Cluster
    namespace: str
    secrets: Secrets
    steps: Steps
    lines: list[str]
    wakes: list[float]
    pools_version: str = "v1beta1"
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(100, 10_000)))

    def order(self, pool: str = "linux", template: str = "t1", **settings: Any) -> Order:
        name = f"{pool}-{next(self.numbers)}"
        return Order(name, pool, template, SystemClock().now(), None, SETTINGS | settings)

    async def create(self, count: int = 1, pool: str = "linux", **options: Any) -> list[Order]:
        orders = [self.order(pool, **options) for _ in range(count)]
        await asyncio.gather(*(self.provider.create(order) for order in orders))
        return orders

    async def machines(self) -> dict[str, Supplied]:
        return {item.name: item for item in await self.provider.list()}

    async def delete(self, name: str, *, at_once: bool = False) -> bool:
        machine = (await self.machines())[name]
        return await self.provider.delete(name, machine.identity, at_once=at_once)

    async def until(self, look: Callable[[dict[str, Supplied]], object]) -> dict[str, Supplied]:
        """The machines once they are as wanted; a failure shows them as they last were."""
        deadline = time.monotonic() + DEADLINE_S
        while not look(seen := await self.machines()):
            assert time.monotonic() < deadline, f"last seen: {sorted(seen.values(), key=lambda m: m.name)}"
            await asyncio.sleep(0.02)
        return seen

    async def until_ready(self, *names: str) -> dict[str, Supplied]:
        return await self.until(
            lambda seen: set(seen) == set(names) and all(item.ready_at for item in seen.values())
        )

    async def until_vms(self, look: Callable[[dict[str, dict[str, Any]]], object]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not look(seen := await asyncio.to_thread(self.vms)):
            assert time.monotonic() < deadline, f"last seen: {seen}"
            await asyncio.sleep(0.05)

    # What the API server has

    def vms(self) -> dict[str, dict[str, Any]]:
        return self._all("kubevirt.io/v1", "virtualmachines")

    def pools(self) -> dict[str, dict[str, Any]]:
        return self._all(f"pool.kubevirt.io/{self.pools_version}", "virtualmachinepools")

    def user_data(self) -> dict[str, dict[str, Any]]:
        path = f"/api/v1/namespaces/{self.namespace}/secrets?labelSelector=remuda.dev/guest"
        return {item["metadata"]["name"]: item for item in self.cluster.request("GET", path).json()["items"]}

    def replicas(self, pool: str = "linux") -> int:
        return int(self.pools()[pool]["spec"]["replicas"])

    def patch(self, path: str, body: object) -> None:
        answer = self.cluster.request(
            "PATCH", self.path(path), body, content_type="application/merge-patch+json"
        )
        assert answer.status == 200, answer.text

    def path(self, rest: str) -> str:
        """Of `virtualmachines/NAME` and so on."""
        group = f"pool.kubevirt.io/{self.pools_version}" if "pools" in rest else "kubevirt.io/v1"
        return f"/apis/{group}/namespaces/{self.namespace}/{rest}"

    def _all(self, group: str, plural: str) -> dict[str, dict[str, Any]]:
        path = f"/apis/{group}/namespaces/{self.namespace}/{plural}"
        return {item["metadata"]["name"]: item for item in self.cluster.request("GET", path).json()["items"]}

    def token(self, value: str = TOKEN) -> None:
        make_secret(self.cluster, self.namespace, "runner", {"token": value})


def make_secret(cluster: Cluster, namespace: str, name: str, values: dict[str, str]) -> None:
    """Make a Secret, or replace its values."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    data = {key: b64encode(value.encode()).decode() for key, value in values.items()}
    body = {"metadata": {"name": name}, "data": data}
    answer = cluster.request("POST", path, body)
    if answer.status == 409:
        answer = cluster.request("PUT", f"{path}/{name}", body)
    assert answer.status in (200, 201), answer.text


@asynccontextmanager
async def running(
    cluster: Cluster,
    namespace: str,
    *,
    fence: Callable[[], bool] = lambda: True,
    young_s: float = 600.0,
    token: str | None = TOKEN,
    user: str | None = None,
) -> AsyncIterator[Rig]:
    """A provider with its Secret `runner`, followed until the end; `user` is the token it shows, an admin's if none."""
    clock, rng, lines, wakes, steps = SystemClock(), random.Random(1), list[str](), list[float](), Steps()
    access, open_before = from_kubeconfig([cluster.kubeconfig(token=user)], clock), open_sockets()
    if token is not None:
        make_secret(cluster, namespace, "runner", {"token": token})
    async with Client(access, clock, rng) as reader, Client(access, clock, rng, fence=fence) as writer:
        secrets = Secrets(reader, namespace, clock, rng)
        secrets.follow("runner")
        provider = KubevirtProvider(
            reader,
            writer,
            namespace,
            secrets,
            clock,
            rng,
            Log(clock, lines.append),
            lambda: wakes.append(time.monotonic()),
            fault_point=steps,
            young_s=young_s,
        )
        tasks = [asyncio.create_task(provider.run()), asyncio.create_task(secrets.run())]
        try:
            await settled(provider, lambda: secrets.is_tried("runner"))
            yield Rig(provider, cluster, namespace, secrets, steps, lines, wakes)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    await goodbye(open_before)


def open_sockets() -> int:
    """How many sockets the event loop has."""
    return len(asyncio.get_running_loop()._selector.get_map())  # type: ignore[attr-defined]


async def goodbye(open_before: int = 1) -> None:
    """Wait until no more sockets are open than before: TLS says goodbye after a client was closed."""
    deadline = time.monotonic() + 5.0
    while open_sockets() > open_before and time.monotonic() < deadline:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def settled(provider: KubevirtProvider, also: Callable[[], bool] = lambda: True) -> None:
    """Return when the provider lists."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            await provider.list()
            if also():
                return
        except Exception as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not list: {error}") from error
        await asyncio.sleep(0.02)


@contextmanager
def killed() -> Iterator[None]:
    """The process is killed in here."""
    try:
        yield
    except Killed:
        return
    raise AssertionError("it was not killed")


async def quiet(look: Callable[[], Awaitable[object]], seconds: float = 3.0) -> None:
    """Return when `look` stays the same for so long: more than KubeVirt waits before it reconciles a pool."""
    before, since = await look(), time.monotonic()
    while time.monotonic() - since < seconds:
        await asyncio.sleep(0.1)
        after = await look()
        if after != before:
            before, since = after, time.monotonic()
