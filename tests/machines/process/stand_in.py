"""Plays Remuda's control socket for shims under test, on threads of its own, and starts shims without a driver."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from remuda.machines.process import shim

T = TypeVar("T")
PATIENCE_S = 60.0
JSON = dict[str, Any]


def eventually(look: Callable[[], T | None], what: str = "") -> T:
    """The first true thing that `look` returns; an error when there is none in a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen in {PATIENCE_S:.0f} s: {what or look}")
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    """True when the process runs: a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Remuda:
    """Answers shims: orders by machine, cancelled jobs, and a record of everything that was asked."""

    def __init__(self, path: Path, poll_s: float = 5.0) -> None:
        self.path, self.poll_s = path, poll_s
        self.changed = threading.Condition()
        self.asked: list[tuple[str, JSON, float]] = []
        self.finished: list[JSON] = []
        self.orders: dict[str, list[JSON]] = {}
        self.cancelled: set[str] = set()
        self.override: Callable[[str, JSON], bytes | None] = lambda _path, _body: None
        self._newest: dict[str, int] = {}
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    def start(self) -> None:
        self.path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen(256)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def stop(self) -> None:
        """Vanish, as if killed."""
        with self.changed:
            listener, self._listener = self._listener, None
            for each in (*self._open, *([listener] if listener else [])):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            if listener:
                listener.close()
            self.changed.notify_all()
        self.path.unlink(missing_ok=True)

    def order(self, machine: str, answer: JSON) -> None:
        with self.changed:
            self.orders.setdefault(machine, []).append(answer)
            self.changed.notify_all()

    def cancel(self, job: str) -> None:
        with self.changed:
            self.cancelled.add(job)
            self.changed.notify_all()

    def result(self, job: str) -> JSON:
        """The result that was handed in for the job."""

        def look() -> JSON | None:
            return next((each for each in self.finished if each["job"] == job), None)

        return eventually(look, f"the end of {job}")

    def asks(self, path: str) -> list[JSON]:
        return [body for asked, body, _ in self.asked if asked.endswith(path)]

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve, args=(connection, listener), daemon=True).start()

    def _serve(self, connection: socket.socket, listener: socket.socket) -> None:
        with self.changed:
            self._open.add(connection)
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as lines:
            while request := lines.readline():
                length = 0
                while (line := lines.readline()) not in {b"\r\n", b""}:
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                body = json.loads(lines.read(length))
                answer = self._answer(request.split()[1].decode(), body, listener)
                if answer is None:
                    break
                connection.sendall(answer)
        with self.changed:
            self._open.discard(connection)

    def _answer(self, path: str, body: JSON, listener: socket.socket) -> bytes | None:
        machine = path.split("/")[3]
        deadline = time.monotonic() + self.poll_s
        with self.changed:
            if listener is not self._listener:
                return None
            mine = self._newest[machine] = self._newest.get(machine, 0) + 1
            self.asked.append((path, body, time.monotonic()))
            special = self.override(path, body)
            if special is not None:
                return special
            if body.get("finished"):
                self.finished.append(body["finished"])
            while listener is self._listener and mine == self._newest[machine]:
                if path.endswith("/watch"):
                    if body["job"] in self.cancelled:
                        return reply({"do": "cancel"})
                elif self.orders.get(machine):
                    return reply(self.orders[machine].pop(0))
                elif body["leaving"]:
                    return reply({"do": "end"})
                left = deadline - time.monotonic()
                if left <= 0:
                    return reply({"do": "continue" if path.endswith("/watch") else "wait"})
                self.changed.wait(left)
        return None


def reply(answer: JSON, status: str = "200 OK") -> bytes:
    body = json.dumps(answer).encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def run(directory: Path, job: str, *command: str, attempt: int = 1, **more: Any) -> JSON:
    """An order to run a command, with files of its own."""
    order = {
        "id": job,
        "attempt": attempt,
        "command": command,
        "env": {},
        "secrets": {},
        "files": str(directory / f"attempt-{job}-{attempt}"),
    }
    return {"do": "run", "job": {**order, "output_limit": 1_000_000, "timeout_ms": 600_000, **more}}


def sh(directory: Path, job: str, script: str, **more: Any) -> JSON:
    return run(directory, job, "/bin/sh", "-c", script, **more)


def output(order: JSON) -> bytes:
    path = Path(f"{order['job']['files']}.log")
    return path.read_bytes() if path.exists() else b""


class Machine:
    """A shim that no driver watches."""

    def __init__(self, root: Path, socket_path: Path, name: str = "m", **more: Any) -> None:
        self.name = name
        self.directory = root / name
        self.directory.mkdir()
        (self.directory / "lock").touch()
        facts = {"name": name, "id": f"id-{name}", "pool": "p", "template": "t", "created_at": 1, "env": {}}
        facts |= {"socket": str(socket_path), "idle_timeout_ms": None, "orphan_timeout_ms": 600_000}
        facts |= {"limits": {}, "rlimits": {}, "cgroup": None, **more}
        (self.directory / "machine.json").write_text(json.dumps(facts))
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with (self.directory / "console.log").open("ab") as console:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", shim.__file__, str(self.directory)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )

    def read(self, name: str) -> JSON:
        found: JSON = json.loads((self.directory / name).read_text())
        return found

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def end(self) -> JSON:
        """How it ended."""
        self.wait()
        return self.read("end.json")


@contextlib.contextmanager
def killed_at_the_end(machines: list[Machine]) -> Iterator[None]:
    try:
        yield
    finally:
        for machine in machines:
            with contextlib.suppress(ProcessLookupError):
                os.kill(machine.process.pid, signal.SIGTERM)
        for machine in machines:
            try:
                machine.process.wait(15)
            except subprocess.TimeoutExpired:
                machine.process.kill()
                machine.process.wait()
