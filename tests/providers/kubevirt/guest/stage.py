"""Guests that really boot and the services they call, for tests to let them go on from where another was saved."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.kubevirt.guest.services import Services
from tests.providers.kubevirt.guest.vm import Guest
from tests.servers.build import locked
from tests.servers.guest_image import GuestImage

from remuda.model.times import MINUTE, Duration
from remuda.providers.kubevirt.guest.userdata import GuestConfig
from remuda.providers.kubevirt.settings import Make
from remuda.providers.kubevirt.template import Blueprint

STEPS = ["boot", "detect", "install", "configure", "start"]
SPEC: dict[str, Any] = {
    "domain": {"devices": {"disks": [{"name": "disk", "disk": {"bus": "virtio"}}]}},
    "volumes": [{"name": "disk", "containerDisk": {"image": "debian"}}],
}
CONFIG = "/etc/circleci-runner/circleci-runner-config.yaml"
TOKEN = "class-token"
#: long enough to save a guest meanwhile, whatever else the machine does
IDLE_S = 90
GUEST = GuestConfig(
    token=TOKEN,
    api_url="https://runner.circleci.com/",
    max_run_time=Duration(15 * MINUTE),
    idle_timeout=f"{IDLE_S}s",
)
EVER = 1_000_000


@dataclass(frozen=True, slots=True)
class Props:
    """What every guest needs."""

    image: GuestImage
    package: Path
    files: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Stage:
    """Guests and the services they call, until the stage is left."""

    props: Props
    stack: ExitStack

    def boot(
        self,
        saved: Path | None = None,
        *,
        spec: dict[str, Any] = SPEC,
        config: GuestConfig = GUEST,
        **services: Any,
    ) -> tuple[Guest, Services]:
        """Start a guest, or let the one that was saved go on."""
        blueprint = Blueprint(
            "linux", "t1", Make(spec, config, "bundle" if config.bundle else None, "beside")
        )
        called = self.stack.enter_context(
            Services(self.props.image.certificate, self.props.files, TOKEN, **services)
        )
        machine = self.stack.enter_context(
            Guest(self.props.image, blueprint, called.port, bundle=self.props.package, saved=saved)
        )
        machine.start()
        return machine, called


def saved_once(base: Path, name: str, save: Callable[[Path], None]) -> Path:
    """Where a guest is saved that all processes of a test run share: booting is what takes long."""
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with locked(shared.with_suffix(".lock"), lambda *_: None):
        if not shared.exists():
            save(shared)
    return shared
