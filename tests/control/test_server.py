"""The control API on a real Unix socket, and every way in which a request can be wrong."""

import asyncio
import contextlib
import io
import json
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import msgspec
import pytest
from msgspec import Meta, Struct

from remuda.control.routes import Call, Route
from remuda.control.server import SOCKET, ControlServer
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.sql import Database
from remuda.ledger.store import SqliteStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log


class Order(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1)]
    count: int = 1


class Loose(Struct, frozen=True):
    name: str = ""


class Taken(Struct, frozen=True):
    text: str


class Handlers:
    """What the routes of these tests do."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.waiting = asyncio.Event()
        self.closed = asyncio.Event()

    async def take(self, call: Call) -> Taken:
        return Taken(f"{call.names.get('machine', '')} {call.body}")

    async def fail(self, call: Call) -> None:
        match call.names["how"]:
            case "bad":
                raise BadInput("that is wrong")
            case "missing":
                raise NotFound("that is not here")
            case "away":
                raise Unavailable("not now")
            case "gone":
                raise ConnectionResetError("the machine hung up")
            case _:
                raise RuntimeError("a bug")

    async def wait(self, call: Call) -> None:
        self.waiting.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def stream(self, call: Call) -> AsyncIterator[bytes]:
        if call.names["how"] == "missing":
            raise NotFound("no such stream")
        return self._pieces(call.names["how"])

    async def _pieces(self, how: str) -> AsyncIterator[bytes]:
        try:
            yield b"one "
            if how == "breaks":
                raise RuntimeError("in the middle")
            if how == "endless":
                self.waiting.set()
                await asyncio.sleep(600)
            yield b"two"
        finally:
            self.closed.set()

    def routes(self) -> tuple[Route, ...]:
        return (
            Route("GET", "/v1/settings", "Names.", list[str], view=list_settings),
            Route("GET", "/v1/settings/{name}", "One.", int, view=count_settings, query={"at": "When."}),
            Route("POST", "/v1/orders", "Take.", Taken, handler=self.take, body=Order),
            Route("POST", "/v1/machines/{machine}/loose", "Take.", Taken, handler=self.take, body=Loose),
            Route("GET", "/v1/fail/{how}", "Fail.", None, handler=self.fail),
            Route("GET", "/v1/wait", "Wait.", None, handler=self.wait),
            Route("GET", "/v1/stream/{how}", "Stream.", None, handler=self.stream, streams=True),
        )


def list_settings(db: Database, call: Call) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM settings")]


def count_settings(db: Database, call: Call) -> int:
    found: int = db.execute("SELECT count(*) FROM settings WHERE name = ?", (call.names["name"],)).fetchone()[
        0
    ]
    if not found:
        raise NotFound(f"there is no setting {call.names['name']}")
    return call.instant("at", 0) + found


class Api:
    """A server and a client of it."""

    def __init__(self, home: Path) -> None:
        self.lines: list[dict[str, Any]] = []
        self.handlers = Handlers()
        self.store = SqliteStore(home / "remuda.db")
        log = Log(SystemClock(), lambda line: self.lines.append(msgspec.json.decode(line)))
        self.refused: list[Callable[[int], bool]] = []
        self.server = ControlServer(home / SOCKET, self.handlers.routes(), self.store, log, self.refused)

    async def ask(self, method: str, path: str, body: bytes | io.BytesIO | None = None) -> tuple[int, Any]:
        async with (
            self.client() as client,
            client.request(method, f"http://remuda{path}", data=body) as answer,
        ):
            return answer.status, await answer.json()

    def client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(self.server.socket)))


@pytest.fixture
async def api(short_path: Path) -> AsyncIterator[Api]:
    made = Api(short_path)
    await made.server.start()
    yield made
    await made.server.stop()
    made.store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system says who connected")
async def test_a_caller_that_is_refused_gets_nothing(api: Api) -> None:
    callers: list[int] = []

    def note(pid: int) -> bool:
        callers.append(pid)
        return False

    api.refused.append(note)
    path = api.handlers.routes()[0].path.replace("{name}", "x")
    allowed = await api.ask("GET", path)
    api.refused.append(lambda pid: pid == os.getpid())
    assert await api.ask("GET", path) == (
        403,
        {"error": "jobs may not use the control API of the Remuda that runs them"},
    )
    assert allowed[0] != 403
    assert set(callers) == {os.getpid()}


async def test_only_its_owner_may_open_the_socket(api: Api) -> None:
    mode = api.server.socket.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


async def test_making_the_socket_leaves_the_umask_alone(api: Api) -> None:
    mask = os.umask(0o022)
    os.umask(mask)
    assert mask != 0o177


async def test_views_are_answered_from_the_store(api: Api) -> None:
    await api.store.write(lambda db: db.execute("INSERT INTO settings VALUES ('a b/c', x'', 1)"))
    assert await api.ask("GET", "/v1/settings") == (200, ["a b/c"])
    assert await api.ask("GET", "/v1/settings/a%20b%2Fc?at=41") == (200, 42)


async def test_a_body_is_read_as_the_routes_type(api: Api) -> None:
    status, shown = await api.ask("POST", "/v1/orders", b'{"name": "x", "count": 3}')
    assert (status, shown) == (200, {"text": " Order(name='x', count=3)"})


async def test_no_body_is_an_empty_one(api: Api) -> None:
    assert await api.ask("POST", "/v1/machines/m%2D1/loose") == (200, {"text": "m-1 Loose(name='')"})


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(b"{", "the body is not JSON: ", id="cut short"),
        pytest.param(b"garbage", "the body is not JSON: ", id="no JSON"),
        pytest.param(b'{"name": "\xff"}', "the body is not JSON: ", id="no UTF-8"),
        pytest.param(b"[]", "not as it should be: Expected `object`, got `array`", id="a list"),
        pytest.param(b"", "missing required field `name`", id="nothing"),
        pytest.param(b'{"name": 7}', "Expected `str`, got `int` - at `$.name`", id="wrong type"),
        pytest.param(b'{"name": ""}', "length >= 1", id="out of range"),
        pytest.param(b'{"name": "x", "cuont": 1}', "unknown field `cuont`", id="unknown key"),
    ],
)
async def test_a_bad_body_is_refused_with_what_is_wrong_and_where(api: Api, body: bytes, shown: str) -> None:
    status, answer = await api.ask("POST", "/v1/orders", body)
    assert status == 400
    assert shown in answer["error"]
    assert api.lines == []


async def test_a_body_as_deep_as_a_well_is_refused(api: Api) -> None:
    body = b'{"deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    status, answer = await api.ask("POST", "/v1/machines/m/loose", body)
    assert (status, answer["error"][:20]) == (400, "the body is not JSON")


async def test_a_body_that_is_too_large_is_refused(api: Api) -> None:
    body = io.BytesIO(json.dumps({"name": "x" * 1_100_000}).encode())
    status, answer = await api.ask("POST", "/v1/orders", body)
    assert (status, answer) == (413, {"error": "the request is too large: it may have 1024 KiB"})


@pytest.mark.parametrize(
    ("path", "status", "shown"),
    [
        pytest.param("/v1/fail/bad", 400, "that is wrong", id="bad input"),
        pytest.param("/v1/fail/missing", 404, "that is not here", id="not found"),
        pytest.param("/v1/fail/away", 503, "not now", id="not now"),
        pytest.param("/v1/fail/bug", 500, "RuntimeError: a bug", id="a bug"),
        pytest.param("/v1/fail/gone", 500, "ConnectionResetError: the machine hung up", id="hung up"),
        pytest.param("/v1/settings/no", 404, "there is no setting no", id="not found in the store"),
        pytest.param("/v1/stream/missing", 404, "no such stream", id="no such stream"),
    ],
)
async def test_errors_of_a_handler_have_their_status_and_their_words(
    api: Api, path: str, status: int, shown: str
) -> None:
    assert await api.ask("GET", path) == (status, {"error": shown})
    assert bool(api.lines) is (status == 500)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param(
            "/v1/settings?limit=abc",
            "limit is no query parameter of GET /v1/settings: it takes none",
            id="none",
        ),
        pytest.param(
            "/v1/settings/a?at=1&ta=2",
            "ta is no query parameter of GET /v1/settings/{name}: the known ones are at",
            id="one beside a good one",
        ),
    ],
)
async def test_an_unknown_query_parameter_is_refused(api: Api, path: str, shown: str) -> None:
    status, answer = await api.ask("GET", path)
    assert (status, answer["error"]) == (400, shown)


async def test_a_bad_query_is_refused(api: Api) -> None:
    await api.store.write(lambda db: db.execute("INSERT INTO settings VALUES ('a', x'', 1)"))
    status, answer = await api.ask("GET", "/v1/settings/a?at=yesterday")
    assert (status, answer["error"]) == (400, "at wants milliseconds since 1970, found 'yesterday'")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/nothing"),
        ("DELETE", "/v1/settings"),
        ("GET", "/v1/orders"),
        ("GET", "/v1/fail/"),
    ],
)
async def test_what_does_not_exist_is_reported_with_where_to_look(api: Api, method: str, path: str) -> None:
    assert await api.ask(method, path) == (
        404,
        {"error": f"there is no {method} {path}; /openapi.json lists what there is"},
    )


async def test_the_document_is_served(api: Api) -> None:
    status, shown = await api.ask("GET", "/openapi.json")
    assert status == 200
    assert shown["openapi"].startswith("3.1")
    assert "/v1/orders" in shown["paths"]


# Streams.


async def test_a_stream_comes_whole(api: Api) -> None:
    async with api.client() as client, client.get("http://remuda/v1/stream/whole") as answer:
        assert await answer.read() == b"one two"


async def test_a_stream_that_breaks_is_seen_to_be_broken(api: Api) -> None:
    async with api.client() as client, client.get("http://remuda/v1/stream/breaks") as answer:
        with pytest.raises(aiohttp.ClientError):
            await answer.read()
    assert api.lines[0]["error"] == "RuntimeError: in the middle"
    assert (await api.ask("GET", "/v1/settings"))[0] == 200


async def test_a_stream_nobody_reads_any_more_is_closed(api: Api) -> None:
    async with api.client() as client, client.get("http://remuda/v1/stream/endless"):
        await api.handlers.waiting.wait()
    async with asyncio.timeout(30):
        await api.handlers.closed.wait()


# Coming and going.


async def test_a_handler_is_cancelled_when_its_caller_hangs_up(api: Api) -> None:
    async with api.client() as client:
        call = asyncio.ensure_future(client.get("http://remuda/v1/wait"))
        await api.handlers.waiting.wait()
        call.cancel()
        await asyncio.wait([call])
    async with asyncio.timeout(30):
        await api.handlers.cancelled.wait()


async def test_garbage_on_the_socket_harms_nobody(api: Api) -> None:
    reader, writer = await asyncio.open_unix_connection(str(api.server.socket))
    writer.write(b"\x00\xffnot http\r\n\r\n")
    await writer.drain()
    assert b"400" in await reader.readline()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    assert (await api.ask("GET", "/v1/settings"))[0] == 200


@pytest.mark.slow
async def test_a_stop_cuts_long_polls_and_takes_the_socket_away(api: Api) -> None:
    async with api.client() as client:
        call = asyncio.ensure_future(client.get("http://remuda/v1/wait"))
        await api.handlers.waiting.wait()
        async with asyncio.timeout(30):
            await api.server.stop()
        with pytest.raises(aiohttp.ClientError):
            await call
    assert not api.server.socket.exists()


async def test_a_socket_that_a_dead_process_left_behind_is_replaced(short_path: Path) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(short_path / SOCKET))
    stale.close()
    api = Api(short_path)
    await api.server.start()
    assert (await api.ask("GET", "/v1/settings"))[0] == 200
    await api.server.stop()
    api.store.close()


async def test_a_path_too_long_for_a_socket_is_reported_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 120)
    home.mkdir()
    api = Api(home)
    with pytest.raises(
        BadInput, match=r"too long for a Unix socket: .*; it may have 100 bytes, choose a shorter"
    ):
        await api.server.start()
    api.store.close()


async def test_a_directory_in_the_sockets_place_is_reported(short_path: Path) -> None:
    (short_path / SOCKET).mkdir()
    api = Api(short_path)
    with pytest.raises(BadInput, match=r"control\.sock cannot be made"):
        await api.server.start()
    api.store.close()
