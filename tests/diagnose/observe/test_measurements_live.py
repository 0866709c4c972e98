"""What `remuda diagnose metrics` sees in a real cluster in which everything that measures is down."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.diagnose.conftest import Run
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl

from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role

pytestmark = pytest.mark.slow
SYSTEM = "kube-system"
VPAS = "/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalers"


def deployment(name: str, **labels: str) -> dict[str, Any]:
    pods = {"app": name}
    spec = {"containers": [{"name": "main", "image": "images.example/any"}]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": pods},
            "template": {"metadata": {"labels": pods}, "spec": spec},
        },
    }


def make(cluster: Cluster, path: str, body: dict[str, Any]) -> None:
    answer = cluster.request("POST", path, body)
    assert answer.status == 201, answer.text


@pytest.fixture(scope="module")
def broken(programs: Programs) -> Iterator[Cluster]:
    require_openssl()
    with Cluster(programs(*ALWAYS, "kubectl"), users={"reader": (), "nobody": ()}) as cluster:
        cluster.kubectl(
            "apply", "--server-side", "-f", "-", stdin=programs("vpa-crds")["vpa-crds"].read_text()
        )
        make(cluster, "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        eventually(lambda: cluster.request("GET", VPAS).status == 200, "the kind of advisors")
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        make(cluster, VPAS, {
            "apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "web"}, "spec": {"targetRef": target},
        })  # fmt: skip
        for name in ("vpa-recommender", "metrics-server"):
            make(cluster, f"/apis/apps/v1/namespaces/{SYSTEM}/deployments", deployment(name))
        prometheus = deployment("prometheus-server", **{"app.kubernetes.io/name": "prometheus"})
        make(cluster, f"/apis/apps/v1/namespaces/{SYSTEM}/deployments", prometheus)
        make(cluster, "/apis/apiregistration.k8s.io/v1/apiservices", {
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                "insecureSkipTLSVerify": True, "service": {"name": "metrics-server", "namespace": SYSTEM},
            },
        })  # fmt: skip
        role = cluster_role(JOBS.permissions()["diagnose metrics"], "reader")
        assert role is not None
        cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(role))
        cluster.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=reader")
        yield cluster


def judged(cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch, user: str) -> dict[str, Any]:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(user)))
    ran = run("metrics", "-o", "json")
    assert ran.code == 1, ran.err
    return {item["check"]: item for item in json.loads(ran.out)["findings"]}


def test_everything_that_is_down_is_told_to_who_may_only_read(
    broken: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judged(broken, run, monkeypatch, "reader")
    assert {name: item["verdict"] for name, item in found.items()} == {
        "prometheus": "problem",
        "samples": "unknown",
        "history": "unknown",
        "pods": "unknown",
        "metrics-server": "problem",
        "recommender": "problem",
        "vpa-objects": "problem",
    }
    assert found["prometheus"]["evidence"] == ["Deployment kube-system/prometheus-server: 0 of 1 ready"]
    down, refused = found["metrics-server"]["evidence"]
    assert down == "Deployment kube-system/metrics-server: 0 of 1 ready"
    assert refused.startswith("APIService v1beta1.metrics.k8s.io is not available: ")
    assert found["recommender"]["evidence"] == ["Deployment kube-system/vpa-recommender: 0 of 1 ready"]
    assert found["vpa-objects"]["evidence"] == [
        "VerticalPodAutoscaler shop/web for Deployment web has no recommendation yet"
    ]


def test_who_may_read_nothing_is_told_what_is_missing(
    broken: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(broken.kubeconfig("nobody")))
    ran = run("metrics", "-o", "json")
    found = {item["check"]: item for item in json.loads(ran.out)["findings"]}
    for check in ("pods", "metrics-server", "recommender", "vpa-objects"):
        assert found[check]["verdict"] == "unknown", found[check]
        assert "rbac diagnose metrics" in found[check]["fix"][0]
