"""Workloads as people write them, in all the ways containers can ask for something, and reviews that saw them."""

import copy
from collections.abc import Iterator
from typing import Any

from tests.rightsize.patches.cases import container, workload
from tests.rightsize.report.reviews import size

from remuda.model.amounts import amounts
from remuda.rightsize.patches.templates import KINDS
from remuda.rightsize.review import ContainerReview, WorkloadReview
from remuda.rightsize.snapshot import Ask, Size

#: a fact about a container → its resources
RESOURCES: dict[str, Any] = {
    "full": {
        "requests": {"cpu": "0.5", "memory": "512Mi"},
        "limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
    },
    "bare": None,
    "empty": {},
    "requests": {"requests": {"memory": "500M"}},
    "limits": {"limits": {"cpu": "2", "memory": "1Gi"}},
    "cpu-limit": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "100m"}},
    "others": {"requests": {"ephemeral-storage": "1Gi"}, "limits": {"ephemeral-storage": "2Gi"}},
}
SIDECAR = {"requests": {"cpu": "10m"}, "limits": {"cpu": "50m", "memory": "64Mi"}}
LARGE = size(587, 768, None, 768)
RECOMMENDED = {
    "requests": {"cpu": "587m", "memory": "768Mi"},
    "limits": {"memory": "768Mi"},
}


def written(kind: str, namespace: str, name: str = "web") -> dict[str, Any]:
    """An object of a kind with a container of each sort, a first container that ends, and a sidecar."""
    spec = {
        "initContainers": [
            _container("setup", None),
            _container("proxy", SIDECAR) | {"restartPolicy": "Always"},
        ],
        "containers": [_container(*each) for each in RESOURCES.items()],
    }
    labels = {"app": name}
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": spec}
    if kind == "CronJob":
        spec["restartPolicy"] = "Never"  # type: ignore[assignment]
        inner: dict[str, Any] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    else:
        inner = {"selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        inner["serviceName"] = name
    return {
        "apiVersion": KINDS[kind].api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": inner,
    }


def _container(name: str, resources: Any) -> dict[str, Any]:
    made = {"name": name, "image": "registry.example/app:1", "env": [{"name": "A", "value": "b"}]}
    return made if resources is None else {**made, "resources": copy.deepcopy(resources)}


def pod_of(found: Any) -> Any:
    """The pod's spec within an object."""
    for step in KINDS[found["kind"]].path:
        found = found[step]
    return found


def seen(found: Any) -> WorkloadReview:
    """What a review says of an object: all its containers should be as `LARGE`."""
    pod, meta = pod_of(found), found["metadata"]
    return workload(
        *_reviewed(pod),
        namespace=meta["namespace"],
        kind=found["kind"],
        name=meta["name"],
        init_containers=tuple(each["name"] for each in pod["initContainers"]),
    )


def _reviewed(pod: Any) -> Iterator[ContainerReview]:
    for part, is_sidecar in (("initContainers", True), ("containers", False)):
        for index, each in enumerate(pod[part]):
            if is_sidecar and each.get("restartPolicy") != "Always":
                continue
            sides = [each.get("resources", {}).get(side, {}) for side in ("requests", "limits")]
            now = Size(*(_ask(side) for side in sides))
            others = [{k: v for k, v in side.items() if k not in ("cpu", "memory")} for side in sides]
            yield container(
                each["name"],
                now,
                LARGE,
                is_sidecar=is_sidecar,
                index=index,
                other_requests=others[0],
                others=others[1],
                written=dict(each.get("resources", {})),
            )


def _ask(side: dict[str, str]) -> Ask:
    found = amounts(side)
    return Ask(found.get("cpu"), found.get("memory"))


def resized(found: dict[str, Any]) -> dict[str, Any]:
    """The object as it should be: other resources of those containers, and nothing else, changed."""
    made = copy.deepcopy(found)
    pod = pod_of(made)
    for each in (*pod["containers"], *pod["initContainers"]):
        if each["name"] == "setup":
            continue
        before = each.get("resources", {})
        each["resources"] = {
            side: {
                **{k: v for k, v in before.get(side, {}).items() if k not in ("cpu", "memory")},
                **RECOMMENDED[side],
            }
            for side in ("requests", "limits")
        }
    return made


def lasting(found: dict[str, Any]) -> dict[str, Any]:
    """An object without what every change of it changes."""
    made = copy.deepcopy(found)
    for each in ("generation", "managedFields", "resourceVersion", "annotations"):
        made["metadata"].pop(each, None)
    made.pop("status", None)
    return made
