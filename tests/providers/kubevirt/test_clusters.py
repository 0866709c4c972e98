"""What the provider does in clusters of other kinds: no pools, old pools, no KubeVirt."""

import asyncio
import json
import random
from functools import partial
from typing import Any

import pytest
from tests.kubevirt.fixtures import NewKubevirt
from tests.kubevirt.guests import Guests, Script
from tests.kubevirt.installation import DEFINITIONS, POOL, Installation, definitions
from tests.kubevirt.machines import eventually
from tests.providers.kubevirt.rig import Rig, Steps, goodbye, killed, make_secret, quiet, running
from tests.servers.cluster import Cluster
from tests.servers.fixtures import NewCluster, Programs, new_namespace

from remuda.errors import Unavailable
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.secrets import Secrets
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.providers.kubevirt.discovery import discover
from remuda.providers.kubevirt.provider import KubevirtProvider

from tests.providers.kubevirt.test_settings import Setup  # isort: skip

pytestmark = pytest.mark.slow


async def api_of(cluster: Cluster) -> Any:
    async with Client(
        from_kubeconfig([cluster.kubeconfig()], SystemClock()), SystemClock(), random.Random(1)
    ) as client:
        found = await discover(client)
    await goodbye()
    return found


async def test_without_pools_machines_are_made_one_by_one(new_kubevirt: NewKubevirt) -> None:
    kubevirt = await asyncio.to_thread(lambda: new_kubevirt(pools="none"))
    with new_namespace(kubevirt.cluster) as namespace, Guests(kubevirt.cluster, namespace) as guests:
        make_runner_pool(kubevirt, namespace)
        async with running(kubevirt.cluster, namespace) as rig:
            await check_direct(rig, guests)


def make_runner_pool(kubevirt: Installation, namespace: str) -> None:
    """The kind is enough: the owner of what is made."""
    names = {"plural": "runnerpools", "singular": "runnerpool", "kind": "RunnerPool"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "remuda.dev", "names": names, "scope": "Namespaced", "versions": [version]}
    body = {"metadata": {"name": "runnerpools.remuda.dev"}, "spec": spec}
    define(kubevirt.cluster, body)
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{namespace}/runnerpools"
    pool = {"apiVersion": "remuda.dev/v1alpha1", "kind": "RunnerPool", "metadata": {"name": "linux"}}
    answer = kubevirt.cluster.request("POST", path, pool)
    assert answer.status == 201, answer.text


async def check_direct(rig: Rig, guests: Guests) -> None:
    orders = await rig.create(3)
    names = [order.name for order in orders]
    assert set(await rig.machines()) == set(names)
    await rig.until_ready(*names)
    await rig.provider.create(orders[0])
    assert len(rig.vms()) == 3
    (secret,) = rig.user_data().values()
    assert secret["metadata"]["ownerReferences"][0]["kind"] == "RunnerPool"
    guests.script("*", Script(shutdown_s=None))
    assert await rig.delete(names[0])
    await rig.until(lambda seen: seen[names[0]].leaving)
    await asyncio.to_thread(guests.power_off, names[0])
    await rig.until(lambda seen: seen[names[0]].ended)
    for step in ("lowered", "detached", "deleted"):
        rig.steps.kill_at = step
        if names[0] in await rig.machines():
            with killed():
                await rig.delete(names[0])
    await rig.until(lambda seen: set(seen) == set(names[1:]))
    await asyncio.to_thread(rig.cluster.kubectl, "delete", "vm", "--all", "--wait=false", "-n", rig.namespace)
    for name in names[1:]:
        await asyncio.to_thread(guests.power_off, name)
    await rig.until(lambda seen: not seen)


def old_pool(every: list[dict[str, Any]], *, without: bool) -> dict[str, Any]:
    """The definition of pools with v1alpha1 alone: of 1.8, or as before 1.7 without strategies."""
    (pool,) = (one for one in every if one["metadata"]["name"] == POOL)
    versions = [{**one, "storage": True} for one in pool["spec"]["versions"] if one["name"] == "v1alpha1"]
    if without:
        spec = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        for name in ("updateStrategy", "autohealing"):
            spec.pop(name, None)
    return {**pool, "spec": {**pool["spec"], "versions": versions}}


@pytest.fixture
def bare(programs: Programs, new_cluster: NewCluster) -> tuple[Cluster, list[dict[str, Any]]]:
    """An API server with the definition of VMs and instances, and all that there could be."""
    every = definitions(programs("kubevirt-crds")["kubevirt-crds"])
    cluster = new_cluster()
    for one in every:
        if one["metadata"]["name"] in ("virtualmachines.kubevirt.io", "virtualmachineinstances.kubevirt.io"):
            define(cluster, one)
    return cluster, every


def define(cluster: Cluster, one: dict[str, Any]) -> None:
    answer = cluster.request("POST", DEFINITIONS, one)
    assert answer.status == 201, answer.text
    spec = one["spec"]
    for version in spec["versions"]:
        path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1"
        eventually(partial(status_of, cluster, path), 200)


def status_of(cluster: Cluster, path: str) -> int:
    return cluster.request("GET", path).status


async def test_pools_of_v1alpha1_are_used_if_they_leave_the_choice_to_us(
    bare: tuple[Cluster, list[dict[str, Any]]],
) -> None:
    cluster, every = bare
    define(cluster, old_pool(every, without=False))
    await published(cluster)
    with new_namespace(cluster) as namespace:
        async with running(cluster, namespace) as rig:
            rig.pools_version = "v1alpha1"
            await rig.create(2)
            pool = rig.pools()["linux"]
            assert pool["apiVersion"] == "pool.kubevirt.io/v1alpha1"
            assert pool["spec"]["replicas"] == 2
            assert pool["spec"]["scaleInStrategy"] == pool["spec"]["updateStrategy"] == {"unmanaged": {}}
            await quiet(rig.machines, 0.5)
            first, second = sorted(await rig.machines())
            assert first.startswith("linux:")
            assert await rig.delete(first)
            assert set(await rig.machines()) == {second}
            assert rig.replicas() == 1


async def test_pools_that_would_delete_vms_by_their_own_choice_are_not_used(
    bare: tuple[Cluster, list[dict[str, Any]]],
) -> None:
    cluster, every = bare
    define(cluster, old_pool(every, without=True))
    await published(cluster)
    api = await api_of(cluster)
    assert api is not None
    assert api.pools is None


async def published(cluster: Cluster) -> None:
    """The schema of a new kind is published a moment after the kind."""

    def is_published() -> bool:
        answer = cluster.request("GET", "/openapi/v3/apis/pool.kubevirt.io/v1alpha1")
        return answer.status == 200 and "VirtualMachinePool" in json.dumps(
            answer.json().get("components", {})
        )

    await asyncio.to_thread(eventually, is_published)


async def test_the_newest_pools_are_preferred(kubevirt: Installation) -> None:
    api = await api_of(kubevirt.cluster)
    assert api.pools.api_version == "pool.kubevirt.io/v1beta1"


async def test_a_cluster_without_kubevirt_says_what_to_do(cluster: Cluster, namespace: str) -> None:
    clock, rng, lines = SystemClock(), random.Random(1), list[str]()
    make_secret(cluster, namespace, "runner", {"token": "x"})
    async with Client(from_kubeconfig([cluster.kubeconfig()], clock), clock, rng) as client:
        secrets = Secrets(client, namespace, clock, rng)
        log = Log(clock, lines.append)
        provider = KubevirtProvider(client, client, namespace, secrets, clock, rng, log, fault_point=Steps())
        with pytest.raises(Unavailable, match="not looked for yet"):
            await provider.list()
        task = asyncio.create_task(provider.run())
        async with asyncio.timeout(60):
            while "not installed" not in " ".join(provider.trouble()):  # noqa: ASYNC110 - polled as all of it is
                await asyncio.sleep(0.02)
        assert await provider.list() == ()
        assert lines == []
        provider.follow([Setup()])
        with pytest.raises(
            Unavailable, match="KubeVirt is not installed in this cluster: install its operator"
        ):
            await provider.list()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await goodbye()
