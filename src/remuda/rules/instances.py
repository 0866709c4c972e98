"""What a VirtualMachineInstanceSpec must be for a runner to be made of it; nothing else in it is looked at."""

from collections.abc import Iterator
from typing import Any

#: the disks and volumes that make a VM a runner: what it is told at boot, and the packages it may be given
GUEST_VOLUME = "remuda-guest"
BUNDLE_VOLUME = "remuda-bundle"
#: tells the guest which boot of its machine it is
BOOT_VOLUME = "remuda-boot"
_OURS = (GUEST_VOLUME, BUNDLE_VOLUME, BOOT_VOLUME)
_USER_DATA = ("cloudInitNoCloud", "cloudInitConfigDrive", "sysprep")


def check_spec(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Problems of a VirtualMachineInstanceSpec: only those that would keep a runner from being made of it."""
    domain = spec.get("domain")
    if not isinstance(domain, dict):
        yield ".domain", "is missing: a VirtualMachineInstanceSpec has one"
        domain = {}
    if "hostname" in spec:
        yield (
            ".hostname",
            "leave it out: a runner is known by the name of its VM, which is then its host name",
        )
    devices = domain.get("devices") or {}
    if not isinstance(devices, dict):
        yield ".domain.devices", "wants a mapping"
        devices = {}
    for path, items in (
        (".volumes", spec.get("volumes") or []),
        (".domain.devices.disks", devices.get("disks") or []),
    ):
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            yield path, "wants a list of mappings"
            continue
        for index, item in enumerate(items):
            if item.get("name") in _OURS:
                yield f"{path}[{index}].name", f"{item['name']} is the one that Remuda adds"
            found = [word for word in _USER_DATA if word in item]
            if found and path == ".volumes":
                yield f"{path}[{index}].{found[0]}", "Remuda adds its own user data, and a VM has only one"
