"""A live cluster, read into a world: a real API server with the controller's own custom resources."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.capacity.builders import (
    LABEL,
    NAMESPACE,
    NOW,
    sized,
    written_node,
    written_pod,
    written_pool,
    written_runner,
    written_set,
    written_summary,
)
from tests.capacity.controllers import LABELLED, install_crd, versions
from tests.capacity.kubelets import STATUS_PATCH, Kubelets, own_address
from tests.catalog import KINDS
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl

from remuda.capacity.observe.cluster import collect
from remuda.capacity.observe.files import read_files
from remuda.capacity.snapshot import (
    LIMIT_RANGES,
    NODES,
    PODS,
    POOLS,
    PRIORITY_CLASSES,
    QUOTAS,
    RUNNER_AUTOSCALERS,
    RUNNER_DEPLOYMENTS,
    RUNNER_SETS,
    RUNTIME_CLASSES,
    SCALE_SETS,
    SUMMARIES,
    Snapshot,
    summary_of,
)
from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.config import from_kubeconfig
from remuda.kube.rbac import cluster_role
from remuda.loop.clock import SystemClock
from remuda.model.findings import Place
from remuda.objects.crds import crd_of

pytestmark = pytest.mark.slow
ADDRESS = own_address()
needs_address = pytest.mark.skipif(ADDRESS is None, reason="needs an address that is not loopback")
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def staged(programs: Programs) -> Iterator[Cluster]:
    """A server with nodes, pods and kubelets, of which one is silent; it does not know ARC yet."""
    require_openssl()
    with ExitStack() as stack:
        users = {"nobody": (), "reader": (), "asker": ()}
        cluster = stack.enter_context(Cluster(programs(*ALWAYS, "kubectl"), users=users))
        for path, what in (("namespaces", NAMESPACE), (f"namespaces/{NAMESPACE}/serviceaccounts", "default")):
            post(cluster, f"/api/v1/{path}", {"metadata": {"name": what}})
        for name in ("honey", "sting"):
            node = written_node(name, taints=[{"key": "overflow", "effect": "NoSchedule"}])
            post(cluster, "/api/v1/nodes", node)
            answer = cluster.request(
                "PATCH", f"/api/v1/nodes/{name}/status", {"status": node["status"]}, content_type=STATUS_PATCH
            )
            assert answer.status == 200, answer.text
        for pod in (
            written_pod("web", requests=sized("1", "1Gi"), limits=sized("", "2Gi")),
            written_runner("vm-test-1", limits=sized("4", "8Gi")),
            written_runner("vm-test-2", on=None),
        ):
            for container in pod["spec"]["containers"]:
                container["image"] = "images.example/any"
            post(cluster, f"/api/v1/namespaces/{NAMESPACE}/pods", pod)
        if ADDRESS is not None:
            kubelets = stack.enter_context(Kubelets(cluster, ADDRESS))
            kubelets.serve("honey", written_summary("honey"))
            kubelets.serve("sting", None)
        yield cluster


def post(cluster: Cluster, path: str, body: object) -> None:
    answer = cluster.request("POST", path, body)
    assert answer.status == 201, answer.text


def grant(cluster: Cluster, user: str, *, optional: bool) -> None:
    """What `remuda rbac capacity` prints, bound to a user."""
    made = cluster_role(JOBS.permissions()["capacity"], f"capacity-{user}", optional=optional)
    assert made is not None
    post(cluster, f"{RBAC}/clusterroles", made)
    binding = {
        "metadata": {"name": f"capacity-{user}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"capacity-{user}"},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }  # fmt: skip
    post(cluster, f"{RBAC}/clusterrolebindings", binding)


def look(cluster: Cluster, user: str = "admin", **options: Any) -> Snapshot:
    """One look at it, in which kubelets are given little time."""

    async def once() -> Snapshot:
        access = from_kubeconfig([cluster.kubeconfig(user)], SystemClock())
        async with Client(access, SystemClock(), random.Random(1)) as client:
            found = await collect(client, NOW, **{"within": 1.0, **options})
        await asyncio.sleep(0.1)  # what was given up ends a moment later
        return found

    return asyncio.run(once())


def causes(snapshot: Snapshot) -> dict[str, str]:
    return {each.part: each.why for each in snapshot.unknown}


# In this order: what is installed stays.


@needs_address
def test_without_the_controller_its_kind_is_named_and_the_rest_is_read(staged: Cluster) -> None:
    snapshot = look(staged, asks=lambda name: name == "honey")
    assert causes(snapshot) == {
        SCALE_SETS: "cannot list autoscalingrunnersets.actions.github.com: the cluster has no such kind, so its CRD is "
        "not installed"
    }
    assert [node.name for node in snapshot.nodes] == ["honey", "sting"]
    assert snapshot.usage["honey"].runners == {"arc/vm-test": 1}
    assert snapshot.summaries.keys() == {"honey"}


@needs_address
def test_a_kubelet_that_does_not_answer_is_reported_and_holds_nobody_up(staged: Cluster) -> None:
    snapshot = look(staged)
    assert snapshot.summaries["honey"].root.capacity == 500 * 2**30
    assert causes(snapshot)[summary_of("sting")] == "the kubelet did not answer within 1 s"
    assert not snapshot.is_unknown(SUMMARIES)


def test_who_may_do_nothing_is_shown_every_missing_verb_and_resource(staged: Cluster) -> None:
    snapshot = look(staged, "nobody")
    help_ = "`remuda rbac capacity` prints what is needed"
    assert causes(snapshot) == {
        SCALE_SETS: f"may not list autoscalingrunnersets.actions.github.com; {help_}",
        POOLS: f"may not list runnerpools.remuda.dev; {help_}",
        RUNNER_DEPLOYMENTS: f"may not list runnerdeployments.actions.summerwind.dev; {help_}",
        RUNNER_SETS: f"may not list runnersets.actions.summerwind.dev; {help_}",
        RUNNER_AUTOSCALERS: f"may not list horizontalrunnerautoscalers.actions.summerwind.dev; {help_}",
        NODES: f"may not list nodes; {help_}",
        PODS: f"may not list pods; {help_}",
        LIMIT_RANGES: f"may not list limitranges; {help_}",
        RUNTIME_CLASSES: f"may not list runtimeclasses.node.k8s.io; {help_}",
        PRIORITY_CLASSES: f"may not list priorityclasses.scheduling.k8s.io; {help_}",
        QUOTAS: f"may not list resourcequotas; {help_}",
    }
    assert (snapshot.scale_sets, snapshot.nodes, snapshot.usage) == ((), (), {})


@needs_address
@pytest.mark.parametrize("version", versions())
def test_what_is_read_live_is_what_kubectl_writes_to_files(
    staged: Cluster, version: str, tmp_path: Path
) -> None:
    install_crd(staged, version)
    staged.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(map(crd_of, KINDS)))
    for kind in KINDS:
        staged.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{kind.plural}.remuda.dev")  # fmt: skip
    labels: dict[str, Any] = {"runnerScaleSetLabels": ["kvm", "x64"]} if version in LABELLED else {}
    scale_set = written_set(
        requests=sized("4", "32Gi", "24Gi"),
        limits=sized("8", "64Gi", "40Gi"),
        runnerScaleSetName=LABEL,
        maxRunners=2,
        pod={"tolerations": [{"key": "overflow", "operator": "Exists"}], "nodeSelector": {"a": "b"}},
        **labels,
    )
    bodies = yaml.safe_dump_all([scale_set, written_set("free"), written_pool()])
    staged.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=bodies)
    live = look(staged, asks=lambda name: name == "honey")
    assert live.unknown == ()
    assert [each.id for each in live.scale_sets] == ["arc/free", "arc/vm-test", "arc/linux"]
    assert live.scale_sets[1].labels == ((LABEL, "kvm", "x64") if labels else (LABEL,))
    assert live.scale_sets[0].max is None
    ranged = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "range", "namespace": "arc"}} | {
        "spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]}
    }
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "x"},
        "handler": "x",
    }
    staged.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all([ranged, runtime]))
    live = look(staged, asks=lambda name: name == "honey")
    assert live.scale_sets[0].requests["memory"] == 2**30
    wanted = "autoscalingrunnersets.actions.github.com,runnerpools.remuda.dev,nodes,pods,limitranges,runtimeclasses,priorityclasses"
    for form in ("json", "yaml"):
        (tmp_path / form).write_text(staged.kubectl("get", wanted, "-A", "-o", form))
    stats = staged.kubectl("get", "--raw", "/api/v1/nodes/honey/proxy/stats/summary")
    (tmp_path / "stats").write_text(stats)
    for form in ("json", "yaml"):
        found = read_files([tmp_path / form, tmp_path / "stats"], NOW)
        assert (found.problems, found.notes, found.snapshot.unknown) == ((), (), ())
        assert bare(found.snapshot) == bare(live)


def bare(snapshot: Snapshot) -> Any:
    """Without where and when it was read."""
    made = msgspec.to_builtins(msgspec.structs.replace(snapshot, source="", read_at=0))
    for each in (*made["scale_sets"], *made["nodes"]):
        each["place"] = msgspec.to_builtins(Place())
    for each in made["summaries"].values():
        each["read_at"] = 0
    return json.loads(json.dumps(made, sort_keys=True))


@needs_address
def test_what_rbac_prints_is_enough_and_the_optional_part_lets_kubelets_be_asked(staged: Cluster) -> None:
    grant(staged, "reader", optional=False)
    grant(staged, "asker", optional=True)
    reader = look(staged, "reader", asks=lambda name: name == "honey")
    assert causes(reader) == {
        SUMMARIES: "may not get nodes/proxy; `remuda rbac capacity` prints what is needed with --optional"
    }
    assert (len(reader.scale_sets), len(reader.nodes), reader.summaries) == (3, 2, {})
    asker = look(staged, "asker", asks=lambda name: name == "honey")
    assert asker.unknown == ()
    assert asker.summaries.keys() == {"honey"}


def test_a_quantity_that_the_server_lets_pass_is_reported_with_its_object(staged: Cluster) -> None:
    staged.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(written_set("odd", limits={"cpu": "-1"})))  # fmt: skip
    snapshot = look(staged, asks=lambda _: False)
    assert causes(snapshot) == {
        "AutoscalingRunnerSet arc/odd": "'-1' is not a quantity: it cannot be below zero"
    }
    assert "arc/odd" not in {scale_set.id for scale_set in snapshot.scale_sets}
