"""User data as it is generated, carried out by a Debian guest that really boots: kernel, systemd, cloud-init, apt, sudo."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.providers.kubevirt.guest.stage import CONFIG, GUEST, STEPS, TOKEN, Stage

from remuda.providers.kubevirt.guest.userdata import DiskMount
from remuda.rules.instances import BUNDLE_VOLUME

pytestmark = pytest.mark.slow

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
