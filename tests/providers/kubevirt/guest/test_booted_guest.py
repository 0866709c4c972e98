"""User data as it is generated, carried out by a Debian guest that really boots: kernel, systemd, cloud-init, apt, sudo."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.providers.kubevirt.guest.repository import POOL, RELEASE, SCRIPT, build_package, repository
from tests.providers.kubevirt.guest.services import Services
from tests.providers.kubevirt.guest.vm import Guest
from tests.servers.build import locked
from tests.servers.guest_image import GuestImage

from remuda.model.times import MINUTE, Duration
from remuda.providers.kubevirt.guest.userdata import DiskMount, GuestConfig
from remuda.providers.kubevirt.settings import Make
from remuda.providers.kubevirt.template import Blueprint
from remuda.rules.instances import BUNDLE_VOLUME

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="session")
def guest_props(guest_image: GuestImage, tmp_path_factory: pytest.TempPathFactory) -> Props:
    directory = tmp_path_factory.mktemp("services")
    package = build_package(directory)
    return Props(guest_image, package, repository(directory, package))


@pytest.fixture
def stage(guest_props: Props) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(guest_props, stack)


def saved_once(base: Path, name: str, save: Callable[[Path], None]) -> Path:
    """Where a guest is saved that all processes of a test run share: booting is what takes long."""
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with locked(shared.with_suffix(".lock"), lambda *_: None):
        if not shared.exists():
            save(shared)
    return shared


@pytest.fixture(scope="session")
def booted_guest(guest_props: Props, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a guest was saved that has booted and tries to get at the package repository."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(guest_props, stack).boot(failing={SCRIPT: EVER})
            guest.wait_for(lambda: services.asked[SCRIPT] > 0)
            assert guest.steps == STEPS[:2]
            guest.save(directory)

    return saved_once(tmp_path_factory.getbasetemp(), "booted-guest", save)


@pytest.fixture(scope="session")
def idle_guest(guest_props: Props, booted_guest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a guest was saved whose runner is up and has no task; it was hard to install."""

    def save(directory: Path) -> None:
        with ExitStack() as stack:
            guest, services = Stage(guest_props, stack).boot(booted_guest, failing={RELEASE: 2})
            guest.wait_for(lambda: guest.steps == STEPS[2:] and len(services.said.get("claim", ())) > 1)
            assert guest.failures == []
            assert services.asked[SCRIPT] == 1
            assert services.asked[RELEASE] == 3
            assert services.asked[POOL] == 1
            guest.save(directory)

    return saved_once(tmp_path_factory.getbasetemp(), "idle-guest", save)


#: what a job sees of its machine
LOOK = """\
id -un
pwd
cat /proc/self/cgroup
systemctl show poweroff.target -p JobTimeoutUSec
systemctl show circleci-runner.service -p TimeoutStopUSec
cat /etc/circleci-runner/circleci-runner-config.yaml
cat /var/lib/remuda/runner.yaml
cat /var/lib/cloud/instance/user-data.txt
touch here && echo may write
exit 3
"""


def test_a_guest_whose_lists_of_packages_failed_at_first_takes_one_task_and_powers_off_for_good(
    stage: Stage, idle_guest: Path
) -> None:
    guest, services = stage.boot(idle_guest, tasks=[{"id": "t1", "command": LOOK}])
    guest.wait_off()
    assert guest.failures == []
    assert guest.steps == ["ended"]
    # which boot it is, and the token, as they were generated
    assert {claim["name"] for claim in services.said["claim"]} == {"linux-3.0a1b2c3d"}
    assert {claim["hostname"] for claim in services.said["claim"]} == {"linux-3"}
    assert len(services.said["began"]) == 1
    (ended,) = services.said["ended"]
    assert ended["status"] == 3
    output = ended["output"]
    assert output.startswith("circleci\n/var/lib/circleci-runner/workdir\n"), output
    assert "JobTimeoutUSec=22min" in output
    assert "TimeoutStopUSec=17min" in output
    assert output.endswith("may write\n")
    assert TOKEN not in output
    assert output.count("Permission denied") + output.count("No such file") == 3, output
    config = yaml.safe_load(guest.read(CONFIG))
    assert config["runner"]["name"] == "linux-3.0a1b2c3d"
    assert config["api"] == {"auth_token": TOKEN, "url": "https://runner.circleci.com"}
    with pytest.raises(FileNotFoundError):
        guest.read("/var/lib/remuda/runner.yaml")
    # the same disk once more
    claims = len(services.said["claim"])
    guest.start()
    guest.wait_off()
    assert guest.failures == ["step=boot reason=the machine was started again: a runner's machine runs once"]
    assert len(services.said["claim"]) == claims


# This has a guest of its own, and comes second: another process boots it while the first saves those that are shared.


#: what a job may do and see where sudo is granted and a disk is mounted
LOOK_AS_ROOT = """\
sudo -n id -u
findmnt --noheadings --output SOURCE,FSTYPE /usr/local
head -n 1 /usr/local/share/ca-certificates/tests.crt
"""
WITH_DISK: dict[str, Any] = {
    "domain": {
        "devices": {
            "disks": [
                {"name": "disk", "disk": {"bus": "virtio"}},
                {"name": "scratch", "serial": "scratch", "disk": {"bus": "virtio"}},
            ]
        }
    },
    "volumes": [
        {"name": "disk", "containerDisk": {"image": "debian"}},
        {"name": "scratch", "emptyDisk": {"capacity": "64Mi"}},
    ],
}


def test_a_guest_installs_from_its_bundle_disk_grants_sudo_and_mounts_an_empty_disk_with_what_was_there(
    stage: Stage,
) -> None:
    guest, services = stage.boot(
        spec=WITH_DISK,
        config=dataclasses.replace(
            GUEST, bundle=BUNDLE_VOLUME, grants_sudo=True, disks=(DiskMount("scratch", "/usr/local"),)
        ),
        tasks=[{"id": "t1", "command": LOOK_AS_ROOT}],
    )
    guest.wait_off()
    assert guest.failures == []
    assert guest.steps == [*STEPS, "ended"]
    assert {path for path in services.asked if not path.startswith("/api/")} == set()
    (ended,) = services.said["ended"]
    assert ended["output"].splitlines() == ["0", "/dev/vdb ext4", "-----BEGIN CERTIFICATE-----"]


def test_a_guest_that_cannot_install_its_runner_says_why_and_powers_off(
    stage: Stage, booted_guest: Path
) -> None:
    guest, services = stage.boot(booted_guest, failing={POOL: EVER})
    guest.wait_off()
    (failure,) = guest.failures
    assert failure.startswith("step=install reason=installing circleci-runner failed 5 times: E: ")
    assert guest.steps == []
    assert services.asked[POOL] >= 5
    assert services.said == {}


def test_a_guest_that_has_no_task_for_the_idle_timeout_powers_off(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest)
    guest.wait_off()
    assert guest.failures == []
    assert guest.steps == ["ended"]
    assert "no task for the idle timeout" in guest.console
    assert set(services.said) == {"claim"}


def test_a_runner_whose_token_is_refused_ends_its_guest(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest, refused={TOKEN})
    guest.wait_off()
    assert guest.failures == ["step=run reason=the runner ended: exit-code exited 1"]
    assert services.tokens == {TOKEN}
    assert services.said == {}
    assert TOKEN not in guest.console


def test_a_runner_that_crashes_ends_its_guest(stage: Stage, idle_guest: Path) -> None:
    guest, services = stage.boot(idle_guest, tasks=[{"id": "t1", "command": "true", "crash": True}])
    guest.wait_off()
    (failure,) = guest.failures
    assert failure in {
        "step=run reason=the runner ended: signal killed SEGV",
        "step=run reason=the runner ended: core-dump dumped SEGV",
    }
    assert set(services.said) == {"claim"}


#: ends by itself a while after the power button, and needs its session, the disk and the network up to its end
LONG = """\
for second in 1 2 3 4 5 6 7 8; do sleep 1; echo $second >here; done
curl -sS -o /dev/null -w '%{http_code}' https://runner.circleci.com/nothing
"""


def test_a_guest_that_is_told_to_power_off_ends_its_task_first(stage: Stage, idle_guest: Path) -> None:
    tasks = [{"id": "t1", "command": LONG}, {"id": "t2", "command": "true"}]
    guest, services = stage.boot(idle_guest, tasks=tasks)
    guest.wait_for(lambda: "began" in services.said)
    guest.press_power()
    guest.wait_off()
    (ended,) = services.said["ended"]
    assert (ended["status"], ended["output"], ended["drained"]) == (0, "404", True)
    assert len(services.said["began"]) == 1
    assert guest.failures == []
    assert guest.steps == ["ended"]
