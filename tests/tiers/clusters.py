"""Objects of small clusters, as `kubectl get -o json` prints them."""

import json
from pathlib import Path
from typing import Any

from remuda.model.findings import Finding
from remuda.model.times import SECOND, read_instant
from remuda.objects.dumps import FilesRead
from remuda.objects.tiers import DEFAULT_POLICY
from remuda.rules.tiers import TierPolicy
from remuda.tiers.decide.audit import Audit, audit
from remuda.tiers.decide.desired import limit_range, priority_class, resource_quota
from remuda.tiers.observe.files import read_files
from remuda.tiers.snapshot import Snapshot

NOW = read_instant("2026-11-18T09:00:00Z")
HOUR = 3_600 * SECOND


def read(tmp_path: Path, *items: dict[str, Any]) -> FilesRead[Snapshot]:
    """What the files of these objects say."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return read_files([file], NOW)


def snapshot(tmp_path: Path, *items: dict[str, Any]) -> Snapshot:
    """The snapshot of objects that are right."""
    found = read(tmp_path, *items)
    assert found.problems == ()
    return found.snapshot


def named(kind: str, name: str, namespace: str = "", api: str = "v1", **rest: Any) -> dict[str, Any]:
    """Any object; labels, annotations and owners go into its metadata."""
    meta: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    for key in ("labels", "annotations", "ownerReferences", "creationTimestamp", "deletionTimestamp"):
        if key in rest:
            meta[key] = rest.pop(key)
    return {"apiVersion": api, "kind": kind, "metadata": meta, **rest}


def sizes(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    """The resources of a container."""
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}


def container(name: str = "app", resources: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    """A container."""
    return {"name": name, "resources": resources or {}, **rest}


def pod(name: str, namespace: str = "shop", **rest: Any) -> dict[str, Any]:
    """A pod that runs; `spec` and `status` add to its own."""
    spec = {"containers": [container()], "nodeName": "n1"} | rest.pop("spec", {})
    status = {"phase": "Running"} | rest.pop("status", {})
    return named("Pod", name, namespace, spec=spec, status=status, **rest)


def deployment(
    name: str, namespace: str = "shop", pod_spec: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A Deployment of pods with this spec."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec or {"containers": [container()]}}
    return named("Deployment", name, namespace, "apps/v1", spec={"template": template, **spec})


def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
    """The owner references of what somebody keeps."""
    return [{"apiVersion": "v1", "kind": kind, "name": name, "uid": "1", "controller": True}]


# A cluster in which everything is as tiers say.


def governed(
    name: str,
    tier: str = "3-edge",
    policy: TierPolicy = DEFAULT_POLICY,
    used: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """A namespace with all that its tier gives it, and a quota of which so much is used."""
    quota = resource_quota(policy, policy.tiers[tier], name)
    quota["status"] = {
        "hard": quota["spec"]["hard"],
        "used": dict.fromkeys(quota["spec"]["hard"], "0") | (used or {}),
    }
    return [
        named("Namespace", name, labels={"remuda.dev/tier": tier, **(labels or {})}),
        limit_range(policy, policy.tiers[tier], name),
        quota,
    ]


def classes(policy: TierPolicy = DEFAULT_POLICY) -> list[dict[str, Any]]:
    """The PriorityClasses of a policy."""
    return [priority_class(policy, tier) for tier in policy.tiers.values()]


def node(
    name: str = "n1", memory: str = "640Gi", labels: dict[str, str] | None = None, **rest: Any
) -> dict[str, Any]:
    """A node that is ready."""
    room = {"cpu": "64", "memory": memory, "pods": "500"} | rest.pop("offers", {})
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return named("Node", name, labels=labels or {}, status=status, **rest)


#: of a pod of tier 3-edge that is as it should be
FINE = sizes({"cpu": "50m", "memory": "64Mi"}, {"memory": "128Mi"})


def tiered(name: str, namespace: str = "shop", tier: str = "3-edge", **rest: Any) -> dict[str, Any]:
    """A pod that is as its tier wants it; `containers` are its own."""
    spec = {
        "containers": rest.pop("containers", [container("app", FINE)]),
        "priorityClassName": f"tier-{tier}",
        "priority": DEFAULT_POLICY.tiers[tier].priority,
    } | rest.pop("spec", {})
    return pod(name, namespace, spec=spec, **rest)


def audited(
    tmp_path: Path, *items: dict[str, Any], policies: tuple[TierPolicy, ...] = (DEFAULT_POLICY,)
) -> Audit:
    """What an audit says of these objects in a cluster that has the classes of the default policy, and a node."""
    has_node = any(item["kind"] == "Node" for item in items)
    return audit(snapshot(tmp_path, *classes(), *([] if has_node else [node()]), *items), policies, NOW)


def found_in(made: Audit, *, quietly: bool = True) -> list[Finding]:
    """What an audit found, without what no file holds."""
    return [each for each in made.findings if not (quietly and each.rule == "not-read")]
