"""What an audit and a gate take from a real cluster beside its objects: policies it keeps, and what kubelets said before."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.capacity.builders import (
    CAPABILITY,
    decision,
    sized,
    written_node,
    written_policy,
    written_summary,
)
from tests.capacity.conftest import Run
from tests.catalog import KINDS
from tests.processes import eventually
from tests.servers.cluster import Cluster

from remuda.objects.crds import crd_of

pytestmark = pytest.mark.slow


@pytest.fixture
def node(guarded: Cluster, place: str) -> Iterator[str]:
    """A node, named as the namespace, whose kubelet nobody can reach."""
    assert guarded.request("POST", "/api/v1/nodes", written_node(place)).status == 201
    yield place
    guarded.request("DELETE", f"/api/v1/nodes/{place}")


@pytest.fixture
def kept(guarded: Cluster, place: str) -> Iterator[str]:
    """A policy that the cluster keeps."""
    kind = next(kind for kind in KINDS if kind.name == "CapacityPolicy")
    guarded.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(crd_of(kind)))
    path = f"/apis/remuda.dev/v1alpha1/namespaces/{place}/capacitypolicies"
    body = written_policy("kept", ceiling=3)
    eventually(lambda: guarded.request("POST", path, body).status == 201, "the custom resource")
    yield "kept"
    guarded.kubectl("delete", "crd", "capacitypolicies.remuda.dev")


@pytest.mark.usefixtures("version")
def test_an_audit_judges_by_the_policies_that_the_cluster_keeps(
    guarded: Cluster, kept: str, run: Run, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig()))
    label = json.loads(run("audit", "-o", "json").out)["labels"][0]
    assert (label["policy"], label["ceiling"]) == (kept, 3)
    assert json.loads(run("plan", "-o", "json").out)["labels"][0]["before"]["ceiling"] == 3
    other = json.loads(run("audit", "--label", "another", "-o", "json").out)["labels"][0]
    assert other["policy"] is None
    token = guarded.token_for(place, "default")
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig("stranger", token=token)))
    ran = run("audit", "--label", "nix-kvm", "-o", "json")
    assert ran.code == 1
    assert "may not list capacitypolicies.remuda.dev: judged without" in ran.err
    assert json.loads(ran.out)["labels"][0]["aggregate"]["max"] is None


def test_what_a_kubelet_said_earlier_counts_where_it_does_not_answer(
    guarded: Cluster, node: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(guarded.kubeconfig()))
    large = {"name": "large", "requests": sized("1", "1Gi", "1Gi")}
    overflow = {"node": node, "envelopes": ["large"], "admitted": decision()}
    policy, summary = tmp_path / "policy.json", tmp_path / "summary.json"
    spec = written_policy(nodes={"primary": CAPABILITY, "overflow": [overflow]}, envelopes=[large])
    policy.write_text(json.dumps(spec))
    summary.write_text(json.dumps(written_summary(node)))
    asked = ("gate", node, "--envelope", "large", "--policy", policy, "-o", "json")
    for more, state in ((), "unknown"), (("--summary", summary), "pass"):
        gates = {item["gate"]: item["state"] for item in json.loads(run(*asked, *more).out)["gates"]}
        assert (gates["root-filesystem"], gates["image-filesystem"]) == (state, state)
    ran = run("audit", "--policy", policy, "--summary", summary, "-o", "json")
    assert f"summary of {node}" not in {item["part"] for item in json.loads(ran.out)["unknown"]}
