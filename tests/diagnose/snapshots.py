"""A snapshot in which all is well, and the parts that a test breaks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from remuda.diagnose.manifests import pool_words
from remuda.diagnose.snapshot import (
    Event,
    KubeVirt,
    Lead,
    Node,
    Permissions,
    Pool,
    SecretKeys,
    Snapshot,
    Vm,
    Vmi,
    VmPool,
    Workload,
)
from remuda.model.pods import Pod

#: 2026-01-31 14:00:00 UTC
NOON = 1_769_868_000_000
NAMESPACE = "ci"
ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110", "devices.kubevirt.io/kvm": "1k"}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
GUEST_LOG = """\
[    0.000000] Linux version 6.8
remuda-guest: step=boot seconds=20.5
remuda-guest: step=detect seconds=0.1
remuda-guest: step=install seconds=9.4
remuda-guest: step=configure seconds=0.5
remuda-guest: step=start seconds=1.0
"""
SPEC = {
    "domain": {
        "cpu": {"cores": 2},
        "memory": {"guest": "4Gi"},
        "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]},
    },
    "volumes": [{"name": "root", "containerDisk": {"image": "images.example/ubuntu:24.04"}}],
}


def at(seconds: float) -> str:
    """So long before noon, as Kubernetes writes it."""
    return datetime.fromtimestamp(NOON / 1000 - seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pool(name: str = "linux", status: Mapping[str, Any] | None = None, **spec: Any) -> Pool:
    """A pool that has what it wants."""
    written = {
        "class": f"acme/{name}",
        "min": 1,
        "max": 10,
        "source": {"circleci": {"token": {"secret": "circle", "key": "circle-token"}}},
        "provider": {"kubevirt": {"spec": SPEC, "token": {"secret": "circle", "key": "class-token"}}},
    } | spec
    reported = {
        "wanted": 1,
        "ready": 1,
        "observedGeneration": 1,
        "why": f"{name} has the 1 machine it wants",
        "conditions": [
            condition("Accepted", "True", "Valid"),
            condition("Ready", "True", "Steady", f"{name} has the 1 machine it wants"),
            condition("Stale", "False", "SourceAnswers"),
        ],
    } | dict(status or {})
    meta = {"name": name, "namespace": NAMESPACE, "generation": 1, "creationTimestamp": at(3600)}
    return msgspec.convert(
        {"metadata": meta, "words": msgspec.to_builtins(pool_words(written)), "status": reported}, Pool
    )


def condition(
    kind: str, status: str, reason: str = "", message: str = "", ago: float = 600
) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at(ago),
    }


def vm(name: str = "linux-0", template: str = "t1", age: float = 600, **status: Any) -> Vm:
    labels = {"remuda.dev/pool": name.rpartition("-")[0], "remuda.dev/template": template}
    meta = {"name": name, "uid": f"vm-{name}", "labels": labels, "creationTimestamp": at(age)}
    spec = {"runStrategy": "Once"}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"printableStatus": "Running"} | status}, Vm
    )


def vmi(name: str = "linux-0", phase: str = "Running", age: float = 600) -> Vmi:
    """It was scheduled within 10 s and ran 5 s later."""
    passed = [
        {"phase": "Scheduled", "phaseTransitionTimestamp": at(age - 10)},
        {"phase": "Running", "phaseTransitionTimestamp": at(age - 15)},
    ]
    owner = {"kind": "VirtualMachine", "name": name, "uid": f"vm-{name}"}
    meta = {"name": name, "uid": f"vmi-{name}", "creationTimestamp": at(age), "ownerReferences": [owner]}
    status = {"phase": phase, "nodeName": "node-1"}
    status |= {"phaseTransitionTimestamps": passed} if phase == "Running" else {}  # type: ignore[dict-item]
    return msgspec.convert({"metadata": meta, "status": status}, Vmi)


def launcher(name: str = "linux-0", node: str = "node-1", age: float = 600, **given: Any) -> Pod:
    """A virt-launcher: 2 s to its node."""
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": f"vmi-{name}"}
    meta = {
        "name": f"virt-launcher-{name}",
        "namespace": NAMESPACE,
        "labels": labels,
        "creationTimestamp": at(age),
    }
    asks = {"cpu": "200m", "memory": "4500Mi", "devices.kubevirt.io/kvm": "1"}
    spec = {
        "nodeName": node,
        "nodeSelector": {"kubevirt.io/schedulable": "true"},
        "containers": [
            {"name": "compute", "image": "images.example/virt-launcher", "resources": {"requests": asks}},
            {"name": "volumeroot", "image": "images.example/ubuntu:24.04"},
        ],
    } | given.pop("spec", {})
    running = {"state": {"running": {"startedAt": at(age - 9)}}, "ready": True}
    status = {
        "phase": "Running",
        "conditions": [condition("PodScheduled", "True", ago=age - 2), condition("Ready", "True")],
        "containerStatuses": [{"name": item["name"], **running} for item in spec["containers"]],
    } | given.pop("status", {})
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


def unplaced(name: str = "linux-0", message: str = "0/1 nodes are available", **spec: Any) -> Pod:
    """A virt-launcher that no node takes."""
    refused = condition("PodScheduled", "False", "Unschedulable", message)
    return launcher(
        name, "", spec=spec, status={"phase": "Pending", "conditions": [refused], "containerStatuses": []}
    )


def node(
    name: str = "node-1",
    labels: Mapping[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    room: Mapping[str, str] | None = None,
    *,
    is_ready: bool = True,
    is_cordoned: bool = False,
) -> Node:
    meta = {"name": name, "labels": {"kubevirt.io/schedulable": "true"} if labels is None else dict(labels)}
    status = {
        "allocatable": dict(ROOM if room is None else room),
        "conditions": [condition("Ready", "True" if is_ready else "False")],
    }
    spec = {"taints": taints or [], "unschedulable": is_cordoned}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Node)


def workload(
    name: str, namespace: str = "kubevirt", replicas: int = 1, ready: int = 1, **spec: Any
) -> Workload:
    meta = {"name": name, "namespace": namespace}
    status = {"readyReplicas": ready, "desiredNumberScheduled": ready, "numberReady": ready}
    whole = {"metadata": meta, "spec": {"replicas": replicas, "template": {"spec": spec}}, "status": status}
    return msgspec.convert(whole, Workload)


def pod(
    name: str, labels: dict[str, str], namespace: str = NAMESPACE, *, ready: bool = True, **given: Any
) -> Pod:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    spec = {"nodeName": "node-1", "containers": [{"name": "it", "image": "images.example/it"}]} | given.pop(
        "spec", {}
    )
    status = {"phase": "Running", "conditions": [condition("Ready", "True" if ready else "False")]}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status | given.pop("status", {})}, Pod)


def component(name: str, **given: Any) -> Pod:
    """A pod of KubeVirt itself."""
    return pod(f"{name}-x", {"kubevirt.io": name}, "kubevirt", **given)


def own_pod(**given: Any) -> Pod:
    """A pod of Remuda."""
    return pod("remuda-x", {"app.kubernetes.io/name": "remuda"}, **given)


def container_status(**state: Any) -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"name": "it", **state}]}


def kube_virt(
    phase: str = "Deployed", conditions: list[dict[str, Any]] | None = None, **spec: Any
) -> KubeVirt:
    reported = [condition("Available", "True", "AllComponentsReady")] if conditions is None else conditions
    status = {"phase": phase, "observedKubeVirtVersion": "v1.8.0", "conditions": reported}
    meta = {"name": "kubevirt", "namespace": "kubevirt"}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, KubeVirt)


def vm_pool(name: str = "linux", template: str = "t1") -> VmPool:
    made = {"metadata": {"labels": {"remuda.dev/pool": name, "remuda.dev/template": template}}}
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": {"replicas": 1, "virtualMachineTemplate": made}}, VmPool
    )


def event(kind: str, name: str, reason: str, message: str) -> Event:
    return msgspec.convert(
        {"involvedObject": {"kind": kind, "name": name}, "reason": reason, "message": message}, Event
    )


def healthy(**changes: Any) -> Snapshot:
    """One pool with one VM, and nothing wrong anywhere, but for what a test changes."""
    well = Snapshot(
        NOON,
        NAMESPACE,
        "0.1.0",
        "v1.34.1",
        served={
            "runnerpools.remuda.dev": ("v1alpha1",),
            "virtualmachines.kubevirt.io": ("v1",),
            "kubevirts.kubevirt.io": ("v1",),
            "virtualmachinepools.pool.kubevirt.io": ("v1beta1", "v1alpha1"),
        },
        pools=(pool(),),
        lead=Lead("remuda-x", NOON - 2_000),
        controllers=(workload("remuda", NAMESPACE),),
        pods=(own_pod(), launcher()),
        secrets={"circle": SecretKeys(("circle-token", "class-token"))},
        permissions=Permissions("ServiceAccount remuda"),
        vms=(vm(),),
        vmis=(vmi(),),
        vm_pools=(vm_pool(),),
        kubevirts=(kube_virt(),),
        components=(workload("virt-operator"), workload("virt-api"), workload("virt-controller")),
        handlers=(workload("virt-handler"),),
        component_pods=(component("virt-operator"), component("virt-handler")),
        nodes=(node(),),
        taken={"node-1": {"cpu": 1200, "memory": 6 * 2**30, "pods": 9, "devices.kubevirt.io/kvm": 1}},
        consoles={"linux-0": GUEST_LOG},
    )
    return msgspec.structs.replace(well, **changes)
