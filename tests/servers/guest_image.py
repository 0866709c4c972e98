"""
A disk that a guest boots from, with its kernel, made from Debian's packages and kept in the cache.

It is what a cloud image is: systemd, cloud-init, sudo, apt, curl. The names of the services that a guest calls lead to one
address of QEMU's closed network, and the image trusts an authority that is kept beside it, so that a test can stand there
instead. All of it needs root, and Debian's packages; QEMU and the tools are installed where that is allowed.
"""

import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.authority import Authority
from tests.servers.build import Progress, locked
from tests.servers.found import ServersError, Surroundings
from tests.servers.packages import install

NAME = "guest-image"
SUITE = "bookworm"
VERSION = f"{SUITE}-4"  # the number is of what this file makes
#: each command with the package that has it
TOOLS = {
    "mmdebstrap": "mmdebstrap",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "xorrisofs": "xorriso",
    "mke2fs": "e2fsprogs",
    "debugfs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "gpg": "gpg",
    "dpkg-deb": "dpkg",
}
PACKAGES = (
    *("linux-image-cloud-amd64", "initramfs-tools", "systemd-sysv", "udev", "dbus", "libpam-systemd", "cloud-init"),
    *("ifupdown", "iproute2", "netbase", "e2fsprogs", "sudo", "ca-certificates", "curl", "gpg", "python3-yaml"),
    *("libnss-myhostname", "busybox-static"),
)  # fmt: skip
#: left out: nobody reads them in a guest
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
#: what a disposable guest need not do, and software emulation is slow at
IDLE_UNITS = (
    *("systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "systemd-pstore.service", "e2scrub_reap.service"),
    *("e2scrub_all.timer", "fstrim.timer", "dpkg-db-backup.timer", "apt-daily.timer", "apt-daily-upgrade.timer"),
    *("getty@tty1.service", "serial-getty@ttyS0.service", "systemd-update-utmp.service", "systemd-repart.service"),
    *("systemd-update-utmp-runlevel.service", "systemd-random-seed.service", "systemd-machine-id-commit.service"),
    *("systemd-sysusers.service", "systemd-firstboot.service", "systemd-journal-flush.service", "dev-hugepages.mount"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount"),
    *("systemd-ask-password-wall.path", "systemd-ask-password-console.path", "cloud-init-hotplugd.socket"),
    *("modprobe@configfs.service", "modprobe@dm_mod.service", "modprobe@drm.service", "modprobe@fuse.service"),
    *("modprobe@loop.service", "systemd-pcrphase.service", "systemd-pcrphase-sysinit.service"),
)  # fmt: skip
#: what systemd would ask at every reload though there is nothing of it; of each package that is installed comes one
IDLE_GENERATORS = tuple(
    f"systemd-{name}-generator"
    for name in (
        *(
            "cryptsetup",
            "debug",
            "getty",
            "gpt-auto",
            "hibernate-resume",
            "integritysetup",
            "rc-local",
            "run",
        ),
        *("system-update", "sysv", "veritysetup"),
    )
)
#: of cloud-init: no language is made, and the root stays as large as it is
CLOUD = "{locale: false, resize_rootfs: false, growpart: {mode: off}}"
#: a machine that has one is not booted for the first time, when systemd looks through all units
MACHINE_ID = "c4a7d0f2b1e84c6f9a3d5e7b60812f34"
#: run in the image: a first file system that only finds the disk; Debian's own takes longer than the rest of the kernel
_INITRD = r"""
set -eu
PATH=/usr/sbin:/usr/bin
tree=$(mktemp -d)
mkdir "$tree/bin" "$tree/dev" "$tree/root"
cp /bin/busybox "$tree/bin/"
{
  echo '#!/bin/busybox sh'
  echo 'busybox mount -t devtmpfs dev /dev'
  modprobe -S "$(ls /lib/modules)" --show-depends -a virtio_pci virtio_blk ext4 |
    awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r module; do
      cp "$module" "$tree/"
      echo "busybox insmod /${module##*/}"
    done
  echo 'until [ -b /dev/vda ]; do busybox usleep 10000; done'
  echo 'busybox mount -t ext4 /dev/vda /root'
  echo 'exec busybox switch_root /root /sbin/init'
} >"$tree/init"
chmod 755 "$tree/init"
cd "$tree"
find . | cpio --quiet -o -H newc | gzip >/boot/small.img
rm -rf "$tree"
"""
#: what a guest calls, all at one address
SERVICES = ("packagecloud.io", "runner.circleci.com")
SERVICES_AT = "10.0.2.100"
DISK = "3G"
DAYS = 3650
MAKE_S = 1800.0
#: installing and mke2fs are /sbin's, which a user's PATH may lack
_SBIN = "/usr/sbin:/sbin"


@dataclass(frozen=True, slots=True)
class GuestImage:
    """The files of one image."""

    directory: Path

    @property
    def kernel(self) -> Path:
        """The kernel, to be started directly."""
        return self.directory / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """The kernel's first file system."""
        return self.directory / "initrd.img"

    @property
    def disk(self) -> Path:
        """The root's disk, qcow2, to be laid under others and never written."""
        return self.directory / "root.qcow2"

    @property
    def certificate(self) -> tuple[Path, Path]:
        """Certificate and key of the services, which the image trusts; older than any guest that was saved."""
        return self.directory / "authority/services.crt", self.directory / "authority/services.key"


def tool(name: str) -> str:
    """A command's path, also where it is only for administrators."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SBIN}")
    if found is None:
        raise ServersError(f"{name} is missing: apt-get install --no-install-recommends {TOOLS[name]}")
    return found


def missing_tools(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The commands that are not there."""
    return [name for name in TOOLS if shutil.which(name, path=f"{environ.get('PATH', '')}:{_SBIN}") is None]


def find_guest_image(around: Surroundings) -> GuestImage | None:
    """The image, or None where it or a tool is missing."""
    image = GuestImage(around.cache / f"{NAME}-{VERSION}")
    return image if image.disk.is_file() and not missing_tools() else None


def get_guest_image(around: Surroundings, progress: Progress) -> GuestImage:
    """Find the image, or install what makes it and make it. Raises ServersError where that cannot be."""
    if platform.machine() != "x86_64":
        raise ServersError(f"{NAME} is made for x86_64, not for {platform.machine()}")
    if missing := missing_tools():
        install(", ".join(missing), sorted({TOOLS[name] for name in missing}), progress)
    image = GuestImage(around.cache / f"{NAME}-{VERSION}")
    if not image.disk.is_file():
        around.cache.mkdir(parents=True, exist_ok=True)
        # a lock and scratch of its own, as the base of images has
        with (
            locked(around.cache / ".guest.lock", progress),
            tempfile.TemporaryDirectory(dir=around.cache, prefix=".guest-") as scratch,
        ):
            if not image.disk.is_file():  # whoever held the lock before may have made it
                _make(Path(scratch), progress).rename(image.directory)
    return image


def _make(scratch: Path, progress: Progress) -> Path:
    doing = f"making a guest of Debian {SUITE}"
    began = time.monotonic()
    progress(doing, 0.0)
    made = GuestImage(scratch / "image")
    made.directory.mkdir()
    authority = Authority(made.directory / "authority", DAYS)
    authority.issue("services", addresses=[f"DNS:{name}" for name in SERVICES])
    root = scratch / "root"
    (scratch / "initrd.sh").write_text(_INITRD, encoding="ascii")
    _run(doing, "mmdebstrap", *_bootstrap(authority.certificate, scratch / "initrd.sh"), SUITE, str(root))
    (boot,) = root.glob("boot/vmlinuz-*")
    shutil.move(boot, made.kernel)
    shutil.move(root / "boot/small.img", made.initrd)
    for unused in root.glob("boot/*"):
        unused.unlink()
    raw = scratch / "root.raw"
    _run(doing, "mke2fs", "-q", "-t", "ext4", "-d", str(root), str(raw), DISK)
    _run(doing, "qemu-img", "convert", "-q", "-O", "qcow2", str(raw), str(made.disk))
    progress(f"done {doing}", time.monotonic() - began)
    return made.directory


def _bootstrap(certificate: Path, initrd: Path) -> Sequence[str]:
    services = f"{SERVICES_AT} {' '.join(SERVICES)}"
    return (
        "--quiet",
        "--variant=minbase",
        "--format=directory",
        f"--include={','.join(PACKAGES)}",
        '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude={path}" for path in UNREAD),
        f"--customize-hook=upload {certificate} /usr/local/share/ca-certificates/tests.crt",
        '--customize-hook=chroot "$1" update-ca-certificates',
        f'--customize-hook=chroot "$1" sh <{initrd}',
        f'--customize-hook=chroot "$1" systemctl mask {" ".join(IDLE_UNITS)}',
        '--customize-hook=mkdir -p "$1"/etc/systemd/system-generators',
        *(
            f'--customize-hook=ln -s /dev/null "$1"/etc/systemd/system-generators/{name}'
            for name in IDLE_GENERATORS
        ),
        f'--customize-hook=echo "{CLOUD}" >"$1"/etc/cloud/cloud.cfg.d/90_quick.cfg',
        # the package repository of the tests is the only one there is
        '--customize-hook=rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*',
        f'--customize-hook=printf "127.0.0.1 localhost\\n{services}\\n" >"$1"/etc/hosts',
        f'--customize-hook=rm -f "$1"/etc/hostname "$1"/etc/resolv.conf; echo {MACHINE_ID} >"$1"/etc/machine-id',
    )


def _run(doing: str, name: str, *arguments: str) -> None:
    environ = {**os.environ, "INITRD": "No"}  # the kernel's package makes none
    try:
        ran = subprocess.run(
            [tool(name), *arguments], env=environ, capture_output=True, text=True, timeout=MAKE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ServersError(f"{doing}: {name} was not done after {MAKE_S:.0f} s") from None
    if ran.returncode != 0:
        output = "\n".join(f"  {line}" for line in ran.stderr.splitlines()[-25:])
        raise ServersError(f"{doing}: {name} exited with {ran.returncode}\n{output}")
