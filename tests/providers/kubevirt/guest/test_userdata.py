"""User data: what the document looks like, and that a value arrives as it was given or is refused."""

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.providers.kubevirt.guest.sandbox import read

from remuda.errors import BadInput
from remuda.model.times import HOUR, SECOND, Duration
from remuda.providers.kubevirt.guest.userdata import DiskMount, GuestConfig, grace_seconds, user_data

GOLDEN = Path(__file__).with_name("golden") / "userdata.yaml"
GUEST = GuestConfig(
    token="resource-class-token",
    api_url="https://runner.circleci.com/",
    max_run_time=Duration(5 * HOUR),
    idle_timeout="5m",
    bundle="runner-bundle",
)
anything = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def files(text: str) -> dict[str, str]:
    return {file["path"]: file["content"] for file in read(text)["write_files"]}


USUAL = files(user_data(GUEST))


def without_script(text: str) -> str:
    """The golden file repeats everything but the script, which is a file of its own."""
    script = files(text)["/var/lib/remuda/guest.sh"]
    indented = "".join(f"    {line}\n" if line else "\n" for line in script.splitlines())
    assert indented in text
    return text.replace(indented, "    (guest.sh)\n")


def test_the_document_is_the_golden_one(pytestconfig: pytest.Config) -> None:
    text = without_script(user_data(GUEST))
    if pytestconfig.getoption("--update-golden"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), (
        "if right: python -m pytest tests/providers/kubevirt/guest --update-golden"
    )


def test_sudo_is_granted_and_empty_disks_are_mounted_only_where_that_was_said() -> None:
    disks = (DiskMount("docker", "/var/lib/docker"), DiskMount("work", "/work", "xfs"))
    text = user_data(dataclasses.replace(GUEST, grants_sudo=True, disks=disks))
    assert files(text)["/etc/sudoers.d/remuda"] == "circleci ALL=(ALL:ALL) NOPASSWD: ALL\n"
    first, second = read(text)["bootcmd"]
    assert [first] == read(user_data(GUEST))["bootcmd"]
    assert second[3:] == ["disks", "docker", "/var/lib/docker", "ext4", "work", "/work", "xfs"]
    assert "/etc/sudoers.d/remuda" not in USUAL
    with pytest.raises(BadInput, match="is not a path to mount at"):
        user_data(dataclasses.replace(GUEST, disks=(DiskMount("docker", "/a; reboot"),)))


def test_without_a_bundle_and_an_idle_timeout_neither_is_written() -> None:
    text = user_data(dataclasses.replace(GUEST, bundle=None, idle_timeout=""))
    assert read(text)["runcmd"] == [["sh", "/var/lib/remuda/guest.sh", "start"]]
    assert "idle_timeout" not in files(text)["/var/lib/remuda/runner.yaml"]


def test_it_is_small_enough_for_a_secret_many_times_over() -> None:
    assert len(user_data(GUEST)) < 32_768


@pytest.mark.slow
@examples(50)
@given(anything, anything)
def test_every_text_arrives_exactly_and_changes_nothing_else(token: str, address: str) -> None:
    written = files(user_data(dataclasses.replace(GUEST, token=token, api_url=address)))
    config = yaml.safe_load(written.pop("/var/lib/remuda/runner.yaml") + '  name: "pool-3"\n')
    assert config["api"] == {"auth_token": token, "url": address.rstrip("/")}
    assert config["runner"]["name"] == "pool-3"
    assert written.items() <= USUAL.items()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"token": ""}, "token is empty", id="no token"),
        pytest.param({"token": "a\0b"}, "token holds a NUL", id="a NUL in the token"),
        pytest.param({"token": "a\ud800"}, "token holds a NUL or half a character", id="half a character"),
        pytest.param({"api_url": ""}, "API address is empty", id="no address"),
        pytest.param({"api_url": "https://\0"}, "API address holds a NUL", id="a NUL in the address"),
        pytest.param({"idle_timeout": "5"}, "'5' is not an idle timeout", id="no unit"),
        pytest.param({"idle_timeout": "5m\n"}, "is not an idle timeout", id="a newline"),
        pytest.param({"idle_timeout": "1d"}, "is not an idle timeout", id="days, which Go does not know"),
        pytest.param({"max_run_time": Duration(0)}, "lets no task run", id="no time to run"),
        pytest.param({"bundle": ""}, "'' is not a disk's serial", id="an empty serial"),
        pytest.param({"bundle": "a b"}, "'a b' is not a disk's serial", id="a serial with a space"),
        pytest.param({"bundle": "$(x)"}, "is not a disk's serial", id="a serial with a command"),
        pytest.param({"bundle": "x" * 21}, "is not a disk's serial", id="a serial that virtio cuts"),
    ],
)
def test_what_no_guest_can_take_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        user_data(dataclasses.replace(GUEST, **change))
    assert words in str(refused.value)
    if change.get("token"):
        assert change["token"] not in str(refused.value)


def test_the_token_is_not_in_what_is_printed_of_a_guest() -> None:
    assert GUEST.token not in repr(GUEST)
    assert GUEST.token not in str(GUEST)


def test_a_drain_gets_the_longest_run_time_at_every_level() -> None:
    written = files(user_data(dataclasses.replace(GUEST, max_run_time=Duration(90 * SECOND + 1))))
    assert 'max_run_time: "91s"' in written["/var/lib/remuda/runner.yaml"]
    assert "TimeoutStopSec=211\n" in written["/var/lib/remuda/runner.conf"]
    assert "JobTimeoutSec=511\n" in written["/etc/systemd/system/poweroff.target.d/remuda.conf"]
    assert grace_seconds(Duration(90 * SECOND + 1)) == 511


UNIT = """\
[Unit]
Description=as the package has it
After=network.target
[Service]
ExecStart=/bin/true
Restart=always
User=circleci
[Install]
WantedBy=multi-user.target
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not there")
def test_systemd_understands_the_drop_ins(tmp_path: Path) -> None:
    written = files(user_data(GUEST))
    units = {
        "circleci-runner.service": UNIT,
        "circleci-runner.service.d/remuda.conf": written["/var/lib/remuda/runner.conf"],
        **{
            path.removeprefix("/etc/systemd/system/"): text
            for path, text in written.items()
            if path.startswith("/etc")
        },
    }
    for path, text in units.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    target = Path("/usr/lib/systemd/system/poweroff.target")
    if target.exists():
        (tmp_path / target.name).write_text(target.read_text())
    checked = subprocess.run(
        [
            "systemd-analyze",
            "verify",
            "--man=no",
            *sorted(str(path) for path in tmp_path.iterdir() if path.is_file()),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"},
    )
    complaints = [
        line for line in checked.stderr.splitlines() if "remuda.conf" in line or "circleci-runner" in line
    ]
    assert complaints == []


def ordering(text: str) -> dict[str, set[str]]:
    """What the [Unit] of a drop-in says of order: key → names."""
    unit = text.partition("[Unit]\n")[2].partition("\n[")[0]
    pairs = (line.partition("=") for line in unit.splitlines() if line)
    return {key: set(names.split()) for key, _, names in pairs}


def test_what_a_task_needs_starts_before_the_runner_and_so_stops_after_it() -> None:
    """systemd stops in the reverse of the order in which it starts: without these a task loses its session as power goes."""
    runner = ordering(USUAL["/var/lib/remuda/runner.conf"])
    assert runner["After"] >= {
        "network-online.target",
        "nss-lookup.target",
        "docker.service",
        "containerd.service",
    }
    for needed in ("session-.scope.d", "user@.service.d"):
        assert ordering(USUAL[f"/etc/systemd/system/{needed}/remuda.conf"]) == {
            "Before": {"circleci-runner.service"}
        }


def test_the_runner_alone_is_signalled_and_its_end_powers_the_machine_off() -> None:
    lines = USUAL["/var/lib/remuda/runner.conf"].splitlines()
    assert "KillMode=mixed" in lines
    assert lines[-2:] == [
        "ExecStopPost=-/bin/sh /var/lib/remuda/guest.sh ended",
        "ExecStopPost=-/bin/systemctl --no-block poweroff",
    ]
