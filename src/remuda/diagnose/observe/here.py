"""Looks at a data directory, its store and the process that works with it. Nothing is changed, and nothing waits long."""

import contextlib
import json
import os
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from remuda import __version__
from remuda.control.about import About
from remuda.control.client import NothingRuns, Remuda
from remuda.control.command import Session
from remuda.control.loops import paused_loops
from remuda.datadir import refuse_links, refuse_shared
from remuda.diagnose.here import Answering, Here, Process, SeenLoop, SeenPort, SeenQueue, SeenStore
from remuda.errors import NotFound, RemudaError
from remuda.ledger.age import newest_record
from remuda.ledger.ballast import room
from remuda.ledger.condition import Condition, look_at_store
from remuda.ledger.place import place_of, reading
from remuda.ledger.server import look_at_server
from remuda.ledger.store import FILE
from remuda.model.jobs import QueueHost, QueueHosts

#: seconds that a process has to answer
TIMEOUT_S = 10
_PAGE_S = 5.0
_OURS = (
    "remuda.db",
    "control.sock",
    "ports.",
    "lock",
    "machines",
    "jobs",
    "ballast",
    "remuda.log",
    "web-token",
    "web-signed-out",
    "queue-host",
    "queue-lease",
)
_DEFAULT_PORTS = {"--health-port": 8000, "--live-port": 8001}
#: by option, the name of the port in `ports.json` and a page of it
_PAGES = {
    "--health-port": ("health", "/ready"),
    "--live-port": ("live", "/live"),
    "--web-port": ("web", "/sign-in"),
}
#: the dashboard is well when it asks a stranger to sign in
_WELL = {"/sign-in": 401}


class Looker:
    """One look at a data directory; `about`, `health` and `condition` are what it saw, as they were answered."""

    def __init__(self, session: Session, progress: Callable[[str], None]) -> None:
        self._session = session
        self._progress = progress
        token = os.environ.get("REMUDA_TOKEN", "").strip()
        self._remuda = Remuda(session.data_dir, session.server, tuple, timeout_s=TIMEOUT_S, token=token)
        self.about: About | None = None
        self.health: dict[str, Any] = {}
        self.condition: Condition | None = None

    def look(self) -> Here:
        """Everything that can be seen from here."""
        session, path = self._session, self._session.data_dir
        self._progress("who runs here")
        answering, silence = self._ask()
        now, is_there = session.now(), session.server is None and path.is_dir()
        self._progress("the store")
        store = self._store(path) if is_there else None
        machines, attempts = self._foreign() if answering == "answers" else (0, 0)
        details = self.health.get("details", {})
        free_bytes, free_files = room(path) if is_there else (None, None)
        return Here(
            now=now,
            version=__version__,
            data_dir=str(path),
            is_there=is_there,
            unfit=unfit(path) if is_there else "",
            strangers=tuple(strangers(path)) if is_there else (),
            free_bytes=free_bytes,
            free_files=free_files,
            has_ballast=(path / "ballast").exists(),
            store=store,
            queue=self._queue() if is_there else None,
            answering=answering,
            silence=silence,
            holder=holder(path),
            process=_process(self.about, now),
            loops=tuple(
                SeenLoop(item["name"], item["phase"], item.get("error") or "", item.get("last_success_at"))
                for item in self.health.get("loops", ())
            ),
            paused=self._paused() if store and not store.trouble else (),
            refused_reload=tuple(str(details.get("refused_reload") or "").splitlines()),
            trouble=tuple(map(str, details.get("trouble", ()))),
            ports=tuple(self._ports(path, runs=answering == "answers")),
            foreign_machines=machines,
            foreign_attempts=attempts,
        )

    def _ask(self) -> tuple[Answering, str]:
        """Whether somebody answers, and what they say of themselves."""
        try:
            self.health = self._remuda.get("/v1/loops", dict[str, Any])
        except NothingRuns as nothing:
            has_socket = self._session.server is None and (self._session.data_dir / "control.sock").exists()
            if self._session.server is not None:
                return "silent", str(nothing)
            return ("died" if has_socket else "nobody"), ""
        except RemudaError as error:
            return "silent", str(error)
        with contextlib.suppress(NotFound):  # an older one does not know the question
            self.about = self._remuda.get("/v1/about", About)
        return "answers", ""

    def _store(self, path: Path) -> SeenStore | None:
        if not isinstance(self._session.home, Path):
            return self._database()
        if not (path / FILE).exists():
            return None
        found = self.condition = look_at_store(path / FILE, self._session.jobs.tables())
        return SeenStore(
            trouble=found.trouble,
            version=found.version,
            bytes=found.bytes,
            used_bytes=found.used_bytes,
            oldest_at=min((loop.first_at for loop in found.loops), default=None),
            newest_at=max((loop.last_at for loop in found.loops), default=None),
            set_back=tuple((jump.loop, jump.before, jump.after) for jump in found.set_back),
        )

    def _database(self) -> SeenStore:
        """A store that is no file: whether it answers, and until when something is recorded in it."""
        try:
            address = self._session.address
            assert address is not None
            with reading(address) as db:
                server = look_at_server(db, address)
                return SeenStore(address=str(address), newest_at=newest_record(db), server=server)
        except RemudaError as error:
            return SeenStore(trouble=str(error))

    def _queue(self) -> SeenQueue | None:
        """A queue that this host shares with others, as this command was told of it or the process says."""
        address = self._session.queue_address
        if address is None:
            shown = str(self.health.get("details", {}).get("queue", ""))
            return SeenQueue(shown, hosts=self._hosts()) if shown else None
        try:
            with reading(address) as db:
                server = look_at_server(db, address)
        except RemudaError as error:
            return SeenQueue(str(address), str(error))
        return SeenQueue(str(address), "", server, self._hosts())

    def _hosts(self) -> tuple[QueueHost, ...]:
        try:
            return self._session.remuda.get("/v1/queue/hosts", QueueHosts).hosts
        except RemudaError:
            return ()

    def _paused(self) -> tuple[str, ...]:
        with reading(place_of(self._session.home)) as db:
            return tuple(sorted(paused_loops(db)))

    def _foreign(self) -> tuple[int, int]:
        """Machines and attempts of other stores; none where jobs do not run on this host."""
        try:
            found = self._remuda.get("/v1/foreign", dict[str, Any])
        except RemudaError:
            return 0, 0
        return len(found.get("machines", ())), sum(item["attempts"] for item in found.get("files", ()))

    def _ports(self, path: Path, *, runs: bool) -> Iterator[SeenPort]:
        if not runs:
            for option, number in _DEFAULT_PORTS.items():
                yield SeenPort(option, number, in_use(number))
            return
        try:
            written: dict[str, Any] = json.loads((path / "ports.json").read_bytes())
        except (OSError, ValueError):
            return
        address = str(self.about.options.get("address", "")) if self.about else ""
        for option, (name, page) in _PAGES.items():
            if written.get(name):  # 0 is that of a dashboard that there is not
                at = str(written.get("web_address", "")) if name == "web" else address
                yield SeenPort(option, written[name], page_problem(_host(at), written[name], page))


def _host(address: str) -> str:
    """Where something that listens at an address can be asked."""
    return "127.0.0.1" if address in {"", "0.0.0.0", "::"} else address  # noqa: S104 - compared, not bound


def _process(about: About | None, now: int) -> Process | None:
    if about is None:
        return None
    options = about.options
    return Process(
        about.version,
        about.pid,
        about.now - now,
        float(options.get("interval_s", 1.0)),
        int(options.get("keep_ms", 0)),
        int(options.get("keep_bytes", 0)),
    )


def unfit(path: Path) -> str:
    """Why a directory cannot be a data directory of ours."""
    try:
        refuse_shared(path, path.stat(), os.geteuid())
        refuse_links(path)
    except RemudaError as error:
        return str(error)
    return (
        "" if os.access(path, os.R_OK | os.W_OK | os.X_OK) else f"{path} may not be read and written by you"
    )


def strangers(path: Path) -> list[str]:
    """What is in a data directory and is not Remuda's."""
    try:
        return sorted(item.name for item in path.iterdir() if not item.name.startswith(_OURS))
    except OSError:
        return []


def holder(path: Path, locks: Path = Path("/proc/locks")) -> int | None:
    """The process that holds a data directory, as the kernel lists it; nobody where it lists nothing."""
    try:
        inode = (path / "lock").stat().st_ino
        lines = locks.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        # 7: FLOCK  ADVISORY  WRITE 4242 08:01:131090 0 EOF
        words = line.split()
        if "FLOCK" in words and "->" not in words and words[-3].endswith(f":{inode}"):
            return int(words[-4])
    return None


def in_use(number: int) -> str:
    """Why a port of this host cannot be listened at, or nothing."""
    try:
        with socket.create_server(("127.0.0.1", number)):
            return ""
    except OSError as error:
        why = str(error.strerror or error).partition(" (while attempting")[0]
        return why[:1].lower() + why[1:]


def page_problem(host: str, number: int, page: str) -> str:
    """What is wrong with a page for probes, or nothing."""
    url = f"http://{f'[{host}]' if ':' in host else host}:{number}{page}"
    try:
        with urllib.request.urlopen(url, timeout=_PAGE_S):
            return ""
    except urllib.error.HTTPError as error:
        with error:
            if error.code == _WELL.get(page):
                return ""
            return f"{page} answers {error.code}: {_problems_in(error.read())}"
    except OSError as error:
        return f"{page} does not answer: {getattr(error, 'reason', error)}"


def _problems_in(body: bytes) -> str:
    try:
        return "; ".join(json.loads(body)["problems"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")
