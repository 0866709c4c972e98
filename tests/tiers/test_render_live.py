"""What is rendered, judged by others: by kubeconform, by a real API server, and by the schema of Kyverno."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.processes import eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl
from tests.tiers.live import MUTATING_FLAGS, namespace
from tests.tiers.live import apply as put
from tests.tiers.schemas import write_schemas
from tests.tiers.test_render import POLICY, Run, names, run

from remuda.objects.crds import crd_of
from remuda.objects.tiers import DEFAULT_POLICY, TIER_POLICY
from remuda.output.texts import yaml_text
from remuda.rules.tiers import TierPolicy, Workload
from remuda.tiers.rendering import Rendered, kyverno, manifests

pytestmark = pytest.mark.slow
__all__ = ["run"]

FULL: TierPolicy = replace(
    DEFAULT_POLICY,
    name="full",
    cpu_limits="strip",
    default_tier="4-aux",
    namespaces=("a*", "b-?"),
    guaranteed=(Workload("a", "Deployment", "db-*"),),
    sidecars=(*DEFAULT_POLICY.sidecars, replace(DEFAULT_POLICY.sidecars[0], names=("istio-*",))),
)
POLICIES = {"built-in": DEFAULT_POLICY, "full": FULL}


@pytest.fixture(scope="module")
def mutating(programs: Programs) -> Iterator[Cluster]:
    require_openssl()
    with Cluster(programs(*ALWAYS, "kubectl"), flags=MUTATING_FLAGS) as running:
        yield running


def rendered(policy: TierPolicy) -> Rendered:
    return manifests([policy], {"a": {"tier": "0-core"}, "b-c": {"tier": "4-aux"}}, "v1beta1")


@pytest.mark.parametrize("policy", POLICIES)
def test_kubeconform_knows_every_field_of_every_object(
    mutating: Cluster, programs: Programs, tmp_path: Path, policy: str
) -> None:
    location = write_schemas(mutating, tmp_path)

    def judge(objects: Any) -> dict[str, Any]:
        command = [str(programs("kubeconform")["kubeconform"]), "-strict", "-summary", "-output=json"]
        ran = subprocess.run(
            [*command, "-schema-location", location, "-"],
            input=yaml_text(objects), capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        return dict(json.loads(ran.stdout))

    made = rendered(POLICIES[policy]).objects
    found = judge(made)
    assert found["resources"] == []
    assert found["summary"] == {"valid": len(made), "invalid": 0, "errors": 0, "skipped": 0}
    # and it would say so
    odd = {**made[-1], "spec": {**made[-1]["spec"], "odd": 1}}
    assert judge([odd])["summary"]["invalid"] == 1


@pytest.mark.parametrize("policy", POLICIES)
def test_the_server_takes_every_object_in_the_order_in_which_it_is_printed(
    mutating: Cluster, policy: str
) -> None:
    put(mutating, *namespace("a"), *namespace("b-c"))
    made = rendered(POLICIES[policy]).objects
    done = mutating.kubectl(
        "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml_text(made)
    )
    assert len(done.splitlines()) == len(made)


@pytest.fixture(scope="module")
def with_kyverno(mutating: Cluster, programs: Programs) -> Cluster:
    """The server knows Kyverno's kind; Kyverno itself does not run."""
    crd = programs("kyverno-crd")["kyverno-crd"].read_text()
    mutating.kubectl("create", "-f", "-", stdin=crd)
    path = "/apis/kyverno.io/v1/clusterpolicies"
    eventually(lambda: mutating.request("GET", path).status == 200, "ClusterPolicies")
    return mutating


@pytest.mark.parametrize("policy", POLICIES)
def test_kyvernos_schema_knows_every_field_of_its_policies(with_kyverno: Cluster, policy: str) -> None:
    made = [each for each in kyverno.render([POLICIES[policy]]).objects if each["kind"] == "ClusterPolicy"]
    assert len(made) >= 6
    path = "/apis/kyverno.io/v1/clusterpolicies?dryRun=All&fieldValidation=Strict"
    for each in made:
        answer = with_kyverno.request("POST", path, each)
        assert answer.status == 201, answer.text
    odd = {**made[0], "spec": {**made[0]["spec"], "odd": 1}}
    assert 'unknown field \\"spec.odd\\"' in with_kyverno.request("POST", path, odd).text


def test_a_cluster_says_which_namespaces_and_policies_there_are_and_what_it_serves(
    mutating: Cluster, cluster: Cluster, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(mutating, *namespace("a", {"tier": "0-core"}))
    monkeypatch.setenv("KUBECONFIG", str(mutating.kubeconfig()))
    done = run("--cluster", "-o", "json")
    assert done.code == 0, done.err
    items = json.loads(done.out)["items"]
    assert "ResourceQuota/a/a-quota" in names(items)
    versions = {each["apiVersion"] for each in items if each["kind"] == "MutatingAdmissionPolicy"}
    assert versions == {"admissionregistration.k8s.io/v1beta1"}
    # policies of files hold before those of the cluster
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    assert "ResourceQuota/default/default-quota" in names(
        json.loads(run(file, "--cluster", "-o", "json").out)["items"]
    )
    # it may know the kind and keep none, or keep some
    mutating.kubectl("apply", "-f", "-", stdin=json.dumps(crd_of(TIER_POLICY)))
    path = "/apis/remuda.dev/v1alpha1/namespaces/default/tierpolicies"
    eventually(lambda: mutating.request("GET", path).status == 200, "TierPolicies")
    assert json.loads(run("--cluster", "-o", "json").out)["items"] == items
    kept = {**yaml.safe_load(POLICY), "metadata": {"name": "kept"}}
    assert mutating.request("POST", path, kept).status == 201
    assert "ValidatingAdmissionPolicy/remuda-tiers-kept" in names(
        json.loads(run("--cluster", "-o", "json").out)["items"]
    )
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig()))
    plain = run("--context", "test", "-o", "json")
    assert plain.code == 0, plain.err
    assert not [name for name in names(json.loads(plain.out)["items"]) if name.startswith("Mutating")]
