"""A real `remuda up` for a test: started, asked, killed, and everything of it gone afterwards."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from remuda.control.client import Remuda, path_of
from remuda.errors import RemudaError, Unavailable
from remuda.jobs import JOBS
from remuda.loop.health import Health
from remuda.model.jobs import Job, JobList, Submit, Submitted
from remuda.pools.views import PoolsView

T = TypeVar("T")

_WAITS = ("comm", "wchan", "children")

#: None of these talks to a server of the world, and reading all its authorities takes a tenth of a start.
ENVIRON = {"SSL_CERT_FILE": os.devnull}

#: what a loaded machine of two cores may need for anything these tests wait for
DEADLINE_S = 60.0


def eventually(look: Callable[[], T | None], what: str = "it", deadline: float = DEADLINE_S) -> T:
    """What `look` returns as soon as that is true; a failure names the last thing seen."""
    until = time.monotonic() + deadline
    seen: object = None
    while time.monotonic() < until:
        try:
            found = look()
        except (Unavailable, OSError) as error:
            seen = error
        else:
            if found:
                return found
            seen = found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come true within {deadline:.0f} s; last seen: {seen!r}")


def pool(name: str = "shell", /, **spec: object) -> dict[str, Any]:
    """A pool of process machines for class test/<name>."""
    body = {"class": f"test/{name}", "source": {"queue": {}}, "provider": {"process": {}}, **spec}
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "RunnerPool",
        "metadata": {"name": name},
        "spec": body,
    }


def ceiling(name: str, machines: int, /, **spec: object) -> dict[str, Any]:
    """A ceiling."""
    return {
        "apiVersion": "remuda.dev/v1alpha1",
        "kind": "Ceiling",
        "metadata": {"name": name},
        "spec": {"machines": machines, **spec},
    }


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Place:
    """A file of objects, a data directory, and the processes that were started on them."""

    home: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.home / "d"

    @property
    def file(self) -> Path:
        """The file of objects."""
        return self.home / "pools.yaml"

    @property
    def log(self) -> str:
        """Everything that the processes logged."""
        return (self.home / "log").read_text(errors="replace")

    @property
    def remuda(self) -> Remuda:
        """What the command line asks: the running process, else the store."""
        return Remuda(self.data, None, JOBS.views)

    def write(self, *objects: dict[str, Any]) -> None:
        """Write the file of objects, at once as an editor does."""
        draft = self.home / "pools.new"
        draft.write_text("---\n".join(json.dumps(item) + "\n" for item in objects))
        draft.rename(self.file)

    def mark(self, name: str) -> Path:
        """A file to which every job can write, whatever user it has."""
        path = self.home / name
        path.touch()
        path.chmod(0o666)
        return path

    def launch(self, command: Sequence[str], env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a process that is gone after the test."""
        with (self.home / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **ENVIRON, **(env or {})},
            )
        self.processes.append(process)
        return process

    def start(self, *options: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Run `remuda up` and wait until it is ready."""
        command = [sys.executable, "-m", "remuda", "up", str(self.file), "--data-dir", str(self.data)]
        command += ["--health-port", "0", "--live-port", "0", "--interval", "0.2"]
        command += options if "--web-port" in options else ("--no-web", *options)
        process = self.launch(command, env)
        self.wait_ready(process)
        return process

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Return when `/ready` says so; a process that ends instead is a failure with its log."""

        def look() -> bool:
            assert process.poll() is None, f"remuda ended with {process.returncode}:\n{self.log}"
            return self.health("ready")[0] == 200

        eventually(look, "readiness")

    def health(self, page: str) -> tuple[int, Health]:
        """The answer of `/ready` or `/live`."""
        ports = json.loads((self.data / "ports.json").read_bytes())
        port = ports["live" if page == "live" else "health"]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, body = error.code, error.read()
        decoded = json.loads(body)
        return status, Health(decoded["ok"], decoded["loops"], decoded["problems"], decoded["details"])

    def metrics(self) -> str:
        """What Prometheus reads."""
        port = json.loads((self.data / "ports.json").read_bytes())["health"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        return text

    def kill(self) -> None:
        """Kill -9 what was started last, and wait until it is gone."""
        self.processes[-1].kill()
        self.processes[-1].wait()

    def stop(self) -> int:
        """Stop what was started last as a service manager does; its exit code."""
        self.processes[-1].terminate()
        return self.processes[-1].wait(DEADLINE_S)

    def cli(self, *words: str, env: dict[str, str] | None = None, stdin: str = "") -> Ran:
        """Run a command as a process of its own."""
        ran = subprocess.run(
            [sys.executable, "-m", "remuda", *words[:1], "--data-dir", str(self.data), *words[1:]],
            capture_output=True,
            check=False,
            input=stdin.encode(),
            timeout=DEADLINE_S * 2,
            env={**os.environ, **ENVIRON, **(env or {})},
        )
        return Ran(ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace"))

    def submit(self, *command: str, job_class: str = "test/shell", **terms: Any) -> int:
        """Hand a job in."""
        body = Submit(job_class=job_class, command=command, **terms)
        return self.remuda.post("/v1/jobs", body, Submitted).job

    def job(self, number: int) -> Job:
        """One job as it is now."""
        return self.remuda.get(path_of("v1", "jobs", number), Job)

    def jobs(self) -> dict[int, Job]:
        """All jobs as they are now."""
        return {job.id: job for job in self.remuda.get("/v1/jobs", JobList, most=1000).jobs}

    def output(self, number: int) -> bytes:
        """A job's output."""
        return b"".join(self.remuda.stream(path_of("v1", "jobs", number, "logs")))

    def wait_end(self, number: int) -> Job:
        """The job once it has ended."""
        return eventually(
            lambda: job if (job := self.job(number)).state.is_end else None, f"the end of job {number}"
        )

    def wait_running(self, number: int) -> Job:
        """The job once its process runs."""
        eventually(lambda: self.job_processes(number), f"the start of job {number}")
        return self.job(number)

    def pools(self) -> PoolsView:
        """All pools and machines, as of the last cycle."""
        return self.remuda.get("/v1/pools", PoolsView)

    def wait_idle(self, count: int, name: str = "shell") -> PoolsView:
        """The pools once one of them has so many idle machines and nothing else."""

        def look() -> PoolsView | None:
            view = self.pools()
            mine = [item for item in view.pools if item.name == name]
            is_so = mine and mine[0].idle == count and mine[0].live == count and not mine[0].leaving
            return view if is_so else None

        try:
            return eventually(look, f"{count} idle machines of {name}")
        except AssertionError:
            sys.stderr.write(f"{self.log[-10_000:]}\n{self.threads()}\n")
            raise

    def shims(self) -> dict[str, int]:
        """Machine → pid of every shim process that runs on this data directory."""
        root = os.fsencode(self.data / "machines") + b"/"
        alike = {
            pid: os.fsdecode(command[-1].removeprefix(root))
            for pid, command, _ in _processes()
            if any(b"shim.py" in word for word in command) and command[-1].startswith(root)
        }
        # What a shim forked to separate a job from others has its command line, too.
        return {machine: pid for pid, machine in alike.items() if _parent(pid) not in alike}

    def job_processes(self, number: int | None = None) -> list[int]:
        """Every process that the machines of this data directory started, or those of one job."""
        mark = b"REMUDA_MACHINE_DIR=" + os.fsencode(self.data) + b"/"
        job = f"REMUDA_JOB={number}".encode()
        return [
            pid
            for pid, _, environ in _processes()
            if any(item.startswith(mark) for item in environ) and (number is None or job in environ)
        ]

    def threads(self) -> str:
        """Where every thread of what runs here waits, and what it started: for a failure that nobody can repeat."""
        lines = []
        for process in self.processes:
            if process.poll() is not None:
                lines.append(
                    f"{process.pid} has ended with {process.returncode}; who asks now is answered from the store"
                )
            for task in sorted(Path(f"/proc/{process.pid}/task").glob("*")):
                with contextlib.suppress(OSError):
                    name, where, children = ((task / file).read_text().strip() for file in _WAITS)
                    state = (task / "stat").read_text().rpartition(")")[2].split()[0]
                    lines.append(
                        f"{process.pid}/{task.name} {name} {state} in {where}, started {children or '-'}"
                    )
        return "\n".join([*lines, *map(str, (self.data / "machines").glob("*"))])

    def clear(self) -> None:
        """End every process of this place and remove it."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        until = time.monotonic() + DEADLINE_S
        while left := [*self.shims().values(), *self.job_processes()]:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert time.monotonic() < until, f"processes {left} cannot be killed"
            time.sleep(0.02)
        shutil.rmtree(self.home, ignore_errors=True)


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """A place of its own, with a path short enough for a socket; nothing of it is left afterwards."""
    made = Place(Path(tempfile.mkdtemp(prefix="rmd", dir="/tmp")))
    made.home.chmod(0o777)  # jobs, whose users are their own, leave marks there
    try:
        yield made
    except BaseException:
        with contextlib.suppress(OSError, RemudaError):
            sys.stderr.write(made.log[-10_000:])
        raise
    finally:
        made.clear()


def _parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def _processes() -> Iterator[tuple[int, list[bytes], list[bytes]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().removesuffix(b"\0").split(b"\0")
                environ = b""
                with contextlib.suppress(PermissionError):  # a shim hides its own from whoever is not root
                    environ = (entry / "environ").read_bytes()
                yield int(entry.name), command, environ.split(b"\0")
