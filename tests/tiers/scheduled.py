"""A cluster with controllers, a scheduler and nodes that are Ready without being there: what becomes of pods that are kept."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.processes import eventually
from tests.servers.cluster import Cluster
from tests.tiers.live import apply, container, namespace

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "PreferNoSchedule"}


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Namespaces and nodes of a test's own: a node takes only the pods that select its test."""

    cluster: Cluster
    numbers: "count[int]" = field(default_factory=count)

    def name(self) -> str:
        """A name that no test had before, with a namespace of that name."""
        name = f"t{next(self.numbers)}"
        apply(self.cluster, *namespace(name))
        return name

    def node(self, name: str, test: str, *, labels: dict[str, str] | None = None, **fields: Any) -> None:
        """A node with 4 cores, 8Gi and room for 20 pods, if nothing else is said of its status."""
        room = {"cpu": "4", "memory": "8Gi", "pods": "20", **fields.pop("allocatable", {})}
        body = {
            "metadata": {"name": name, "labels": {"test": test, **(labels or {})}},
            "spec": fields,
            "status": {"allocatable": room, "capacity": room},
        }
        answer = self.cluster.request("POST", "/api/v1/nodes", body)
        assert answer.status == 201, answer.text
        eventually(lambda: _is_ready(self.cluster, name), f"node {name}")

    def pod(self, where: str, name: str = "pod", *, requests: Any = None, **spec: Any) -> dict[str, Any]:
        """A pod that is kept."""
        containers = spec.pop("containers", [container(requests=requests)])
        selector = {"test": where, **spec.pop("nodeSelector", {})}
        labels = spec.pop("labels", {})
        body = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": containers, "nodeSelector": selector, **spec},
        }
        answer = self.cluster.request("POST", f"/api/v1/namespaces/{where}/pods", body)
        assert answer.status == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def read(self, where: str, name: str = "pod") -> dict[str, Any]:
        """A pod as it is now; nothing where there is none."""
        answer = self.cluster.request("GET", f"/api/v1/namespaces/{where}/pods/{name}")
        found: dict[str, Any] = answer.json() if answer.status == 200 else {}
        return found

    def node_of(self, where: str, name: str = "pod") -> str:
        """Where a pod was put, once it was."""
        eventually(
            lambda: bool(self.read(where, name).get("spec", {}).get("nodeName")), f"{where}/{name} on a node"
        )
        return str(self.read(where, name)["spec"]["nodeName"])

    def unplaced(self, where: str, name: str = "pod") -> str:
        """Why no node takes a pod, once the scheduler said so."""

        def said() -> str:
            conditions = self.read(where, name).get("status", {}).get("conditions", [])
            return next(
                (each.get("message", "") for each in conditions if each.get("reason") == "Unschedulable"), ""
            )

        eventually(lambda: bool(said()), f"{where}/{name} found no node")
        return said()


def _is_ready(cluster: Cluster, name: str) -> bool:
    node = cluster.request("GET", f"/api/v1/nodes/{name}").json()
    conditions = node["status"].get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not any(
        taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", [])
    )
