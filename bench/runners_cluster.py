"""A real `remuda up --cluster` on real servers, with KubeVirt's virt-controller: how fast it scales, and what it holds."""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from tests.kubevirt.installation import Installation
from tests.servers.cluster import Cluster
from tests.sources.circleci.loopback import agent
from tests.test_cluster import API, Replica, define

from bench.idle import rss_mb
from bench.runners_circle import TOKEN, Circle
from bench.runners_vms import SPEC, vm, vmi
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.resources import Resource
from remuda.loop.clock import SystemClock

CHANGES = 40
#: classes of the controller that is weighed, and VMs of each
CLASSES, EACH = 20, 25
HOLD_S, WAIT_S = 15.0, 180.0
VM_POOLS = Resource("pool.kubevirt.io", "v1beta1", "virtualmachinepools", "VirtualMachinePool")


class Changed(Struct, frozen=True):
    """Seconds from each poll that saw a change to the patch that followed."""

    took: list[float]


class Held(Struct, frozen=True):
    """The most that was resident for a while, and ever."""

    mb: float
    peak_mb: float
    seconds: float


class _Spec(Struct):
    replicas: int = 0


class _Pool(Struct):
    spec: _Spec


class _Event(Struct):
    type: str
    object: msgspec.Raw


def measured(servers: dict[str, Path]) -> tuple[Changed, Held]:
    with (
        tempfile.TemporaryDirectory(prefix="remuda-") as name,
        Installation(servers, audit=False) as kubevirt,
    ):
        define(kubevirt.cluster)
        changed = changes(kubevirt.cluster, Path(name))
        kubevirt.kill_controller()
        return changed, held(kubevirt.cluster, Path(name))


@contextmanager
def running(cluster: Cluster, namespace: str, directory: Path, pools: dict[str, Any]) -> Iterator[Replica]:
    """A controller in a namespace of its own; `pools` are the words of each beside the usual ones."""
    made(cluster, "/api/v1/namespaces", {"metadata": {"name": namespace}})
    secret = {"metadata": {"name": "runner"}, "stringData": {"api": TOKEN, "token": "a-runner-token"}}
    made(cluster, f"/api/v1/namespaces/{namespace}/secrets", secret)
    # virt-controller makes pods, and theirs is made by controllers that do not run
    account = {"metadata": {"name": "default"}}
    made(cluster, f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
    for name, words in pools.items():
        machine = {"spec": SPEC, "token": {"secret": "runner", "key": "token"}}
        spec = {"provider": {"kubevirt": machine}, "max": 100, **words}
        body = {"apiVersion": "remuda.dev/v1alpha1", "kind": "RunnerPool", "metadata": {"name": name}}
        made(cluster, f"{API}/{namespace}/runnerpools", {**body, "spec": spec})
    replica = Replica(cluster, namespace, directory, namespace)
    try:
        yield replica
    finally:
        replica.end()


def pool_of(circle: Circle, job_class: str, **words: Any) -> dict[str, Any]:
    source = {"url": circle.url, "token": {"secret": "runner", "key": "api"}}
    return {"class": job_class, "source": {"circleci": source}, **words}


def changes(cluster: Cluster, directory: Path) -> Changed:
    """Let tasks come one by one, at any moment between two polls."""
    with Circle() as circle:
        circle.send("bench/ci", 1, agents=[])
        pools = {"ci": pool_of(circle, "bench/ci", min=0)}
        with running(cluster, "changes", directory, pools) as replica:
            wait(lambda: replicas(cluster, "changes").get("ci") == 1, "a VM for the first task", replica)
            return Changed(asyncio.run(follow(cluster, "changes", circle)))


async def follow(cluster: Cluster, namespace: str, circle: Circle) -> list[float]:
    clock, rng = SystemClock(), random.Random(1)
    access = from_kubeconfig([cluster.kubeconfig()], clock)
    took = []
    async with Client(access, clock, rng) as client, client.watch(VM_POOLS, "0", namespace) as lines:
        for tasks in range(2, CHANGES + 2):
            await asyncio.sleep(rng.random())
            circle.send("bench/ci", tasks)
            answered = asyncio.create_task(asyncio.to_thread(circle.answered_at))
            async with asyncio.timeout(WAIT_S):
                async for line in lines:
                    event = msgspec.json.decode(line, type=_Event)
                    if event.type in ("ADDED", "MODIFIED"):
                        pool = msgspec.json.decode(event.object, type=_Pool)
                        if pool.spec.replicas == tasks:
                            scaled_at = time.monotonic()
                            break
            took.append(scaled_at - await answered)
    return took


def held(cluster: Cluster, directory: Path) -> Held:
    """Give every pool its VMs, as virt-controller would, and weigh the controller that follows them."""
    with Circle() as circle:
        classes = {f"p{i:02}": f"bench/p{i:02}" for i in range(CLASSES)}
        for job_class in classes.values():
            circle.send(job_class, agents=[])
        pools = {name: pool_of(circle, each, min=EACH, max=EACH) for name, each in classes.items()}
        with running(cluster, "held", directory, pools) as replica:
            wanted = dict.fromkeys(classes, EACH)
            wait(
                lambda: replicas(cluster, "held") == wanted,
                "VirtualMachinePools that want their VMs",
                replica,
            )
            fill(cluster, "held")
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            for name, job_class in classes.items():
                agents = [agent(f"{name}-{index}", job_class, first_connected=now) for index in range(EACH)]
                circle.send(job_class, agents=agents)
            wait(lambda: ready(cluster, "held") == wanted, "pools whose VMs are all ready", replica)
            began, most = time.monotonic(), 0.0
            while time.monotonic() - began < HOLD_S:
                most = max(most, rss_mb(replica.process.pid))
                time.sleep(0.2)
            assert ready(cluster, "held") == wanted
            return Held(most, peak_mb(replica.process.pid), HOLD_S)


def fill(cluster: Cluster, namespace: str) -> None:
    vms, vmis = (
        f"/apis/kubevirt.io/v1/namespaces/{namespace}/{plural}"
        for plural in ("virtualmachines", "virtualmachineinstances")
    )

    def one(pool: dict[str, Any], index: int) -> None:
        body = vm(
            f"{pool['metadata']['name']}-{index}", pool["spec"]["virtualMachineTemplate"], pool["metadata"]
        )
        whole = made(cluster, vms, body)
        path = f"{vms}/{body['metadata']['name']}/status"
        answer = cluster.request("PUT", path, {**whole, "status": body["status"]})
        assert answer.status == 200, answer.text
        made(cluster, vmis, vmi(body, whole["metadata"]["uid"]))

    with ThreadPoolExecutor(4) as threads:
        for done in [
            threads.submit(one, pool, index) for pool in items(cluster, namespace) for index in range(EACH)
        ]:
            done.result()


def made(cluster: Cluster, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = cluster.request("POST", path, body)
    assert answer.status == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def items(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.request("GET", VM_POOLS.path(namespace)).json()["items"]
    return found


def replicas(cluster: Cluster, namespace: str) -> dict[str, int]:
    return {item["metadata"]["name"]: item["spec"]["replicas"] for item in items(cluster, namespace)}


def ready(cluster: Cluster, namespace: str) -> dict[str, int]:
    listed = cluster.request("GET", f"{API}/{namespace}/runnerpools").json()["items"]
    return {item["metadata"]["name"]: item.get("status", {}).get("ready", 0) for item in listed}


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def wait(look: Callable[[], bool], what: str, replica: Replica) -> None:
    deadline = time.monotonic() + WAIT_S
    while not look():
        if time.monotonic() > deadline:
            sys.exit(f"bench runners: not within {WAIT_S:g} s: {what}\n{replica.log.read_text()[-4000:]}")
        time.sleep(0.2)
