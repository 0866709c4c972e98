"""`remuda up --cluster` keeps a real cluster to a TierPolicy, beside others who have their hands in it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.processes import ENVIRON, eventually
from tests.servers.cluster import ALWAYS, Cluster
from tests.servers.fixtures import Programs, require_openssl
from tests.test_cluster import Replica, define
from tests.tiers.live import MUTATING_FLAGS

from remuda.jobs import JOBS
from remuda.kube.rbac import cluster_role, role

pytestmark = pytest.mark.slow

HOME = "remuda-home"
POLICIES = f"/apis/remuda.dev/v1alpha1/namespaces/{HOME}/tierpolicies"
CARD = "feature.node.kubernetes.io/pci-10de.present"
MERGE = "application/merge-patch+json"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}
SPOT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
#: who has what a command needs, and who has exactly what `remuda up` does
LIMITED, KEEPER = "limited", "keeper"


class Kept:
    """A cluster, and the Remuda that keeps it."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self._directory = cluster, directory
        self.replica = self.started("first")

    def started(self, name: str) -> Replica:
        config = self.cluster.kubeconfig(KEEPER, namespace=HOME)
        return Replica(self.cluster, HOME, self._directory, name, more={"KUBECONFIG": str(config)})

    def namespace(self, name: str, tier: str | None = "4-aux", **labels: str) -> None:
        said = {"remuda.dev/tier": tier} if tier else {}
        said |= {f"remuda.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
        body = {"metadata": {"name": name, "labels": said}}
        assert self.cluster.request("POST", "/api/v1/namespaces", body).status == 201

    def label(self, name: str, **labels: str | None) -> None:
        said = {f"remuda.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
        self.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": said}})

    def patch(self, path: str, body: object, content_type: str = MERGE) -> Any:
        answer = self.cluster.request("PATCH", path, body, content_type=content_type)
        assert answer.status == 200, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self.cluster.request("GET", path)
        return answer.json() if answer.status == 200 else None

    def limits(self, name: str) -> Any:
        return self.get(f"/api/v1/namespaces/{name}/limitranges/tier-defaults")

    def quota(self, name: str) -> Any:
        return self.get(f"/api/v1/namespaces/{name}/resourcequotas/{name}-quota")

    def pods_allowed(self, name: str) -> str | None:
        return str(self.quota(name)["spec"]["hard"].get("pods")) if self.quota(name) else None

    def settled(self, name: str, pods: str = "20") -> bool:
        return self.limits(name) is not None and self.pods_allowed(name) == pods

    def status(self, policy: str = "main") -> Any:
        found = self.get(f"{POLICIES}/{policy}")
        return (found or {}).get("status", {})


def policy(name: str = "main", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "TierPolicy",
        "metadata": {"name": name, "namespace": HOME},
        "spec": spec,
    }


def bind(cluster: Cluster, user: str, name: str, rules: list[dict[str, Any]]) -> None:
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([role, binding]))


@pytest.fixture(scope="module")
def kept(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    require_openssl()
    found = programs(*ALWAYS, "kubectl", "kube-controller-manager")
    users: dict[str, tuple[str, ...]] = {LIMITED: (), KEEPER: ()}
    with Cluster(found, users=users, extras=("kube-controller-manager",), flags=MUTATING_FLAGS) as cluster:
        define(cluster)
        assert cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}}).status == 201
        assert cluster.request("POST", POLICIES, policy()).status == 201
        needs = JOBS.permissions()["up"]
        wide = cluster_role(needs, "keeper", optional=True)
        assert wide is not None
        within = role(needs, "keeper", HOME)
        bind(cluster, KEEPER, "keeper", [*wide["rules"], *within["rules"]])
        made = Kept(cluster, tmp_path_factory.mktemp("kept"))
        try:
            eventually(lambda: made.status().get("conditions"), "the first status")
            yield made
        finally:
            made.replica.end()


def test_a_namespace_gets_what_its_tier_says_and_the_cluster_its_classes_and_rules(kept: Kept) -> None:
    kept.namespace("web")
    eventually(lambda: kept.settled("web"), "limits and quota")
    (item,) = kept.limits("web")["spec"]["limits"]
    assert item["max"] == {"memory": "4Gi"}
    assert "cpu" not in item["default"]
    assert kept.quota("web")["spec"]["hard"] == {"pods": "20", "requests.cpu": "8", "requests.memory": "16Gi"}
    eventually(
        lambda: kept.get("/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings")[
            "items"
        ],
        "what hands classes to pods",
    )
    values = {
        item["metadata"]["name"]: item["value"]
        for item in kept.get("/apis/scheduling.k8s.io/v1/priorityclasses")["items"]
    }
    assert (values["tier-0-core"], values["tier-4-aux"]) == (900_000, 200_000)
    eventually(lambda: kept.status().get("settled") == kept.status().get("namespaces") > 0, "the status")


def test_a_loop_that_is_settled_writes_nothing(kept: Kept) -> None:
    kept.namespace("still")
    eventually(lambda: kept.settled("still"), "limits and quota")
    versions = [kept.limits("still")["metadata"]["resourceVersion"]]
    before = len(list(_writes(kept.cluster)))
    eventually(lambda: kept.replica.page("metrics").count("remuda_tier_namespaces"), "metrics")
    cycles = _cycles(kept)
    eventually(lambda: _cycles(kept) > cycles + 3, "some cycles")
    assert len(list(_writes(kept.cluster))) == before
    assert [kept.limits("still")["metadata"]["resourceVersion"]] == versions


def _cycles(kept: Kept) -> float:
    lines = kept.replica.page("metrics").splitlines()
    name = 'remuda_loop_cycle_seconds_count{loop="tiers"}'
    return next((float(line.split()[1]) for line in lines if line.startswith(name)), 0.0)


def _writes(cluster: Cluster) -> Iterator[Any]:
    """What was written of the kinds that tiers keep."""
    kinds = {"limitranges", "resourcequotas", "priorityclasses", "nodes"}
    for event in cluster.audit():
        is_write = event["verb"] in {"create", "patch", "delete", "update"}
        about = event.get("objectRef", {})
        if is_write and about.get("resource") in kinds and not about.get("subresource"):
            yield event


def test_drift_is_reverted_and_what_others_add_stays(kept: Kept) -> None:
    kept.namespace("drifting")
    eventually(lambda: kept.settled("drifting"), "limits and quota")
    path = "/api/v1/namespaces/drifting/resourcequotas/drifting-quota"
    kept.patch(path, {"spec": {"hard": {"pods": "3", "requests.storage": "1Ti"}}})
    eventually(lambda: kept.pods_allowed("drifting") == "20", "the quota")
    assert kept.quota("drifting")["spec"]["hard"]["requests.storage"] == "1Ti"
    cpu = [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "1"}}]
    kept.patch("/api/v1/namespaces/drifting/limitranges/tier-defaults", {"spec": {"limits": cpu}})
    eventually(lambda: "cpu" not in kept.limits("drifting")["spec"]["limits"][0]["max"], "the limits")
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/tier-3-edge"
    assert kept.cluster.request("DELETE", path).status == 200
    eventually(lambda: kept.get(path), "the class")


def test_what_somebody_else_made_under_our_names_is_never_touched(kept: Kept) -> None:
    kept.namespace("theirs", tier=None)
    own = {"metadata": {"name": "theirs-quota"}, "spec": {"hard": {"pods": "7"}}}
    assert kept.cluster.request("POST", "/api/v1/namespaces/theirs/resourcequotas", own).status == 201
    version = kept.quota("theirs")["metadata"]["uid"], kept.quota("theirs")["spec"]
    kept.label("theirs", tier="4-aux")
    eventually(lambda: kept.limits("theirs"), "the limits")

    def says_so() -> bool:
        conditions = kept.status().get("conditions", ())
        return any("theirs-quota was not made by Remuda" in item["message"] for item in conditions)

    eventually(says_so, "the status")
    assert (kept.quota("theirs")["metadata"]["uid"], kept.quota("theirs")["spec"]) == version
    kept.label("theirs", tier=None)
    eventually(lambda: kept.limits("theirs") is None, "the end of our limits")
    assert kept.quota("theirs")["spec"] == {"hard": {"pods": "7"}}


def test_opt_outs_and_another_tier_hold_at_once(kept: Kept) -> None:
    kept.namespace("moving")
    eventually(lambda: kept.settled("moving"), "limits and quota")
    kept.label("moving", own_quota="true")
    eventually(lambda: kept.quota("moving") is None, "the end of the quota")
    assert kept.limits("moving")
    kept.label("moving", own_quota=None, own_limits="true")
    eventually(lambda: kept.limits("moving") is None and kept.quota("moving"), "the end of the limits")
    kept.label("moving", own_limits=None, tier="0-core")
    eventually(lambda: kept.settled("moving", pods="100"), "the other tier")
    (item,) = kept.limits("moving")["spec"]["limits"]
    assert item["max"] == {"memory": "8Gi"}


def test_a_namespace_that_is_deleted_and_made_again_is_kept_again(kept: Kept) -> None:
    for _ in range(3):
        kept.namespace("again")
        eventually(lambda: kept.settled("again"), "limits and quota")
        assert kept.cluster.request("DELETE", "/api/v1/namespaces/again").status == 200
        eventually(lambda: kept.get("/api/v1/namespaces/again") is None, "its end")


def test_a_changed_policy_holds_for_all_its_namespaces(kept: Kept) -> None:
    names = [f"many-{number}" for number in range(12)]
    for name in names:
        kept.namespace(name, tier="3-edge")
    eventually(lambda: all(kept.settled(name, pods="30") for name in names), "limits and quotas")
    changed = [{"name": "3-edge", "quota": {"pods": 31}, "priority": 310_000}]
    kept.patch(f"{POLICIES}/main", {"spec": {"tiers": changed}})
    eventually(lambda: all(kept.settled(name, pods="31") for name in names), "the other quotas")
    edge = "/apis/scheduling.k8s.io/v1/priorityclasses/tier-3-edge"
    eventually(lambda: (kept.get(edge) or {}).get("value") == 310_000, "the class, made again")
    kept.patch(f"{POLICIES}/main", {"spec": {"tiers": None}})
    eventually(lambda: all(kept.settled(name, pods="30") for name in names), "the quotas of before")


def test_the_taint_moves_with_the_card_and_everybody_else_s_stay(kept: Kept) -> None:
    for name, card in (("one", "true"), ("two", None)):
        labels = {CARD: card} if card else {}
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"taints": [SPOT]}}
        assert kept.cluster.request("POST", "/api/v1/nodes", body).status == 201

    def taints(name: str) -> list[dict[str, str]]:
        found = kept.get(f"/api/v1/nodes/{name}")["spec"].get("taints", [])
        return [
            {key: value for key, value in item.items() if key != "timeAdded"}
            for item in found
            if not item["key"].startswith("node.kubernetes.io/")
        ]

    eventually(lambda: GPU_TAINT in taints("one"), "the taint")
    assert taints("two") == [SPOT]
    kept.patch("/api/v1/nodes/two", {"metadata": {"labels": {CARD: "true"}}})
    kept.patch("/api/v1/nodes/one", {"metadata": {"labels": {CARD: None}}})
    eventually(lambda: GPU_TAINT in taints("two") and GPU_TAINT not in taints("one"), "the move")
    assert SPOT in taints("one")
    assert SPOT in taints("two")
    body = {"metadata": {"name": "three", "labels": {CARD: "true"}}, "spec": {"taints": [GPU_TAINT]}}
    assert kept.cluster.request("POST", "/api/v1/nodes", body).status == 201
    kept.patch("/api/v1/nodes/three", {"metadata": {"labels": {CARD: None}}})
    kept.patch("/api/v1/nodes/two", {"metadata": {"labels": {CARD: None}}})
    eventually(lambda: GPU_TAINT not in taints("two"), "the end of ours")
    assert GPU_TAINT in taints("three")


NO_QUOTAS = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no-quotas"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["resourcequotas"]}
            ]
        },
        "validations": [{"expression": "object.metadata.namespace != 'torn'", "message": "not now"}],
    },
}  # fmt: skip


def test_a_controller_killed_between_limits_and_quota_is_followed_by_one_that_goes_on(kept: Kept) -> None:
    binding = {
        **NO_QUOTAS,
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": "no-quotas", "validationActions": ["Deny"]},
    }
    kept.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([NO_QUOTAS, binding]))
    probe = {"metadata": {"name": "probe"}, "spec": {"hard": {"pods": "1"}}}
    kept.namespace("torn", tier=None)
    path = "/api/v1/namespaces/torn/resourcequotas?dryRun=All"
    eventually(lambda: kept.cluster.request("POST", path, probe).status >= 400, "the rule")
    kept.label("torn", tier="4-aux")
    eventually(lambda: kept.limits("torn"), "the limits")
    eventually(lambda: "not now" in json.dumps(kept.status()), "why there is no quota")
    kept.replica.process.kill()
    kept.replica.process.wait()
    assert kept.quota("torn") is None
    kept.cluster.kubectl("delete", "validatingadmissionpolicybinding/no-quotas")
    kept.replica.end()
    kept.replica = kept.started("second")
    eventually(lambda: kept.settled("torn"), "the quota")


def cli(kept: Kept, *words: str, user: str = "admin") -> subprocess.CompletedProcess[str]:
    return remuda(kept, "tiers", *words, user=user)


def remuda(kept: Kept, *words: str, user: str = "admin", **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **ENVIRON, "KUBECONFIG": str(kept.cluster.kubeconfig(user)), **more}
    return subprocess.run(
        [sys.executable, "-m", "remuda", *words],
        env=environ, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_apply_and_diff_say_what_they_do_and_name_a_permission_that_is_missing(
    kept: Kept, tmp_path: Path
) -> None:
    kept.replica.stop()
    try:
        kept.namespace("once")
        before = cli(kept, "diff", "-o", "json")
        assert before.returncode == 1, before.stderr
        changes = {(item["change"], item["object"]) for item in json.loads(before.stdout)["changes"]}
        assert changes >= {
            ("create", "LimitRange once/tier-defaults"),
            ("create", "ResourceQuota once/once-quota"),
        }
        tried = cli(kept, "apply", "--dry-run")
        assert (tried.returncode, kept.limits("once")) == (0, None)
        dry = ("up", "--cluster", "--dry-run", "--data-dir", str(tmp_path / "dry"))
        planned = remuda(kept, *dry, POD_NAMESPACE=HOME, POD_NAME="dry")
        assert "LimitRange once/tier-defaults" in planned.stdout, planned.stderr
        assert kept.limits("once") is None

        reading = cluster_role(JOBS.permissions()["tiers diff"], "reads", optional=True)
        assert reading is not None
        policies = {"apiGroups": ["remuda.dev"], "resources": ["tierpolicies"], "verbs": ["list"]}
        bind(kept.cluster, LIMITED, "policies", [policies])
        words = 'cannot list resource "limitranges"'
        eventually(lambda: words in cli(kept, "diff", user=LIMITED).stdout, "what a diff cannot read")
        assert cli(kept, "diff", user=LIMITED).returncode == 1
        bind(
            kept.cluster, LIMITED, "reads", [{**rule, "verbs": ["get", "list"]} for rule in reading["rules"]]
        )
        eventually(lambda: "cannot list" not in cli(kept, "diff", user=LIMITED).stdout, "the reader's role")
        refused = cli(kept, "apply", user=LIMITED)
        assert refused.returncode == 1
        assert 'cannot create resource "limitranges"' in refused.stdout

        whole = cluster_role(JOBS.permissions()["tiers apply"], "writes", optional=True)
        assert whole is not None
        bind(kept.cluster, LIMITED, "writes", whole["rules"])
        eventually(lambda: cli(kept, "apply", user=LIMITED).returncode == 0, "the writer's role")
        assert kept.settled("once")
        after = cli(kept, "diff", user=LIMITED)
        assert (after.returncode, after.stdout.splitlines()[0]) == (0, "nothing would be changed")

        kept.patch("/api/v1/namespaces/once/resourcequotas/once-quota", {"spec": {"hard": {"pods": "2"}}})
        drifted = cli(kept, "diff")
        assert drifted.returncode == 1
        assert "spec.hard.pods: 2 → 20" in drifted.stdout
        none = tmp_path / "none.yaml"
        none.write_text(
            "apiVersion: remuda.dev/v1alpha1\nkind: Ceiling\nmetadata: {name: c}\nspec: {machines: 1}\n"
        )
        assert cli(kept, "diff", str(none)).returncode == 2
    finally:
        kept.replica.end()
        kept.replica = kept.started("third")


def test_a_policy_that_goes_leaves_nothing_behind(kept: Kept) -> None:
    eventually(lambda: kept.settled("once"), "the drift's end")
    assert kept.cluster.request("DELETE", f"{POLICIES}/main").status == 200
    eventually(lambda: kept.limits("once") is None and kept.quota("once") is None, "the end of what it gave")

    def ours() -> list[str]:
        listed = []
        for path in (
            "/api/v1/limitranges",
            "/api/v1/resourcequotas",
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies",
        ):
            found = kept.get(f"{path}?labelSelector=remuda.dev/tier-policy")["items"]
            listed += [item["metadata"]["name"] for item in found]
        return listed

    eventually(lambda: not ours(), "the end of everything")


def test_what_the_chart_grants_was_enough_for_all_of_this(kept: Kept) -> None:
    table = {
        (rule.group, resource, verb)
        for rule in JOBS.permissions()["up"]
        if rule.is_cluster_wide
        for resource in rule.resources
        for verb in rule.verbs
    }
    groups = {group for group, _, _ in table}
    used, refused = set(), []
    for line in kept.cluster.audit():
        about = line.get("objectRef")
        if about is None or line["user"].get("username") != KEEPER:
            continue
        used.add((about.get("apiGroup", ""), about["resource"], line["verb"]))
        if "cannot" in line.get("responseStatus", {}).get("message", ""):
            refused.append(f"{line['verb']} {line['requestURI']}")
    assert refused == []
    unused = {(group, resource, verb) for group, resource, verb in table - used if verb != "patch"}
    assert unused == set()
    assert ("", "resourcequotas", "patch") in used
    assert ("", "nodes", "patch") in used
    assert groups <= {group for group, _, _ in used}
