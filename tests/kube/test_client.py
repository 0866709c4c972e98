"""Requests against a real API server."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from msgspec import Struct, field
from tests.kube.conftest import DEADLINE_S, NewClient, Robot, eventually
from tests.kube.loopback import Asked, Loopback, Reply, failure, reply
from tests.servers.cluster import Cluster

from remuda.kube.client import JSON_PATCH, Client
from remuda.kube.config import Access, from_kubeconfig
from remuda.kube.credentials import TokenFile
from remuda.kube.errors import (
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    Missing,
    Status,
    Unauthorized,
    Unreachable,
    error_for,
)
from remuda.kube.limits import RateLimit
from remuda.kube.resources import CONFIG_MAPS, NODES, PODS, KubeObject, Resource
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


class ConfigMap(KubeObject, frozen=True, gc=False):
    data: dict[str, str] = field(default_factory=dict)


class Replicas(Struct, frozen=True):
    replicas: int = 0


class Scale(KubeObject, frozen=True, gc=False):
    spec: Replicas = field(default_factory=Replicas)
    status: Replicas = field(default_factory=Replicas)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    container = {"name": "c", "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


class Paged(Loopback):
    """Serves a list in pages, the first of which grow too old as often as told."""

    def __init__(self, gone: int) -> None:
        super().__init__(self.page)
        self.gone = gone

    def page(self, asked: Asked) -> Reply:
        at = int(asked.query.get("continue", ["0"])[0])
        if at and self.gone:
            self.gone -= 1
            return failure(410, "Expired", "too old")
        items = [{"metadata": {"name": f"n{at}"}}]
        return reply(
            {"items": items, "metadata": {"continue": str(at + 1) if at < 2 else "", "resourceVersion": "7"}}
        )


async def test_pages_that_grew_too_old_are_begun_again(new_client: NewClient) -> None:
    async with Paged(gone=2) as server:
        listed = await new_client(server.url).list(NODES, KubeObject, page=1)
        assert ([item.metadata.name for item in listed.items], listed.resource_version) == (
            ["n0", "n1", "n2"],
            "7",
        )
        assert len(server.asked) == 7
    async with Paged(gone=3) as server:
        with pytest.raises(Gone, match="listing nodes: 410 Expired: too old"):
            await new_client(server.url).list(NODES, KubeObject, page=1)


@pytest.mark.parametrize("items", [None, []])
async def test_a_list_of_nothing_may_be_null(new_client: NewClient, items: object) -> None:
    async with Loopback([reply({"items": items, "metadata": {"resourceVersion": "1"}})]) as server:
        assert (await new_client(server.url).list(NODES, KubeObject)).items == []


@pytest.mark.slow
async def test_the_deadline_begins_when_the_rate_limit_lets_a_request_pass(new_client: NewClient) -> None:
    async with Loopback([reply({})]) as server:
        client = new_client(server.url, limit=RateLimit(SystemClock(), qps=5, burst=1), timeout=0.5)
        began = time.monotonic()
        await asyncio.gather(*(client.get(NODES, "n", KubeObject) for _ in range(6)))
        assert time.monotonic() - began >= 0.99


async def test_a_kubelet_is_asked_through_the_server_and_may_answer_with_text(new_client: NewClient) -> None:
    async with Loopback([reply(b"cpu 1\n", kind="text/plain; version=0.0.4")]) as server:
        assert await new_client(server.url).node_proxy("n", "/metrics/cadvisor") == b"cpu 1\n"
        assert server.asked[0].path == "/api/v1/nodes/n/proxy/metrics/cadvisor"


@pytest.mark.parametrize(
    ("message", "hints"),
    [
        pytest.param('User "u" cannot list resource "pods"', True, id="a verb that is missing"),
        pytest.param("violates PodSecurity restricted", False, id="admission"),
    ],
)
def test_a_missing_permission_says_how_to_see_what_is_needed(message: str, hints: bool) -> None:
    text = str(error_for("listing pods", Status(403, "Forbidden", message)))
    assert ("`remuda rbac` prints the permissions" in text) is hints


def test_kube_errors_say_doing_code_and_reason() -> None:
    error = error_for("getting nodes n", Status(500, "InternalError", "it broke"))
    assert type(error) is KubeError
    assert str(error) == "getting nodes n: 500 InternalError: it broke"


@pytest.mark.slow
async def test_lists_come_in_pages_with_the_version_they_are_of(admin: Client, namespace: str) -> None:
    names = [f"c{number:02}" for number in range(25)]
    for name in names:
        await admin.create(CONFIG_MAPS, config_map(name, n=name), ConfigMap, namespace)
    listed = await admin.list(CONFIG_MAPS, ConfigMap, namespace, page=10)
    assert [(item.metadata.name, item.data) for item in listed.items] == [
        (name, {"n": name}) for name in names
    ]
    assert int(listed.resource_version) > 0
    only = await admin.list(CONFIG_MAPS, ConfigMap, namespace, fields="metadata.name=c07")
    assert [item.metadata.name for item in only.items] == ["c07"]


@pytest.mark.slow
async def test_an_object_is_created_read_replaced_and_deleted(admin: Client, namespace: str) -> None:
    made = await admin.create(CONFIG_MAPS, config_map("c", a="1"), ConfigMap, namespace)
    assert await admin.get(CONFIG_MAPS, "c", ConfigMap, namespace) == made
    changed = config_map("c", a="2")
    changed["metadata"]["resourceVersion"] = made.metadata.resource_version
    assert (await admin.replace(CONFIG_MAPS, changed, ConfigMap, namespace)).data == {"a": "2"}
    with pytest.raises(
        Conflict, match=f"replacing configmaps {namespace}/c: 409 Conflict: .*has been modified"
    ):
        await admin.replace(CONFIG_MAPS, changed, ConfigMap, namespace)
    await admin.delete(CONFIG_MAPS, "c", namespace)
    await admin.delete(CONFIG_MAPS, "c", namespace)
    with pytest.raises(
        Missing, match=f'getting configmaps {namespace}/c: 404 NotFound: configmaps "c" not found'
    ):
        await admin.get(CONFIG_MAPS, "c", ConfigMap, namespace)


@pytest.mark.slow
async def test_what_exists_or_is_wrong_is_an_error_of_its_own(admin: Client, namespace: str) -> None:
    await admin.create(CONFIG_MAPS, config_map("c"), KubeObject, namespace)
    with pytest.raises(Conflict, match="409 AlreadyExists"):
        await admin.create(CONFIG_MAPS, config_map("c"), KubeObject, namespace)
    with pytest.raises(Invalid, match=r"creating configmaps .*/Not a name: 422 Invalid: .*RFC 1123"):
        await admin.create(CONFIG_MAPS, config_map("Not a name"), KubeObject, namespace)
    with pytest.raises(Missing, match="listing nothings: 404"):
        await admin.list(Resource("", "v1", "nothings", "Nothing"), KubeObject)


@pytest.mark.slow
async def test_only_the_very_object_is_deleted(admin: Client, namespace: str) -> None:
    old = await admin.create(CONFIG_MAPS, config_map("c"), KubeObject, namespace)
    await admin.delete(CONFIG_MAPS, "c", namespace, uid=old.metadata.uid)
    new = await admin.create(CONFIG_MAPS, config_map("c"), KubeObject, namespace)
    with pytest.raises(
        Conflict, match=f"deleting configmaps {namespace}/c: 409 Conflict: .*the UID in the precondition"
    ):
        await admin.delete(CONFIG_MAPS, "c", namespace, uid=old.metadata.uid)
    later = await admin.patch(CONFIG_MAPS, "c", {"data": {"a": "1"}}, KubeObject, namespace)
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        await admin.delete(CONFIG_MAPS, "c", namespace, version=new.metadata.resource_version)
    await admin.delete(CONFIG_MAPS, "c", namespace, version=later.metadata.resource_version)
    assert (await admin.list(CONFIG_MAPS, KubeObject, namespace)).items == []


@pytest.mark.slow
async def test_json_and_merge_patches(admin: Client, namespace: str) -> None:
    await admin.create(CONFIG_MAPS, config_map("c", a="1", b="2"), ConfigMap, namespace)
    merged = await admin.patch(CONFIG_MAPS, "c", {"data": {"a": None, "c": "3"}}, ConfigMap, namespace)
    assert merged.data == {"b": "2", "c": "3"}
    steps = [
        {"op": "test", "path": "/data/b", "value": "2"},
        {"op": "replace", "path": "/data/b", "value": "9"},
    ]
    patched = await admin.patch(CONFIG_MAPS, "c", steps, ConfigMap, namespace, content=JSON_PATCH)
    assert patched.data == {"b": "9", "c": "3"}
    with pytest.raises(Invalid, match=f"patching configmaps {namespace}/c: 422"):
        await admin.patch(CONFIG_MAPS, "c", steps, ConfigMap, namespace, content=JSON_PATCH)


@pytest.mark.slow
async def test_an_apply_makes_owns_and_gives_up_fields(admin: Client, namespace: str) -> None:
    await admin.apply(CONFIG_MAPS, config_map("c", a="1", b="2"), ConfigMap, namespace)
    assert (await admin.apply(CONFIG_MAPS, config_map("c", b="2"), ConfigMap, namespace)).data == {"b": "2"}


@pytest.mark.slow
async def test_a_conflict_of_applies_names_the_other_manager(
    admin: Client, cluster: Cluster, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    answer = await asyncio.to_thread(
        cluster.request, "POST", f"{path}?fieldManager=someone", config_map("c", a="1")
    )
    assert answer.status == 201
    with pytest.raises(Conflict, match=f"applying configmaps {namespace}/c: 409 Conflict: .*someone"):
        await admin.apply(CONFIG_MAPS, config_map("c", a="2"), ConfigMap, namespace)
    forced = await admin.apply(CONFIG_MAPS, config_map("c", a="2"), ConfigMap, namespace, force=True)
    assert forced.data == {"a": "2"}


@pytest.mark.slow
async def test_status_and_scale_are_written_by_themselves(admin: Client, namespace: str) -> None:
    await admin.create(DEPLOYMENTS, deployment(1), KubeObject, namespace)
    body = {"metadata": {"name": "web"}, "status": {"replicas": 1, "readyReplicas": 1}}
    await admin.apply(DEPLOYMENTS, body, KubeObject, namespace, subresource="status")
    scaled = await admin.patch(
        DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, Scale, namespace, subresource="scale"
    )
    assert (scaled.spec.replicas, scaled.status.replicas) == (3, 1)
    read = await admin.get(DEPLOYMENTS, "web", Scale, namespace, "scale")
    assert (read.spec.replicas, read.status.replicas) == (3, 1)
    wanted = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2},
    }
    assert (await admin.replace(DEPLOYMENTS, wanted, Scale, namespace, "scale")).spec.replicas == 2


@pytest.mark.slow
async def test_an_eviction_asks_the_budget(admin: Client, namespace: str) -> None:
    """There is no controller here, so the budget's status is written by hand, as it would."""
    labels = {"app": "db"}
    pod = {
        "metadata": {"name": "db", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "none"}], "nodeName": "n"},
    }
    made = await admin.create(PODS, pod, KubeObject, namespace)
    phase = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await admin.patch(PODS, "db", phase, KubeObject, namespace, subresource="status")
    budget = {
        "metadata": {"name": "db"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    }
    generation = (await admin.create(BUDGETS, budget, KubeObject, namespace)).metadata.generation

    async def allow(count: int) -> None:
        counted = {
            "disruptionsAllowed": count,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        }
        status = {"status": {**counted, "observedGeneration": generation}}
        await admin.patch(BUDGETS, "db", status, KubeObject, namespace, subresource="status")

    await allow(0)
    began = time.monotonic()
    assert not await admin.evict("db", namespace, uid=made.metadata.uid, grace=0)
    assert time.monotonic() - began < 10, "a budget is not waited for"
    await allow(1)
    with pytest.raises(Conflict, match=f"evicting pods {namespace}/db: 409 Conflict"):
        await admin.evict("db", namespace, uid="another")
    await allow(1)
    assert await admin.evict("db", namespace, uid=made.metadata.uid, grace=0)
    assert await admin.evict("db", namespace)
    assert (await admin.list(PODS, KubeObject, namespace)).items == []


@pytest.mark.slow
async def test_a_node_that_cannot_be_asked_is_reported(admin: Client, namespace: str) -> None:
    with pytest.raises(Missing, match="asking nodes nowhere for stats/summary: 404"):
        await admin.node_proxy("nowhere", "stats/summary")


@pytest.mark.slow
async def test_what_is_forbidden_says_the_verb_and_the_object(
    cluster: Cluster, namespace: str, new_robot: Callable[[str], Robot], new_client: NewClient,
    access_of: Callable[..., Access],
) -> None:  # fmt: skip
    robot = await asyncio.to_thread(new_robot, "curious")
    client = new_client(access_of(cluster, token=await asyncio.to_thread(robot.token)))
    text = (
        f'listing configmaps {namespace}: 403 Forbidden: .*"{robot.user}" cannot list resource "configmaps"'
    )
    with pytest.raises(Forbidden, match=text):
        await client.list(CONFIG_MAPS, KubeObject, namespace)
    with pytest.raises(
        Forbidden, match=f'deleting configmaps {namespace}/c: .*cannot delete resource "configmaps"'
    ):
        await client.delete(CONFIG_MAPS, "c", namespace)


@pytest.mark.slow
async def test_a_rotated_token_is_taken_up_and_a_wrong_one_refused(
    cluster: Cluster,
    namespace: str,
    new_robot: Callable[[str], Robot],
    new_client: NewClient,
    tmp_path: Any,
) -> None:
    robots = [await asyncio.to_thread(new_robot, name) for name in ("first", "second")]
    for robot in robots:
        await asyncio.to_thread(robot.permit, ("-", "configmaps", "list"))
    file = tmp_path / "token"
    credentials = TokenFile(Trust(cluster.ca.read_text()), file)
    client = new_client(Access(cluster.url, credentials))
    for robot in robots:
        (tmp_path / "new").write_text(await asyncio.to_thread(robot.token))
        (tmp_path / "new").rename(file)
        await client.list(CONFIG_MAPS, KubeObject, namespace)
    file.write_text("wrong")
    with pytest.raises(Unauthorized, match=f"listing configmaps {namespace}: 401 Unauthorized"):
        await client.list(CONFIG_MAPS, KubeObject, namespace)

    def users() -> set[str]:
        seen = [one for one in cluster.audit() if one.get("objectRef", {}).get("namespace") == namespace]
        return {one["user"].get("username", "") for one in seen if one["verb"] == "list"}

    await eventually(lambda: users() >= {robot.user for robot in robots}, "both users in the audit log")


@pytest.mark.slow
async def test_a_client_certificate_says_who_we_are(
    cluster: Cluster, namespace: str, new_client: NewClient, tmp_path: Any
) -> None:
    certificate, key = await asyncio.to_thread(cluster.certificate_for, "carol", ("system:masters",))
    file = tmp_path / "config"
    entry = {"server": cluster.url, "certificate-authority": str(cluster.ca)}
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    whole = {
        "clusters": [{"name": "x", "cluster": entry}],
        "users": [{"name": "x", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "current-context": "x",
    }
    file.write_text(yaml.safe_dump(whole))
    client = new_client(from_kubeconfig([file], SystemClock()))
    await client.list(CONFIG_MAPS, KubeObject, namespace)


@pytest.mark.slow
async def test_requests_at_a_server_that_is_down_end_at_their_deadline(
    cluster: Cluster, namespace: str, new_client: NewClient, access_of: Callable[..., Access]
) -> None:
    client = new_client(
        Access(cluster.url.replace(cluster.url.rpartition(":")[2], "1"), access_of(cluster).credentials),
        timeout=1.0,
    )
    began = time.monotonic()
    with pytest.raises(Unreachable, match=r"cannot connect to 127\.0\.0\.1:1"):
        await client.get(CONFIG_MAPS, "c", KubeObject, namespace)
    assert time.monotonic() - began < DEADLINE_S / 2


@pytest.mark.slow
async def test_a_write_under_a_rate_limit_is_held_back(
    cluster: Cluster, namespace: str, new_client: NewClient, access_of: Callable[..., Access]
) -> None:
    client = new_client(access_of(cluster), limit=RateLimit(SystemClock(), qps=20, burst=5))
    began = time.monotonic()
    bodies = [config_map(f"c{number}") for number in range(25)]
    await asyncio.gather(*(client.apply(CONFIG_MAPS, body, KubeObject, namespace) for body in bodies))
    assert time.monotonic() - began >= 0.99
    assert len((await client.list(CONFIG_MAPS, KubeObject, namespace)).items) == 25
