"""Virtual machines and pools as tests ask for them, at the API server itself."""

import time
from collections.abc import Callable
from typing import Any

from tests.kubevirt.installation import Installation

DEADLINE_S = 120.0
LABEL = "pool"
POOL_FINALIZER = "pool.kubevirt.io/finalizer"
MERGE_PATCH = "application/merge-patch+json"
GRACE_S = 3600
#: the least that virt-controller makes a launcher for
DOMAIN = {"devices": {}, "resources": {"requests": {"memory": "64Mi"}}}


def eventually(look: Callable[[], Any], wanted: object = True) -> None:
    """Return when `look` gives what is wanted; a failure says what it last gave."""
    until = time.monotonic() + DEADLINE_S
    while (seen := look()) != wanted:
        assert time.monotonic() < until, f"not {wanted!r} in {DEADLINE_S:g} s; at last {seen!r}"
        time.sleep(0.05)


def template(labels: dict[str, str], run_strategy: str = "Once", grace_s: int = GRACE_S) -> dict[str, Any]:
    """What a pool makes its virtual machines from."""
    spec = {"terminationGracePeriodSeconds": grace_s, "domain": DOMAIN}
    instance = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"labels": labels}, "spec": {"runStrategy": run_strategy, "template": instance}}


def pool(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """A pool that deletes and updates nothing by itself, unless its spec says otherwise."""
    labels = {LABEL: name}
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "virtualMachineTemplate": template(labels),
            "scaleInStrategy": {"unmanaged": {}},
            "updateStrategy": {"unmanaged": {}},
            **spec,
        },
    }


class Machines:
    """The virtual machines of one namespace."""

    def __init__(self, kubevirt: Installation, namespace: str) -> None:
        self._ask = kubevirt.cluster.request
        self._vms = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"
        self._vmis = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances"
        self._pools = f"/apis/pool.kubevirt.io/v1beta1/namespaces/{namespace}/virtualmachinepools"

    def create(self, name: str, run_strategy: str = "Once", *, grace_s: int = GRACE_S) -> None:
        """Make a virtual machine of no pool."""
        body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}}
        spec = template({}, run_strategy, grace_s)["spec"]
        answer = self._ask("POST", self._vms, {**body, "spec": spec})
        assert answer.status == 201, answer.text

    def create_pool(self, name: str, replicas: int, **spec: Any) -> None:
        """Make a pool; see `pool`."""
        answer = self._ask("POST", self._pools, pool(name, replicas, **spec))
        assert answer.status == 201, answer.text

    def scale(self, name: str, replicas: int) -> None:
        """Set a pool's replicas through its scale."""
        self._patch(f"{self._pools}/{name}/scale", {"spec": {"replicas": replicas}})

    def meta(self, name: str) -> dict[str, Any]:
        """The metadata of a virtual machine, empty when there is none."""
        found: dict[str, Any] = self._ask("GET", f"{self._vms}/{name}").json()
        return found["metadata"] if found["kind"] == "VirtualMachine" else {}

    def delete(self, name: str) -> None:
        """What `kubectl delete vm --wait=false` does."""
        assert self._ask("DELETE", f"{self._vms}/{name}").status == 200

    def patch(self, name: str, body: object) -> None:
        """Merge into a virtual machine."""
        self._patch(f"{self._vms}/{name}", body)

    def statuses(self) -> dict[str, str]:
        """The printable status of every virtual machine by name."""
        listed = self._ask("GET", self._vms).json()["items"]
        return {one["metadata"]["name"]: one.get("status", {}).get("printableStatus", "") for one in listed}

    def phases(self) -> dict[str, str]:
        """The phase of every instance by name."""
        listed = self._ask("GET", self._vmis).json()["items"]
        return {one["metadata"]["name"]: one.get("status", {}).get("phase", "") for one in listed}

    def is_ending(self) -> dict[str, bool]:
        """Whether every instance was told to end, by name."""
        listed = self._ask("GET", self._vmis).json()["items"]
        return {one["metadata"]["name"]: "deletionTimestamp" in one["metadata"] for one in listed}

    def _patch(self, path: str, body: object) -> None:
        answer = self._ask("PATCH", path, body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.text
