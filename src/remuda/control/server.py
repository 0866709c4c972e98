"""Answers the control API on a Unix socket of mode 0600."""

import asyncio
import os
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec
from aiohttp import web

from remuda.control.openapi import document
from remuda.control.routes import LARGEST_BODY, Call, Route, check_query
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.store import Store
from remuda.loop.logs import Log

SOCKET = "control.sock"
_LONGEST_PATH = 100  # the kernel takes 107 bytes on Linux, 103 on macOS

_encode = msgspec.json.Encoder(enc_hook=str).encode


class Problem(msgspec.Struct, frozen=True):
    """The body of every answer that is not what was asked for."""

    error: str


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
        described = _encode(document(routes))

        async def describe(_: web.Request) -> web.Response:
            return web.Response(body=described, content_type=_JSON)

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
        decode = msgspec.json.Decoder(route.body).decode if route.body is not None else None
        most = route.most_bytes or LARGEST_BODY

        async def answer(request: web.Request) -> web.StreamResponse:
            caller = _pid_of(request)
            if caller is not None and any(is_refused(caller) for is_refused in self._refused):
                return _problem(403, "jobs may not use the control API of the Remuda that runs them")
            try:
                sent = await request.clone(client_max_size=most).read() if decode else b""
                body = decode(sent or b"{}") if decode else None
            except msgspec.ValidationError as error:
                return _problem(400, f"the body is not as it should be: {error}")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                return _problem(400, f"the body is not JSON: {error}")
            except web.HTTPRequestEntityTooLarge:
                return _problem(413, f"the request is too large: it may have {most // 1024} KiB")
            try:
                check_query(route, request.query)
                call = Call(dict(request.match_info), dict(request.query), body)
                if route.view is not None:
                    view = route.view
                    result = await asyncio.to_thread(self._store.read, lambda db: view(db, call))
                else:
                    assert route.handler is not None
                    result = await route.handler(call)
                if route.streams:
                    return await self._stream(request, result)
                return web.Response(body=_encode(result), content_type=_JSON)
            except NotFound as error:
                return _problem(404, str(error))
            except BadInput as error:
                return _problem(400, str(error))
            except Unavailable as error:
                return _problem(503, str(error))
            except Exception as error:  # noqa: BLE001 - one broken request must not hurt the rest
                return _problem(500, self._failed(request, error))

        return answer

    async def _stream(self, request: web.Request, pieces: AsyncGenerator[bytes, None]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        await response.prepare(request)
        async with aclosing(pieces):
            try:
                async for piece in pieces:
                    await response.write(piece)
                await response.write_eof()
            except Exception as error:  # noqa: BLE001 - it is too late for another answer
                if not isinstance(error, ConnectionError):
                    self._failed(request, error)
                if request.transport is not None:
                    # Without the stream's end whoever reads knows that something is missing.
                    request.transport.abort()
        return response

    def _failed(self, request: web.Request, error: Exception) -> str:
        message = f"{type(error).__name__}: {error}"
        self._log.error("request failed", method=request.method, path=request.path, error=message)
        return message


_JSON = "application/json"


def _pid_of(request: web.Request) -> int | None:
    """The process that connected, where the system says so."""
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is None or sys.platform != "linux":
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0]) or None


async def _nothing_here(request: web.Request) -> web.Response:
    return _problem(404, f"there is no {request.method} {request.path}; /openapi.json lists what there is")


def _problem(status: int, text: str) -> web.Response:
    return web.Response(status=status, body=_encode(Problem(text)), content_type=_JSON)
