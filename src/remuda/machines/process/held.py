"""One machine in the driver's memory, and what the files of its directory say."""

import asyncio
import hmac
import os
from pathlib import Path
from typing import Any

import msgspec

from remuda.machines.process.records import boot, read_json, start_time, take_lock
from remuda.machines.process.spec import MachineFile, ProcessMachine
from remuda.machines.process.start import key_of, read_keys
from remuda.model.machines import Ended
from remuda.model.times import Instant

#: made once, since several threads read machines
_machine_file = msgspec.json.Decoder(MachineFile).decode


class Held:
    """One machine in memory: its fixed facts, what was last seen, and the handle of its shim."""

    __slots__ = ("directory", "file", "gone", "is_busy", "keys", "pidfd", "view")

    def __init__(self, directory: Path, file: MachineFile) -> None:
        self.directory, self.file = directory, file
        self.view = ProcessMachine(file.name, file.pool, file.template, file.created_at)
        self.pidfd: int | None = None
        self.gone = asyncio.Event()
        #: of the secrets that its shims were given; none for one of before there were secrets
        self.keys = read_keys(directory)
        #: as far as it said itself
        self.is_busy = True

    def is_proven(self, secret: str) -> bool:
        """True when this is the secret of its shim."""
        key = key_of(secret)
        return not self.keys or any(hmac.compare_digest(key, each) for each in self.keys)

    def read(self, name: str) -> dict[str, Any] | None:
        """One of the small files of its directory."""
        return read_json(str(self.directory / name))

    def is_locked(self) -> bool:
        """True while a shim holds it."""
        path = str(self.directory / "lock")
        lock = take_lock(path)
        if lock is None:
            return os.path.exists(path)  # noqa: PTH110
        os.close(lock)
        return False

    def is_shim(self, pid: int) -> bool:
        """True when the process with this pid is the shim that said so, not a later process."""
        who = self.read("shim.json") or {}
        return (
            who.get("pid") == pid
            and who.get("boot") == boot()
            and who.get("start") == start_time(pid) is not None
        )


def read_file(directory: Path) -> MachineFile | None:
    """What a directory says of the machine in it; None when it is no machine."""
    try:
        file = _machine_file((directory / "machine.json").read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return file if file.name == directory.name else None


def ready_at(machine: Held) -> Instant | None:
    """When its shim was first connected."""
    at = (machine.read("ready.json") or {}).get("at")
    return at if isinstance(at, int) else None


def ended(machine: Held, status: int | None) -> Ended:
    """How a machine ended whose shim is gone; `status` is the exit status of a child of ours."""
    end = machine.read("end.json")
    if end is not None:
        return Ended(str(end.get("code", "crashed")), str(end.get("detail", "")))
    if not machine.directory.exists():
        return Ended("lost", f"{machine.directory} was deleted")
    who = machine.read("shim.json")
    if who is not None and who.get("boot") != boot():
        return Ended("lost", "the host was restarted")
    if status is None:
        return Ended("crashed", "its shim is gone and left no word")
    return Ended(
        "crashed",
        f"its shim was killed by signal {-status}" if status < 0 else f"its shim exited with {status}",
    )
