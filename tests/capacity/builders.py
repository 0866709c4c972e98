"""Small scale sets, nodes, worlds and policies that show only what a test is about, and the manifests they are read from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.catalog import KINDS

from remuda.capacity.objects import CapacityPolicySpec
from remuda.capacity.snapshot import EPHEMERAL, Amounts, Node, ScaleSet, Snapshot
from remuda.model.amounts import amounts
from remuda.objects.load import load_text

#: 2026-11-16 12:00:00 UTC
NOW = 1_794_830_400_000
LABEL = "nix-kvm"
CAPABILITY = {"capability.example/kvm": "true"}
ARC = "actions.github.com/v1alpha1"
NAMESPACE = "arc"
GIB = 2**30


def sized(cpu: str = "", memory: str = "", ephemeral: str = "") -> dict[str, str]:
    """Quantities as a manifest writes them; what is empty is not given."""
    given = {"cpu": cpu, "memory": memory, EPHEMERAL: ephemeral}
    return {name: value for name, value in given.items() if value}


def measured(cpu: str = "", memory: str = "", ephemeral: str = "") -> Amounts:
    """The same as whole numbers."""
    return amounts(sized(cpu, memory, ephemeral))


# Worlds


def scale_set(name: str = "vm-test", **fields: Any) -> ScaleSet:
    """A scale set of the label; `labels`, `requests` and so on as in `Scale set`."""
    given: dict[str, Any] = {
        "kind": "AutoscalingRunnerSet",
        "namespace": NAMESPACE,
        "labels": (LABEL,),
        "scope": "https://github.com/acme",
        "max": 1,
        "requests": measured("2", "8Gi"),
        "limits": measured("8", "16Gi"),
        "node_selector": CAPABILITY,
    } | fields
    return ScaleSet(name=name, **given)


def node(name: str = "honey", cpu: str = "32", memory: str = "128Gi", ephemeral: str = "500Gi", **fields: Any) -> Node:  # fmt: skip
    """A node that has the capability and room."""
    given: dict[str, Any] = {
        "labels": CAPABILITY,
        "allocatable": measured(cpu, memory, ephemeral) | {"pods": 110},
    } | fields
    return Node(name=name, **given)


def snapshot(*parts: ScaleSet | Node, **fields: Any) -> Snapshot:
    """What was read: these scale sets and nodes."""
    return Snapshot(
        scale_sets=tuple(part for part in parts if isinstance(part, ScaleSet)),
        nodes=tuple(part for part in parts if isinstance(part, Node)),
        read_at=NOW,
        **fields,
    )


# Policies


def written_policy(name: str = "kvm", **spec: Any) -> dict[str, Any]:
    """A policy as a person writes it; a key that is None is left out."""
    whole = {"label": LABEL, "ceiling": 4, "nodes": {"primary": CAPABILITY}} | spec
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "CapacityPolicy",
        "metadata": {"name": name},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }


def policy(**spec: Any) -> CapacityPolicySpec:
    """The same, read."""
    loaded = load_text(json.dumps(written_policy(**spec)), "policy.yaml", KINDS)
    assert loaded.problems == (), "\n".join(map(str, loaded.problems))
    read: CapacityPolicySpec = loaded.objects[0].spec
    return read


def decision(**words: str) -> dict[str, str]:
    """Something a person decided."""
    return {"who": "ada", "why": "it fits", "when": "2026-11-01"} | words


# Manifests


def written_set(
    name: str = "vm-test",
    *,
    requests: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    namespace: str = NAMESPACE,
    **spec: Any,
) -> dict[str, Any]:
    """An AutoscalingRunnerSet; further words are its spec's, and those of `pod` its template's."""
    resources = {"requests": requests, "limits": limits}
    container = {
        "name": "runner",
        "image": "ghcr.io/actions/actions-runner:latest",
        "resources": {key: dict(value) for key, value in resources.items() if value is not None},
    }
    return {
        "apiVersion": ARC,
        "kind": "AutoscalingRunnerSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "githubConfigUrl": "https://github.com/acme",
            "githubConfigSecret": "github",
            "template": {"spec": {"containers": [container], **(pod or {})}},
        }
        | spec,
    }


def written_pool(name: str = "linux", class_: str = LABEL, **spec: Any) -> dict[str, Any]:
    """A RunnerPool whose class is the label."""
    whole = {"class": class_, "source": {"queue": {}}, "provider": {"process": {}}} | spec
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": whole,
    }


def written_node(
    name: str = "honey", allocatable: Mapping[str, Any] | None = None, ready: str = "True", **spec: Any
) -> dict[str, Any]:
    """A Node with the capability; further words are its spec's."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(CAPABILITY)},
        "spec": spec,
        "status": {
            "allocatable": {**sized("32", "128Gi", "500Gi"), "pods": "110"}
            if allocatable is None
            else dict(allocatable),
            "conditions": [{"type": "Ready", "status": ready}],
            "images": [{"names": ["ghcr.io/actions/actions-runner:latest"], "sizeBytes": 1}],
        },
    }


def written_pod(
    name: str = "web",
    on: str | None = "honey",
    *,
    requests: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    phase: str = "Running",
    labels: Mapping[str, str] | None = None,
    namespace: str = NAMESPACE,
    **spec: Any,
) -> dict[str, Any]:
    """A Pod on a node, or waiting for one; further words are its spec's."""
    resources = {"requests": requests, "limits": limits}
    container = {
        "name": "main",
        "resources": {key: dict(value) for key, value in resources.items() if value is not None},
    }
    placed = {} if on is None else {"nodeName": on}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"containers": [container], **placed, **spec},
        "status": {"phase": phase},
    }


def written_runner(name: str = "vm-test-abc", of: str = "vm-test", **words: Any) -> dict[str, Any]:
    """A runner pod of a scale set."""
    labels = {"actions.github.com/scale-set-name": of, "actions.github.com/scale-set-namespace": NAMESPACE}
    return written_pod(name, **({"labels": labels, "requests": sized("2", "8Gi")} | words))


def written_summary(node: str = "honey", **parts: Mapping[str, Any]) -> dict[str, Any]:
    """What a kubelet answers at /stats/summary; `fs` and `image_fs` change its filesystems."""
    fs = {"availableBytes": 400 * GIB, "capacityBytes": 500 * GIB, "usedBytes": 100 * GIB, "inodesFree": 9, "inodes": 10}  # fmt: skip
    return {
        "node": {
            "nodeName": node,
            "fs": fs | dict(parts.get("fs", {})),
            "runtime": {"imageFs": fs | dict(parts.get("image_fs", {}))},
        },
        "pods": [],
    }


def listed(*items: object, kind: str = "List", version: str = "v1") -> dict[str, Any]:
    """Objects as `kubectl get -o json` prints several."""
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"resourceVersion": ""},
        "items": list(items),
    }


def write(folder: Path, *items: object, name: str = "all.json") -> Path:
    """A file of them; one alone stands for itself."""
    path = folder / name
    path.write_text(json.dumps(items[0] if len(items) == 1 else listed(*items)), encoding="utf-8")
    return path
