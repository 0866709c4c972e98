"""
The shim: a small process that holds one machine, runs its jobs one after another and survives Remuda.

It is started with the machine's directory as its only argument and holds an exclusive lock there for life, so that a
machine never has two. It asks Remuda for work over the control socket for as long as it takes; a job, its output and
its result never depend on Remuda being there. When a job's main process ends, everything it started is ended.

It and the modules it imports stand alone and use little of the standard library, because a shim is started for
every machine and stays in memory as long as the machine.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

if __name__ == "__main__":  # started by its path, with no search path of ours
    sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100

from remuda.machines.process.init import Init, ready_init
from remuda.machines.process.kernel import hide_memory
from remuda.machines.process.launch import (
    become_reaper,
    end_descendants,
    launch,
    oom_kills,
    prepare_work,
)
from remuda.machines.process.lease import ENDED, LOOK_S, Lease, steady
from remuda.machines.process.link import CHUNK, Link
from remuda.machines.process.output import Mask, Output
from remuda.machines.process.program import StartError
from remuda.machines.process.records import (
    identity,
    is_at,
    make_place,
    read_json,
    take_lock,
    wall_ms,
    write_json,
)

TYPE_CHECKING = False  # importing typing would cost every start some milliseconds
if TYPE_CHECKING:
    from typing import Any

GRACE_S = 5.0  # between asking a job to end and making it
WATCH_AFTER_S = 0.1  # most jobs of a busy queue are over before anyone could cancel them
KEEP_AFTER_S = 1.0  # a result that Remuda has not taken by then is written down
LAST_WORD_S = 2.0  # how long a shim that must end waits for Remuda to hear of its last job
CONSOLE_LIMIT = 1024 * 1024
#: caught, with nothing to do, and not ignored: the system gives a new program its defaults only for what is caught
CAUGHT = (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
HELD = 75  # exit status of a shim that finds another one holding its machine


def main(directory: str) -> int:
    """Hold the machine in `directory` until it ends; the exit status."""
    hide_memory()
    secret = read_secret()
    lock = hold(f"{directory}/lock")
    if lock is None:
        return HELD
    shim = None
    try:
        write_json(f"{directory}/shim.json", identity(os.getpid()))
        shim = Shim(directory, lock, read_json(f"{directory}/machine.json") or {}, secret)
        say(f"held by pid {os.getpid()}")
        code, detail = shim.run()
    except Exception as problem:  # noqa: BLE001 - whatever it is, the job must end and the reason be kept
        sys.excepthook(*sys.exc_info())
        code, detail = ("crashed" if shim and shim.ready else "boot"), f"{type(problem).__name__}: {problem}"
        if shim and shim.job:
            shim.give_up(shim.job)
    if shim and shim.result_file:
        shim.keep_result()
    say(f"ended: {code} {detail}")
    if shim and shim.init:
        shim.init.end()
        end_descendants(shim.init.pid, None)
    if shim and shim.machine["cgroup"]:
        with contextlib.suppress(OSError):
            os.rmdir(shim.machine["cgroup"])  # noqa: PTH106
    try:
        if is_at(lock, f"{directory}/lock"):
            write_json(f"{directory}/end.json", {"code": code, "detail": detail, "at": wall_ms()}, sync=True)
    except OSError as problem:
        say(f"end.json was not written: {problem}")
    return 1 if code in {"boot", "crashed"} else 0


def read_secret() -> str:
    """What proves to Remuda who we are, from the standard input, which no job may read after us."""
    try:
        secret = os.read(0, 1024).decode("ascii", "replace").strip()
    except OSError:
        secret = ""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return secret


def hold(path: str) -> int | None:
    """Take the machine's lock; tried for a moment, because Remuda takes it to see whether anyone has it."""
    for _ in range(10):
        lock = take_lock(path)
        if lock is not None:
            return lock
        time.sleep(0.01)
    return None


def say(text: str) -> None:
    """Write a line to the machine's console, unless that has grown too long."""
    try:
        if os.fstat(2).st_size < CONSOLE_LIMIT:
            os.write(2, f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text.rstrip()}\n".encode())
    except OSError:
        pass


class Job:
    """A running job: its main process, its output and when it must end."""

    def __init__(
        self,
        order: dict[str, Any],
        output: Output,
        pipe: int,
        started: tuple[int, int],
        lease: Lease | None = None,
    ) -> None:
        """`started` is its pid; or that of its `init`, and the end of a pipe where that reports, which is -1 elsewhere."""
        self.order, self.output, self.pipe, self.lease = order, output, pipe, lease
        self.pid, self.report = started
        self.started_at = wall_ms()
        now = time.monotonic()
        self.timeout_at = now + order["timeout_ms"] / 1000 if order.get("timeout_ms") else None
        self.watch_at: float | None = now + WATCH_AFTER_S
        self.kill_at: float | None = None
        self.stopped = ""
        self.notes: list[str] = []
        self.wait_status: int | None = None

    def read(self) -> bool:
        """Take what is in the pipe; False when there is nothing now or ever."""
        try:
            chunk = os.read(self.pipe, CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            os.close(self.pipe)
            self.pipe = -1
            return False
        self.output.feed(chunk)
        return True

    def stop(self, status: str) -> None:
        """Ask the job to end; the first reason stays."""
        if not self.stopped:
            self.stopped = status
            self.watch_at = self.timeout_at = None
            self.kill_at = time.monotonic() + GRACE_S
            self._signal(signal.SIGTERM)

    def on_time(self, now: float) -> None:
        """Ask, then make the job end when its time is up."""
        if self.timeout_at is not None and now >= self.timeout_at:
            self.stop("timeout")
        if self.lease is not None:
            self.on_lease(self.lease, steady())
        if self.kill_at is not None and now >= self.kill_at:
            self.kill_at = None
            self._signal(signal.SIGKILL)

    def on_lease(self, lease: Lease, now: float) -> None:
        """End the job before another host may take it."""
        lease.look(now)
        if now >= lease.stop_at and not self.stopped:
            self.stop("killed")
            self.notes.append(ENDED)
        if now >= lease.kill_at:
            self.kill_at = None
            self._signal(signal.SIGKILL)

    def verdict(self) -> tuple[str, int]:
        """Status and exit code. A job that was stopped never looks like a success."""
        code = os.waitstatus_to_exitcode(self.wait_status or 0)
        if code < 0:
            return self.stopped or "signaled", 128 - code
        return self.stopped or "exited", (code or 128 + signal.SIGTERM) if self.stopped else code

    def _signal(self, number: int) -> None:
        if self.wait_status is None:  # once it was waited for, the pid may be another's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


class Shim:
    """The loop: ask for work, run it, hand in its result; end when told to, or when nobody is there any more."""

    def __init__(self, directory: str, lock: int, machine: dict[str, Any], secret: str) -> None:
        self.directory, self.lock, self.machine, self.secret = directory, lock, machine, secret
        self.ran = 0  # jobs begun
        self.path = f"/v1/shims/{machine['name']}/"
        self.link = Link(machine["socket"])
        self.oom_kills = 0
        self.ready = False
        self.init: Init | None = None
        self.job: Job | None = None
        self.finished: dict[str, Any] | None = None
        self.last: dict[str, Any] | None = None
        self.result_file = ""  # where the result will be written down, if it must be
        self.leaving = False
        self.must_end = False  # a signal said so
        self.end_at: float | None = None
        self.end: tuple[str, str] | None = None
        self.idle_since = self.contact = time.monotonic()
        self.wake, wake_in = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_in, False)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, (lambda *_: None) if number in CAUGHT else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)

    def run(self) -> tuple[str, str]:
        """Hold the machine; returns the code and detail of its end."""
        self.ask()
        while self.end is None:
            self.on_time(time.monotonic())
            if self.end is None:
                self.wait()
        return self.end

    def ask(self) -> None:
        """Ask for work, handing in the last result until someone took it."""
        body = {
            "id": self.machine["id"],
            "secret": self.secret,
            "finished": self.finished,
            "leaving": self.leaving or self.must_end,
            "ran": self.ran,
        }
        self.link.ask(self.path + "next", body)

    def on_time(self, now: float) -> None:
        """Do everything that is due."""
        self.link.on_time(now)
        if self.result_file and (self.link.sock is None or now >= self.idle_since + KEEP_AFTER_S):
            self.keep_result()
        if self.link.sock:
            self.contact = now
            if not self.ready:
                self.on_ready()
        if self.job:
            self.job.on_time(now)
            if self.job.watch_at is not None and now >= self.job.watch_at:
                self.job.watch_at = None
                self.watch()
        elif self.end_at is not None and now >= self.end_at:
            self.end = ("closed", "stopped by a signal")
        elif now - self.contact >= self.machine["orphan_timeout_ms"] / 1000:
            self.end = ("orphaned", f"no contact with Remuda for {int(now - self.contact)} s")
        elif not self.leaving and self.idle_left(now) <= 0:
            self.leaving = True
            self.ask()

    def idle_left(self, now: float) -> float:
        """Seconds until the machine was idle for too long."""
        limit = self.machine["idle_timeout_ms"]
        return float("inf") if limit is None else self.idle_since + limit / 1000 - now

    def wait(self) -> None:
        """Sleep until something happens or is due, and take it."""
        now = time.monotonic()
        due = [self.link.due if self.link.request else float("inf")]
        poller = select.poll()
        poller.register(self.wake, select.POLLIN)
        if self.link.sock and self.link.request:
            poller.register(self.link.sock, select.POLLOUT if self.link.unsent else select.POLLIN)
        if self.job:
            due += [at for at in (self.job.timeout_at, self.job.kill_at, self.job.watch_at) if at is not None]
            due += [now + LOOK_S] if self.job.lease else []
            for end in (self.job.pipe, self.job.report):
                if end >= 0:
                    poller.register(end, select.POLLIN)
        else:
            due.append(self.contact + self.machine["orphan_timeout_ms"] / 1000)
            due += [self.idle_since + KEEP_AFTER_S] if self.result_file else []
            due += [] if self.leaving else [now + self.idle_left(now)]
            due += [] if self.end_at is None else [self.end_at]
        pause = min(max(0.0, min(due) - now), 60.0)
        ready = {fd for fd, _ in poller.poll(int(pause * 1000) + 1)}
        if self.job and self.job.pipe in ready:
            self.job.read()
        if self.wake in ready:
            self.on_signal()
        if self.init and self.job and self.job.report in ready:
            self.on_report(self.init, self.job)
        if self.link.sock and self.link.sock.fileno() in ready:
            answer = self.link.step()
            if answer is not None:
                self.on_answer(answer)

    def on_ready(self) -> None:
        """Remuda is there: say so."""
        self.ready = True
        try:
            write_json(f"{self.directory}/ready.json", {"at": wall_ms()})
        except OSError as problem:
            say(f"ready.json was not written: {problem}")
        if not become_reaper():
            say("daemons that a job starts cannot be found on this system")

    def on_signal(self) -> None:
        """End when told to; see who of ours has ended."""
        signals = os.read(self.wake, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            if self.init and pid == self.init.pid:
                self.init.let_go()
                if self.job:
                    self.on_report(self.init, self.job)
            elif self.job and pid == self.job.pid:
                self.job.wait_status = status
        if signal.SIGTERM in signals:
            self.must_end = True
            if self.job:
                self.job.stop("killed")
            elif self.end_at is None:
                self.end = ("closed", "stopped by a signal")
        if self.job and self.job.wait_status is not None:
            self.on_job_end(self.job)

    def on_answer(self, answer: dict[str, Any]) -> None:
        """Do what Remuda says."""
        if self.job:
            if answer["do"] == "cancel":
                self.job.stop("cancelled")
            elif answer["do"] == "continue":
                self.watch()
            else:
                self.job.watch_at = (
                    time.monotonic() + 2
                )  # it does not know this job now; a job is not lost for that
            return
        handed_in, self.finished, self.result_file = self.finished, None, ""
        if self.must_end:
            self.end = ("closed", "stopped by a signal")
        elif answer["do"] == "run":
            self.start(answer["job"])
        elif self.is_lost():
            self.end = ("lost", f"{self.directory} was deleted")
        elif answer["do"] == "end":
            self.end = ("idle" if self.leaving else "finished" if handed_in else "closed", "")
        else:
            self.ask()

    def watch(self) -> None:
        """Ask whether the job shall go on."""
        if self.job:
            order = self.job.order
            body = {"job": order["id"], "attempt": order["attempt"], "store": order.get("store", "")}
            self.link.ask(self.path + "watch", {**body, "secret": self.secret})

    def start(self, order: dict[str, Any]) -> None:
        """Run a job, unless this one was run before: then its result is handed in again."""
        run = (order.get("store", ""), order["id"], order["attempt"])
        if self.last and (self.last["store"], self.last["job"], self.last["attempt"]) == run:
            self.finished = self.last
            self.ask()
            return
        self.ran += 1
        mask = Mask(order.get("secrets", {}).values())
        output = Output(f"{order['files']}.log", order["output_limit"], mask)
        begun = wall_ms()
        if self.is_lost():
            note = f"the directory of machine {self.machine['name']} was deleted before the job could start"
            self.hand_in(order, output, ("returned", 127), begun, [note])
            return
        lease = Lease(order["lease"]) if order.get("lease") else None
        if lease is not None:
            lease.look(steady())
            if steady() >= lease.stop_at:
                self.hand_in(order, output, ("returned", 127), begun, [f"{ENDED} before the job could start"])
                return
        try:
            prepare_work(self.directory, (self.machine.get("separation") or {}).get("uid"))
            self.oom_kills = oom_kills(self.machine["cgroup"])
            self.init = init = ready_init(self.init, self.machine, self.directory)
            pipe, found = launch(order, self.machine, self.directory, init)
        except StartError as problem:
            self.hand_in(order, output, ("unstartable", problem.exit_code), begun, [problem.detail])
        else:
            self.job = Job(order, output, pipe, (init.pid, found) if init else (found, -1), lease)

    def on_report(self, init: Init, job: Job) -> None:
        """A job's `init` says how it ended, or has ended itself."""
        job.wait_status = init.end_of(job.report)
        self.on_job_end(job)

    def on_job_end(self, job: Job) -> None:
        """The main process has ended: end what it left behind, and keep the result."""
        is_clean = self.init is not None and self.init.is_usable
        alive = 0 if is_clean else end_descendants(job.pid, self.machine["cgroup"])
        notes = [*job.notes, *([f"{alive} processes of the job could not be killed"] if alive else [])]
        for _ in range(64):  # whoever else holds the pipe cannot keep a job from ending
            if job.pipe < 0 or not job.read():
                break
        for end in (job.pipe, job.report):
            if end >= 0:
                os.close(end)
        if oom_kills(self.machine["cgroup"]) > self.oom_kills:
            notes.append("the machine ran out of memory")
        self.job = None
        self.hand_in(job.order, job.output, job.verdict(), job.started_at, notes)

    def hand_in(
        self,
        order: dict[str, Any],
        output: Output,
        verdict: tuple[str, int],
        started_at: int,
        notes: list[str],
    ) -> None:
        """Tell Remuda the result; it is written down only if nobody takes it soon."""
        output.close()
        notes += [output.trouble] if output.trouble else []
        self.finished = self.last = {
            "job": order["id"],
            "attempt": order["attempt"],
            "status": verdict[0],
            "exit_code": verdict[1],
            "detail": os.fsdecode(output.mask.whole(os.fsencode("; ".join(notes)))),
            "started_at": started_at,
            "finished_at": wall_ms(),
            "output_bytes": output.total,
            "store": order.get("store", ""),
        }
        self.result_file = f"{order['files']}.json"
        say(
            f"job {order['id']} attempt {order['attempt']}: {verdict[0]} {verdict[1]} {self.finished['detail']}"
        )
        self.idle_since = self.contact = time.monotonic()
        self.end_at = self.idle_since + LAST_WORD_S if self.must_end else None
        self.leaving = self.is_lost()
        self.ask()

    def keep_result(self) -> None:
        """
        Write down the result for the case that this shim dies before Remuda is there to take it.

        Not flushed: after a power cut the machine is lost anyway, and its job settled by that.
        """
        path, self.result_file = self.result_file, ""
        try:
            make_place(path)
            write_json(path, self.finished or {})
        except OSError as problem:
            say(f"the result was not written down: {problem}")

    def is_lost(self) -> bool:
        """True when someone deleted the machine's directory."""
        return not is_at(self.lock, f"{self.directory}/lock")

    def give_up(self, job: Job) -> None:
        """End the job because the shim cannot go on, and keep its result."""
        job.stop("killed")
        if self.init:
            self.init.end()
        try:
            job.wait_status = signal.SIGKILL
            self.on_job_end(job)
        except Exception:  # noqa: BLE001 - this is the last thing a broken shim tries
            sys.excepthook(*sys.exc_info())


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))
