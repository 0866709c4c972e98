"""
Process machines on this host: made, adopted, watched and removed.

A machine is a directory and the shim that holds it. The directory says what was wanted and how it ended, the lock in
it says whether the shim lives: nothing that must survive is only in memory, and whoever starts next takes over.
A signal goes only to a process whose pid, start time and boot were verified, so a stranger is never touched.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from remuda.errors import BadInput, Unavailable
from remuda.machines.process.cgroups import Cgroups, find_cgroups, remove_group
from remuda.machines.process.descent import descends
from remuda.machines.process.held import Held, ended, read_file, ready_at
from remuda.machines.process.leftovers import kill_leftovers
from remuda.machines.process.limits import enforcement, rlimits
from remuda.machines.process.pidfd import open_pidfd, send
from remuda.machines.process.records import remove_tree, take_lock, write_json
from remuda.machines.process.sandbox import OWN_PROCESSES
from remuda.machines.process.separation import describe, find_means, separate
from remuda.machines.process.spec import (
    ForeignMachine,
    MachineFile,
    Means,
    ProcessMachine,
    ProcessSpec,
    Separation,
    SeparationPolicy,
)
from remuda.machines.process.start import read_keys, start_shim
from remuda.model.machines import number_of
from remuda.model.times import Instant

#: how long what was killed may take to be gone on a busy host
KILLED_S = 10.0
FIRST_LOOK_S = 0.02
LAST_LOOK_S = 0.5
CONSOLE_BYTES = 256 * 1024
_NEW, _GONE = ".new-", ".gone-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Instant:
        """Milliseconds since 1970."""
        ...


class ProcessMachines:
    """
    The driver of process machines under one directory.

    `adopt` comes first. `wake` is called, in the event loop, when a machine became ready or ended. One driver at a
    time may use a directory; machines live on when it is closed or killed. `grace_s` is how long a shim gets to end
    its job and itself. `store` is the identity that new machines carry, `owns` knows those that are ours; the others
    are foreign: they are kept, and removed only by `remove_foreign`. `private` is the directory that jobs must not see,
    without it the machines' own; `find_means` says what separates jobs, and is asked until it can. `watch` gives a
    descriptor that becomes readable when a process ends, or None: then machines are looked at twice a second.
    """

    def __init__(
        self,
        root: Path,
        socket: Path,
        clock: Clock,
        wake: Callable[[], None],
        *,
        store: str = "",
        owns: Callable[[MachineFile], bool] = lambda _: True,
        private: Path | None = None,
        cgroups: Cgroups | None = None,
        find_means: Callable[[], Means] = find_means,
        grace_s: float = 10.0,
        watch: Callable[[int], int | None] = open_pidfd,
    ) -> None:
        self._root, self._socket, self._clock, self._wake = root.absolute(), socket.absolute(), clock, wake
        self._grace_s, self._watch = grace_s, watch
        self._store, self._owns = store, owns
        self._private = self._root if private is None else private.absolute()
        self._find_means = find_means
        self._means: Means | None = None
        self._choosing = threading.Lock()
        #: by machines that are being made, or were
        self._users: dict[str, int] = {}
        self.cgroups = find_cgroups() if cgroups is None else cgroups
        self._machines: dict[str, Held] = {}
        self._foreign: dict[str, Held] = {}
        self._listed: tuple[ProcessMachine, ...] | None = None
        #: pids of shims whose jobs Landlock separates
        self._landlocked: frozenset[int | None] | None = None
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._timer: asyncio.TimerHandle | None = None
        self._pause_s = FIRST_LOOK_S

    def carry(self, store: str) -> None:
        """Let new machines carry another identity of the store."""
        self._store = store

    async def adopt(self, *, sweep: bool = True) -> tuple[str, ...]:
        """
        Take over the machines of an earlier run, and sweep what it had half made or half removed.

        Returns one sentence for everything found that is not a machine of ours; it is left alone. Without `sweep`
        nothing is changed on the disk: another process may be using the directory.
        """
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        problems = []
        for directory in sorted(self._root.iterdir()):
            if directory.name.startswith((_NEW, _GONE)):
                if not sweep:
                    continue
                try:
                    await asyncio.to_thread(remove_tree, str(directory))
                except OSError as problem:
                    problems.append(f"{directory} is left over from a machine: {problem}")
                continue
            file = read_file(directory)
            if file is None:
                problems.append(f"{directory} is no machine of Remuda (no readable machine.json): left alone")
            else:
                machine = Held(directory, file)
                (self._machines if self._owns(file) else self._foreign)[file.name] = machine
                self._see(machine, ready_at=ready_at(machine))
                self._look(machine)
        self._forget_lists()
        self._look_again(soon=True)
        return tuple(problems)

    async def list(self) -> tuple[ProcessMachine, ...]:
        """All machines by name, also those that have ended and are not deleted yet."""
        if self._listed is None:
            self._listed = tuple(self._machines[name].view for name in sorted(self._machines))
        return self._listed

    async def create(self, spec: ProcessSpec) -> None:
        """
        Make the machine and start its shim; does nothing when that was done before.

        Raises `Unavailable` when the host refuses, or when another machine of that name is there.
        """
        for text in (spec.name, spec.id):
            if not _NAME.fullmatch(text):
                raise BadInput(
                    f"{text!r} cannot name a machine: use letters, digits, dots, dashes and underscores"
                )
        async with self._turn(spec.name):
            try:
                machine = self._machines.get(spec.name)
                if spec.name in self._foreign:
                    raise Unavailable(f"making machine {spec.name}: another store has one of that name")
                if machine is None:
                    file = await asyncio.to_thread(self._make_directory, spec)
                    self._machines[spec.name] = machine = Held(self._root / spec.name, file)
                    self._forget_lists()
                elif machine.file.id != spec.id:
                    raise Unavailable(
                        f"making machine {spec.name}: another one of that name is not deleted yet"
                    )
                if machine.view.pid is None and machine.view.ended is None and not self._look(machine):
                    pid = await asyncio.to_thread(start_shim, machine.directory)
                    machine.keys = read_keys(machine.directory)
                    self._hold(machine, pid, self._watch(pid))
            except OSError as problem:
                raise Unavailable(f"making machine {spec.name}: {problem}") from problem
            self._look_again(soon=True)

    async def delete(self, name: str, created_at: Instant) -> bool:
        """
        End the machine, everything it started, and its directory; True also when all that is gone already.

        False, and nothing done, when the name now belongs to a machine made at another time or not by us. Raises
        `Unavailable` when something would not end: then the machine stays listed, and this may be called again.
        """
        async with self._turn(name):
            machine, directory = self._machines.get(name), self._root / name
            if machine is None:
                return not directory.exists()
            if (read_file(directory) or machine.file).created_at != created_at:
                return False
            await self._remove(machine, self._machines)
            return True

    def foreign(self) -> tuple[ForeignMachine, ...]:
        """All machines of other stores, by name."""
        return tuple(
            ForeignMachine(
                name,
                machine.file.store,
                machine.file.created_at,
                machine.view.pid,
                machine.view.ended is None and machine.is_busy,
                machine.view.ended,
            )
            for name, machine in sorted(self._foreign.items())
        )

    async def remove_foreign(self, name: str, *, even_busy: bool = False) -> bool:
        """
        Remove a machine of another store, because a person said so; False, and nothing done, when it is busy.

        Raises as `delete`. One that is gone already is removed.
        """
        async with self._turn(name):
            machine = self._foreign.get(name)
            if machine is None:
                return True
            if machine.view.ended is None and machine.is_busy and not even_busy:
                return False
            await self._remove(machine, self._foreign)
            return True

    def vouch(self, name: str, secret: str, is_busy: bool) -> str | None:  # noqa: FBT001 - a fact of a call
        """
        Whose the machine is that calls with this secret: `ours`, `foreign`, or None for a stranger.

        It is `retired` when it is ours and so old that it has no secret.
        """
        for machines, standing in ((self._machines, "ours"), (self._foreign, "foreign")):
            machine = machines.get(name)
            if machine is not None and machine.is_proven(secret):
                machine.is_busy = is_busy
                return standing if machine.keys or standing == "foreign" else "retired"
        return None

    async def _remove(self, machine: Held, machines: dict[str, Held]) -> None:
        name = machine.file.name
        await self._stop(machine)
        try:
            gone = await asyncio.to_thread(self._clear, machine)
            del machines[name]
            self._users.pop(name, None)
            self._forget_lists()
            await asyncio.to_thread(remove_tree, str(gone))
        except OSError as problem:
            raise Unavailable(f"deleting machine {name}: {problem}") from problem

    def confinement(self, name: str) -> tuple[tuple[str, str], ...] | None:
        """What holds the jobs of a machine in: its separation, and each of its limits; None when there is none."""
        machine = self._machines.get(name)
        if machine is None:
            return None
        file = machine.file
        controllers = self.cgroups.controllers if file.cgroup else frozenset[str]()
        limits = enforcement(file.limits, controllers, file.separation.means)
        return (("separation", describe(file.separation)), *limits.items())

    def is_separated_job(self, pid: int) -> bool:
        """
        True for a process of a job that Landlock separates: it cannot be kept from connecting to a socket.

        Whoever descends from a shim is its job's, because the shim inherits all whose parents end.
        """
        shims = self._landlocked
        if shims is None:  # asked at each call of the API, and there may be many machines
            held = (each for each in self._machines.values() if each.file.separation.means is Means.LANDLOCK)
            shims = self._landlocked = frozenset(each.view.pid for each in held) - {None}
        return bool(shims) and pid not in shims and descends(pid, shims)

    async def console(self, name: str) -> bytes:
        """The end of what the machine's shim wrote; at most 256 KiB."""
        machine = self._machines.get(name)
        if machine is None:
            raise BadInput(f"there is no machine {name}")
        try:
            with (machine.directory / "console.log").open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - CONSOLE_BYTES))
                return file.read(CONSOLE_BYTES)
        except FileNotFoundError:
            return b""

    def close(self) -> None:
        """Stop watching, in the event loop. The machines go on."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        for machine in (*self._machines.values(), *self._foreign.values()):
            self._release(machine)

    def _turn(self, name: str) -> asyncio.Lock:
        return self._turns.setdefault(name, asyncio.Lock())

    def _make_directory(self, spec: ProcessSpec) -> MachineFile:
        name = (
            f"{spec.id}-{zlib.crc32(os.fsencode(self._root)):08x}"  # an id is unique under one directory only
        )
        separation = self._separate(spec)
        is_boxed = separation.means in {Means.USER, Means.NAMESPACES}
        group = self.cgroups.create(name, spec.limits, OWN_PROCESSES if is_boxed else 0)
        controllers = self.cgroups.controllers if group else frozenset[str]()
        file = MachineFile(
            **msgspec.structs.asdict(spec),
            created_at=self._clock.now(),
            socket=str(self._socket),
            store=self._store,
            cgroup=group,
            rlimits=rlimits(spec.limits, controllers, separation.means),
            separation=separation,
        )
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)  # someone may have deleted it
        new = self._root / f"{_NEW}{spec.name}"
        if new.exists():
            remove_tree(str(new))
        new.mkdir(mode=0o700)
        (new / "lock").touch(mode=0o600)
        write_json(str(new / "machine.json"), msgspec.to_builtins(file), sync=True)
        new.rename(self._root / spec.name)
        return file

    def _separate(self, spec: ProcessSpec) -> Separation:
        """Choose how its jobs are separated; called in threads, and no two machines get one user."""
        if spec.separation_policy is SeparationPolicy.NONE:
            return Separation()
        with self._choosing:
            if self._means is None:
                self._means = self._find_means()
            held = (*self._machines.values(), *self._foreign.values())
            taken = {each.file.separation.uid for each in held} | set(self._users.values())
            found = separate(self._means, spec.separation_policy, self._private, number_of(spec.name), taken)
            if found.uid is not None:
                self._users[spec.name] = found.uid
            return found

    def _look(self, machine: Held) -> bool:
        """See how a machine is whose shim is not watched; True when a shim holds it."""
        pid = (machine.read("shim.json") or {}).get("pid")
        if machine.is_locked():
            if isinstance(pid, int) and pid != machine.view.pid:
                pidfd = self._watch(pid)
                if machine.is_shim(pid):
                    self._hold(machine, pid, pidfd)
                elif pidfd is not None:
                    os.close(pidfd)
            return True
        status = _reap(machine.view.pid)
        if (
            pid is not None
            or status is not None
            or machine.read("end.json")
            or not machine.directory.exists()
        ):
            self._over(machine, status)
        return False

    def _hold(self, machine: Held, pid: int, pidfd: int | None) -> None:
        self._release(machine)
        self._see(machine, pid=pid)
        machine.pidfd = pidfd
        if pidfd is not None:
            asyncio.get_running_loop().add_reader(pidfd, self._exited, machine)

    def _release(self, machine: Held) -> None:
        if machine.pidfd is not None:
            asyncio.get_running_loop().remove_reader(machine.pidfd)
            os.close(machine.pidfd)
            machine.pidfd = None

    def _exited(self, machine: Held) -> None:
        self._release(machine)
        status = _reap(machine.view.pid)
        if machine.is_locked():  # by a shim that an earlier run started, and that was faster than ours
            self._see(machine, pid=None)
            self._look_again(soon=True)
        else:
            self._over(machine, status)

    def _over(self, machine: Held, status: int | None) -> None:
        self._see(machine, pid=None, ready_at=ready_at(machine), ended=ended(machine, status))
        machine.gone.set()
        self._wake()

    def _see(self, machine: Held, **changes: Any) -> None:
        machine.view = msgspec.structs.replace(machine.view, **changes)
        self._forget_lists()

    def _forget_lists(self) -> None:
        self._listed = self._landlocked = None

    def _look_again(self, *, soon: bool) -> None:
        loop = asyncio.get_running_loop()
        self._pause_s = FIRST_LOOK_S if soon else min(LAST_LOOK_S, self._pause_s * 1.5)
        if self._timer and self._timer.when() > loop.time() + self._pause_s:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_later(self._pause_s, self._look_at_all)

    def _look_at_all(self) -> None:
        """Look at machines that are not ready yet, or whose end no descriptor will tell; rarely there are any."""
        self._timer = None
        waiting = False
        for machine in (*self._machines.values(), *self._foreign.values()):
            if machine.view.ended is None and machine.view.ready_at is None:
                at = ready_at(machine)
                if at is not None:
                    self._see(machine, ready_at=at)
                    self._wake()
            if machine.view.ended is None and machine.pidfd is None:
                self._look(machine)
            if machine.view.ended is None and (machine.pidfd is None or machine.view.ready_at is None):
                waiting = True
        if waiting:
            self._look_again(soon=False)

    async def _stop(self, machine: Held) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = asyncio.get_running_loop().time() + self._grace_s
            while machine.view.ended is None:
                if machine.pidfd is None and not self._look(machine):
                    return
                if machine.view.pid is not None:
                    break
                if asyncio.get_running_loop().time() > deadline:
                    raise Unavailable(
                        f"deleting machine {machine.file.name}: its lock is held, but not by its shim"
                    )
                await asyncio.sleep(FIRST_LOOK_S)
            if machine.view.ended is not None:
                return
            self._signal(machine, number)
            self._look_again(soon=True)
            # What is killed is gone for sure, however busy the host is; only what hangs in the kernel is not.
            grace = self._grace_s if number is signal.SIGTERM else max(self._grace_s, KILLED_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(machine.gone.wait(), grace)
        if machine.view.ended is None:
            raise Unavailable(
                f"deleting machine {machine.file.name}: its shim, {machine.view.pid}, cannot be killed"
            )

    def _signal(self, machine: Held, number: int) -> None:
        if machine.pidfd is not None and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(machine.pidfd, number)
        elif (pid := machine.view.pid) is not None:
            send(number, pid, lambda: machine.is_locked() and machine.is_shim(pid))

    def _clear(self, machine: Held) -> Path:
        """End what a dead shim left behind, and take the directory out of the list; returns where it is now."""
        gone = self._root / f"{_GONE}{machine.file.name}-{machine.file.created_at}"
        path = str(machine.directory / "lock")
        lock = take_lock(path)  # a shim that starts this late finds it held, then gone
        try:
            if lock is None and os.path.exists(path):  # noqa: PTH110
                raise BlockingIOError("a shim has just taken its lock")
            if machine.file.cgroup:
                remove_group(Path(machine.file.cgroup))
            if not (machine.directory / "end.json").exists():
                alive = kill_leftovers(machine.file.id, machine.directory)
                if alive:
                    raise TimeoutError(f"{alive} processes that its shim left behind cannot be killed")
            # Also gone when something else is in the place of all machines.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                machine.directory.rename(gone)
        finally:
            if lock is not None:
                os.close(lock)
        return gone


def _reap(pid: int | None) -> int | None:
    """The exit status of a child of ours that has ended."""
    if pid is None:
        return None
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if done else None
