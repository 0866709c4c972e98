"""From a watch event of one VM among ten thousand to the plan that follows from it, without network and servers."""

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from bench.runners_vms import SPEC, vm, vmi
from bench.runners_work import CHANGES, MADE_AT, POOLS, VMS_EACH, Measured
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.credentials import Fixed
from remuda.kube.resources import Resource
from remuda.kube.secrets import Secrets
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.needs import Worker
from remuda.pools.controller import PoolsController
from remuda.pools.decide.model import Bounds, Memory, Policy, PoolPolicy
from remuda.pools.meters import PoolMeters
from remuda.pools.policy import PoolSetup
from remuda.providers.kubevirt.provider import KubevirtProvider
from remuda.providers.kubevirt.resources import MEMBER, POOL, TEMPLATE, VMIS
from remuda.sources.circleci.agents import Listing
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import Host
from remuda.sources.circleci.source import CircleCI

NAMESPACE, BUSY = "bench", 60
GROUPS = {
    "/apis/kubevirt.io": {"preferredVersion": {"version": "v1"}},
    "/apis/kubevirt.io/v1": {"resources": [{"name": "virtualmachines", "kind": "VirtualMachine"}]},
    "/apis/pool.kubevirt.io": {"preferredVersion": {"version": "v1beta1"}},
    "/apis/pool.kubevirt.io/v1beta1": {
        "resources": [{"name": "virtualmachinepools", "kind": "VirtualMachinePool"}]
    },
}


class Played(Client):
    """A server's answers and watches, without the server."""

    def play(self, answers: dict[str, bytes]) -> None:
        self._answers = answers
        self._events: dict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)

    async def request(self, method: str, path: str, **_: Any) -> bytes:  # noqa: ARG002 - as it is called
        return self._answers.get(path) or b'{"metadata":{"resourceVersion":"1"},"items":[]}'

    @asynccontextmanager
    async def watch(self, resource: Resource, *_: Any, **__: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._lines(resource.plural)

    async def _lines(self, plural: str) -> AsyncIterator[bytes]:
        while True:
            yield await self._events[plural].get()

    def send(self, resource: Resource, line: bytes) -> None:
        self._events[resource.plural].put_nowait(line)


class Quiet:
    """A CircleCI that always says the same: most VMs of each class work."""

    async def unclaimed(self, _: str) -> int:
        return 0

    async def running(self, _: str) -> int:
        return BUSY

    async def agents(self, job_class: str) -> Listing:
        workers = {}
        for index in range(VMS_EACH):
            is_busy = index < BUSY
            workers[f"{job_class[4:]}-{index}"] = Worker(
                MADE_AT, "task" if is_busy else None, int(is_busy), connected_at=MADE_AT
            )
        return Listing(workers)

    async def close(self) -> None:
        pass


def objects() -> dict[str, list[dict[str, Any]]]:
    """Pools, VMs and guests, by the last word of their path."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number in range(POOLS):
        name, uid = f"p{number:03}", f"pool-{number}"
        labels = {POOL: name, TEMPLATE: "t", MEMBER: name}
        template = {
            "metadata": {"labels": labels},
            "spec": {"runStrategy": "Once", "template": {"metadata": {"labels": labels}, "spec": SPEC}},
        }
        spec = {"replicas": VMS_EACH, "virtualMachineTemplate": template}
        found["virtualmachinepools"].append(_known({"metadata": {"name": name}, "spec": spec}, uid))
        for index in range(VMS_EACH):
            made = _known(vm(f"{name}-{index}", template, {"name": name, "uid": uid}), f"vm-{number}-{index}")
            found["virtualmachines"].append(made)
            guest = vmi(made, made["metadata"]["uid"])
            found["virtualmachineinstances"].append(_known(guest, f"vmi-{number}-{index}"))
    return found


def _known(body: dict[str, Any], uid: str, version: int = 1) -> dict[str, Any]:
    meta = {"uid": uid, "namespace": NAMESPACE, "resourceVersion": str(version)}
    meta["creationTimestamp"] = "2026-01-05T00:00:00Z"
    return {**body, "metadata": {**body["metadata"], **meta}}


def _path(plural: str) -> str:
    version = "pool.kubevirt.io/v1beta1" if plural == "virtualmachinepools" else "kubevirt.io/v1"
    return f"/apis/{version}/namespaces/{NAMESPACE}/{plural}"


async def changes() -> Measured:
    """Let guests end, one after another; the seconds until there is a plan that replaces the VM."""
    clock, rng, registry = SystemClock(), random.Random(1), CollectorRegistry()
    log = Log(clock, lambda _: None)
    known = objects()
    answers = {path: json.dumps(body).encode() for path, body in GROUPS.items()}
    for plural, items in known.items():
        page = {"metadata": {"resourceVersion": "1"}, "items": items}
        answers[_path(plural)] = json.dumps(page).encode()
    async with Played(Access("http://127.0.0.1:1", Fixed(Trust())), clock, rng) as client:
        client.play(answers)
        woken = asyncio.Event()
        secrets = Secrets(client, NAMESPACE, clock, rng)
        provider = KubevirtProvider(client, client, NAMESPACE, secrets, clock, rng, log, woken.set)
        following = asyncio.create_task(provider.run())
        await woken.wait()
        pools = {
            item["metadata"]["name"]: f"org/{item['metadata']['name']}"
            for item in known["virtualmachinepools"]
        }
        guests = rng.sample(known["virtualmachineinstances"], CHANGES)
        # What the server would have is not ours to carry.
        known.clear()
        answers.clear()
        source = CircleCI(
            Quiet(), clock, rng, log, lambda: None, CircleMeters(registry), host=Host(float("inf"))
        )
        source.serve(pools)
        job = PoolsController({"circleci": source}, {"kubevirt": provider}, dict, clock, PoolMeters(registry))
        job.setups = {
            pool: PoolSetup(pool, name, "circleci", "kubevirt", "t", {}, None, 1, 0)
            for pool, name in pools.items()
        }
        bounds = Bounds(VMS_EACH, 2 * VMS_EACH)
        policy = Policy(
            {pool: PoolPolicy(pool, name, "t", bounds, idle_window=60_000) for pool, name in pools.items()}
        )
        await source.refresh()
        seen, memory = await job.observe(()), Memory()
        assert sum(len(pool.machines) for pool in seen.pools) == POOLS * VMS_EACH
        plan, memory = job.decide(seen, memory, policy, clock.now())
        assert plan.actions == ()
        walls, cpus, parts = [], [], []
        version = 1
        for guest in guests:
            name = guest["metadata"]["name"]
            for phase in ("Succeeded", "Running"):
                version += 1
                fresh = vmi(
                    {"metadata": {"name": name}, "spec": {"template": guest}},
                    guest["metadata"]["ownerReferences"][0]["uid"],
                    phase,
                )
                event = {"type": "MODIFIED", "object": _known(fresh, guest["metadata"]["uid"], version)}
                line = json.dumps(event).encode()
                await asyncio.sleep(0)
                woken.clear()
                began, used = time.perf_counter(), time.process_time()
                client.send(VMIS, line)
                await woken.wait()
                taken = time.perf_counter()
                seen = await job.observe(())
                observed = time.perf_counter()
                plan, memory = job.decide(seen, memory, policy, clock.now())
                ended = time.perf_counter()
                if phase == "Succeeded":
                    walls.append(ended - began)
                    cpus.append(time.process_time() - used)
                    parts.append((taken - began, observed - taken, ended - observed))
                    assert name in {action.target for action in plan.actions}
        following.cancel()
    middle = sorted(parts, key=sum)[len(parts) // 2]
    return {"walls": walls, "cpus": cpus, "taken": middle[0], "observed": middle[1], "decided": middle[2]}
