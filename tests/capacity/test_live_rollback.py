"""Rollbacks made on a real API server: guarded, once, and of one scale set alone."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.capacity.builders import CAPABILITY, decision, sized, written_node, written_policy, written_set
from tests.capacity.conftest import Run
from tests.capacity.controllers import SETS
from tests.capacity.live import bind
from tests.processes import eventually
from tests.servers.cluster import Cluster

from remuda.capacity.act import find_scale_set, roll_back
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.kube.client import Client
from remuda.kube.config import find_access
from remuda.loop.clock import SystemClock

pytestmark = pytest.mark.slow

OURS = {"key": "overflow", "operator": "Exists", "effect": "NoSchedule"}
OTHER = {"key": "ci", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}


@pytest.fixture
def node(guarded: Cluster, place: str) -> Iterator[str]:
    """An overflow node, named as the namespace."""
    taint = {"key": "overflow", "value": "true", "effect": "NoSchedule"}
    assert guarded.request("POST", "/api/v1/nodes", written_node(place, taints=[taint])).status == 201
    yield place
    guarded.request("DELETE", f"/api/v1/nodes/{place}")


@pytest.fixture
def scale_sets(guarded: Cluster, version: str, place: str) -> str:
    """Two scale sets that may be on the node."""
    for name in ("vm-test", "small"):
        body = written_set(
            name,
            namespace=place,
            requests=sized("1", "1Gi"),
            maxRunners=1,
            pod={"tolerations": [OURS, OTHER]},
        )
        assert guarded.request("POST", SETS.format(place), body).status == 201
    return place


@pytest.fixture
def policy(tmp_path: Path, node: str) -> Path:
    return written(tmp_path, node, {"lane": f"{node}/vm-test"})


def written(folder: Path, node: str, *rollbacks: dict[str, Any]) -> Path:
    large = {"name": "large", "requests": sized("1", "1Gi", "1Gi")}
    overflow = {"node": node, "envelopes": ["large"], "admitted": decision(), "rollbacks": list(rollbacks)}
    spec = written_policy(nodes={"primary": CAPABILITY, "overflow": [overflow]}, envelopes=[large])
    path = folder / "policy.yaml"
    path.write_text(json.dumps(spec))
    return path


def read(cluster: Cluster, place: str, name: str = "vm-test") -> dict[str, Any]:
    whole: dict[str, Any] = cluster.request("GET", f"{SETS.format(place)}/{name}").json()
    return whole


def tolerations(whole: dict[str, Any]) -> Any:
    return whole["spec"]["template"]["spec"].get("tolerations")


@pytest.fixture
def config(guarded: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig()))


@pytest.mark.usefixtures("config")
def test_a_scale_set_is_rolled_back_once_and_no_other_is_touched(
    guarded: Cluster, scale_sets: str, policy: Path, run: Run
) -> None:
    other = read(guarded, scale_sets, "small")
    printed = run("rollback", "vm-test", "--policy", policy, "-o", "json")
    assert printed.code == 0, printed.err
    patch = json.loads(printed.out)["rollbacks"][0]["patch"]
    assert patch == {"spec": {"template": {"spec": {"tolerations": [OTHER]}}}}
    assert tolerations(read(guarded, scale_sets)) == [OURS, OTHER]

    first = run("rollback", "vm-test", "--policy", policy, "--apply", "--yes")
    assert first.code == 0, first.err
    assert "spec.template.spec.tolerations" in first.out
    assert "is rolled back" in first.out
    after = read(guarded, scale_sets)
    assert tolerations(after) == [OTHER]

    again = run("rollback", "vm-test", "--policy", policy, "--apply", "--yes", "-o", "json")
    assert (again.code, json.loads(again.out)["changed"]) == (0, False)
    assert read(guarded, scale_sets)["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert read(guarded, scale_sets, "small") == other


@pytest.mark.usefixtures("config")
def test_nothing_is_done_without_being_asked_or_recorded(
    guarded: Cluster, scale_sets: str, policy: Path, run: Run
) -> None:
    before = read(guarded, scale_sets)
    for words in (
        ("vm-test", "--policy", policy, "--apply"),  # nobody can be asked, and --yes is not said
        ("small", "--policy", policy, "--apply", "--yes"),  # not recorded
        ("vm-test", "--apply", "--yes"),  # no policy at all
        ("vm-test", "--policy", policy, "--node", "honey", "--apply", "--yes"),  # not from there
    ):
        ran = run("rollback", *words)
        assert ran.code == 2, ran.out + ran.err
    assert read(guarded, scale_sets) == before


@pytest.mark.usefixtures("config")
def test_a_recorded_patch_is_applied_as_it_is(
    guarded: Cluster, scale_sets: str, node: str, tmp_path: Path, run: Run
) -> None:
    patch = {"spec": {"maxRunners": 0, "template": {"spec": {"tolerations": None}}}}
    policy = written(tmp_path, node, {"lane": f"{scale_sets}/vm-test", "patch": patch})
    ran = run("rollback", f"{scale_sets}/vm-test", "--policy", policy, "--apply", "--yes")
    assert ran.code == 0, ran.err
    after = read(guarded, scale_sets)
    assert (after["spec"]["maxRunners"], tolerations(after)) == (0, None)
    # what was printed needs no cluster
    assert (
        json.loads(run("rollback", "vm-test", "--policy", policy, "-o", "json").out)["rollbacks"][0]["patch"]
        == patch
    )


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "patch",
    [{"metadata": {"name": "another"}}, {"kind": "Secret"}, {"spec": None}, {"status": {"phase": ""}}],
)
def test_a_patch_that_is_no_rollback_is_refused(
    guarded: Cluster, scale_sets: str, node: str, tmp_path: Path, run: Run, patch: dict[str, Any]
) -> None:
    before = read(guarded, scale_sets)
    policy = written(tmp_path, node, {"lane": "vm-test", "patch": patch})
    ran = run("rollback", f"{scale_sets}/vm-test", "--policy", policy, "--apply", "--yes")
    assert ran.code == 2
    assert "vm-test" in ran.err
    assert read(guarded, scale_sets) == before


def test_a_scale_set_that_changed_since_it_was_looked_at_is_left_alone(
    guarded: Cluster, scale_sets: str
) -> None:
    async def late() -> None:
        clock = SystemClock()
        access = find_access({"KUBECONFIG": str(guarded.kubeconfig())}, clock)
        async with Client(access, clock, random.Random(1)) as client:
            seen = await find_scale_set(client, f"{scale_sets}/vm-test")
            path = f"{SETS.format(scale_sets)}/vm-test"
            kind = "application/merge-patch+json"
            answer = guarded.request("PATCH", path, {"spec": {"maxRunners": 7}}, content_type=kind)
            assert answer.status == 200
            patch = {"spec": {"template": {"spec": {"tolerations": None}}}}
            with pytest.raises(Unavailable, match="was changed meanwhile: nothing was done"):
                await roll_back(client, seen, patch)
            # another look, and it can be done
            await roll_back(client, await find_scale_set(client, f"{scale_sets}/vm-test"), patch)
            with pytest.raises(NotFound, match="no scale set or pool"):
                await find_scale_set(client, "nobody")
            with pytest.raises(NotFound, match="no scale set or pool"):
                await find_scale_set(client, f"{scale_sets}/nobody")

    asyncio.run(late())
    after = read(guarded, scale_sets)
    assert (after["spec"]["maxRunners"], tolerations(after)) == (7, None)


def test_a_name_that_several_have_needs_its_namespace(guarded: Cluster, scale_sets: str) -> None:
    body = written_set("vm-test", namespace="default", requests=sized("1", "1Gi"))
    assert guarded.request("POST", SETS.format("default"), body).status == 201

    async def find() -> None:
        clock = SystemClock()
        access = find_access({"KUBECONFIG": str(guarded.kubeconfig())}, clock)
        async with Client(access, clock, random.Random(1)) as client:
            with pytest.raises(BadInput, match="several are called vm-test"):
                await find_scale_set(client, "vm-test")

    try:
        asyncio.run(find())
    finally:
        guarded.request("DELETE", f"{SETS.format('default')}/vm-test")


def test_the_permissions_that_are_printed_are_enough(
    guarded: Cluster, scale_sets: str, policy: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig("returner")))
    bind(guarded, "returner", "capacity rollback")
    ran = run("rollback", f"{scale_sets}/vm-test", "--policy", policy, "--apply", "--yes")
    assert ran.code == 0, ran.err
    assert tolerations(read(guarded, scale_sets)) == [OTHER]


@pytest.mark.usefixtures("config")
def test_without_the_node_the_taints_are_not_known(
    guarded: Cluster, scale_sets: str, tmp_path: Path, run: Run
) -> None:
    policy = written(tmp_path, "gone", {"lane": f"{scale_sets}/vm-test"})
    ran = run("rollback", "vm-test", "--policy", policy, "--apply", "--yes")
    assert ran.code == 2
    assert "there is no node gone" in ran.err
    assert tolerations(read(guarded, scale_sets)) == [OURS, OTHER]


@pytest.mark.usefixtures("config")
def test_gates_of_a_live_node_are_closed_while_its_kubelet_cannot_be_asked(
    guarded: Cluster, scale_sets: str, policy: Path, node: str, run: Run
) -> None:
    ran = run("gate", node, "--envelope", "large", "--policy", policy, "-o", "json")
    assert ran.code == 1, ran.err
    states = {item["gate"]: item["state"] for item in json.loads(ran.out)["gates"]}
    assert states["root-filesystem"] == states["image-filesystem"] == "unknown"
    assert states["admission"] == states["capability"] == "pass"


@pytest.fixture
def older(guarded: Cluster) -> Iterator[str]:
    """The path of RunnerDeployments, a kind of the older controller, which the server knows meanwhile."""
    group, plural = "actions.summerwind.dev", "runnerdeployments"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "RunnerDeployment"},
            "versions": [
                {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    assert guarded.request("POST", crds, body).status == 201
    path = f"/apis/{group}/v1alpha1/namespaces/{{}}/{plural}"
    eventually(lambda: guarded.request("GET", path.format("default")).status == 200, "the kind")
    yield path
    guarded.request("DELETE", f"{crds}/{plural}.{group}")


@pytest.mark.usefixtures("config")
def test_a_runner_deployment_is_rolled_back_as_well(
    guarded: Cluster, node: str, older: str, tmp_path: Path, run: Run
) -> None:
    body = {
        "apiVersion": "actions.summerwind.dev/v1alpha1",
        "kind": "RunnerDeployment",
        "metadata": {"name": "old", "namespace": node},
        "spec": {"template": {"spec": {"repository": "acme/app", "tolerations": [OURS, OTHER]}}},
    }
    assert guarded.request("POST", older.format(node), body).status == 201
    policy = written(tmp_path, node, {"lane": f"{node}/old"})
    printed = run("rollback", "old", "--policy", policy)
    assert f"kubectl patch runnerdeployment old -n {node}" in printed.out, printed.err
    done = run("rollback", "old", "--policy", policy, "--apply", "--yes")
    assert done.code == 0, done.err
    after = guarded.request("GET", f"{older.format(node)}/old").json()
    assert after["spec"]["template"]["spec"] == {"repository": "acme/app", "tolerations": [OTHER]}
