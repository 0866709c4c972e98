"""Why, asked of a real API server with its controllers and its scheduler: what keeps pods from running, and who pushed one out."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl
from tests.tiers.live import apply, container
from tests.tiers.scheduled import GPU_TAINT, Scheduled

from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.desired import limit_range, priority_class, resource_quota

pytestmark = pytest.mark.slow

TIERS = DEFAULT_POLICY.tiers
CARD, MARK = {"feature.node.kubernetes.io/pci-10de.present": "true"}, {"nvidia.com/gpu.present": "true"}
GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def world(programs: Programs) -> Iterator[Scheduled]:
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager", "kube-scheduler", "kwok")
    with Cluster(names, extras=("kube-controller-manager", "kube-scheduler", "kwok")) as running:
        apply(running, *(priority_class(DEFAULT_POLICY, tier) for tier in TIERS.values()))
        yield Scheduled(running)


def why(world: Scheduled, kind: str, name: str, *, code: int = 0) -> dict[str, Any]:
    """What the command prints for a program."""
    environ = {
        **os.environ,
        "KUBECONFIG": str(world.cluster.kubeconfig()),
        "REMUDA_DATA_DIR": str(world.cluster.directory / "data"),
    }
    command = [sys.executable, "-m", "remuda", "why", kind, name, "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environ)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout) if not code else {"error": done.stderr}
    return found


def cause(world: Scheduled, name: str) -> tuple[str, str]:
    """The first cause of a pod: its rule, and what is."""
    first = why(world, "pod", name)["causes"][0]
    return first["rule"], first["found"]


def in_tier(world: Scheduled, tier: str) -> str:
    """A namespace of a tier, with all that it gives."""
    name = world.name()
    world.cluster.request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"tier": tier}}},
                          content_type="application/merge-patch+json")  # fmt: skip
    apply(world.cluster, limit_range(DEFAULT_POLICY, TIERS[tier], name))
    apply(world.cluster, resource_quota(DEFAULT_POLICY, TIERS[tier], name))
    path = f"/api/v1/namespaces/{name}/resourcequotas/{name}-quota"
    eventually(
        lambda: bool(world.cluster.request("GET", path).json().get("status", {}).get("hard")), "a quota"
    )
    return name


def deploy(world: Scheduled, where: str, name: str, replicas: int, **requests: str) -> None:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container(requests=requests)], "nodeSelector": {"test": where}},
    }
    body = {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }
    assert world.cluster.request("POST", f"/apis/apps/v1/namespaces/{where}/deployments", body).status == 201


def test_a_deployment_that_the_quota_stops_is_told_with_the_three_numbers(world: Scheduled) -> None:
    name = in_tier(world, "4-aux")
    deploy(world, name, "web", 5, cpu="2")
    path = f"/apis/apps/v1/namespaces/{name}/deployments/web"

    def refused() -> bool:
        status = world.cluster.request("GET", path).json()["status"]
        return any(each["type"] == "ReplicaFailure" for each in status.get("conditions", []))

    eventually(refused, "a refusal")
    rule, found = cause(world, f"{name}/web")
    assert rule == "pod-over-quota"
    assert (
        found
        == f"requests.cpu: 8 of 8 used, 2 asked for, 2 too much for ResourceQuota {name}-quota, of tier 4-aux"
    )
    about = why(world, "namespace", name)
    assert about["headline"].startswith(f"Namespace {name}: tier 4-aux of TierPolicy default")
    assert any("requests.cpu: 8 of 8 used, 0 left" in each["found"] for each in about["causes"])


def test_a_default_that_no_node_has_is_told(world: Scheduled) -> None:
    name = in_tier(world, "2-gpu")
    world.node(f"{name}-small", name, allocatable={"cpu": "500m"})
    world.pod(name)
    world.unplaced(name)
    rule, found = cause(world, f"{name}/pod")
    assert rule == "pod-too-big"
    assert found == (
        "it asks for 1 of cpu, a default that nobody wrote: 1 of app by the LimitRange, and the largest of 1 node that it may go to,"
        f" {name}-small, has 500m"
    )


def test_a_taint_that_keeps_out_is_named_and_one_that_only_discourages_is_not(world: Scheduled) -> None:
    name = world.name()
    world.node(f"{name}-n", name, taints=[GPU_TAINT, {"key": "team", "value": "a", "effect": "NoSchedule"}])
    world.pod(name, tolerations=[{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}])
    assert "untolerated taint" in world.unplaced(name)
    assert cause(world, f"{name}/pod") == ("pod-tainted", "team=a:NoSchedule on 1 node")


def test_a_node_without_room_is_told_with_what_is_left(world: Scheduled) -> None:
    name = world.name()
    world.node(f"{name}-n", name)
    world.pod(name, "first", requests={"cpu": "3"})
    world.node_of(name, "first")
    world.pod(name, requests={"cpu": "2"})
    world.unplaced(name)
    assert cause(world, f"{name}/pod") == (
        "pod-no-room", f"it asks for 2 of cpu; of 1 node that it may go to {name}-n has the most left: 1 of 4",
    )  # fmt: skip


def test_a_gpu_without_card_mark_or_plugin_is_told_apart(world: Scheduled) -> None:
    rules = {}
    for labels, rule in ((CARD, "pod-gpu-not-marked"), (CARD | MARK, "pod-gpu-not-allocatable")):
        name = world.name()
        world.node(f"{name}-n", name, labels=labels)
        world.pod(name, containers=[container(limits={GPU: "1"})], nodeSelector=MARK)
        world.unplaced(name)
        rules[rule] = cause(world, f"{name}/pod")
        world.cluster.request("DELETE", f"/api/v1/nodes/{name}-n")
    assert {rule: found[0] for rule, found in rules.items()} == {rule: rule for rule in rules}
    name = world.name()
    world.node(f"{name}-n", name)
    world.pod(name, containers=[container(limits={GPU: "1"})], nodeSelector=MARK)
    world.unplaced(name)
    assert cause(world, f"{name}/pod")[0] == "pod-gpu-no-card"


def test_who_pushed_a_pod_out_is_known_after_it_is_gone(world: Scheduled) -> None:
    name = world.name()
    world.node(f"{name}-n", name)
    world.pod(name, "low", requests={"cpu": "3"}, priorityClassName="tier-4-aux")
    world.node_of(name, "low")
    world.pod(name, "high", requests={"cpu": "3"}, priorityClassName="tier-0-core")
    world.node_of(name, "high")
    eventually(lambda: not world.read(name, "low"), "low is gone")
    rule, found = cause(world, f"{name}/low")
    assert rule == "pod-preempted"
    assert found == f"Pod {name}/high took its place on {name}-n: priority 900000"


def test_a_node_whose_kubelet_cannot_be_asked_says_how_to(world: Scheduled) -> None:
    name = world.name()
    world.node(f"{name}-n", name)
    first = why(world, "node", f"{name}-n")["causes"][0]
    assert first["rule"] == "node-not-measured"
    assert f"/api/v1/nodes/{name}-n/proxy/stats/summary" in first["fix"]


def test_what_is_not_there_is_not_found_and_the_nearest_is_named(world: Scheduled) -> None:
    name = world.name()
    world.pod(name, "web-0")
    assert f"did you mean {name}/web-0?" in why(world, "pod", f"{name}/web-9", code=2)["error"]
    assert "write NAMESPACE/NAME" in why(world, "pod", "web-0", code=2)["error"]
