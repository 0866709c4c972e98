"""What `kubectl get -o json` prints of a large cluster with tiers: namespaces and what bounds them, workloads, pods and nodes."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.capacity_files import filled, template_of, written

TIERS = ("0-core", "1-cluster", "2-gpu", "3-edge", "4-aux")
SIZES = (
    ("100m", "128Mi", "256Mi"),
    ("250m", "256Mi", "256Mi"),
    ("500m", "512Mi", "512Mi"),
    ("1", "1Gi", "1Gi"),
)
_LABELS = {
    "app.kubernetes.io/name": "@app@",
    "app.kubernetes.io/part-of": "@space@",
    "pod-template-hash": "5d@app@",
}
_CONTAINERS = [
    {
        "name": name,
        "image": f"registry.example/@space@/{name}:1.2.3@sha256:{'0' * 64}",
        "env": [{"name": f"SETTING_{index}", "value": f"value-of-setting-{index}"} for index in range(5)],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
            "periodSeconds": 10,
        },
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "@cpu@", "memory": "@memory@"}, "limits": {"memory": "@limit@"}},
        "volumeMounts": [
            {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-@index@"}
        ],
    }
    for name in ("app", "proxy")
]
_SPEC: dict[str, Any] = {
    "containers": _CONTAINERS,
    "serviceAccountName": "default",
    "tolerations": [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ],
    "volumes": [{"name": "kube-api-access-@index@", "projected": {"defaultMode": 420, "sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}],
}  # fmt: skip
_POD = template_of(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"kubernetes.io/limit-ranger": "@given@", "example.com/checksum": "5" * 64},
            "creationTimestamp": "2026-11-16T09:00:00Z",
            "labels": _LABELS,
            "name": "@app@-5d@app@-@index@",
            "namespace": "@space@",
            "ownerReferences": [{"apiVersion": "apps/v1", "controller": True, "kind": "ReplicaSet", "name": "@app@-5d@app@", "uid": "1"}],
            "uid": "00000000-0000-0000-0000-@index@",
        },
        "spec": _SPEC | {"nodeName": "node-@node@", "priority": "@priority@", "priorityClassName": "@class@"},
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-16T09:00:00Z"}
                for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {"name": name, "ready": True, "restartCount": 0, "imageID": f"registry.example/x@sha256:{'0' * 64}",
                 "containerID": f"containerd://{'0' * 64}", "state": {"running": {"startedAt": "2026-11-16T09:00:00Z"}}, "lastState": {}}
                for name in ("app", "proxy")
            ],
            "hostIP": "10.0.0.1", "podIP": "10.1.0.1",
        },
    }
).replace('"@priority@"', "@priority@")  # fmt: skip
_DEPLOYMENT = template_of(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "@app@", "namespace": "@space@", "labels": {"app.kubernetes.io/name": "@app@"}},
        "spec": {
            "replicas": "@replicas@",
            "strategy": {
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                "type": "RollingUpdate",
            },
            "template": {"metadata": {"labels": {"app.kubernetes.io/name": "@app@"}}, "spec": _SPEC},
        },
    }
).replace('"@replicas@"', "@replicas@")
_METRICS = template_of(
    {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": "@app@-5d@app@-@index@", "namespace": "@space@"},
        "containers": [
            {"name": name, "usage": {"cpu": "5m", "memory": "@used@Ki"}} for name in ("app", "proxy")
        ],
    }
)


def write_cluster(folder: Path, namespaces: int, pods: int, nodes: int, seed: int = 1) -> list[Path]:
    """Write a file for each kind or two; the same seed gives the same bytes."""
    rng = random.Random(seed)
    apps = [(f"team-{index}", f"app-{number}") for index in range(namespaces) for number in range(8)]
    placed = [(*apps[index % len(apps)], index) for index in range(pods)]
    sizes = {app: rng.choice(SIZES) for app in apps}
    return [
        written(folder / "spaces.json", _spaces(namespaces)),
        written(folder / "nodes.json", (_node(index) for index in range(nodes))),
        written(folder / "deployments.json", (_deployment(app, sizes[app], pods // len(apps)) for app in apps)),
        written(folder / "pods.json", (_pod(each, sizes[each[0], each[1]], rng.randrange(nodes)) for each in placed)),
        written(
            folder / "metrics.json",
            (filled(_METRICS, app=app, space=space, index=index, used=rng.randrange(600_000)) for space, app, index in placed),
        ),
    ]  # fmt: skip


def _tier(space: str) -> str:
    return TIERS[int(space.rpartition("-")[2]) % len(TIERS)]


def _pod(each: tuple[str, str, int], size: tuple[str, str, str], node: int) -> str:
    space, app, index = each
    tier = _tier(space)
    given = "LimitRanger plugin set: cpu, memory request for container proxy" if index % 10 == 0 else ""
    name, priority = ("", 0) if index % 7 == 0 else (f"tier-{tier}", 100_000)
    words = {"class": name, "priority": priority, "node": node, "given": given}
    return filled(_POD, app=app, space=space, index=f"{index:05}", **_sized(size), **words)


def _sized(size: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("cpu", "memory", "limit"), size, strict=True))


def _deployment(app: tuple[str, str], size: tuple[str, str, str], replicas: int) -> str:
    return filled(_DEPLOYMENT, space=app[0], app=app[1], replicas=replicas, index="0", **_sized(size))


def _spaces(count: int) -> Iterator[str]:
    for index in range(count):
        name = f"team-{index}"
        hard = {"requests.cpu": "16", "requests.memory": "32Gi", "pods": "40"}
        for item in (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": _tier(name)}}},
            {
                "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "tier-defaults", "namespace": name},
                "spec": {"limits": [{"type": "Container", "default": {"memory": "256Mi"}, "defaultRequest": {"cpu": "250m", "memory": "256Mi"}}]},
            },
            {
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": f"{name}-quota", "namespace": name},
                "spec": {"hard": hard}, "status": {"hard": hard, "used": {"requests.cpu": "15", "requests.memory": "31Gi", "pods": "40"}},
            },
        ):  # fmt: skip
            yield json.dumps(item, indent=4).replace("\n", "\n        ")


def _node(index: int) -> str:
    item = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{index}",
            "labels": {f"example.com/label-{n}": f"value-{n}" for n in range(20)},
        },
        "status": {
            "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return json.dumps(item, indent=4).replace("\n", "\n        ")
