"""Guests that really boot and the services they call, for tests to let them go on from where another was saved."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.providers.kubevirt.guest.services import Services
from tests.providers.kubevirt.guest.vm import Guest
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


def blueprint(spec: dict[str, Any] = SPEC, config: GuestConfig = GUEST) -> Blueprint:
    """What Remuda makes of a pool's settings for one guest."""
    return Blueprint("linux", "t1", Make(spec, config, "bundle" if config.bundle else None, "beside"))


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
        called = self.stack.enter_context(
            Services(self.props.image.certificate, self.props.files, TOKEN, **services)
        )
        machine = self.stack.enter_context(
            Guest(
                self.props.image, blueprint(spec, config), called.port, bundle=self.props.package, saved=saved
            )
        )
        machine.start()
        return machine, called
