"""`guest.sh`, really executed in a root of its own with stub package managers and a stub systemctl."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.providers.kubevirt.guest.sandbox import OS_RELEASE, Machine, missing, read

from remuda.model.times import HOUR, Duration
from remuda.providers.kubevirt.guest.userdata import GuestConfig, user_data

GUEST = GuestConfig(
    token="s3cr3t-token",
    api_url="https://runner.example.com/",
    max_run_time=Duration(5 * HOUR),
    idle_timeout="5m",
)
SCRIPT = Path(str(files("remuda.providers.kubevirt.guest").joinpath("guest.sh")))
POWER_OFF = "systemctl --no-block poweroff"

Make = Callable[..., Machine]


@pytest.fixture(scope="session")
def _sandboxes(tmp_path_factory: pytest.TempPathFactory) -> None:
    if why := missing(tmp_path_factory.mktemp("probe")):
        pytest.skip(why)


@pytest.fixture
def machine(tmp_path: Path, _sandboxes: None) -> Make:
    def make(distribution: str = "debian", shell: str = "dash") -> Machine:
        return Machine(tmp_path / distribution, OS_RELEASE[distribution], shell)

    return make


def steps(machine: Machine) -> list[str]:
    return [
        match[1] for line in machine.console if (match := re.search(r"step=(\w+) seconds=\d+\.\d$", line))
    ]


ALL = ["boot", "detect", "install", "configure", "start"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["guest.sh", "disks.sh"])
def test_shellcheck_finds_nothing(name: str) -> None:
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not there: it comes with the locked development packages")
    optional = "--enable=quote-safe-variables,check-unassigned-uppercase,deprecate-which"
    ran = subprocess.run(
        [shellcheck, "--shell=sh", optional, str(SCRIPT.with_name(name))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["debian", "ubuntu", "linuxmint"])
def test_the_debian_family_installs_with_apt_from_the_package_repository(
    machine: Make, distribution: str
) -> None:
    guest = machine(distribution).debian()
    ran = guest.boot(user_data(GUEST))
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert steps(guest) == ALL
    assert len(guest.console) == len(ALL)
    url = "https://packagecloud.io/install/repositories/circleci/runner/script.deb.sh?any=true"
    assert [call for call in guest.calls if not call.startswith(("systemctl", "chown", "-rw", "total"))] == [
        f"curl -fsSL --connect-timeout 10 --max-time 60 -o /var/lib/remuda/repository.sh {url}",
        "repository script",
        "apt-get -y -o DPkg::Lock::Timeout=300 --no-install-recommends install circleci-runner",
    ]
    assert POWER_OFF not in guest.calls


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["centos", "rhel", "rocky", "ol", "fedora"])
def test_the_rhel_family_installs_with_dnf_and_its_own_shell(machine: Make, distribution: str) -> None:
    guest = machine(distribution, shell="bash").rhel()
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert steps(guest) == ALL
    assert "dnf -y install circleci-runner" in guest.calls
    assert any(call.startswith("curl ") and call.endswith("/script.rpm.sh?any=true") for call in guest.calls)


@pytest.mark.slow
def test_an_older_machine_installs_with_yum_and_wget(machine: Make) -> None:
    guest = machine("centos", shell="bash")
    guest.stub("yum", ". /stubs/package")
    guest.stub("wget", 'while [ "$1" != -O ]; do shift; done; echo \'echo repository script >>/calls\' >"$2"')
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert [call.split()[0] for call in guest.calls][2:5] == ["wget", "repository", "yum"]


@pytest.mark.slow
def test_a_baked_in_runner_is_not_installed_again(machine: Make) -> None:
    guest = machine("debian").debian().baked()
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert steps(guest) == ALL
    assert not [call for call in guest.calls if call.startswith(("curl", "apt-get"))]


@pytest.mark.slow
def test_a_list_of_packages_that_could_not_be_had_is_asked_for_again(machine: Make) -> None:
    """The repository's script ignores that; so the package is unknown until the list is there."""
    guest = machine("debian").debian()
    guest.stub(
        "apt-get",
        'case "$*" in *update) touch /listed ;; *) [ -e /listed ] || exit 100; . /stubs/package ;; esac',
    )
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert [call.split()[-1] for call in guest.calls if call.startswith("apt-get")] == [
        "circleci-runner",
        "update",
        "circleci-runner",
    ]
    assert guest.failures == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("boot", "name"),
    [
        pytest.param("0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d", "pool-3.0a1b2c3d", id="its uid"),
        pytest.param("0A1B2C3D", "pool-3", id="no uid"),
        pytest.param("0a1b", "pool-3", id="too short"),
        pytest.param("", "pool-3", id="empty"),
        pytest.param(None, "pool-3", id="no such disk"),
    ],
)
def test_a_runners_name_tells_its_boot(machine: Make, boot: str | None, name: str) -> None:
    guest = machine("debian").debian().baked()
    if boot is not None:
        (guest.root / "dev/disk/by-id/virtio-remuda-boot").touch()
        (guest.root / "bundle/boot").write_text(boot)
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert guest.config()["runner"]["name"] == name


@pytest.mark.slow
def test_the_runner_is_configured_and_started_once_all_files_are_there(machine: Make) -> None:
    guest = machine("debian").debian()
    guest.boot(user_data(GUEST))
    assert guest.config() == {
        "api": {"auth_token": "s3cr3t-token", "url": "https://runner.example.com"},
        "logging": {"format": "text"},
        "runner": {
            "mode": "single-task",
            "max_run_time": "18000s",
            "command_prefix": ["sudo", "-niHu", "circleci", "--"],
            "working_directory": "/var/lib/circleci-runner/workdir",
            "cleanup_working_directory": True,
            "task_agent_directory": "/var/lib/remuda/task-agent",
            "idle_timeout": "5m",
            "name": "pool-3",
        },
    }
    drop_in = (guest.root / "etc/systemd/system/circleci-runner.service.d/remuda.conf").read_text()
    for line in (
        "User=root",
        "Restart=no",
        "KillMode=mixed",
        "TimeoutStopSec=18120",
        "ExecStopPost=-/bin/systemctl --no-block poweroff",
    ):
        assert f"\n{line}\n" in drop_in
    assert "chown circleci /var/lib/circleci-runner/workdir" in guest.calls
    of_systemd = [call for call in guest.calls if call.startswith("systemctl")]
    assert of_systemd[-4:] == [
        "systemctl stop circleci-runner.service",
        "systemctl disable circleci-runner.service",
        "systemctl daemon-reload",
        "systemctl start circleci-runner.service",
    ]
    assert not (guest.root / "var/lib/remuda/runner.yaml").exists()
    assert "s3cr3t-token" not in "\n".join([*guest.console, *guest.calls])


@pytest.mark.slow
def test_a_running_agent_ends_before_the_drop_in_that_would_power_off(machine: Make) -> None:
    guest = machine("debian").debian().baked()
    guest.stub(
        "systemctl",
        "case $1 in stop) [ ! -e /etc/systemd/system/circleci-runner.service.d ] || touch /too-late ;; esac",
    )
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert "systemctl stop circleci-runner.service" in guest.calls
    assert not (guest.root / "too-late").exists()


@pytest.mark.slow
def test_a_long_hostname_is_cut_at_the_first_dot(machine: Make) -> None:
    guest = machine("rhel").rhel().baked()
    guest.hostname = "pool-12.localdomain"
    guest.boot(user_data(GUEST))
    assert guest.config()["runner"]["name"] == "pool-12"


BUNDLED = GuestConfig(
    token="t", api_url="https://runner.example.com", max_run_time=Duration(HOUR), bundle="runner-bundle"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "disk", "packages", "installed"),
    [
        pytest.param(
            "debian",
            "virtio-runner-bundle",
            ["circleci-runner_3_amd64.deb", "circleci-runner_3_arm64.deb", "a dependency_1_all.deb", "x.rpm"],
            "apt-get -y -o DPkg::Lock::Timeout=300 --no-install-recommends install"
            " /var/lib/remuda/bundle/a dependency_1_all.deb /var/lib/remuda/bundle/circleci-runner_3_amd64.deb",
            id="Debian takes the packages of its architecture from a virtio disk",
        ),
        pytest.param(
            "rhel",
            "scsi-0QEMU_QEMU_HARDDISK_runner-bundle",
            ["circleci-runner-3.x86_64.rpm", "circleci-runner-3.aarch64.rpm", "y.deb"],
            "dnf -y install /var/lib/remuda/bundle/circleci-runner-3.x86_64.rpm",
            id="RHEL takes the packages of its architecture from a SCSI disk",
        ),
        pytest.param(
            "debian",
            "virtio-runner-bundle-part1",
            ["circleci-runner_3_amd64.deb"],
            "apt-get -y -o DPkg::Lock::Timeout=300 --no-install-recommends install"
            " /var/lib/remuda/bundle/circleci-runner_3_amd64.deb",
            id="a partition is found too",
        ),
    ],
)
def test_a_bundle_disk_replaces_the_network(
    machine: Make, distribution: str, disk: str, packages: list[str], installed: str
) -> None:
    guest = machine(distribution)
    if distribution == "debian":
        guest.debian()
    else:
        guest.rhel()
    (guest.root / "dev/disk/by-id" / disk).touch()
    for package in packages:
        (guest.root / "bundle" / package).touch()
    assert guest.boot(user_data(BUNDLED)).returncode == 0, guest.console
    assert steps(guest) == ALL
    assert f"mount -o ro /dev/disk/by-id/{disk} /var/lib/remuda/bundle" in guest.calls
    assert installed in guest.calls
    assert not [call for call in guest.calls if call.startswith("curl")]


def no_network(guest: Machine) -> None:
    guest.stub("curl", "echo 'curl: (6) Could not resolve host: packagecloud.io' >&2; exit 6")


def no_package(guest: Machine) -> None:
    guest.stub("apt-get", "echo 'E: Unable to locate package circleci-runner' >&2; echo; exit 100")


def bad_repository(guest: Machine) -> None:
    guest.stub("curl", 'while [ "$1" != -o ]; do shift; done; echo \'echo no such release; exit 1\' >"$2"')


def no_downloader(guest: Machine) -> None:
    (guest.root / "usr/local/bin/curl").unlink()


def empty_package(guest: Machine) -> None:
    guest.stub("apt-get", "")


def no_user(guest: Machine) -> None:
    (guest.root / "lib-unit").touch()


def no_sudo(guest: Machine) -> None:
    guest.baked()
    (guest.root / "usr/local/bin/sudo").unlink()


def no_start(guest: Machine) -> None:
    guest.baked()
    guest.stub(
        "systemctl", "if [ $1 = start ]; then echo 'Job for circleci-runner.service failed.'; exit 1; fi"
    )


def no_stop(guest: Machine) -> None:
    guest.baked()
    guest.stub("systemctl", "if [ $1 = stop ]; then echo 'Refused.'; exit 1; fi")


def no_hostname(guest: Machine) -> None:
    guest.baked()
    guest.hostname = "localhost"


def strange_hostname(guest: Machine) -> None:
    guest.baked()
    guest.hostname = "Ubuntu-VM"


def no_os_release(guest: Machine) -> None:
    (guest.root / "etc/os-release").unlink()


def read_only(guest: Machine) -> None:
    guest.baked()
    (guest.root / "etc/circleci-runner").touch()


def broken_output(guest: Machine) -> None:
    guest.stub("apt-get", "printf 'E: \\033[31mbad\\n  \\302\\240 \\r\\007x%.0s' $(seq 400); exit 1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "step", "reason"),
    [
        pytest.param(
            no_network,
            "install",
            "adding the package repository failed 5 times: curl: (6) Could not resolve host: packagecloud.io",
            id="no network",
        ),
        pytest.param(
            bad_repository,
            "install",
            "adding the package repository failed 5 times: no such release",
            id="no such repository",
        ),
        pytest.param(
            no_downloader,
            "install",
            "adding the package repository failed 5 times: neither curl nor wget is there: "
            "bake one of them or the runner into the image",
            id="nothing to download with",
        ),
        pytest.param(
            no_package,
            "install",
            "installing circleci-runner failed 5 times: E: Unable to locate package circleci-runner",
            id="no package",
        ),
        pytest.param(
            empty_package,
            "install",
            "the package circleci-runner brought no circleci-runner.service",
            id="a package without the service",
        ),
        pytest.param(
            no_user,
            "install",
            "the user circleci is missing: the package circleci-runner makes it",
            id="no user for jobs",
        ),
        pytest.param(no_sudo, "install", "sudo is missing: bake it into the image", id="no sudo"),
        pytest.param(
            no_stop,
            "configure",
            "circleci-runner.service cannot be stopped: Refused.",
            id="an agent that does not end",
        ),
        pytest.param(
            no_hostname,
            "configure",
            "the hostname 'localhost' is not the machine's name: cloud-init must set it from the machine's metadata",
            id="no hostname",
        ),
        pytest.param(
            strange_hostname,
            "configure",
            "the hostname 'Ubuntu-VM' is not the machine's name: "
            "cloud-init must set it from the machine's metadata",
            id="a hostname that no machine has",
        ),
        pytest.param(read_only, "configure", "unexpected exit status 1", id="something nobody foresaw"),
        pytest.param(
            no_start,
            "start",
            "circleci-runner.service does not start: Job for circleci-runner.service failed.",
            id="the service does not start",
        ),
        pytest.param(
            no_os_release,
            "detect",
            "the distribution 'unknown' is neither of the Debian nor of the RHEL family: use an image that is",
            id="an unknown distribution",
        ),
    ],
)
def test_every_failure_is_one_line_and_a_power_off(
    machine: Make, spoil: Callable[[Machine], None], step: str, reason: str
) -> None:
    guest = machine("debian").debian()
    spoil(guest)
    ran = guest.boot(user_data(GUEST))
    assert ran.returncode == 1
    assert guest.failures == [f"remuda-guest: FAILED step={step} reason={reason}"]
    assert steps(guest) == ALL[: ALL.index(step)]
    assert guest.calls[-1] == POWER_OFF
    assert [call for call in guest.calls if call.startswith("systemctl start")] == (
        ["systemctl start circleci-runner.service"] if step == "start" else []
    )


@pytest.mark.slow
def test_a_distribution_of_neither_family_is_refused_even_with_a_baked_in_runner(machine: Make) -> None:
    guest = machine("opensuse").baked()
    assert guest.boot(user_data(GUEST)).returncode == 1
    (failure,) = guest.failures
    assert "step=detect reason=the distribution 'opensuse-leap suse opensuse' is neither" in failure
    assert guest.calls == [POWER_OFF]


@pytest.mark.slow
def test_attempts_are_bounded_and_further_and_further_apart(machine: Make) -> None:
    guest = machine("debian").debian()
    no_network(guest)
    guest.boot(user_data(GUEST))
    assert [call for call in guest.calls if call.startswith("sleep")] == [
        f"sleep {s}" for s in (2, 8, 18, 32)
    ]


@pytest.mark.slow
def test_a_network_that_comes_late_is_waited_for(machine: Make) -> None:
    guest = machine("debian").debian()
    usual = (guest.root / "usr/local/bin/curl").read_text().split("\n", 3)[3]
    guest.stub("curl", f"[ $(grep -c '^curl' /calls) -ge 3 ] || exit 6\n{usual}")
    assert guest.boot(user_data(GUEST)).returncode == 0
    assert steps(guest) == ALL
    assert guest.failures == []


@pytest.mark.slow
def test_what_a_package_manager_prints_cannot_break_the_line(machine: Make) -> None:
    guest = machine("debian").debian()
    broken_output(guest)
    guest.boot(user_data(GUEST))
    assert len(guest.failures) == 1
    assert guest.console[-1] == guest.failures[0]
    assert guest.failures[0].isprintable()
    assert len(guest.failures[0]) < 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("disk", "package", "reason"),
    [
        pytest.param(
            None,
            "circleci-runner_3_amd64.deb",
            "no disk has the serial runner-bundle: attach the bundle disk with it",
            id="no disk",
        ),
        pytest.param(
            "virtio-other-runner-bundle2",
            "circleci-runner_3_amd64.deb",
            "no disk has the serial runner-bundle: attach the bundle disk with it",
            id="another disk",
        ),
        pytest.param(
            "virtio-runner-bundle",
            "circleci-runner_3_arm64.deb",
            "the bundle disk holds no circleci-runner package for amd64",
            id="another architecture",
        ),
    ],
)
def test_a_wrong_bundle_disk_is_reported(machine: Make, disk: str | None, package: str, reason: str) -> None:
    guest = machine("debian").debian()
    (guest.root / "bundle" / package).touch()
    if disk:
        (guest.root / "dev/disk/by-id" / disk).touch()
    assert guest.boot(user_data(BUNDLED)).returncode == 1
    assert guest.failures == [f"remuda-guest: FAILED step=install reason={reason}"]
    assert guest.calls[-1] == POWER_OFF


@pytest.mark.slow
def test_a_disk_that_cannot_be_mounted_is_reported(machine: Make) -> None:
    guest = machine("debian").debian()
    (guest.root / "dev/disk/by-id/virtio-runner-bundle").touch()
    guest.stub("mount", "echo 'mount: wrong fs type'; exit 32")
    guest.boot(user_data(BUNDLED))
    assert guest.failures == [
        "remuda-guest: FAILED step=install reason=the bundle disk cannot be mounted: mount: wrong fs type"
    ]


@pytest.mark.slow
def test_without_a_console_the_line_goes_to_stderr(machine: Make) -> None:
    guest = machine("debian").debian()
    (guest.root / "dev/console").unlink()
    (guest.root / "dev/console").mkdir()
    no_start(guest)
    ran = guest.boot(user_data(GUEST))
    assert ran.stderr.splitlines()[-1].startswith("remuda-guest: FAILED step=start reason=")
    assert len(ran.stderr.splitlines()) == len(ALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "last"),
    [
        pytest.param(["systemctl"], "shutdown -P now", id="systemctl fails: shutdown"),
        pytest.param(["systemctl", "shutdown"], "poweroff -f", id="shutdown fails too: poweroff"),
    ],
)
def test_power_off_has_more_than_one_way(machine: Make, broken: list[str], last: str) -> None:
    guest = machine("opensuse")
    for name in broken:
        guest.stub(name, "exit 1")
    guest.boot(user_data(GUEST))
    assert guest.calls[-1] == last


@pytest.mark.slow
def test_a_machine_that_starts_again_powers_off_before_a_second_task(machine: Make) -> None:
    guest = machine("debian").debian()
    text = user_data(GUEST)
    guest.boot(text)
    before = len(guest.calls)
    shutil.rmtree(guest.root / "run")
    (guest.root / "run").mkdir()
    for command in read(text)["bootcmd"]:
        guest.run(command)
    assert guest.calls[before:] == [POWER_OFF]
    assert guest.failures == [
        "remuda-guest: FAILED step=boot reason=the machine was started again: a runner's machine runs once"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "line"),
    [
        pytest.param(
            {"SERVICE_RESULT": "success", "EXIT_CODE": "exited", "EXIT_STATUS": "0"},
            r"remuda-guest: step=ended seconds=\d+\.\d",
            id="one task, then the end",
        ),
        pytest.param(
            {"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "1"},
            r"remuda-guest: FAILED step=run reason=the runner ended: exit-code exited 1",
            id="the runner fails",
        ),
        pytest.param({}, r"remuda-guest: step=ended seconds=\d+\.\d", id="an old systemd does not say"),
    ],
)
def test_the_end_of_the_runner_is_reported(machine: Make, result: dict[str, str], line: str) -> None:
    guest = machine("debian").debian()
    guest.boot(user_data(GUEST))
    drop_in = (guest.root / "etc/systemd/system/circleci-runner.service.d/remuda.conf").read_text()
    (command,) = re.findall(r"^ExecStopPost=-(/bin/sh .*)$", drop_in, re.MULTILINE)
    assert guest.run(command.split(), **result).returncode == 0
    assert re.fullmatch(line, guest.console[-1])


@pytest.mark.slow
def test_a_service_that_fails_to_start_is_reported_once_though_systemd_reports_it_too(machine: Make) -> None:
    guest = machine("debian").debian().baked()
    guest.stub(
        "systemctl",
        "if [ $1 = start ]; then SERVICE_RESULT=exit-code PATH=/usr/bin sh /var/lib/remuda/guest.sh ended; exit 1; fi",
    )
    guest.boot(user_data(GUEST))
    assert guest.failures == ["remuda-guest: FAILED step=run reason=the runner ended: exit-code  "]
    assert guest.calls[-1] == POWER_OFF


hostile = st.one_of(
    st.sampled_from(
        [
            "$(touch /owned)",
            "`touch /owned`",
            "'; touch /owned; '",
            '"\n  name: "evil',
            "a\nb\n",
            "\\",
            "%s%n",
            "é😀\u2028",
        ]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
)


@pytest.mark.slow
@pytest.mark.usefixtures("_sandboxes")
@examples(15)
@given(token=hostile, address=hostile)
def test_hostile_values_reach_the_runner_exactly_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, token: str, address: str
) -> None:
    guest = Machine(tmp_path_factory.mktemp("hostile") / "root", OS_RELEASE["debian"]).debian().baked()
    text = user_data(GuestConfig(token=token, api_url=address, max_run_time=Duration(HOUR)))
    assert guest.boot(text).returncode == 0
    assert guest.config()["api"] == {"auth_token": token, "url": address.rstrip("/")}
    assert guest.config()["runner"]["name"] == "pool-3"
    assert not (guest.root / "owned").exists()
