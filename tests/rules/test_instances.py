"""What of a VirtualMachineInstanceSpec keeps a runner from being made of it, and where its empty disks may be mounted."""

from typing import Any

import pytest

from remuda.rules.instances import check_spec, empty_disks, mount_problems, requested_millicores


@pytest.mark.parametrize(
    ("mount", "problem"),
    [
        pytest.param(("docker", "/var/lib/docker", "ext4"), None, id="as it should be"),
        pytest.param(("docker", "/home/circleci", "xfs"), None, id="another type"),
        pytest.param(("a b", "/data", "ext4"), "'a b' is not a disk's serial", id="a serial with a space"),
        pytest.param(("s" * 21, "/data", "ext4"), "is not a disk's serial", id="too long for virtio"),
        pytest.param(("docker", "data", "ext4"), "'data' is not a path to mount at", id="half a path"),
        pytest.param(("docker", "/", "ext4"), "'/' is not a path to mount at", id="the root"),
        pytest.param(("docker", "/data/../etc", "ext4"), "is not a path to mount at", id="a way up"),
        pytest.param(("docker", "/$(reboot)", "ext4"), "is not a path to mount at", id="a shell's words"),
        pytest.param(("docker", "/etc", "ext4"), "/etc belongs to the system", id="what the boot needs"),
        pytest.param(("docker", "/var/lib/remuda", "ext4"), "belongs to the system", id="what we need"),
        pytest.param(
            ("docker", "/run/x", "ext4"), "belongs to the system", id="below what is mounted anyway"
        ),
        pytest.param(("docker", "/data", "ntfs"), "'ntfs' is not a type of file system here", id="a type"),
    ],
)
def test_an_empty_disk_is_mounted_where_that_is_harmless(
    mount: tuple[str, str, str], problem: str | None
) -> None:
    found = list(mount_problems(*mount))
    assert len(found) == (problem is not None)
    assert all(problem in item for item in found if problem)


@pytest.mark.parametrize(
    ("spec", "serials"),
    [
        pytest.param(
            {
                "domain": {
                    "devices": {
                        "disks": [
                            {"name": "root", "serial": "root"},
                            {"name": "docker", "serial": "docker"},
                            {"name": "scratch"},
                            {"name": "odd", "serial": 7},
                        ]
                    }
                },
                "volumes": [
                    {"name": "root", "containerDisk": {}},
                    {"name": "docker", "emptyDisk": {"capacity": "1Gi"}},
                    {"name": "scratch", "emptyDisk": {"capacity": "1Gi"}},
                    {"name": "odd", "emptyDisk": {}},
                    "nonsense",
                ],
            },
            {"docker"},
            id="those with a serial and an emptyDisk",
        ),
        pytest.param({}, set(), id="none"),
        pytest.param({"domain": {"devices": []}, "volumes": 7}, set(), id="a spec of other things"),
        pytest.param({"domain": {"devices": {"disks": None}}}, set(), id="no disks"),
    ],
)
def test_the_empty_disks_of_a_spec_are_known_by_their_serials(
    spec: dict[str, Any], serials: set[str]
) -> None:
    assert empty_disks(spec) == serials


DISK = {"name": "root", "containerDisk": {"image": "x"}}
FINE: dict[str, Any] = {"domain": {"devices": {"disks": [{"name": "root"}]}}, "volumes": [DISK]}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({}, []),
        ({"domain": None}, [".domain"]),
        ({"domain": {}}, []),
        ({"hostname": "me"}, [".hostname"]),
        ({"domain": {"devices": []}}, []),
        ({"domain": {"devices": ["disk"]}}, [".domain.devices"]),
        ({"volumes": {"name": "root"}}, [".volumes"]),
        ({"volumes": ["root"]}, [".volumes"]),
        ({"volumes": [DISK, {"name": "remuda-guest"}]}, [".volumes[1].name"]),
        ({"volumes": [{"name": "own", "cloudInitNoCloud": {}}]}, [".volumes[0].cloudInitNoCloud"]),
        ({"domain": {"devices": {"disks": [{"name": "remuda-boot"}]}}}, [".domain.devices.disks[0].name"]),
        ({"domain": {"devices": {"disks": [{"name": "a", "sysprep": {}}]}}}, []),
    ],
)
def test_only_what_would_keep_a_runner_from_being_made_is_a_problem(
    change: dict[str, Any], paths: list[str]
) -> None:
    assert [path for path, _ in check_spec(FINE | change)] == paths


@pytest.mark.parametrize(
    ("cores", "sockets", "threads", "is_dedicated", "expected"),
    [
        pytest.param(2, 1, 2, False, 400, id="a tenth of each"),
        pytest.param(0, 0, 0, False, 100, id="one where nothing is said"),
        pytest.param(2, 3, 0, True, 6000, id="all of each that is dedicated"),
    ],
)
def test_kubevirt_requests_a_share_of_each_processor(
    cores: int, sockets: int, threads: int, is_dedicated: bool, expected: int
) -> None:
    assert requested_millicores(cores, sockets, threads, is_dedicated=is_dedicated) == expected
