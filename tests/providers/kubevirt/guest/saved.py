"""
Guests that were saved, kept beside the image they booted from: booting takes a minute of a core under emulation.

How a guest boots is decided by its user data, its disks, QEMU and what it meets here. As long as nothing of that changes, a
guest that was saved is what another boot would come to, and tests go on from it; the user data of another change boots anew.
`make servers` makes them beforehand.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.providers.kubevirt.guest.repository import POOL, RELEASE, SCRIPT, build_package, repository
from tests.providers.kubevirt.guest.stage import EVER, STEPS, Props, Stage, blueprint
from tests.providers.kubevirt.guest.vm import accelerator
from tests.servers.build import locked
from tests.servers.found import surroundings
from tests.servers.guest_image import GuestImage, get_guest_image, tool

_HERE = Path(__file__).parent
#: of each kind, for those who work on several changes at once
_MOST_KEPT = 3


def make_props(image: GuestImage, directory: Path) -> Props:
    """The package of a guest's runner and where it comes from, made in a directory."""
    package = build_package(directory)
    return Props(image, package, repository(directory, package))


def booted_guest(props: Props) -> Path:
    """Where a guest was saved that has booted and tries to get at the package repository."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(props, stack).boot(failing={SCRIPT: EVER})
            guest.wait_for(lambda: services.asked[SCRIPT] > 0)
            assert guest.steps == STEPS[:2]
            guest.save(directory)

    return _kept(props.image, "booted", save)


def idle_guest(props: Props) -> Path:
    """Where a guest was saved whose runner is up and has no task; it was hard to install."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(props, stack).boot(booted_guest(props), failing={RELEASE: 2})
            guest.wait_for(lambda: guest.steps == STEPS[2:] and len(services.said.get("claim", ())) > 1)
            assert guest.failures == []
            assert services.asked[SCRIPT] == 1
            assert services.asked[RELEASE] == 3
            assert services.asked[POOL] == 1
            guest.save(directory)

    return _kept(props.image, "idle", save)


def _kept(image: GuestImage, name: str, save: Callable[[Path], None]) -> Path:
    """Where such a guest is kept, saved by whoever needs it first; others wait."""
    kept = image.directory / "saved"
    kept.mkdir(exist_ok=True)
    place = kept / f"{name}-{_circumstances(image)}"
    with locked(kept / f"{name}.lock", lambda *_: None):
        if not place.exists():
            save(place)
        os.utime(place)
        forget_old(kept, name)
    return place


def forget_old(kept: Path, name: str, most: int = _MOST_KEPT) -> None:
    """Keep those that were used last, and nothing that was not saved to its end."""
    guests = sorted(kept.glob(f"{name}-*"), key=lambda guest: guest.stat().st_mtime, reverse=True)
    whole = [guest for guest in guests if not guest.suffix]
    for guest in guests:
        if guest not in whole[:most]:
            shutil.rmtree(guest, ignore_errors=True)


def _circumstances(image: GuestImage) -> str:
    """All that decides how a guest boots, as one word."""
    made = blueprint()
    kind = accelerator(image.kernel)
    cpu = Path("/proc/cpuinfo").read_text().partition("\n\n")[0] if kind == "kvm" else ""
    return fingerprint([made.instance, made.user_data_secret(None), kind, cpu, _version()], _HERE)


def fingerprint(about: object, directory: Path) -> str:
    """One word for a value and for the files of a directory and of the package in it, tests apart."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for path in sorted((*directory.iterdir(), *(directory / "package").iterdir())):
        if path.is_file() and not path.name.startswith("test_"):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _version() -> str:
    return subprocess.run(
        [tool("qemu-system-x86_64"), "--version"], capture_output=True, text=True, check=True
    ).stdout


def main() -> None:
    """Save the guests that tests go on from."""
    image = get_guest_image(surroundings(), lambda *_: None)
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(f"saved guest\t{idle_guest(make_props(image, Path(place)))}\n")


if __name__ == "__main__":
    main()
