"""The chart on a real API server, in a namespace that enforces the strictest PodSecurity."""

from typing import Any

import pytest
import yaml
from tests.charts.rendering import SETS, Chart, Values
from tests.servers.cluster import Cluster
from tests.servers.fixtures import NewCluster

from remuda.kube.rbac import LEASE

pytestmark = pytest.mark.slow

EVERY_SET = [pytest.param(values, id=name) for name, values in SETS.items()]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
DEPLOYMENT = "/apis/apps/v1/namespaces/{}/deployments/remuda"


def monitoring_crd(kind: str) -> dict[str, Any]:
    """The definition of a kind of the Prometheus operator, as far as the API server must know it."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


@pytest.fixture(scope="module")
def monitored(chart: Chart, cluster: Cluster) -> Cluster:
    """The shared cluster, with our kinds and those of the Prometheus operator."""
    crds = [*chart.crds(), *(monitoring_crd(kind) for kind in ("ServiceMonitor", "PrometheusRule"))]
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(crds))
    cluster.kubectl(
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        *(f"crd/{crd['metadata']['name']}" for crd in crds),
    )
    return cluster


@pytest.fixture
def restricted(monitored: Cluster, namespace: str) -> str:
    """A namespace that admits only pods which keep to the strictest rules."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    answer = monitored.request(
        "PATCH",
        f"/api/v1/namespaces/{namespace}",
        {"metadata": {"labels": labels}},
        content_type="application/merge-patch+json",
    )
    assert answer.status == 200, answer.text
    return namespace


@pytest.mark.parametrize("values", EVERY_SET)
def test_the_server_takes_everything_and_admits_the_pods(
    chart: Chart, monitored: Cluster, restricted: str, values: Values
) -> None:
    objects = chart.objects(values, namespace=restricted)
    apply = ("apply", "--server-side", "--validate=strict", "-n", restricted, "-f", "-")
    output = monitored.kubectl(*apply, "--dry-run=server", "-o", "name", stdin=yaml.safe_dump_all(objects))
    assert len(output.splitlines()) == len(objects)
    monitored.kubectl(*apply, stdin=yaml.safe_dump_all(objects))
    template = next(item for item in objects if item["kind"] == "Deployment")["spec"]["template"]
    pod = {**template, "metadata": {**template["metadata"], "name": "remuda-0"}}
    answer = monitored.request("POST", f"/api/v1/namespaces/{restricted}/pods", pod)
    assert answer.status == 201, answer.text
    assert "would violate PodSecurity" not in answer.text


@pytest.mark.parametrize("values", EVERY_SET)
def test_the_notes_are_whole_lines(chart: Chart, monitored: Cluster, namespace: str, values: Values) -> None:
    kubeconfig = f"--kubeconfig={monitored.kubeconfig()}"
    done = chart.helm(
        "install",
        "remuda",
        chart.path,
        "--dry-run=client",
        kubeconfig,
        "--namespace",
        namespace,
        values=values,
    )
    assert done.code == 0, done.err
    notes = done.out.partition("NOTES:\n")[2].splitlines()
    assert len(notes) > 5
    assert [line for line in notes if line != line.rstrip()] == []
    pools = [item["metadata"]["name"] for item in chart.objects(values) if item["kind"] == "RunnerPool"]
    output = f"   From the values of Runner Provisioner there are already: {', '.join(sorted(pools))}"
    assert (output in notes) == bool(pools)


def test_that_namespace_does_refuse_pods(chart: Chart, monitored: Cluster, restricted: str) -> None:
    template = chart.one("Deployment")["spec"]["template"]
    template["spec"]["serviceAccountName"] = "default"
    template["spec"]["containers"][0]["securityContext"]["capabilities"] = {}
    template["metadata"]["name"] = "remuda-0"
    answer = monitored.request("POST", f"/api/v1/namespaces/{restricted}/pods", template)
    assert answer.status == 403
    assert "unrestricted capabilities" in answer.text


def test_the_pods_may_use_their_lease_and_no_other(chart: Chart, monitored: Cluster, restricted: str) -> None:
    objects = yaml.safe_dump_all(chart.objects(namespace=restricted))
    monitored.kubectl("apply", "--server-side", "-n", restricted, "-f", "-", stdin=objects)
    token = monitored.token_for(restricted, "remuda")
    path = LEASES.format(restricted)
    for name in (LEASE, "another"):
        assert monitored.request("POST", path, {"metadata": {"name": name}}, token=token).status == 201
    asked = {
        f"{path}/{LEASE}": 200,
        f"{path}?fieldSelector=metadata.name%3D{LEASE}": 200,
        f"{path}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D{LEASE}": 200,
        f"{path}/another": 403,
        path: 403,
        f"/api/v1/namespaces/{restricted}/configmaps": 403,
        "/api/v1/namespaces/default/secrets": 403,
        LEASES.format("default"): 403,
    }
    assert {where: monitored.request("GET", where, token=token).status for where in asked} == asked


def test_a_release_is_installed_upgraded_and_uninstalled_and_objects_stay(
    chart: Chart, new_cluster: NewCluster
) -> None:
    cluster = new_cluster()
    helm = chart.helm
    at = ("--kubeconfig", cluster.kubeconfig(), "--namespace", "ci")

    def checksum() -> str:
        answer = cluster.request("GET", DEPLOYMENT.format("ci"))
        assert answer.status == 200, answer.text
        return str(answer.json()["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    done = helm("install", "remuda", chart.path, *at, "--create-namespace", values={})
    assert done.code == 0, done.err
    assert "exec deployment/remuda -- remuda why pool NAME" in done.out
    before = checksum()

    pools = "/apis/remuda.dev/v1alpha1/namespaces/ci/runnerpools"
    spec = {"class": "local/shell", "source": {"queue": {}}, "provider": {"process": {}}, "max": 1}
    pool = {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": "shell"},
        "spec": spec,
    }
    assert cluster.request("POST", pools, pool).status == 201

    done = helm("upgrade", "remuda", chart.path, *at, values={"config": {"A": "1"}})
    assert done.code == 0, done.err
    assert checksum() != before

    done = helm("uninstall", "remuda", *at)
    assert done.code == 0, done.err
    assert cluster.request("GET", DEPLOYMENT.format("ci")).status == 404
    crd = cluster.request(
        "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnerpools.remuda.dev"
    )
    assert "deletionTimestamp" not in crd.json()["metadata"]
    assert [item["metadata"]["name"] for item in cluster.request("GET", pools).json()["items"]] == ["shell"]

    done = helm("install", "remuda", chart.path, *at, values={})
    assert done.code == 0, done.err
