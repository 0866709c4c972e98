"""Tiers on a real API server: policies applied, namespaces that have them, and what becomes of a pod."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.servers.loopback import Answer

from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.admission import cluster_objects
from remuda.tiers.decide.desired import limit_range, resource_quota

MUTATING_FLAGS = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
)
_PLURALS = {
    "PriorityClass": "priorityclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "LimitRange": "limitranges",
    "ResourceQuota": "resourcequotas",
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
}


def apply(cluster: Cluster, *objects: dict[str, Any]) -> None:
    """Server-side apply, in the order given."""
    for each in objects:
        version, meta = each["apiVersion"], each["metadata"]
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        inside = f"/namespaces/{meta['namespace']}" if meta.get("namespace") else ""
        path = f"{root}{inside}/{_PLURALS[each['kind']]}/{meta['name']}?fieldManager=remuda-tiers&force=true"
        answer = cluster.request("PATCH", path, each, content_type="application/apply-patch+yaml")
        assert answer.status in (200, 201), answer.text


def namespace(name: str, labels: dict[str, str] | None = None) -> tuple[dict[str, Any], ...]:
    """A namespace in which pods can be made."""
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}},
    )


@dataclass(frozen=True, slots=True)
class World:
    """An API server that has policies, one for each way with CPU limits: `warn-0-core` is a namespace of `warn`."""

    cluster: Cluster
    #: the version in which it serves MutatingAdmissionPolicies
    mutating: str | None

    def has(self, policies: Sequence[TierPolicy]) -> None:
        """Apply policies, and all that each tier gives to the namespace `POLICY-TIER`; wait until that is enforced."""
        for policy in policies:
            apply(self.cluster, *cluster_objects(policy, mutating=self.mutating, others=policies))
            for tier in policy.tiers.values():
                name = f"{policy.name}-{tier.name}"
                apply(self.cluster, *namespace(name, {policy.label: tier.name}))
                apply(self.cluster, limit_range(policy, tier, name), resource_quota(policy, tier, name))
        eventually(lambda: all(self._is_enforced(policy) for policy in policies), "policies and quotas")

    def _is_enforced(self, policy: TierPolicy) -> bool:
        for tier in policy.tiers.values():
            where = f"{policy.name}-{tier.name}"
            quotas = self.cluster.request("GET", f"/api/v1/namespaces/{where}/resourcequotas").json()["items"]
            if not all(each.get("status", {}).get("hard") for each in quotas):
                return False
        # each rule is known a moment after it is stored, whatever was stored before it
        one = next(tier for tier in policy.tiers.values() if not tier.burst)
        where = f"{policy.name}-{one.name}"
        huge = self.create(where, [container(requests={"cpu": "900"})])
        uneven = self.create(where, [container(requests={"memory": "1Mi"}), container("csi-attacher")])
        spec = uneven.json()["spec"]
        is_changed = self.mutating is None or (
            spec.get("priorityClassName") == one.priority_class
            and spec["containers"][1]["resources"].get("requests", {}).get("memory") == "32Mi"
        )
        return "by TierPolicy" in huge.text and "by TierPolicy" in warned(uneven) and is_changed

    def create(
        self, where: str, containers: list[dict[str, Any]], meta: dict[str, Any] | None = None, **spec: Any
    ) -> Answer:
        """What the server answers to a pod that is not kept."""
        pod = {"metadata": {"name": "pod", **(meta or {})}, "spec": {"containers": containers, **spec}}
        return self.cluster.request("POST", f"/api/v1/namespaces/{where}/pods?dryRun=All", pod)

    def create_all(self, places: Iterable[str]) -> list[Answer]:
        """The same for a small pod in each of many namespaces."""
        with ThreadPoolExecutor(8) as threads:
            return list(threads.map(lambda where: self.create(where, [container()]), places))


def container(name: str = "app", requests: Any = None, limits: Any = None, **words: Any) -> dict[str, Any]:
    """A container with what is given of it."""
    given = {"requests": requests, "limits": limits}
    resources = {key: value for key, value in given.items() if value is not None}
    return {
        "name": name,
        "image": "example.invalid/x",
        **({"resources": resources} if resources else {}),
        **words,
    }


def sizes(answer: Answer) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Requests and limits of each container of an admitted pod."""
    assert answer.status == 201, answer.text
    spec = answer.json()["spec"]
    return {
        each["name"]: (each["resources"].get("requests", {}), each["resources"].get("limits", {}))
        for each in [*spec["containers"], *spec.get("initContainers", [])]
    }


def standing(answer: Answer) -> tuple[str | None, int, str]:
    """The class, the priority and the quality of service of an admitted pod."""
    assert answer.status == 201, answer.text
    pod = answer.json()
    spec = pod["spec"]
    return spec.get("priorityClassName"), spec["priority"], pod["status"]["qosClass"]


def warned(answer: Answer) -> str:
    """What was warned of, in one text."""
    return "\n".join(answer.warnings)
