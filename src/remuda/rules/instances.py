"""What a VirtualMachineInstanceSpec must be for a runner to be made of it; nothing else in it is looked at."""

import re
from collections.abc import Iterator
from typing import Any

#: the disks and volumes that make a VM a runner: what it gets at boot, and the packages it may be given
GUEST_VOLUME = "remuda-guest"
BUNDLE_VOLUME = "remuda-bundle"
#: gives the guest the id of its boot
BOOT_VOLUME = "remuda-boot"
_OURS = (GUEST_VOLUME, BUNDLE_VOLUME, BOOT_VOLUME)
#: what an empty disk can be formatted as
FILE_SYSTEMS = ("ext4", "xfs")
#: virtio passes at most 20 bytes of a serial to the guest
_SERIAL = re.compile(r"[A-Za-z0-9_-]{1,20}")
_PATH = re.compile(r"(/[A-Za-z0-9_.@-]+)+")
#: what a guest needs as its image has it, long before a disk is mounted there
_SYSTEM = re.compile(
    r"/(bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr|var|var/lib|var/lib/(cloud|remuda)(/.*)?|(dev|proc|run|sys)/.*)"
)
#: in thousandths of a processor, by default
_SHARE_OF_CPU = 100
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


def requested_millicores(cores: int, sockets: int, threads: int, *, is_dedicated: bool) -> int:
    """What KubeVirt requests for the processors of a guest: a tenth of each, unless they are dedicated; 0 is not said."""
    each = 1000 if is_dedicated else _SHARE_OF_CPU
    return max(1, cores) * max(1, sockets) * max(1, threads) * each


def is_serial(text: str) -> bool:
    """Whether a guest can find a disk by this serial."""
    return _SERIAL.fullmatch(text) is not None


def mount_problems(serial: str, path: str, fs_type: str) -> Iterator[str]:
    """Why an empty disk cannot be mounted so."""
    if not is_serial(serial):
        yield f"{serial!r} is not a disk's serial: use up to 20 letters, digits, '-' and '_'"
    if not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
        yield f"{path!r} is not a path to mount at: write it whole, like /var/lib/docker"
    elif _SYSTEM.fullmatch(path):
        yield f"{path} belongs to the system: mount below it, like /var/lib/docker"
    if fs_type not in FILE_SYSTEMS:
        yield f"{fs_type!r} is not a type of file system here: {' or '.join(FILE_SYSTEMS)}"


def empty_disks(spec: dict[str, Any]) -> set[str]:
    """The serials of the disks of a spec that are empty at boot; whatever is malformed in it is passed over."""
    volumes = {
        volume.get("name")
        for volume in _mappings(spec.get("volumes"))
        if isinstance(volume.get("emptyDisk"), dict)
    }
    domain = spec.get("domain")
    devices = domain.get("devices") if isinstance(domain, dict) else None
    disks = _mappings(devices.get("disks")) if isinstance(devices, dict) else ()
    return {
        disk["serial"]
        for disk in disks
        if disk.get("name") in volumes and isinstance(disk.get("serial"), str)
    }


def _mappings(items: object) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
