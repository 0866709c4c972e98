"""
A guest in QEMU, from what Remuda sends to KubeVirt: its disks in their order, its user data, its boot's id.

Disks are made as virt-launcher makes them: user data and metadata on an ISO image labelled `cidata`, the boot's id on one
of its own. The network is closed but for one address, behind which the test stands. KVM runs it where KVM works, else
software does, some ten times slower.
"""

import json
import shlex
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.providers.kubevirt.guest import relay
from tests.servers.guest_image import SERVICES_AT, GuestImage, tool
from tests.servers.kept import Kept

from remuda.providers.kubevirt.template import Blueprint

PROBE_S = 60.0
#: how long a guest may take for anything: minutes under emulation, on a machine that does much else
DEADLINE_S = 900.0
POLL_S = 0.1
_LAST_CHARACTERS = 4000
_SNAPSHOT = "saved"


@cache
def accelerator(kernel: Path) -> str:
    """`kvm` where a kernel really starts with it, else `tcg`."""
    if not Path("/dev/kvm").exists():
        return "tcg"
    command = [
        *(tool("qemu-system-x86_64"), "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256", "-kernel", str(kernel)),
        *("-append", "console=ttyS0 panic=-1"),
    ]
    try:
        ran = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=PROBE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "tcg"
    return "kvm" if b"Linux version" in ran.stdout else "tcg"


@dataclass(slots=True)
class Guest:
    """One virtual machine and its disk, which stays between starts; `with` ends and removes it."""

    image: GuestImage
    blueprint: Blueprint
    services_port: int
    name: str = "linux-3"
    #: the uid of its VirtualMachineInstance
    uid: str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d"
    #: what the bundle disk holds
    bundle: Path | None = None
    #: where another guest was saved, which this one goes on from
    saved: Path | None = None
    _kept: Kept = field(init=False)

    def __enter__(self) -> Self:
        self._kept = Kept()
        if self.saved is not None:
            for disk in self.saved.iterdir():
                shutil.copy(disk, self._kept.directory)
        else:
            backing = ("-b", str(self.image.disk), "-F", "qcow2")
            _run("qemu-img", "create", "-q", "-f", "qcow2", *backing, str(self._root))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.close()

    @property
    def _root(self) -> Path:
        return self._kept.directory / "root.qcow2"

    @property
    def console(self) -> str:
        """The serial console of all starts."""
        file = self._kept.directory / "console"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    @property
    def said(self) -> list[str]:
        """What the guest's script said on the console."""
        parts = (line.partition("remuda-guest: ") for line in self.console.splitlines())
        return [said.strip() for _, found, said in parts if found]

    @property
    def steps(self) -> list[str]:
        """The steps that went well."""
        return [said.split()[0].removeprefix("step=") for said in self.said if said.startswith("step=")]

    @property
    def failures(self) -> list[str]:
        """The failures it reported."""
        return [said.removeprefix("FAILED ") for said in self.said if said.startswith("FAILED ")]

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self._kept.processes["qemu"].poll() is None

    def start(self) -> None:
        """Start the machine, or let one that was saved go on."""
        resumed = () if self.saved is None else ("-loadvm", _SNAPSHOT)
        self.saved = None
        self._kept.start("qemu", [*self._command(), *resumed], self._qmp.exists)

    def save(self, directory: Path) -> None:
        """End the machine as it is, so that others can go on from here."""
        said = self._order("human-monitor-command", {"command-line": f"savevm {_SNAPSHOT}"})
        assert said == "", said
        self._kept.kill("qemu")
        part = directory.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)  # of somebody who did not come to the end
        part.mkdir()
        for disk in self._kept.directory.glob("*.qcow2"):
            shutil.copy(disk, part)
        part.rename(directory)

    def wait_for(self, what: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
        """Wait until something is so while the guest runs."""
        deadline = time.monotonic() + deadline_s
        while not what():
            assert self.is_up, self._last_words("it powered off")
            assert time.monotonic() < deadline, self._last_words(f"not so after {deadline_s:.0f} s")
            time.sleep(POLL_S)

    def wait_off(self, deadline_s: float = DEADLINE_S) -> None:
        """Wait until the guest powered itself off."""
        try:
            status = self._kept.processes["qemu"].wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._last_words(f"not off after {deadline_s:.0f} s")) from None
        assert status == 0, (self._kept.directory / "qemu.log").read_text()
        self._qmp.unlink(missing_ok=True)

    def press_power(self) -> None:
        """Press the power button, as KubeVirt does to a VM that shall stop."""
        self._order("system_powerdown", {})

    def _order(self, command: str, arguments: dict[str, Any]) -> Any:
        orders = ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments})
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(DEADLINE_S)
            peer.connect(str(self._qmp))
            with peer.makefile("rw") as lines:
                for order in orders:
                    lines.write(json.dumps(order) + "\n")
                    lines.flush()
                    while "return" not in (answer := json.loads(lines.readline())):
                        assert "error" not in answer, answer
        return answer["return"]

    def read(self, path: str) -> str:
        """A file of the disk, once the machine is off; raises FileNotFoundError."""
        raw = self._kept.directory / "root.raw"
        if not raw.exists() or raw.stat().st_mtime < self._root.stat().st_mtime:
            _run("qemu-img", "convert", "-q", "-O", "raw", str(self._root), str(raw))
            _run("e2fsck", "-fy", str(raw), fine=(0, 1))
        ran = _run("debugfs", "-R", f"cat {path}", str(raw))
        if b"File not found" in ran.stderr:
            raise FileNotFoundError(path)
        return ran.stdout.decode(errors="replace")

    def _last_words(self, problem: str) -> str:
        return f"{problem}\n{self.console[-_LAST_CHARACTERS:]}"

    @property
    def _qmp(self) -> Path:
        return self._kept.directory / "qmp"

    def _command(self) -> list[str]:
        kind = accelerator(self.image.kernel)
        relayed = f"{shlex.join([sys.executable, '-I', '-S', str(relay.__file__), str(self.services_port)])}"
        forward = f"tcp:{SERVICES_AT}:443-cmd:{relayed}".replace(",", ",,")
        return [
            *(tool("qemu-system-x86_64"), "-nodefaults", "-display", "none", "-no-reboot"),
            *("-machine", "q35", "-accel", kind, "-cpu", "host" if kind == "kvm" else "qemu64", "-m", "768"),
            *("-kernel", str(self.image.kernel), "-initrd", str(self.image.initrd)),
            *("-append", "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0"),
            *("-chardev", "file,id=console,path=console,append=on", "-serial", "chardev:console"),
            *("-qmp", f"unix:{self._qmp},server=on,wait=off"),
            *(
                "-netdev",
                f"user,id=net,restrict=on,guestfwd={forward}",
                "-device",
                "virtio-net-pci,netdev=net",
            ),
            *("-device", "virtio-rng-pci"),
            *self._disks(),
        ]

    def _disks(self) -> list[str]:
        spec = self.blueprint.instance["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        options = []
        for disk in spec["domain"]["devices"]["disks"]:
            name = disk["name"]
            file, form = self._volume(volumes[name])
            serial = f",serial={disk['serial']}" if "serial" in disk else ""
            readonly = "on" if disk["disk"].get("readonly") else "off"
            options += [
                "-drive",
                f"if=none,id={name},file={file},format={form},readonly={readonly},cache=unsafe",
            ]
            options += ["-device", f"virtio-blk-pci,drive={name}{serial}"]
        return options

    def _volume(self, volume: dict[str, Any]) -> tuple[Path, str]:
        match volume:
            case {"name": "remuda-bundle"}:
                assert self.bundle is not None
                return self._iso("bundle", {self.bundle.name: self.bundle.read_bytes()}), "raw"
            case {"containerDisk": _}:
                return self._root, "qcow2"
            case {"cloudInitNoCloud": {"secretRef": {"name": name}}}:
                assert name == self.blueprint.secret
                secret = self.blueprint.user_data_secret(None)
                meta = {
                    "instance-id": str(uuid.uuid5(uuid.NAMESPACE_DNS, self.name)),
                    "local-hostname": self.name,
                }
                files = {
                    "user-data": secret["stringData"]["userdata"].encode(),
                    "meta-data": json.dumps(meta).encode(),
                }
                return self._writable(self._iso("cidata", files)), "qcow2"
            case {"downwardAPI": {"fields": [{"path": path, "fieldRef": _}]}}:
                return self._iso("cfgdata", {path: self.uid.encode()}), "raw"
            case {"emptyDisk": _}:
                blank = self._kept.directory / f"{volume['name']}.qcow2"
                if not blank.exists():
                    _run("qemu-img", "create", "-q", "-f", "qcow2", str(blank), "64M")
                return blank, "qcow2"
        raise AssertionError(f"what is {volume}?")

    def _writable(self, iso: Path) -> Path:
        """A machine is saved on its disks: all that may be written must be of a form that can hold that."""
        made = iso.with_suffix(".qcow2")
        if not made.exists():
            _run("qemu-img", "convert", "-q", "-O", "qcow2", str(iso), str(made))
        return made

    def _iso(self, label: str, files: dict[str, bytes]) -> Path:
        directory = self._kept.directory / label
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for name, content in files.items():
            (directory / name).write_bytes(content)
        made = self._kept.directory / f"{label}.iso"
        made.unlink(missing_ok=True)
        _run(
            *("xorrisofs", "-quiet", "-output", str(made), "-volid", label, "-joliet", "-rock"),
            *("-partition_cyl_align", "on", str(directory)),
        )
        return made


def _run(name: str, *arguments: str, fine: tuple[int, ...] = (0,)) -> "subprocess.CompletedProcess[bytes]":
    ran = subprocess.run(
        [tool(name), *arguments],
        capture_output=True,
        check=False,
        timeout=DEADLINE_S,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode in fine, f"{name}: {ran.stderr.decode()}"
    return ran
