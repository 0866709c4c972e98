"""A diagnosis of a real cluster: real API server, KubeVirt's own controller, and a kubelet that has only logs."""

import gzip
import json
import os
import pty
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.diagnose import stage
from tests.diagnose.conftest import Run
from tests.diagnose.kubelet import Kubelet
from tests.kubevirt.fixtures import _installation
from tests.kubevirt.guests import Guests
from tests.kubevirt.installation import NODE
from tests.servers.cluster import Cluster
from tests.servers.fixtures import Programs, new_namespace
from tests.sources.circleci.loopback import Circle, in_thread

from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role, role

pytestmark = pytest.mark.slow


class Staged:
    """What the tests look at."""

    def __init__(self, cluster: Cluster, namespace: str, circle: Circle, kubelet: Kubelet) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.circle = circle
        self.kubelet = kubelet


@pytest.fixture(scope="module")
def staged(programs: Programs) -> Iterator[Staged]:
    with ExitStack() as stack:
        installed = stack.enter_context(_installation(programs, {"users": {"guest": ()}}))
        cluster = installed.cluster
        stage.install_kinds(cluster)
        circle = stack.enter_context(in_thread(Circle()))
        circle.tasks("acme/linux").unclaimed = 3
        kubelet = stack.enter_context(Kubelet(cluster))
        kubelet.serve(NODE)
        namespace = stack.enter_context(new_namespace(cluster))
        stack.enter_context(Guests(cluster, namespace))
        stage.apply(cluster, namespace, stage.objects(namespace, circle.url))
        stage.play(cluster, namespace)
        kubelet.logs[stage.launcher(cluster, namespace), "guest-console-log"] = stage.CONSOLE
        kubelet.logs["remuda-x", "remuda"] = stage.LOG
        yield Staged(cluster, namespace, circle, kubelet)


@pytest.fixture
def config(staged: Staged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(staged.cluster.kubeconfig(namespace=staged.namespace)))


def by_check(printed: str) -> dict[str, dict[str, Any]]:
    return {item["check"]: item for item in json.loads(printed)["findings"]}


@pytest.mark.usefixtures("config")
def test_what_is_wrong_is_found_in_a_real_cluster(staged: Staged, run: Run) -> None:
    ran = run("pools", "-o", "json")
    assert ran.code == 1, ran.err
    found = by_check(ran.out)
    verdicts = {name: item["verdict"] for name, item in found.items()}
    assert verdicts == {
        "controller": "problem", "configuration": "unknown", "secrets": "problem", "permissions": "problem",
        "kubevirt": "ok", "operator": "unknown", "virt-handler": "problem", "nodes": "ok", "kvm": "ok",
        "placement": "ok", "images": "ok", "guests": "problem", "cold-start": "unknown", "demand": "problem",
        "scaling": "unknown", "rollout": "ok",
    }, ran.out  # fmt: skip
    assert "ended with 2, which is bad input" in found["controller"]["evidence"][0]
    assert found["secrets"]["evidence"] == [
        "pool old, source.circleci.token: Secret circle has no key mistyped (its keys: circle-token, class-token)"
    ]
    assert (
        "ServiceAccount default may not patch runnerpools/status.remuda.dev"
        in found["permissions"]["evidence"]
    )
    assert found["guests"]["evidence"] == [
        "VM linux-0: failed at install: adding the package repository failed 5 times: no such host"
    ]
    assert any(path.startswith("/containerLogs/") for path in staged.kubelet.asked)
    assert {asked.token for asked in staged.circle.asked} == {stage.SECRETS["api token"]}


@pytest.mark.usefixtures("config")
def test_what_is_found_offline_is_what_was_found_live_and_no_secret_is_in_the_bundle(
    staged: Staged, run: Run, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.json.gz"
    live = run("pools", "-o", "json", "--bundle", bundle)
    offline = run("pools", "-o", "json", "--from", bundle)
    assert (offline.code, offline.out) == (live.code, live.out)
    assert bundle.stat().st_mode & 0o777 == 0o600
    text = gzip.decompress(bundle.read_bytes()).decode()
    for where, secret in stage.SECRETS.items():
        for shape in (secret, b64encode(secret.encode()).decode().rstrip("=")[:-1]):
            assert shape not in text, f"the secret of {where} is in the bundle"
            assert shape not in live.out, f"the secret of {where} is told"
    # What matters is in there.
    assert "circle-token" in text
    assert "step=install reason=adding the package repository failed" in text
    assert "CrashLoopBackOff" in text


@pytest.mark.usefixtures("config")
def test_kubevirt_is_checked_by_itself(staged: Staged, run: Run) -> None:
    ran = run("kubevirt", "-o", "yaml")
    assert ran.code == 1
    found = {item["check"]: item["verdict"] for item in yaml.safe_load(ran.out)["findings"]}
    assert found["kubevirt"] == "ok"
    assert found["virt-handler"] == "problem"
    assert "controller" not in found


@pytest.mark.usefixtures("config")
def test_circleci_is_asked_with_the_token_of_the_secret(staged: Staged, run: Run) -> None:
    known = staged.circle.token
    staged.circle.token = "another"
    try:
        found = by_check(run("pools", "linux", "-o", "json").out)["scaling"]
    finally:
        staged.circle.token = known
    assert found["verdict"] == "problem"
    assert "the token is not accepted" in found["evidence"][0]
    assert "personal API token" in found["fix"][0]


def test_an_empty_cluster_is_told_what_it_lacks(
    cluster: Cluster, namespace: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(namespace=namespace)))
    ran = run("kubevirt", "-o", "json")
    assert ran.code == 1
    assert by_check(ran.out)["kubevirt"]["told"] == "KubeVirt is not installed"
    ran = run("pools", "-o", "json")
    assert ran.code == 1
    found = by_check(ran.out)
    assert found["controller"]["told"] == "Remuda is not installed here"
    assert found["configuration"]["told"] in ("Remuda's kinds are not installed", "there is no pool")
    assert found["permissions"]["told"] == "you, who ask, may do all that remuda up needs"


def test_progress_is_for_terminals(staged: Staged) -> None:
    theirs, ours = pty.openpty()
    environ = {**os.environ, "KUBECONFIG": str(staged.cluster.kubeconfig(namespace=staged.namespace))}
    command = [sys.executable, "-m", "remuda", "diagnose", "kubevirt"]
    with os.fdopen(theirs, "rb", buffering=0) as terminal:
        done = subprocess.run(
            command, env=environ, stdout=subprocess.PIPE, stderr=ours, check=False, timeout=120
        )
        os.close(ours)
        said = terminal.read(4096).decode()
    assert done.returncode == 1
    assert "reading nodes and KubeVirt …" in said
    assert b"reading" not in done.stdout
    piped = subprocess.run(command, env=environ, capture_output=True, check=False, timeout=120)
    assert (piped.stdout, piped.stderr) == (done.stdout, b"")


def test_whoever_may_read_nothing_learns_that_and_what_to_grant(
    staged: Staged, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{staged.namespace}"
    monkeypatch.setenv("KUBECONFIG", str(staged.cluster.kubeconfig("guest")))
    words = ("pools", "--namespace", staged.namespace, "-o", "json")
    blind = run(*words)
    assert blind.code == 0
    assert {item["verdict"] for item in by_check(blind.out).values()} == {"unknown"}
    assert "remuda rbac diagnose" in blind.out

    subject = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "guest"}]
    wide = f"look-{staged.namespace}"
    for path, body in (
        (f"{at}/roles", role(JOBS.permissions()["diagnose"], "look")),
        (f"{at}/rolebindings", _binding("look", "Role", subject)),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            cluster_role(JOBS.permissions()["diagnose"], wide),
        ),
        ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", _binding(wide, "ClusterRole", subject)),
    ):
        answer = staged.cluster.request("POST", path, body)
        assert answer.status == 201, answer.text
    granted = run(*words)
    monkeypatch.setenv("KUBECONFIG", str(staged.cluster.kubeconfig()))
    assert granted.out == run(*words).out
    verbs = {
        (line["verb"], line["objectRef"]["resource"])
        for line in staged.cluster.audit()
        if line["user"]["username"] == "guest" and line["verb"] not in ("get", "list")
    }
    assert verbs <= {("create", "localsubjectaccessreviews"), ("create", "selfsubjectaccessreviews")}


def _binding(name: str, kind: str, subjects: list[dict[str, str]]) -> dict[str, Any]:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": subjects}
