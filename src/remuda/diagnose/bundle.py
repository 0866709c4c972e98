"""
What a maintainer would ask for, in one .tar.gz: versions, objects, health, decisions, metrics, the log's end, the store's sizes.

Secrets are taken out twice. Values that are known (of secret files and environment variables of jobs, and of this process's own
environment where a name says that it is secret) go wherever they stand, and so does whatever looks like one. Commands,
environments and output of jobs are not collected at all.
"""

import asyncio
import io
import os
import platform
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from remuda import __version__
from remuda.control.about import without_environment
from remuda.control.client import path_of
from remuda.control.command import Session
from remuda.diagnose.observe.here import Looker
from remuda.diagnose.observe.masking import everywhere, log_masker, masker, named_secret
from remuda.errors import BadInput, RemudaError
from remuda.job import load
from remuda.kube.config import find_access
from remuda.ledger.condition import last_cycles
from remuda.ledger.read_only import reading
from remuda.ledger.store import FILE, explained
from remuda.loop.clock import SystemClock
from remuda.model.checks import CheckResult
from remuda.model.jobs import Job, JobList

#: of everything that there may be much of, the newest
_CYCLES = 20
_SUBJECTS = 200
_JOBS = 1_000
_LOG_BYTES = 256 * 1024
_SECRET_BYTES = 64 * 1024
_PAGE_S = 5.0


def write_bundle(
    session: Session, path: Path, results: Iterable[CheckResult], progress: Callable[[str], None]
) -> None:
    """Collect everything that can be had, and write it for the owner alone; what cannot be had says why."""
    collector = _Collector(session, progress)
    parts = {"checks.json": list(results), **collector.collect()}
    mask = masker(collector.secrets)
    in_logs = log_masker(collector.secrets)
    try:
        with (
            open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,  # noqa: PTH123
            tarfile.open(fileobj=file, mode="w:gz") as archive,
        ):
            for name, part in parts.items():
                if isinstance(part, str):
                    data = in_logs(part).encode(errors="replace")
                else:
                    plain = msgspec.to_builtins(part, enc_hook=str, builtin_types=())
                    hidden = _without_named(without_environment(everywhere(_text_of_bytes(plain), mask)))
                    data = msgspec.json.format(msgspec.json.encode(hidden), indent=1) + b"\n"
                entry = tarfile.TarInfo(f"remuda-bundle/{name}")
                entry.size, entry.mode, entry.mtime = len(data), 0o600, session.now() // 1_000
                archive.addfile(entry, io.BytesIO(data))
    except OSError as error:
        raise BadInput(f"--bundle: {path} cannot be written: {error.strerror}") from None


class _Collector:
    """Collects; what is missing is a sentence in its place."""

    def __init__(self, session: Session, progress: Callable[[str], None]) -> None:
        self._session = session
        self._progress = progress
        self.secrets = [value for name, value in os.environ.items() if named_secret(name)]
        self.secrets += filter(None, [_value_in(str(session.data_dir / "web-token"))])

    def collect(self) -> dict[str, Any]:
        """The parts by the names of their files."""
        session = self._session
        looker = Looker(session, self._progress)
        here = looker.look()
        jobs = self._jobs()
        self._progress("decisions")
        return {
            "about.json": {
                "remuda": __version__,
                "python": sys.version,
                "platform": platform.platform(),
                "collected_at": session.now(),
                "process": looker.about,
            },
            "here.json": here,
            "health.json": looker.health,
            "store.json": looker.condition,
            "jobs.json": jobs,
            "decisions.json": self._get("/v1/decisions"),
            **dict(self._why()),
            **dict(self._cycles()),
            **dict(self._cluster()),
            "metrics.txt": self._metrics(looker, here.ports),
            "log.txt": self._log(here.holder),
        }

    def _get(self, path: str, **query: object) -> Any:
        try:
            return self._session.remuda.get(path, Any, **query)
        except RemudaError as error:
            return f"not collected: {error}"

    def _jobs(self) -> Any:
        """How jobs went, without what they are; and the values that must not be anywhere else."""
        self._progress("jobs")
        try:
            found = self._session.remuda.get("/v1/jobs", JobList, most=_JOBS)
        except RemudaError as error:
            return f"not collected: {error}"
        for job in found.jobs:
            self.secrets += job.spec.env.values()
            self.secrets += filter(None, map(_value_in, job.spec.secret_files.values()))
        return {"counts": found.counts, "jobs": [_without_words(job) for job in found.jobs]}

    def _why(self) -> Iterator[tuple[str, Any]]:
        """Why of everything that can be asked by its name, as far as the store answers it."""
        for kind, reference in self._session.jobs.subjects().items():
            with suppress(RemudaError):
                names = list(load(reference)(self._session, ""))[:_SUBJECTS]
                answers = {name: self._get(path_of("v1", "why", kind, name)) for name in names}
                if answers and not all(isinstance(answer, str) for answer in answers.values()):
                    yield f"why-{kind}.json", answers

    def _cycles(self) -> Iterator[tuple[str, Any]]:
        """The last cycles of every loop, as they were recorded."""
        path = self._session.data_dir / FILE
        if self._session.server is not None or not path.exists():
            return
        try:
            with reading(path) as db, explained(path):
                for loop, cycles in last_cycles(db, _CYCLES).items():
                    yield f"cycles-{loop}.json", cycles
        except RemudaError as error:
            yield "cycles.txt", f"not collected: {error}\n"

    def _cluster(self) -> Iterator[tuple[str, Any]]:
        """What checks of pools read of the cluster, from which values of Secrets are taken out where they are known."""
        try:
            access = find_access(os.environ, SystemClock())
        except BadInput:
            return
        from remuda.diagnose.cluster_checkup import look_at_cluster  # noqa: PLC0415 - a laptop does not pay for it

        try:
            snapshot = asyncio.run(look_at_cluster(self._session, access, self._progress))
        except (RemudaError, TimeoutError) as error:
            yield "cluster.txt", f"not collected: {error}\n"
        else:
            if snapshot is not None:
                yield "cluster.json", snapshot

    def _metrics(self, looker: Looker, ports: Iterable[Any]) -> str:
        number = next((port.number for port in ports if port.option == "--health-port"), None)
        if looker.about is None or number is None:
            return "not collected: no remuda runs\n"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics", timeout=_PAGE_S) as page:
                text: str = page.read().decode(errors="replace")
                return text
        except OSError as error:
            return f"not collected: {error}\n"

    def _log(self, pid: int | None) -> str:
        """The end of the log: of the live view's file, or of the file that stderr of the process is."""
        own = self._session.data_dir / "remuda.log"
        for path in (Path(f"/proc/{pid}/fd/2"), own) if pid else (own,):
            with suppress(OSError):
                if path.is_file():
                    with path.open("rb") as file:
                        file.seek(max(0, path.stat().st_size - _LOG_BYTES))
                        return file.read(_LOG_BYTES).decode(errors="replace")
        return "not collected: remuda up wrote its log to stderr; add its end from where that goes, as journalctl -u remuda\n"


def _value_in(file: str) -> str:
    """What is in a secret's file, if it can still be read."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:  # noqa: PTH123
            return opened.read(_SECRET_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""


def _without_words(job: Job) -> dict[str, Any]:
    """How a job went: not its command, its environment, or its output."""
    plain: dict[str, Any] = msgspec.to_builtins(job)
    del plain["spec"]
    return plain | {"timeout": job.spec.timeout, "secrets": sorted(job.spec.secret_files)}


def _without_named(data: Any) -> Any:
    """Plain data without texts under a key that is a word for a secret."""
    match data:
        case dict():
            return {
                key: "***" if isinstance(value, str) and named_secret(key) else _without_named(value)
                for key, value in data.items()
            }
        case list():
            return [_without_named(item) for item in data]
        case _:
            return data


def _text_of_bytes(data: Any) -> Any:
    """Plain data in which bytes, as columns of a fleet are, are replaced by how many they are."""
    match data:
        case dict():
            return {str(key): _text_of_bytes(value) for key, value in data.items()}
        case list() | tuple():
            return [_text_of_bytes(item) for item in data]
        case bytes() | bytearray() | memoryview():
            return f"{len(data)} bytes"
        case _:
            return data
