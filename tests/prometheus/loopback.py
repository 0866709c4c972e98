"""A server that speaks like Prometheus on this computer, and answers as each test says."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer

Reply = Callable[["Asked"], "web.StreamResponse | Awaitable[web.StreamResponse]"]


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    form: dict[str, str]
    headers: dict[str, str]
    request: web.Request


def matrix(*series: tuple[dict[str, str], list[list[object]]], **more: object) -> web.Response:
    """A good answer to a range query."""
    result = [{"metric": labels, "values": values} for labels, values in series]
    return answer({"resultType": "matrix", "result": result}, **more)


def vector(*points: tuple[dict[str, str], list[object]], **more: object) -> web.Response:
    """A good answer to an instant query."""
    result = [{"metric": labels, "value": value} for labels, value in points]
    return answer({"resultType": "vector", "result": result}, **more)


def answer(data: Any, **more: object) -> web.Response:
    """A good answer."""
    return web.json_response({"status": "success", "data": data, **more})


def refusal(status: int, kind: str, words: str, **headers: str) -> web.Response:
    """A refusal as Prometheus writes it."""
    body = {"status": "error", "errorType": kind, "error": words}
    return web.json_response(
        body, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def text(body: str | bytes, content_type: str = "application/json", status: int = 200) -> web.Response:
    """Any answer."""
    data = body.encode() if isinstance(body, str) else body
    return web.Response(body=data, content_type=content_type, status=status)


async def broken_off(asked: Asked, body: bytes) -> web.StreamResponse:
    """An answer that ends too early, with its connection."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body) + 1000
    await response.prepare(asked.request)
    await response.write(body)
    assert asked.request.transport is not None
    asked.request.transport.close()
    return response


@dataclass
class Loopback:
    """Replies in the order they are given; the last is given again and again."""

    replies: list[Reply] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._server = TestServer(app, host="127.0.0.1")
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        """With a path that the API is under."""
        return f"http://127.0.0.1:{self._server.port}/some/where"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        form = {key: str(value) for key, value in (await request.post()).items()}
        asked = Asked(request.path, form, dict(request.headers), request)
        self.asked.append(asked)
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            made = reply(asked)
            return made if isinstance(made, web.StreamResponse) else await made
        finally:
            self.at_once -= 1


def body_of(response: web.Response) -> bytes:
    """The bytes of an answer."""
    assert isinstance(response.body, bytes)
    return response.body


def dumps(value: object) -> bytes:
    """JSON as Python writes it, with spaces."""
    return json.dumps(value).encode()
