"""
Cloud-init user data from a guest's configuration, as a pure function.

No value reaches a shell: configuration files are written by a YAML library, numbers are integers, and the words that
scripts take as arguments are checked: serials of disks, paths and types of file systems. Every document is printable
ASCII, so that the text inside the text is the text itself, readable and easy to mask.
"""

import sys
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import yaml

from remuda.errors import BadInput
from remuda.model.times import SECOND, Duration, is_go_duration
from remuda.rules.instances import is_serial, mount_problems

_HOME = "/var/lib/remuda"
_SCRIPT = files(__package__).joinpath("guest.sh").read_text(encoding="ascii")
_DISKS = files(__package__).joinpath("disks.sh").read_text(encoding="ascii")
_SIGNALLED_S = 120  # after max_run_time the agent sends its task TERM, then KILL, and reports
_POWER_OFF_S = 300  # what the rest of the guest may take to stop

#: the runner and its job end before what they need: the network, containers, sudo's session
_RUNNER = """\
[Unit]
After=network-online.target nss-lookup.target docker.service containerd.service

[Service]
User=root
Restart=no
KillMode=mixed
TimeoutStopSec={stop}
StandardOutput=journal+console
StandardError=journal+console
ExecStopPost=-/bin/sh {home}/guest.sh ended
ExecStopPost=-/bin/systemctl --no-block poweroff
"""
_SESSIONS = """\
[Unit]
Before=circleci-runner.service
"""
#: systemd forces a power-off after 30 minutes, whatever a unit's own time to stop
_POWER_OFF = """\
[Unit]
JobTimeoutSec={whole}
"""


#: jobs run as this user, whom the runner's package makes
_SUDO = "circleci ALL=(ALL:ALL) NOPASSWD: ALL\n"


@dataclass(frozen=True, slots=True)
class DiskMount:
    """An empty disk, by its serial, and where it is mounted once it has a file system."""

    serial: str
    path: str
    fs_type: str = "ext4"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestConfig:
    """
    What one configuration of guests has in common; the machine's name is its hostname, known only in the guest.

    `idle_timeout` is a Go duration such as `5m`; empty or None waits for a task for ever. `bundle` is the serial of
    a disk that holds the runner's packages; without one they come from the network, unless the image has them. With
    `grants_sudo` a job may become root, and so read the token.
    """

    token: str = field(repr=False)
    api_url: str
    max_run_time: Duration
    idle_timeout: str | None = None
    bundle: str | None = None
    grants_sudo: bool = False
    disks: tuple[DiskMount, ...] = ()


def user_data(guest: GuestConfig) -> str:
    """The guest's user data, for the key `userdata` of a Secret; raises `BadInput` for a value no guest can take."""
    _check(guest)
    home = [
        _file(f"{_HOME}/guest.sh", _SCRIPT, "0755"),
        _file(f"{_HOME}/runner.yaml", _dump(_runner_config(guest)), "0600"),
        _file(f"{_HOME}/runner.conf", _RUNNER.format(stop=_stop_s(guest.max_run_time), home=_HOME), "0644"),
    ]
    drop_ins = {
        "poweroff.target.d": _POWER_OFF.format(whole=grace_seconds(guest.max_run_time)),
        "session-.scope.d": _SESSIONS,
        "user@.service.d": _SESSIONS,
    }
    if guest.grants_sudo:
        home.append(_file("/etc/sudoers.d/remuda", _SUDO, "0440"))
    start = ["sh", f"{_HOME}/guest.sh", "start"]
    early: list[list[str]] = [["sh", "-c", f"[ ! -e {_HOME}/started ] || exec {' '.join(start)}"]]
    if guest.disks:
        words = [word for disk in guest.disks for word in (disk.serial, disk.path, disk.fs_type)]
        early.append(["sh", "-c", _Lines(_DISKS), "disks", *words])
    document = {
        "bootcmd": early,
        "write_files": home
        + [_file(f"/etc/systemd/system/{unit}/remuda.conf", text, "0644") for unit, text in drop_ins.items()],
        "runcmd": [[*start, guest.bundle] if guest.bundle else start],
    }
    return "#cloud-config\n" + _dump(document)


def grace_seconds(max_run_time: Duration) -> int:
    """How long a graceful power-off may take: the machine's termination grace period must not be shorter."""
    return _stop_s(max_run_time) + _POWER_OFF_S


def _check(guest: GuestConfig) -> None:
    for what, value in (("token", guest.token), ("API address", guest.api_url)):
        if not value:
            raise BadInput(f"the runner's {what} is empty: give it one")
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value):
            raise BadInput(f"the runner's {what} holds a NUL or half a character: write it as plain text")
    if guest.max_run_time < SECOND:
        raise BadInput(
            f"a maximal run time of {guest.max_run_time} lets no task run: give at least 1s, like 5h"
        )
    if guest.idle_timeout and not is_go_duration(guest.idle_timeout):
        raise BadInput(
            f"{guest.idle_timeout!r} is not an idle timeout: write a number and a unit, like 5m or 1h30m"
        )
    if guest.bundle is not None and not is_serial(guest.bundle):
        raise BadInput(
            f"{guest.bundle!r} is not a disk's serial: use up to 20 letters, digits, '-' and '_', like runner-bundle"
        )
    for disk in guest.disks:
        for problem in mount_problems(disk.serial, disk.path, disk.fs_type):
            raise BadInput(problem)


def _stop_s(max_run_time: Duration) -> int:
    return -(-max_run_time // SECOND) + _SIGNALLED_S


def _runner_config(guest: GuestConfig) -> dict[str, Any]:
    """`runner` comes last, because the guest adds its name to the end of the file."""
    runner = {
        "mode": "single-task",
        "max_run_time": f"{-(-guest.max_run_time // SECOND)}s",
        "command_prefix": ["sudo", "-niHu", "circleci", "--"],
        "working_directory": "/var/lib/circleci-runner/workdir",
        "cleanup_working_directory": True,
        "task_agent_directory": f"{_HOME}/task-agent",  # the default is in root's home, closed to the job's user
    }
    if guest.idle_timeout:
        runner["idle_timeout"] = guest.idle_timeout
    return {
        "api": {"auth_token": guest.token, "url": guest.api_url.rstrip("/")},
        "logging": {"format": "text"},
        "runner": runner,
    }


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "content": _Lines(content), "permissions": permissions}


class _Lines(str):
    """Lines of printable text, written as they are."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Other text in double quotes, so that no reader takes it for a number or a truth; keys are plain."""

    def represent_mapping(self, *args: Any, **kwargs: Any) -> yaml.MappingNode:
        node = super().represent_mapping(*args, **kwargs)
        for key, _ in node.value:
            key.style = None
        return node


_STRING = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar(_STRING, text, style='"'))
_Dumper.add_representer(_Lines, lambda dumper, text: dumper.represent_scalar(_STRING, text, style="|"))


def _dump(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=sys.maxsize)
