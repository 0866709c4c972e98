"""How a request becomes an answer: the body read, the route asked, and errors as sentences with their status."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import msgspec
from aiohttp import web

from remuda.control.routes import LARGEST_BODY, Call, Route, check_query
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.store import Store
from remuda.loop.logs import Log

JSON = "application/json"
#: the body of a request that was read before its route was asked
BODY: web.RequestKey[bytes] = web.RequestKey("body", bytes)
_encode = msgspec.json.Encoder(enc_hook=str).encode


class GoesOn(msgspec.Struct, frozen=True):
    """Whether whoever asked may still be told; looked at while an answer goes on and on."""

    look: Callable[[], bool]


#: for who was let in: they may be signed out meanwhile
GOES_ON: web.RequestKey[GoesOn] = web.RequestKey("goes_on", GoesOn)


class Problem(msgspec.Struct, frozen=True):
    """The body of every answer that is not what was asked for."""

    error: str


def problem(status: int, text: str) -> web.Response:
    """An answer that is not what was asked for."""
    return web.Response(status=status, body=_encode(Problem(text)), content_type=JSON)


def answerer(
    route: Route, store: Store, log: Log, sees_all: Callable[[web.Request], bool] = lambda _: True
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """What answers requests for a route; who does not see all gets what is for readers."""
    decode = msgspec.json.Decoder(route.body).decode if route.body is not None else None
    most = route.most_bytes or LARGEST_BODY

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            sent = await read_body(request, most) if decode else b""
            body = decode(sent or b"{}") if decode else None
        except msgspec.ValidationError as error:
            return problem(400, f"the body is not as it should be: {error}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return problem(400, f"the body is not JSON: {error}")
        except web.HTTPRequestEntityTooLarge:
            return problem(413, f"the request is too large: it may have {most // 1024} KiB")
        try:
            check_query(route, request.query)
            call = Call(dict(request.match_info), dict(request.query), body)
            if route.view is not None:
                view = route.view
                result = await asyncio.to_thread(store.read, lambda db: view(db, call))
            else:
                assert route.handler is not None
                result = await route.handler(call)
            if route.for_readers is not None and not sees_all(request):
                result = route.for_readers(result)
            if route.streams:
                return await _stream(request, result, log)
            return web.Response(body=_encode(result), content_type=JSON)
        except NotFound as error:
            return problem(404, str(error))
        except BadInput as error:
            return problem(400, str(error))
        except Unavailable as error:
            return problem(503, str(error))
        except Exception as error:  # noqa: BLE001 - one broken request must not hurt the rest
            return problem(500, _failed(request, error, log))

    return answer


async def read_body(request: web.Request, most: int) -> bytes:
    """The body of a request; `HTTPRequestEntityTooLarge` when it is larger than `most` bytes."""
    if BODY in request:
        if len(request[BODY]) > most:
            raise web.HTTPRequestEntityTooLarge(most, len(request[BODY]))
        return request[BODY]
    if request.client_max_size != most:
        request = request.clone(client_max_size=most)
    return await request.read()


async def _stream(request: web.Request, pieces: AsyncGenerator[bytes, None], log: Log) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    await response.prepare(request)
    async with aclosing(pieces):
        try:
            async for piece in pieces:
                await _write(request, response, piece)
            await response.write_eof()
        except Exception as error:  # noqa: BLE001 - it is too late for another answer
            if not isinstance(error, ConnectionError):
                _failed(request, error, log)
            if request.transport is not None:
                # Without the stream's end whoever reads knows that something is missing.
                request.transport.abort()
    return response


async def _write(request: web.Request, response: web.StreamResponse, piece: bytes) -> None:
    if GOES_ON in request and not request[GOES_ON].look():
        raise ConnectionAbortedError
    await response.write(piece)


def _failed(request: web.Request, error: Exception, log: Log) -> str:
    message = f"{type(error).__name__}: {error}"
    log.error("request failed", method=request.method, path=request.path, error=message)
    return message
