"""Objects of small clusters, as `kubectl get -o json` prints them."""

import json
from pathlib import Path
from typing import Any

from remuda.model.times import SECOND, read_instant
from remuda.objects.dumps import FilesRead
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
