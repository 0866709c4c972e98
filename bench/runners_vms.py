"""VMs and their guests as KubeVirt writes them, for benchmarks that need many and start none."""

from typing import Any

MADE = "2026-01-05T00:00:00Z"
SPEC: dict[str, Any] = {
    "domain": {
        "cpu": {"cores": 1, "sockets": 1, "threads": 1},
        "resources": {"requests": {"memory": "2Gi"}},
        "devices": {
            "disks": [{"name": "disk", "disk": {"bus": "virtio"}}],
            "interfaces": [{"name": "default", "masquerade": {}}],
            "rng": {},
        },
        "machine": {"type": "q35"},
    },
    "networks": [{"name": "default", "pod": {}}],
    "volumes": [{"name": "disk", "containerDisk": {"image": "quay.io/containerdisks/ubuntu:22.04"}}],
}


def _conditions(*types: str) -> list[dict[str, Any]]:
    return [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": MADE} for kind in types
    ]


def vm(name: str, template: dict[str, Any], pool: dict[str, Any]) -> dict[str, Any]:
    """The VM that virt-controller makes for a VirtualMachinePool, as it is while its guest runs."""
    owner = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "name": pool["name"],
        "uid": pool["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": name,
            "labels": template["metadata"]["labels"],
            "annotations": {"kubevirt.io/latest-observed-api-version": "v1"},
            "finalizers": ["kubevirt.io/virtualMachineControllerFinalize", "pool.kubevirt.io/finalizer"],
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
        "status": {
            "printableStatus": "Running",
            "runStrategy": "Once",
            "created": True,
            "ready": True,
            "conditions": _conditions("Ready", "LiveMigratable", "AgentConnected"),
            "volumeSnapshotStatuses": [
                {"name": "disk", "enabled": False, "reason": "Snapshot is not supported"}
            ],
        },
    }


def vmi(of: dict[str, Any], uid: str, phase: str = "Running") -> dict[str, Any]:
    """A VM's guest, in a phase."""
    instance = of["spec"]["template"]
    owner = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "name": of["metadata"]["name"],
        "uid": uid,
    }
    passed = ["Pending", "Scheduling", "Scheduled", "Running", *([phase] if phase != "Running" else [])]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": of["metadata"]["name"],
            "labels": instance["metadata"]["labels"],
            "annotations": instance["metadata"].get("annotations", {}),
            "finalizers": ["kubevirt.io/virtualMachineControllerFinalize", "foregroundDeleteVirtualMachine"],
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": instance["spec"],
        "status": {
            "phase": phase,
            "nodeName": "node-0",
            "launcherContainerImageVersion": "quay.io/kubevirt/virt-launcher:v1.8.0",
            "conditions": _conditions("Ready", "LiveMigratable", "AgentConnected"),
            "phaseTransitionTimestamps": [
                {"phase": each, "phaseTransitionTimestamp": MADE} for each in passed
            ],
            "guestOSInfo": {"id": "ubuntu", "name": "Ubuntu", "version": "22.04", "kernelRelease": "5.15.0"},
            "interfaces": [{"name": "default", "ipAddress": "10.0.0.2", "mac": "02:00:00:00:00:02"}],
        },
    }
