"""
Readiness, liveness and metrics over HTTP.

`/live` is answered by a thread of its own, so that it can still say that everything else is stuck. `/ready` and
`/metrics` share the other port.
"""

import asyncio
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest

from remuda.errors import BadInput
from remuda.loop.clock import Clock
from remuda.loop.loop import Phase, Standing

#: an event loop that did not tick for so long is stuck
TICK_LIMIT = 30.0


class Watched(Protocol):
    """A loop, as far as health is concerned."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def standing(self) -> Standing:
        """How it fares."""
        ...

    @property
    def stuck_after(self) -> float:
        """Seconds after which a cycle is stuck."""
        ...


class LoopHealth(Struct, frozen=True):
    """One loop in the details of `/ready`."""

    name: str
    phase: str
    cycles: int
    errors_in_a_row: int = 0
    error: str | None = None
    last_success_at: int | None = None


class Health(Struct, frozen=True):
    """The answer of `/ready` and `/live`."""

    ok: bool
    loops: list[LoopHealth]
    problems: list[str]
    details: dict[str, Any] = {}


class Pulse:
    """Notices an event loop that no longer turns."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last = clock.monotonic()

    async def run(self) -> None:
        """Tick once a second until cancelled."""
        while True:
            self.last = self._clock.monotonic()
            await asyncio.sleep(1)

    def problems(self) -> list[str]:
        """What is wrong with the event loop, if anything."""
        age = self._clock.monotonic() - self.last
        return [f"the process has been stuck for {age:.0f} s"] if age > TICK_LIMIT else []


def readiness(loops: list[Watched], details: dict[str, Any]) -> Health:
    """Ready when every loop that is not paused has succeeded and none fails."""
    problems = [_unready(loop) for loop in loops]
    return Health(not any(problems), _told(loops), [problem for problem in problems if problem], details)


def liveness(loops: list[Watched], pulse: Pulse, clock: Clock) -> Health:
    """Alive unless the process or a cycle is stuck."""
    problems = pulse.problems()
    for loop in loops:
        since = loop.standing.in_cycle_since
        if since is not None and clock.monotonic() - since > loop.stuck_after:
            problems.append(f"loop {loop.name} has been in one cycle for {clock.monotonic() - since:.0f} s")
    return Health(not problems, _told(loops), problems)


def _unready(loop: Watched) -> str | None:
    standing = loop.standing
    match standing.phase:
        case Phase.RUNNING | Phase.PAUSED | Phase.STANDBY:
            return None
        case Phase.STARTING:
            return f"loop {loop.name} has not finished its first cycle"
        case Phase.FAILING:
            return f"loop {loop.name} failed {standing.errors_in_a_row} times in a row: {standing.last_error}"
        case Phase.BROKEN:
            return f"loop {loop.name} is broken and stays stopped: {standing.last_error}"
        case _:
            return f"loop {loop.name} is stopped"


def _told(loops: list[Watched]) -> list[LoopHealth]:
    return [
        LoopHealth(
            name=loop.name,
            phase=loop.standing.phase,
            cycles=loop.standing.cycles,
            errors_in_a_row=loop.standing.errors_in_a_row,
            error=loop.standing.last_error,
            last_success_at=loop.standing.last_success_at,
        )
        for loop in loops
    ]


class HealthServer:
    """A small HTTP server in a thread: a path gives a function that returns status, content type and body."""

    def __init__(
        self, address: str, port: int, pages: dict[str, Callable[[], tuple[int, str, bytes]]]
    ) -> None:
        try:
            self._server = ThreadingHTTPServer((address, port), _handler(pages))
        except OSError as error:
            raise BadInput(
                f"health port {port} cannot be used: {error.strerror}; choose another one, or 0 for any"
            ) from error
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=lambda: self._server.serve_forever(poll_interval=0.1),
            name=f"health-{self.port}",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def health_page(question: Callable[[], Health]) -> Callable[[], tuple[int, str, bytes]]:
    """A page that answers 200 or 503 with the details as JSON."""

    def page() -> tuple[int, str, bytes]:
        health = question()
        return (200 if health.ok else 503), "application/json", msgspec.json.encode(health)

    return page


def metrics_page(registry: CollectorRegistry) -> Callable[[], tuple[int, str, bytes]]:
    """The Prometheus exposition."""
    return lambda: (200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(registry))


def _answer(page: Callable[[], tuple[int, str, bytes]]) -> tuple[int, str, bytes]:
    try:
        return page()
    except Exception as error:  # noqa: BLE001 - a probe that gets no answer learns nothing
        return 500, "text/plain; charset=utf-8", f"{type(error).__name__}: {error}\n".encode()


def _handler(pages: dict[str, Callable[[], tuple[int, str, bytes]]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            page = pages.get(self.path.split("?", 1)[0])
            if page is None:
                known = " ".join(sorted(pages))
                answer = (404, "text/plain; charset=utf-8", f"not found; there is {known}\n".encode())
            else:
                answer = _answer(page)
            status, kind, body = answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Say nothing: probes come every few seconds."""

    return Handler
