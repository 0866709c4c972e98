"""Objects as `kubectl get` writes them, right but for what a test gives."""

import json
from pathlib import Path
from typing import Any

from remuda.model.workloads import WorkloadId
from remuda.objects.dumps import FilesRead
from remuda.rightsize.observe.files import read_files
from remuda.rightsize.snapshot import Snapshot

NAMESPACE = "shop"
#: 2026-01-01
NOW = 1_767_225_600_000
MIB = 2**20

WEB = WorkloadId(NAMESPACE, "Deployment", "web")


def written(version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    """An object; `meta` is put into its metadata."""
    meta = {"name": name, "namespace": NAMESPACE, **rest.pop("meta", {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}


def container(name: str = "app", **rest: Any) -> dict[str, Any]:
    """A container that asks for 100m and 64Mi, and is limited to 128Mi."""
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}
    return {"name": name, "image": "images.example/any", "resources": resources, **rest}


def template(*containers: Any, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def workload(kind: str = "Deployment", name: str = "web", **spec: Any) -> dict[str, Any]:
    """A workload of `apps`; `status` and `meta` are its own, everything else of its spec."""
    own = {key: spec.pop(key) for key in ("status", "meta") if key in spec}
    pods = {"template": template(), "selector": {"matchLabels": {"app": "web"}}}
    return written("apps/v1", kind, name, spec=pods | spec, **own)


def job(name: str, **spec: Any) -> dict[str, Any]:
    own = {key: spec.pop(key) for key in ("status", "meta") if key in spec}
    pods = {"template": template(restartPolicy="Never")}
    return written("batch/v1", "Job", name, spec=pods | spec, **own)


def cron_job(name: str, *, status: Any = None, job_spec: Any = None, **spec: Any) -> dict[str, Any]:
    pods = {"spec": {"template": template(restartPolicy="Never"), **(job_spec or {})}}
    wanted = {"schedule": "0 3 * * *", "jobTemplate": pods, **spec}
    return written("batch/v1", "CronJob", name, spec=wanted, **({"status": status} if status else {}))


def owned(kind: str, name: str) -> dict[str, Any]:
    """Metadata of what belongs to another."""
    version = "batch/v1" if "Job" in kind else "apps/v1"
    return {
        "ownerReferences": [
            {"apiVersion": version, "kind": kind, "name": name, "uid": "1", "controller": True}
        ]
    }


def pod(name: str, owner: tuple[str, str] | None = None, **rest: Any) -> dict[str, Any]:
    meta = owned(*owner) if owner else {}
    return written("v1", "Pod", name, meta=meta, spec={"containers": [container()]}, **rest)


def killed(at: str = "2025-12-31T12:00:00Z", reason: str = "OOMKilled") -> dict[str, Any]:
    return {"terminated": {"exitCode": 137, "reason": reason, "startedAt": None, "finishedAt": at}}


def limit_range(name: str = "limits", **limits: Any) -> dict[str, Any]:
    return written("v1", "LimitRange", name, spec={"limits": [{"type": "Container", **limits}]})


def quota(name: str = "quota", **rest: Any) -> dict[str, Any]:
    return written("v1", "ResourceQuota", name, **rest)


def autoscaler(
    *metrics: Any, version: str = "autoscaling/v2", meta: Any = None, **spec: Any
) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    wanted = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, **spec}
    if metrics:
        wanted["metrics"] = list(metrics)
    return written(version, "HorizontalPodAutoscaler", "scaler", meta=meta or {}, spec=wanted)


def by_resource(name: str, *, value: str = "", of: str = "") -> dict[str, Any]:
    """A metric: utilization of a resource, or its average value, in all containers or one."""
    target = {"type": "AverageValue", "averageValue": value} if value else {"type": "Utilization", "averageUtilization": 70}  # fmt: skip
    source = {"name": name, "target": target}
    if of:
        return {"type": "ContainerResource", "containerResource": source | {"container": of}}
    return {"type": "Resource", "resource": source}


def advisor(name: str = "web", mode: str = "Off", version: str = "v1", **status: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"targetRef": target} | ({"updatePolicy": {"updateMode": mode}} if mode else {})
    kind = "VerticalPodAutoscaler"
    return written(f"autoscaling.k8s.io/{version}", kind, name, spec=spec, status=status)


def advised(name: str = "app", **amounts: Any) -> dict[str, Any]:
    """What is recommended for a container: a target of 25m and 250Mi between bounds."""
    given = {
        "target": {"cpu": "25m", "memory": "262144k"},
        "lowerBound": {"cpu": "10m", "memory": "100Mi"},
        "upperBound": {"cpu": "2", "memory": "1Gi"},
    }
    return {"containerName": name, **given, **amounts}


def recommendation(*each: Any) -> dict[str, Any]:
    return {"containerRecommendations": list(each) or [advised()]}


def look(folder: Path, *items: Any) -> FilesRead[Snapshot]:
    """One file of these objects."""
    (folder / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return read_files([folder / "objects.json"], NOW)


def read(folder: Path, *items: Any) -> Snapshot:
    """The world of one file of these objects, which must be right."""
    found = look(folder, *items)
    assert found.problems == ()
    return found.snapshot
