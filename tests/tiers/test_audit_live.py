"""An audit of a real cluster: quotas that controllers counted, defaults that the server gave, and updates that really stand still."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster, Extra
from tests.servers.fixtures import Programs, require_openssl
from tests.tiers.live import apply, container
from tests.tiers.scheduled import Scheduled
from tests.tiers.test_qos import CASES

from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.rbac import cluster_role
from remuda.loop.clock import SystemClock
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.tiers.decide.desired import limit_range, priority_class, resource_quota
from remuda.tiers.decide.qos import qos_of
from remuda.tiers.observe.cluster import collect
from remuda.tiers.observe.files import read_files
from remuda.tiers.snapshot import Snapshot

pytestmark = pytest.mark.slow

TIERS = DEFAULT_POLICY.tiers
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def world(programs: Programs) -> Iterator[Scheduled]:
    require_openssl()
    names = programs(*ALWAYS, "kubectl", "kube-controller-manager", "kube-scheduler", "kwok")
    extras: tuple[Extra, ...] = ("kube-controller-manager", "kube-scheduler", "kwok")
    with Cluster(names, extras=extras, users={"half": (), "reader": ()}) as running:
        apply(running, *(priority_class(DEFAULT_POLICY, tier) for tier in TIERS.values()))
        yield Scheduled(running)


def audited(world: Scheduled, user: str = "admin") -> tuple[int, dict[str, Any]]:
    """Exit code of the command, and what it prints for a program."""
    environ = {
        **os.environ,
        "KUBECONFIG": str(world.cluster.kubeconfig(user)),
        "REMUDA_DATA_DIR": str(world.cluster.directory / "data"),
    }
    command = [sys.executable, "-m", "remuda", "tiers", "audit", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environ)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def found_in(world: Scheduled, namespace: str) -> dict[str, dict[str, Any]]:
    """Findings about a namespace, by rule."""
    return {each["rule"]: each for each in audited(world)[1]["findings"] if each["namespace"] == namespace}


def in_tier(world: Scheduled, tier: str) -> str:
    """A namespace of a tier with all that it gives, and a node for its pods."""
    name = world.name()
    body = {"metadata": {"labels": {"tier": tier}}}
    world.cluster.request(
        "PATCH", f"/api/v1/namespaces/{name}", body, content_type="application/merge-patch+json"
    )
    apply(world.cluster, limit_range(DEFAULT_POLICY, TIERS[tier], name))
    apply(world.cluster, resource_quota(DEFAULT_POLICY, TIERS[tier], name))
    path = f"/api/v1/namespaces/{name}/resourcequotas/{name}-quota"
    eventually(
        lambda: bool(world.cluster.request("GET", path).json().get("status", {}).get("hard")), "a quota"
    )
    world.node(f"{name}-node", name, allocatable={"cpu": "64", "memory": "64Gi"})
    return name


def deploy(world: Scheduled, where: str, unavailable: int) -> str:
    """A Deployment that takes all CPU of tier 4-aux; its path."""
    labels = {"app": "web"}
    size = {"cpu": "2", "memory": "1Gi"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [container("app", requests=size, limits={"memory": "1Gi"})],
            "nodeSelector": {"test": where},
            "priorityClassName": "tier-4-aux",
        },
    }
    rolling = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": unavailable}}
    spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": template, "strategy": rolling}
    root = f"/apis/apps/v1/namespaces/{where}/deployments"
    body = {"metadata": {"name": "web"}, "spec": spec}
    assert world.cluster.request("POST", root, body).status == 201
    path = f"{root}/web"
    eventually(lambda: status_of(world, path).get("availableReplicas") == 4, "four pods")
    quota = f"/api/v1/namespaces/{where}/resourcequotas/{where}-quota"
    eventually(
        lambda: world.cluster.request("GET", quota).json()["status"]["used"]["requests.cpu"] == "8",
        "a full quota",
    )
    return path


def status_of(world: Scheduled, path: str) -> dict[str, Any]:
    found: dict[str, Any] = world.cluster.request("GET", path).json().get("status", {})
    return found


def roll(world: Scheduled, path: str) -> None:
    """Change the template, so that all pods are to be replaced."""
    body = {"spec": {"template": {"metadata": {"labels": {"changed": "yes"}}}}}
    answer = world.cluster.request("PATCH", path, body, content_type="application/merge-patch+json")
    assert answer.status == 200, answer.text


def test_a_deployment_that_the_quota_keeps_from_rolling_is_found_before_anybody_tries(
    world: Scheduled,
) -> None:
    name = in_tier(world, "4-aux")
    path = deploy(world, name, 0)
    code, made = audited(world)
    (found,) = [each for each in made["findings"] if each["namespace"] == name]
    assert code == 1
    assert (found["rule"], found["severity"], found["object"]) == (
        "rollout-blocked",
        "error",
        f"Deployment {name}/web",
    )
    assert found["is"] == (
        f"requests.cpu of quota {name}-quota: 8 of 8 used, one more pod takes 2; maxSurge 1, maxUnavailable 0 of 4 pods"
    )
    (row,) = [each for each in made["namespaces"] if each["name"] == name]
    assert (row["tier"], row["pods"], row["qos"]) == ("4-aux", 4, {"Burstable": 4})
    assert {each["resource"]: (each["usedText"], each["hardText"]) for each in row["quotas"]} == {
        "pods": ("4", "20"), "requests.cpu": ("8", "8"), "requests.memory": ("4Gi", "16Gi")
    }  # fmt: skip

    roll(world, path)

    def refused() -> bool:
        conditions = status_of(world, path).get("conditions", [])
        return any(
            "exceeded quota" in each["message"] for each in conditions if each["type"] == "ReplicaFailure"
        )

    eventually(refused, "a refusal")
    assert status_of(world, path).get("updatedReplicas", 0) == 0
    assert status_of(world, path)["availableReplicas"] == 4, "it stands still, as was said"


def test_one_that_may_miss_a_pod_rolls_slowly_and_is_told_so(world: Scheduled) -> None:
    name = in_tier(world, "4-aux")
    path = deploy(world, name, 1)
    found = found_in(world, name)
    assert list(found) == ["rollout-slow"]
    assert found["rollout-slow"]["severity"] == "info"
    roll(world, path)
    eventually(
        lambda: (
            (status := status_of(world, path)).get("updatedReplicas") == 4
            and status.get("availableReplicas") == 4
        ),
        "all pods replaced",
        deadline=90,
    )


def test_containers_on_defaults_are_found_by_what_the_server_wrote(world: Scheduled) -> None:
    name = in_tier(world, "0-core")
    world.pod(name, containers=[container("app"), container("csi-attacher")], priorityClassName="tier-0-core")
    found = found_in(world, name)
    assert found["on-defaults"]["is"] == "app (cpu, memory request), app (memory limit), in 1 pod"
    assert (
        found["sidecars-on-defaults"]["is"] == "1 on 512Mi: csi-attacher; that wastes 1 × 480Mi, 480Mi in all"
    )


def test_a_template_that_is_said_to_be_refused_is(world: Scheduled) -> None:
    name = in_tier(world, "0-core")
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [container("app", requests={"memory": "1Gi"})],
            "nodeSelector": {"test": name},
        },
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    root = f"/apis/apps/v1/namespaces/{name}/deployments"
    assert world.cluster.request("POST", root, {"metadata": {"name": "web"}, "spec": spec}).status == 201
    found = found_in(world, name)["request-above-default-limit"]
    assert found["is"] == "app 1Gi, and no limit; the default limit is 512Mi"

    def refused() -> str:
        conditions = status_of(world, f"{root}/web").get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "ReplicaFailure"), "")

    eventually(lambda: bool(refused()), "a refusal")
    assert "must be less than or equal to memory limit of 512Mi" in refused()


def snapshot_of(world: Scheduled, user: str = "admin") -> Snapshot:
    async def look() -> Snapshot:
        access = from_kubeconfig([world.cluster.kubeconfig(user)], SystemClock())
        async with Client(access, SystemClock(), random.Random(1)) as client:
            return await collect(client, 0)

    return asyncio.run(look())


def some_spec(dice: random.Random) -> dict[str, Any]:
    def sizes() -> dict[str, Any]:
        amounts = {name: dice.choice(["1", "2"]) for name in ("cpu", "memory") if dice.random() < 0.6}
        limits = {name: value for name, value in amounts.items() if dice.random() < 0.7}
        requests = {
            name: value for name, value in amounts.items() if name not in limits or dice.random() < 0.5
        }
        return {"requests": requests, "limits": dict.fromkeys(limits, "2") if dice.random() < 0.3 else limits}

    made: dict[str, Any] = {
        "containers": [{"name": f"c{n}", "resources": sizes()} for n in range(dice.randint(1, 2))],
        "initContainers": [{"name": f"i{n}", "resources": sizes()} for n in range(dice.choice([0, 0, 1]))],
    }
    if dice.random() < 0.25:
        both = {"cpu": "9", "memory": "9Gi"}
        made["resources"] = dice.choice(
            [
                {"limits": both},
                {"requests": both},
                {"requests": both, "limits": both},
                {"limits": {"memory": "9Gi"}},
            ]
        )
    return made


def test_the_quality_of_service_is_what_the_server_says(world: Scheduled) -> None:
    name = world.name()
    dice = random.Random(7)
    specs = [spec for spec, _, _ in CASES.values()] + [some_spec(dice) for _ in range(60)]
    taken = 0
    for number, spec in enumerate(specs):
        for each in (*spec["containers"], *spec.get("initContainers", ())):
            each["image"] = "none"
        body = {"metadata": {"name": f"p{number}"}, "spec": {**spec, "nodeSelector": {"test": "nowhere"}}}
        answer = world.cluster.request("POST", f"/api/v1/namespaces/{name}/pods", body)
        assert answer.status in (201, 422), answer.text
        taken += answer.status == 201
    pods = [pod for pod in snapshot_of(world).pods if pod.namespace == name]
    assert len(pods) == taken > 50
    assert {pod.name: qos_of(pod.spec.containers) for pod in pods} == {pod.name: pod.qos for pod in pods}
    assert {pod.qos for pod in pods} == {"Guaranteed", "Burstable", "BestEffort"}
    expected = {f"p{number}": case[1] for number, case in enumerate(CASES.values())}
    assert {pod.name: pod.qos for pod in pods if pod.name in expected} == expected


def test_what_is_read_live_is_what_kubectl_writes_to_files(world: Scheduled, tmp_path: Path) -> None:
    name = in_tier(world, "3-edge")
    world.pod(name)
    world.node_of(name)
    kinds = "namespaces,deployments,replicasets,pods,nodes,limitranges,resourcequotas,priorityclasses"
    (tmp_path / "all.json").write_text(world.cluster.kubectl("get", kinds, "-A", "-o", "json"))
    files, live = read_files([tmp_path / "all.json"], 0), snapshot_of(world)
    assert files.problems == ()
    # in other namespaces controllers are at work
    assert files.snapshot.namespaces == live.namespaces
    assert files.snapshot.priority_classes == live.priority_classes
    for part in ("limit_ranges", "quotas", "pods"):
        mine = [each for each in getattr(live, part) if each.namespace == name]
        assert mine == [each for each in getattr(files.snapshot, part) if each.namespace == name], part
        assert len(mine) == 1
    nodes = [{each.name: each.allocatable for each in found.nodes} for found in (files.snapshot, live)]
    assert nodes[0] == nodes[1]
    workloads = [{each.id: each.spec for each in found.workloads} for found in (files.snapshot, live)]
    assert workloads[0] == workloads[1]


def bind(world: Scheduled, user: str, role: dict[str, Any]) -> None:
    assert world.cluster.request("POST", f"{RBAC}/clusterroles", role).status == 201
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
    }
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    body = {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}
    assert world.cluster.request("POST", f"{RBAC}/clusterrolebindings", body).status == 201


def test_a_permission_that_is_missing_is_named_and_the_rest_goes_on(world: Scheduled) -> None:
    name = in_tier(world, "3-edge")
    rules = [{"apiGroups": [""], "resources": ["namespaces", "pods", "limitranges"], "verbs": ["list"]}]
    bind(world, "half", {"metadata": {"name": "half"}, "rules": rules})
    world.pod(name)

    def may_read() -> bool:
        return not snapshot_of(world, "half").is_unknown("namespaces")

    eventually(may_read, "the permission")
    _, made = audited(world, "half")
    unread = {each["object"]: each["is"] for each in made["findings"] if each["rule"] == "not-read"}
    help_ = "`remuda rbac tiers` prints what is needed"
    assert unread["nodes"] == f"may not list nodes; {help_}"
    assert unread["resourcequotas"] == f"may not list resourcequotas; {help_}"
    assert unread["priorityclasses"] == f"may not list priorityclasses.scheduling.k8s.io; {help_}"
    assert "pods" not in unread
    rules_found = {each["rule"] for each in made["findings"] if each["namespace"] == name}
    assert rules_found == {"on-defaults", "no-priority-class"}, (
        "what could not be read is not said to be missing"
    )


def test_what_rbac_prints_is_enough(world: Scheduled) -> None:
    role = cluster_role(JOBS.permissions()["tiers"], "reader")
    assert role is not None
    bind(world, "reader", role)
    eventually(lambda: not snapshot_of(world, "reader").is_unknown("nodes"), "the permission")
    _, made = audited(world, "reader")
    assert [each["is"] for each in made["findings"] if each["rule"] == "not-read"] == []
