"""
A CircleCI on this computer: a real HTTP server with classes, tasks and agents, and with faults by script.

`Circle` serves within an event loop; `in_thread` serves from a thread of its own, for tests that start processes and
give them its URL. State may be changed from any thread.
"""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

TOKEN = "CCIPAT_loopback_secret"
UNCLAIMED, RUNNING, AGENTS = "unclaimed", "running", "agents"
_PATHS = {
    "/api/v3/runner/tasks": UNCLAIMED,
    "/api/v3/runner/tasks/running": RUNNING,
    "/api/v3/runner": AGENTS,
}
Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


def agent(
    name: str,
    job_class: str = "org/a",
    first_connected: str = "2026-01-05T00:00:00.000Z",
    last_used: str | None = None,
    **other: object,
) -> dict[str, object]:
    """An agent as CircleCI writes it."""
    return {
        "resource_class": job_class,
        "hostname": name,
        "name": name,
        "first_connected": first_connected,
        "last_connected": first_connected,
        "last_used": last_used,
        "version": "3.1.7",
        **other,
    }


@dataclass
class Tasks:
    """One resource class."""

    unclaimed: int = 0
    running: int = 0
    agents: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    call: str
    job_class: str
    raw_query: str
    token: str


@dataclass
class Circle:
    """Serves from `__aenter__` to `__aexit__`."""

    classes: dict[str, Tasks] = field(default_factory=dict)
    token: str = TOKEN
    asked: list[Asked] = field(default_factory=list)
    #: for every request, whatever it asks for, while it is set
    fault: Fault | None = None
    #: call → faults that are used up one by one
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        for path in _PATHS:
            app.router.add_get(path, self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def tasks(self, job_class: str) -> Tasks:
        """A class, made when it is not there."""
        return self.classes.setdefault(job_class, Tasks())

    def count(self, call: str, job_class: str | None = None) -> int:
        """How often a call was made."""
        return sum(asked.call == call and job_class in (None, asked.job_class) for asked in list(self.asked))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        call = _PATHS[request.path]
        job_class = request.query.get("resource-class", "")
        token = request.headers.get("Circle-Token", "")
        self.asked.append(Asked(call, job_class, request.rel_url.raw_query_string, token))
        fault = self.faults[call].popleft() if self.faults[call] else self.fault
        if fault is not None:
            return await fault(request)
        if token != self.token:
            return web.json_response({"message": "Invalid token provided."}, status=401)
        if not job_class:
            return web.json_response({"message": "missing resource-class parameter"}, status=400)
        tasks = self.classes.get(job_class)
        if tasks is None:
            return web.json_response({"message": "resource class not found"}, status=404)
        match call:
            case "unclaimed":
                return web.json_response({"unclaimed_task_count": tasks.unclaimed})
            case "running":
                return web.json_response({"running_runner_tasks": tasks.running})
            case _:
                return web.json_response({"items": tasks.agents})


def status(code: int, body: object = None, **headers: str) -> Fault:
    """A refusal."""

    async def answer(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(body if body is not None else {"message": "no"}, status=code, headers=named)

    return answer


def limited(retry_after: str | None = None) -> Fault:
    """Too many requests."""
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    return status(429, {"message": "Rate limit exceeded"}, **headers)


def redirect(to: str) -> Fault:
    """Somewhere else."""
    return status(302, {}, Location=to)


def body(data: bytes | str, kind: str = "application/json") -> Fault:
    """An answer of 200 with whatever in it."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=data if isinstance(data, bytes) else data.encode(), content_type=kind)

    return answer


def html() -> Fault:
    """The page of some proxy."""
    return body("<html><body>Please log in</body></html>", "text/html")


def slow(seconds: float) -> Fault:
    """No answer for a while."""

    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response({"message": "late"}, status=504)

    return answer


def truncated(data: bytes = b'{"unclaimed_task_count": 12') -> Fault:
    """An answer that breaks off."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(data)
        assert request.transport is not None
        request.transport.close()
        return response

    return answer


def dropped() -> Fault:
    """No answer but the end of the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


@contextmanager
def in_thread(circle: Circle) -> Iterator[Circle]:
    """Serve from a thread."""
    started = threading.Event()
    ends: dict[str, Any] = {}

    async def serve() -> None:
        ends["loop"], ends["stop"] = asyncio.get_running_loop(), asyncio.Event()
        async with circle:
            started.set()
            await ends["stop"].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield circle
    finally:
        ends["loop"].call_soon_threadsafe(ends["stop"].set)
        thread.join(30)
