"""
What is sent to the API server: templates of VMs, VirtualMachinePools and user data Secrets. Pure.

The user's spec is passed on as it is, with disks and volumes added. No object but the Secret holds a token.
"""

from copy import deepcopy
from typing import Any

from remuda.kube.secrets import digest
from remuda.model.times import SECOND
from remuda.providers.kubevirt.guest.userdata import grace_seconds, user_data
from remuda.providers.kubevirt.resources import (
    BESIDE,
    BOOTS,
    CLASS,
    DRAINS,
    GUEST,
    MANAGED_BY,
    MEMBER,
    ORDERS,
    OURS,
    POOL,
    TEMPLATE,
    WRITTEN,
)
from remuda.providers.kubevirt.settings import Make
from remuda.rules.instances import BOOT_VOLUME, BUNDLE_VOLUME, GUEST_VOLUME

UNMANAGED: dict[str, Any] = {"unmanaged": {}}
_LAUNCHER = {"karpenter.sh/do-not-disrupt": "true"}
#: names of VMs are used again, their guests' uids are not: the guest reads its own from a disk, by its launcher's label
_BOOT_DISK = {"name": BOOT_VOLUME, "serial": BOOT_VOLUME, "disk": {"bus": "virtio", "readonly": True}}
_BOOT = {"path": "boot", "fieldRef": {"fieldPath": "metadata.labels['kubevirt.io/created-by']"}}


class Blueprint:
    """One configuration of one pool: the template of its VMs and their user data."""

    def __init__(self, pool: str, template: str, make: Make) -> None:
        self.pool = pool
        self.user_data = user_data(make.guest)
        self.guest = digest(self.user_data)
        self.secret = f"{pool}-guest-{self.guest}"
        labels = {POOL: pool, TEMPLATE: template, GUEST: self.guest}
        if make.beside:
            labels[BESIDE] = make.beside
        self.labels = labels
        spec = _spec(make, self.secret)
        self.annotations = {CLASS: make.job_class, BOOTS: "true"}
        grace = spec["terminationGracePeriodSeconds"]
        if isinstance(grace, int) and grace * SECOND >= make.guest.max_run_time:
            self.annotations[DRAINS] = "true"
        self.instance = {"metadata": {"labels": labels, "annotations": _LAUNCHER}, "spec": spec}
        self.written = digest(self.vm_template())

    def vm_template(self) -> dict[str, Any]:
        """What a VirtualMachinePool makes VMs of."""
        return {
            "metadata": {"labels": self.labels | {MEMBER: self.pool}, "annotations": self.annotations},
            "spec": {"runStrategy": "Once", "template": self.instance},
        }

    def vm(self, name: str) -> dict[str, Any]:
        """A VM of its own, where there are no pools."""
        return {
            "metadata": {
                "name": name,
                "labels": self.labels | {MANAGED_BY: OURS},
                "annotations": self.annotations,
            },
            "spec": {"runStrategy": "Once", "template": self.instance},
        }

    def vm_pool(self) -> dict[str, Any]:
        """
        A VirtualMachinePool without VMs, which deletes and changes none by itself.

        KubeVirt's own choice of VMs to delete looks at nothing, crashes with selectors, and its healing reaches VMs of
        other pools; so all three are off.
        """
        return {
            "metadata": {
                "name": self.pool,
                "labels": {POOL: self.pool, MANAGED_BY: OURS},
                "annotations": {ORDERS: "", WRITTEN: self.written},
            },
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {MEMBER: self.pool}},
                "scaleInStrategy": UNMANAGED,
                "updateStrategy": UNMANAGED,
                "virtualMachineTemplate": self.vm_template(),
            },
        }

    def user_data_secret(self, owner: dict[str, Any] | None) -> dict[str, Any]:
        """The Secret that VMs of this configuration refer to; it goes with its owner."""
        meta: dict[str, Any] = {
            "name": self.secret,
            "labels": {POOL: self.pool, GUEST: self.guest, MANAGED_BY: OURS},
        }
        if owner is not None:
            meta["ownerReferences"] = [owner]
        return {"metadata": meta, "immutable": True, "stringData": {"userdata": self.user_data}}


def _spec(make: Make, secret: str) -> dict[str, Any]:
    spec = deepcopy(make.spec)
    devices = spec["domain"].setdefault("devices", {}) or {}
    spec["domain"]["devices"] = devices
    disks, volumes = devices.get("disks") or [], spec.get("volumes") or []
    if make.bundle is not None:
        disks.append(
            {
                "name": BUNDLE_VOLUME,
                "serial": make.guest.bundle,
                "disk": {"bus": "virtio", "readonly": True},
            }
        )
        volumes.append({"name": BUNDLE_VOLUME, "containerDisk": {"image": make.bundle}})
    disks.append({"name": GUEST_VOLUME, "disk": {"bus": "virtio"}})
    volumes.append({"name": GUEST_VOLUME, "cloudInitNoCloud": {"secretRef": {"name": secret}}})
    disks.append(dict(_BOOT_DISK))
    volumes.append({"name": BOOT_VOLUME, "downwardAPI": {"fields": [_BOOT]}})
    devices["disks"], spec["volumes"] = disks, volumes
    if spec.get("terminationGracePeriodSeconds") is None:
        # A guest that is powered off ends its task first.
        spec["terminationGracePeriodSeconds"] = grace_seconds(make.guest.max_run_time)
    return spec
