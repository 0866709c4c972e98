"""
The first process of a machine's namespaces: the shim forks it for the first job, and it starts one job after another.

Each job gets mounts and IPC of its own. It finds no process of another in its namespace: all that a job left is dead before
its end is told, and where something would not die the namespace is not used again. Everything in it dies with its first
process, and that with the shim.

Part of the shim: the standard library only, and little of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time

from remuda.machines.process.kernel import SET_PDEATHSIG, hide_memory, prctl
from remuda.machines.process.program import STARTED, Program, StartError, raise_if_told
from remuda.machines.process.records import write_text
from remuda.machines.process.sandbox import enter, fork_init, go_back, here, keep_ids

TYPE_CHECKING = False  # importing typing would cost every start of a shim some milliseconds
if TYPE_CHECKING:
    from typing import Any, NoReturn

PATIENCE_S = 2.0  # what was killed and lives on for so long is left to the shim
EMPTY = b"empty"
HIGHEST_FILE = 1 << 20
CHUNK = 64 * 1024


class Init:
    """The shim's handle. `is_usable` until it has ended, or something of a job lives on in it."""

    def __init__(self, machine: dict[str, Any], work: str) -> None:
        separation = machine["separation"]
        self.uid: int | None = separation.get("uid")
        own = os.getuid(), os.getgid()  # nobody is anyone in a new namespace of users
        self.control, there = socket.socketpair()
        try:
            self.pid = fork_init(self.uid)
        except OSError as problem:
            self.control.close()
            there.close()
            raise StartError(127, f"being separated from other jobs: {problem}") from problem
        if not self.pid:
            try:
                _Served(there, machine["cgroup"], separation["cover"], work, self.uid, own).serve()
            finally:
                os._exit(127)
        there.close()
        self.is_usable = True

    def start(self, program: Program, output_in: int) -> int:
        """Let it start a program; the reading end of what reports its end, or `StartError`: then it is not used again."""
        order = json.dumps([program.command, program.environment, program.limits]).encode() + b"\n"
        report, report_in = os.pipe()
        try:
            sent = socket.send_fds(self.control, [order], [output_in, report_in])
            self.control.sendall(order[sent:])
        except OSError:
            pass  # it has ended: nothing will be reported, as of one that is killed while a job runs
        os.close(report_in)
        try:
            raise_if_told(report)
        except StartError:
            os.close(report)
            self.end()
            raise
        return report

    def end_of(self, report: int) -> int:
        """The wait status of the job. One that was killed took the job along, and one that is not empty is not used again."""
        found = os.read(report, 64).split()
        if found[1:] != [EMPTY]:
            self.end()
        return int(found[0]) if found else signal.SIGKILL

    def end(self) -> None:
        """End it, with all that is in it, and reap it later."""
        if self.is_usable:
            self.let_go()
            os.kill(self.pid, signal.SIGKILL)

    def let_go(self) -> None:
        """It has ended: once it was reaped its pid may be another's."""
        self.is_usable = False
        self.control.close()


def ready_init(last: Init | None, machine: dict[str, Any], directory: str) -> Init | None:
    """What starts the next job of a machine: the same as for the last one if it can; None where it has no namespaces."""
    if (machine.get("separation") or {}).get("means") not in {"user", "namespaces"}:
        return None
    return last if last is not None and last.is_usable else Init(machine, f"{directory}/work")


class _Served:
    """What runs in the first process itself."""

    def __init__(
        self,
        control: socket.socket,
        cgroup: str | None,
        cover: str,
        work: str,
        uid: int | None,
        own: tuple[int, int],
    ) -> None:
        self.control, self.cgroup, self.cover, self.work = control, cgroup, cover, work
        self.uid, self.own = uid, own
        self.job = 0
        self.home = (-1, -1)

    def serve(self) -> NoReturn:
        """Start what the shim asks for, until it is gone or something cannot be started."""
        signal.set_wakeup_fd(-1)
        os.setsid()
        prctl(SET_PDEATHSIG, signal.SIGKILL)
        control = self.control.fileno()
        for number in (1, 2):
            os.dup2(0, number)
        os.closerange(3, control)
        os.closerange(control + 1, HIGHEST_FILE)
        signal.signal(signal.SIGTERM, self.pass_on)
        while True:
            order, files = self.receive()
            if not order:
                os._exit(0)
            output_in, report_in = files
            command, environment, limits = json.loads(order)
            program = Program(command, environment, limits, self.uid)
            try:
                self.start(program, output_in)
            except Exception as problem:  # noqa: BLE001 - whatever it is, the shim must hear of it
                os.write(report_in, program.explain(problem))
                os._exit(0)
            os.close(output_in)
            os.write(report_in, STARTED)
            status = self.reap()
            os.write(report_in, b"%d %s" % (status, EMPTY if self.kill_all() else b"not empty"))
            os.close(report_in)
            go_back(self.home)

    def receive(self) -> tuple[bytes, list[int]]:
        """The next order; an empty one when the shim is gone."""
        order, files, _, _ = socket.recv_fds(self.control, CHUNK, 2)
        for file in files:  # the flag for that is not passed on by every Python
            os.set_inheritable(file, False)
        while order and not order.endswith(b"\n"):
            order += self.control.recv(CHUNK) or b"\n"
        return order, files

    def start(self, program: Program, output_in: int) -> None:
        """Start a program in namespaces of its own."""
        if self.home < (0, 0):
            program.doing = "entering its control group"
            if self.cgroup:
                write_text(f"{self.cgroup}/cgroup.procs", "0")
            program.doing = "being separated from other jobs"
            if self.uid is None:
                keep_ids(*self.own)
            self.home = here()
        program.doing = "being separated from other jobs"
        enter(self.cover, self.work)
        program.doing = "entering the work directory"
        os.chdir(self.work)
        self.job = program.fork(output_in, lambda _: None) if program.limits else program.spawn(output_in)
        # Both are forgotten by who is another user for a moment.
        hide_memory()
        prctl(SET_PDEATHSIG, signal.SIGKILL)

    def pass_on(self, number: int, _frame: object) -> None:
        """Pass on the request to end."""
        if self.job:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.job, number)

    def reap(self) -> int:
        """Wait for the job, and reap whoever ends meanwhile; its wait status."""
        while True:
            pid, status = os.wait()
            if pid == self.job:
                self.job = 0
                return status

    def kill_all(self) -> bool:
        """Kill everything in the namespace; False when something lives on. It is one call: nothing can be started meanwhile."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            try:
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    time.sleep(0.001)
            except ChildProcessError:
                return True
        return False
