"""Answers the control API on a Unix socket of mode 0600."""

import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from aiohttp import web

from remuda.control.answers import JSON, answerer, problem
from remuda.control.openapi import document
from remuda.control.routes import LARGEST_BODY, Route
from remuda.errors import BadInput
from remuda.ledger.store import Store
from remuda.loop.logs import Log

SOCKET = "control.sock"
_LONGEST_PATH = 100  # the kernel takes 107 bytes on Linux, 103 on macOS


class ControlServer:
    """Serves routes until stopped."""

    def __init__(
        self,
        socket: Path,
        routes: tuple[Route, ...],
        store: Store,
        log: Log,
        refused: Sequence[Callable[[int], bool]] = (),
    ) -> None:
        """`refused` know by its pid a caller that must not be answered."""
        self.socket = socket
        self._log = log
        self._store = store
        self._refused = refused
        app = web.Application(client_max_size=LARGEST_BODY)
        described = msgspec.json.encode(document(routes), enc_hook=str)

        async def describe(_: web.Request) -> web.Response:
            return web.Response(body=described, content_type=JSON)

        for route in routes:
            app.router.add_route(route.method, route.path, self._answerer(route))
        app.router.add_get("/openapi.json", describe)
        app.router.add_route("*", "/{rest:.*}", _nothing_here)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)

    async def start(self) -> None:
        """Listen. A socket that a dead process left behind is replaced."""
        if len(os.fsencode(self.socket)) > _LONGEST_PATH:
            raise BadInput(
                f"the path of the control socket is too long for a Unix socket: {self.socket}; "
                f"it may have {_LONGEST_PATH} bytes, choose a shorter --data-dir"
            )
        await self._runner.setup()
        before = os.umask(0o177)
        try:
            self.socket.unlink(missing_ok=True)
            await web.UnixSite(self._runner, str(self.socket), backlog=1024).start()
        except OSError as error:
            raise BadInput(f"the control socket {self.socket} cannot be made: {error.strerror}") from error
        finally:
            os.umask(before)

    async def stop(self) -> None:
        """Stop listening; requests under way are cut after a second."""
        await self._runner.cleanup()
        self.socket.unlink(missing_ok=True)

    def _answerer(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        answer = answerer(route, self._store, self._log)

        async def answer_all_but_jobs(request: web.Request) -> web.StreamResponse:
            caller = _pid_of(request)
            if caller is not None and any(is_refused(caller) for is_refused in self._refused):
                return problem(403, "jobs may not use the control API of the Remuda that runs them")
            return await answer(request)

        return answer_all_but_jobs


def _pid_of(request: web.Request) -> int | None:
    """The process that connected, where the system says so."""
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is None or sys.platform != "linux":
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0]) or None


async def _nothing_here(request: web.Request) -> web.Response:
    return problem(404, f"there is no {request.method} {request.path}; /openapi.json lists what there is")
