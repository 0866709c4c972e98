"""What `kubectl get -o json` prints of a large cluster: scale sets, nodes with their images, and pods of all sorts."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LABELS = 40
SIZES = (
    ("2", "8Gi", "4Gi", "8", "16Gi"),
    ("4", "32Gi", "24Gi", "8", "64Gi"),
    ("500m", "1Gi", "1Gi", "2", "4Gi"),
)
CAPABILITY = "capability.example/kvm"


def write_cluster(folder: Path, sets: int, nodes: int, pods: int, seed: int = 1) -> list[Path]:
    """Write a file for each kind; the same seed gives the same bytes."""
    rng = random.Random(seed)
    return [
        written(folder / "sets.json", (_scale_set(index, rng) for index in range(sets))),
        written(folder / "nodes.json", (_node(index) for index in range(nodes))),
        written(folder / "pods.json", _pods(pods, sets, nodes, rng)),
    ]


def written(path: Path, items: Iterable[str]) -> Path:
    """A file of a list, as kubectl indents it."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n        ')
        for index, item in enumerate(items):
            file.write(",\n        " if index else "")
            file.write(item)
        file.write(
            '\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
        )
    return path


def template_of(body: dict[str, Any]) -> str:
    """The text that an item has within a list, as kubectl indents it; `@name@` is filled in later."""
    return json.dumps(body, indent=4, sort_keys=True).replace("\n", "\n        ")


def filled(template: str, **words: object) -> str:
    """A template with its words."""
    for name, value in words.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def _container(name: str, environment: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": "ghcr.io/actions/actions-runner:2.330.0",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/home/runner/run.sh"],
        "env": [
            {"name": f"SETTING_{index}", "value": f"value-of-setting-{index}"} for index in range(environment)
        ],
        "resources": {
            "requests": {"cpu": "@cpu@", "memory": "@memory@", "ephemeral-storage": "@ephemeral@"},
            "limits": {"cpu": "@cpus@", "memory": "@memories@"},
        },
        "volumeMounts": [
            {"mountPath": f"/volumes/{index}", "name": f"volume-{index}", "readOnly": True}
            for index in range(3)
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


_VOLUMES = [
    {
        "name": f"volume-{index}",
        "projected": {"defaultMode": 420, "sources": [{"configMap": {"name": f"c-{index}"}}]},
    }
    for index in range(3)
]
_TOLERATIONS = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
]
_SET = template_of(
    {
        "apiVersion": "actions.github.com/v1alpha1",
        "kind": "AutoscalingRunnerSet",
        "metadata": {
            "name": "set-@index@",
            "namespace": "team-@team@",
            "uid": "00000000-0000-0000-0000-@index@",
            "labels": {"app.kubernetes.io/part-of": "gha-runner-scale-set", "helm.sh/chart": "gha-rs-0.13.1"},
            "annotations": {"actions.github.com/values-hash": "5" * 64},
        },
        "spec": {
            "githubConfigUrl": "https://github.com/team-@team@",
            "githubConfigSecret": "github",
            "runnerScaleSetName": "label-@label@",
            "maxRunners": 3,
            "minRunners": 0,
            "template": {
                "spec": {
                    "containers": [_container("runner", 10)],
                    "nodeSelector": {CAPABILITY: "true"},
                    "tolerations": [{"key": "overflow", "operator": "Exists"}],
                    "volumes": _VOLUMES,
                }
            },
        },
        "status": {"currentRunners": 2, "runningEphemeralRunners": 2, "state": "Running"},
    }
)
_NODE = template_of(
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "node-@index@",
            "labels": {f"example.com/label-{index}": f"value-{index}" for index in range(20)} | {CAPABILITY: "@kvm@"},
            "annotations": {f"example.com/note-{index}": "n" * 80 for index in range(10)},
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": "aws:///a/i-@index@", "taints": []},
        "status": {
            "allocatable": {"cpu": "31850m", "ephemeral-storage": "95551679124", "memory": "130409208Ki", "pods": "110"},
            "capacity": {"cpu": "32", "ephemeral-storage": "104845292Ki", "memory": "131536632Ki", "pods": "110"},
            "conditions": [
                {"type": kind, "status": status, "reason": f"Kubelet{kind}", "message": "kubelet says so",
                 "lastHeartbeatTime": "2026-11-16T09:00:00Z", "lastTransitionTime": "2026-11-01T09:00:00Z"}
                for kind, status in (("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"))
            ],
            "images": [
                {"names": [f"registry.example/team/image-{index}@sha256:{'0' * 60}{index:04}", f"registry.example/team/image-{index}:1.{index}"], "sizeBytes": 123456789}
                for index in range(50)
            ],
            "nodeInfo": {"architecture": "amd64", "kernelVersion": "6.12.0", "kubeletVersion": "v1.34.1"},
        },
    }
)  # fmt: skip
_POD = template_of(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "@name@",
            "namespace": "team-@team@",
            "uid": "00000000-0000-0000-0000-@index@",
            "labels": {"app": "@name@", "@key@-name": "set-@set@", "@key@-namespace": "team-@team@"},
            "annotations": {f"example.com/note-{index}": "n" * 60 for index in range(4)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "@name@", "uid": "1"}],
        },
        "spec": {
            "containers": [_container("main", 4)],
            "nodeName": "node-@node@",
            "serviceAccountName": "default",
            "tolerations": _TOLERATIONS,
            "volumes": _VOLUMES,
        },
        "status": {
            "phase": "@phase@",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-11-16T09:00:00Z"}
                for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {"name": name, "ready": True, "restartCount": 0, "image": "ghcr.io/actions/actions-runner:2.330.0",
                 "imageID": f"ghcr.io/actions/actions-runner@sha256:{'0' * 64}", "containerID": f"containerd://{'0' * 64}",
                 "state": {"running": {"startedAt": "2026-11-16T09:00:00Z"}}, "lastState": {}}
                for name in ("main",)
            ],
            "hostIP": "10.0.0.1", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}], "qosClass": "Burstable",
        },
    }
)  # fmt: skip


def _sized(rng: random.Random) -> dict[str, str]:
    return dict(zip(("cpu", "memory", "ephemeral", "cpus", "memories"), rng.choice(SIZES), strict=True))


def _scale_set(index: int, rng: random.Random) -> str:
    return filled(_SET, index=index, team=index % 50, label=index % LABELS, **_sized(rng))


def _node(index: int) -> str:
    return filled(_NODE, index=index, kvm="true" if index % 5 == 0 else "false")


def _pods(count: int, sets: int, nodes: int, rng: random.Random) -> Iterator[str]:
    """Every fifth is a runner, every twentieth is over."""
    for index in range(count):
        number = rng.randrange(sets)
        is_runner = index % 5 == 0
        yield filled(
            _POD,
            index=index,
            name=f"runner-{index}" if is_runner else f"web-{index}",
            key="actions.github.com/scale-set" if is_runner else "example.com/release",
            set=number,
            team=number % 50,
            node=rng.randrange(nodes),
            phase="Succeeded" if index % 20 == 7 else "Running",
            **_sized(rng),
        )
