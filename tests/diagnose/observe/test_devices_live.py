"""Whether a node has /dev/kvm, asked of virt-handler through the real API server and a kubelet that runs commands."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.diagnose.conftest import Run
from tests.diagnose.kubelet import STATUS_PATCH, Command, Kubelet
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Programs, new_namespace, require_openssl

from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role

pytestmark = pytest.mark.slow

NODE, HANDLER = "node-without-kvm", "virt-handler-x"
THERE = "crw-rw-rw- 1 root kvm 10, 232 Nov 16 10:00 /dev/kvm"
GONE = "ls: cannot access '/dev/kvm': No such file or directory"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def cluster(programs: Programs) -> Iterator[Cluster]:
    require_openssl()
    with Cluster(programs("etcd", "kube-apiserver", "kubectl"), users={"guest": ()}) as running:
        yield running


@pytest.fixture(scope="module")
def kubelet(cluster: Cluster) -> Iterator[Kubelet]:
    """Of a node that takes VMs and offers no KVM, with a virt-handler on it."""
    with ExitStack() as stack:
        namespace = stack.enter_context(new_namespace(cluster))
        serving = stack.enter_context(Kubelet(cluster))
        node = {"metadata": {"name": NODE, "labels": {"kubevirt.io/schedulable": "true"}}}
        _post(cluster, "/api/v1/nodes", node)
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4"}}
        _patch(cluster, f"/api/v1/nodes/{NODE}/status", {"status": ready})
        serving.serve(NODE)
        pods = f"/api/v1/namespaces/{namespace}/pods"
        container = {"name": "virt-handler", "image": "images.example/virt-handler"}
        meta = {"name": HANDLER, "labels": {"kubevirt.io": "virt-handler"}}
        spec = {"nodeName": NODE, "containers": [container], "automountServiceAccountToken": False}
        _post(cluster, pods, {"metadata": meta, "spec": spec})
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        _patch(cluster, f"{pods}/{HANDLER}/status", {"status": running})
        yield serving


@pytest.fixture
def look(
    cluster: Cluster, kubelet: Kubelet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    """`look(command, user, *more words)` is what the check of KVM says when `ls` goes so."""

    def call(command: Command | None, user: str = "admin", *words: str | Path) -> dict[str, Any]:
        kubelet.commands.clear()
        if command is not None:
            kubelet.commands[HANDLER, "virt-handler"] = command
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(user)))
        ran = run("kubevirt", "-o", "json", *words)
        assert ran.code == 1, ran.err
        return next(item for item in json.loads(ran.out)["findings"] if item["check"] == "kvm")

    kubelet.asked.clear()
    return call


Look = Callable[..., dict[str, Any]]


def test_a_node_without_the_device_is_reported_in_the_words_of_its_virt_handler(
    look: Look, kubelet: Kubelet
) -> None:
    found = look(Command(err=f"{GONE}\n", code=2))
    assert (found["verdict"], found["told"]) == ("problem", "no node has /dev/kvm")
    assert found["evidence"][1:] == [f"virt-handler on node {NODE}: {GONE}"]
    assert found["fix"][0].startswith("make a node pool")
    (asked,) = kubelet.asked
    assert asked.startswith("/exec/")
    assert f"/{HANDLER}/virt-handler?command=ls&command=-l&command=%2Fdev%2Fkvm" in asked


def test_a_device_that_is_not_offered_is_reported_and_is_in_the_bundle_too(
    look: Look, run: Run, tmp_path: Path
) -> None:
    bundle = tmp_path / "seen.json"
    found = look(Command(out=f"{THERE}\n"), "admin", "--bundle", bundle)
    assert (found["verdict"], found["told"]) == ("problem", "nodes have /dev/kvm and do not offer it")
    assert found["evidence"][1:] == [f"virt-handler on node {NODE}: {THERE}"]
    assert len(found["fix"]) == 1
    offline = run("kubevirt", "-o", "json", "--from", bundle)
    assert found in json.loads(offline.out)["findings"]


def test_a_kubelet_that_cannot_run_it_breaks_nothing(look: Look) -> None:
    found = look(None)
    assert (found["verdict"], found["told"]) == ("problem", "no node has /dev/kvm")
    assert f"virt-handler on node {NODE}: running ls in pods" in found["evidence"][1]


def test_a_command_that_never_ends_breaks_nothing(look: Look) -> None:
    found = look(Command(code=None))
    assert found["evidence"][1].endswith("no answer within 10 s")
    assert found["verdict"] == "problem"


def test_whoever_may_not_run_commands_learns_which_verb_is_missing(
    look: Look, cluster: Cluster, kubelet: Kubelet
) -> None:
    with granted(cluster, optional=False):
        found = look(Command(out=THERE), "guest")
    assert found["told"] == "no node has /dev/kvm"
    assert "403 Forbidden" in found["evidence"][1]
    assert 'cannot get resource "pods/exec"' in found["evidence"][1]
    assert "remuda rbac diagnose --optional" in found["fix"][1]
    assert kubelet.asked == []


def test_what_rbac_prints_on_request_is_enough(look: Look, cluster: Cluster) -> None:
    with granted(cluster, optional=True):
        assert look(Command(out=THERE), "guest")["told"] == "nodes have /dev/kvm and do not offer it"


@contextmanager
def granted(cluster: Cluster, *, optional: bool) -> Iterator[None]:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks"}
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "guest"}
    _post(
        cluster,
        f"{RBAC}/clusterroles",
        cluster_role(JOBS.permissions()["diagnose"], "looks", optional=optional),
    )
    body = {"metadata": {"name": "looks"}, "roleRef": ref, "subjects": [subject]}
    _post(cluster, f"{RBAC}/clusterrolebindings", body)
    try:
        yield
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            assert cluster.request("DELETE", f"{RBAC}/{kind}/looks").status == 200


def _post(cluster: Cluster, path: str, body: object) -> None:
    answer = cluster.request("POST", path, body)
    assert answer.status == 201, answer.text


def _patch(cluster: Cluster, path: str, body: object) -> None:
    answer = cluster.request("PATCH", path, body, content_type=STATUS_PATCH)
    assert answer.status == 200, answer.text
