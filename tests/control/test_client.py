"""The client: a running Remuda is asked, else the store is read, and whatever goes wrong has its words."""

import asyncio
import contextlib
import http.server
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from remuda.control.client import Remuda, path_of
from remuda.control.routes import Call, Route
from remuda.control.server import SOCKET, ControlServer
from remuda.errors import BadInput, NotFound, Unavailable
from remuda.ledger.sql import Database
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log


class Named(Struct, frozen=True):
    name: str
    at: int = 0


def view(db: Database, call: Call) -> Named:
    if call.names["name"] == "missing":
        raise NotFound("there is no missing")
    return Named(call.names["name"], call.instant("at", 0))


async def take(call: Call) -> Named:
    return Named(f"taken {call.body.name}")


async def stream(call: Call) -> AsyncIterator[bytes]:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(3):
            yield str(number).encode() * 100_000

    return pieces()


VIEWS = (Route("GET", "/v1/names/{name}", "", Named, view=view, query={"at": "When."}),)
ROUTES = (
    *VIEWS,
    Route("POST", "/v1/names", "", Named, handler=take, body=Named),
    Route("GET", "/v1/stream", "", None, handler=stream, streams=True),
    Route("GET", "/v1/loops", "", Named, handler=take),
)


def remuda(home: Path, server: str | None = None) -> Remuda:
    return Remuda(home, server, lambda: VIEWS)


@pytest.fixture
async def running(short_path: Path) -> AsyncIterator[Path]:
    """The data directory of a running Remuda."""
    store = SqliteStore(short_path / FILE)
    server = ControlServer(short_path / SOCKET, ROUTES, store, Log(SystemClock(), lambda _: None))
    await server.start()
    yield short_path
    await server.stop()
    store.close()


@pytest.fixture
def stopped(short_path: Path) -> Path:
    """The data directory of a Remuda that ran."""
    SqliteStore(short_path / FILE).close()
    return short_path


# One that runs.


async def test_a_running_remuda_is_asked(running: Path) -> None:
    client = remuda(running)
    assert await asyncio.to_thread(client.get, "/v1/names/x", Named, at=7, no=None) == Named("x", 7)
    assert await asyncio.to_thread(client.post, "/v1/names", {"name": "y"}, Named) == Named("taken y")
    pieces = await asyncio.to_thread(lambda: b"".join(client.stream("/v1/stream")))
    assert pieces == b"0" * 100_000 + b"1" * 100_000 + b"2" * 100_000


async def test_names_arrive_whatever_they_hold(running: Path) -> None:
    name = "a b/ü%?#"
    assert (await asyncio.to_thread(remuda(running).get, path_of("v1", "names", name), Named)).name == name


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        pytest.param(lambda r: r.get("/v1/names/missing", Named), NotFound, "no missing", id="404"),
        pytest.param(lambda r: r.get("/v1/nothing", Named), NotFound, "there is no GET", id="no route"),
        pytest.param(lambda r: r.post("/v1/names", {}, Named), BadInput, "missing required", id="400"),
        pytest.param(lambda r: r.get("/v1/loops", Named), Unavailable, "AttributeError", id="500"),
        pytest.param(
            lambda r: r.post("/v1/names", {"name": "x" * 20_000_000}, Named), BadInput, "1024 KiB", id="413"
        ),
        pytest.param(lambda r: list(r.stream("/v1/no")), NotFound, "there is no GET", id="no stream"),
        pytest.param(lambda r: r.get("/v1/names/x", int), Unavailable, "of this version", id="other version"),
        pytest.param(
            lambda r: r.post("/v1/names", {"name": "\udcff"}, Named), BadInput, "is not UTF-8", id="no UTF-8"
        ),
    ],
)
async def test_refusals_become_errors_with_the_servers_words(
    running: Path, ask: Callable[[Remuda], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await asyncio.to_thread(ask, remuda(running))


async def test_server_may_be_given_as_a_unix_address(running: Path, tmp_path: Path) -> None:
    for address in (f"unix:{running / SOCKET}", f"unix://{running / SOCKET}"):
        assert await asyncio.to_thread(remuda(tmp_path, address).get, "/v1/names/x", Named) == Named("x")


# None that runs.


@pytest.mark.parametrize("leftover", [False, True], ids=["no socket", "a stale socket"])
def test_when_nothing_runs_views_are_read_from_the_store(stopped: Path, leftover: bool) -> None:
    if leftover:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(stopped / SOCKET))
    said: list[str] = []
    client = Remuda(stopped, None, lambda: VIEWS, said.append)
    assert client.get("/v1/names/a%20b", Named, at=7) == Named("a b", 7)
    with pytest.raises(NotFound, match="there is no missing"):
        client.get("/v1/names/missing", Named)
    with pytest.raises(BadInput, match="at wants milliseconds"):
        client.get("/v1/names/a", Named, at="x")
    # A process that was stopped takes its socket along; of one that died it is said, once.
    assert [f"remuda in {stopped} no longer answers" in each for each in said] == [True] * leftover


async def test_of_a_remuda_that_dies_between_two_answers_it_is_said(short_path: Path) -> None:
    store = SqliteStore(short_path / FILE)
    server = ControlServer(short_path / SOCKET, ROUTES, store, Log(SystemClock(), lambda _: None))
    await server.start()
    said: list[str] = []
    client = Remuda(short_path, None, lambda: VIEWS, said.append)
    assert await asyncio.to_thread(client.get, "/v1/names/x", Named) == Named("x")
    assert said == []
    await server.stop()
    store.close()
    for _ in range(2):
        assert client.get("/v1/names/x", Named) == Named("x")
    assert len(said) == 1


def test_a_relative_data_directory_is_read_as_well(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stopped.parent)
    assert remuda(Path(stopped.name)).get("/v1/names/a", Named) == Named("a")


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda r: r.post("/v1/names", {}, Named), id="changes"),
        pytest.param(lambda r: list(r.stream("/v1/stream")), id="streams"),
        pytest.param(lambda r: r.get("/v1/loops", Named), id="what only a process knows"),
    ],
)
def test_when_nothing_runs_the_rest_says_how_to_start_one(
    stopped: Path, ask: Callable[[Remuda], object]
) -> None:
    with pytest.raises(Unavailable, match=f"no remuda runs with {stopped}: start one with `remuda up FILE…`"):
        ask(remuda(stopped))
    assert not remuda(stopped).is_running()


def test_where_nothing_ever_ran_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing has run with this data directory yet"):
        remuda(tmp_path).get("/v1/names/a", Named)


def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"garbage" * 1_000)
    with pytest.raises(BadInput, match="is damaged"):
        remuda(tmp_path).get("/v1/names/a", Named)


# --server.


@pytest.mark.parametrize(
    "address",
    [
        "here",
        "ftp://x",
        "http://",
        "http://x:port",
        "http://[::1",
        "http://x:99999",
        "http://x/y",
        "http://x?y",
        "",
    ],
)
def test_an_address_that_is_none_is_reported_with_what_would_be_one(stopped: Path, address: str) -> None:
    with pytest.raises(BadInput, match=r"is no address: write unix:PATH or http://HOST:PORT"):
        remuda(stopped, address or " ").get("/v1/names/a", Named)


def test_a_server_that_does_not_run_is_reported_and_the_store_is_not_read_instead(stopped: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for address in (f"http://127.0.0.1:{port}", f"unix:{stopped / 'no.sock'}"):
        with pytest.raises(Unavailable, match=f"nobody answers at {address}: start Remuda there"):
            remuda(stopped, address).get("/v1/names/a", Named)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_is_no_remuda_is_reported(tmp_path: Path) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(Unavailable, match="is it a remuda of this version that answers"):
            remuda(tmp_path, f"http://127.0.0.1:{server.server_port}").get("/v1/names/a", Named)


@pytest.mark.parametrize(
    "address",
    [
        "http://user:word@127.0.0.1:1",
        "http://127.0.0.1:1/behind/a/proxy",
        "http://127.0.0.1:1?x",
        "http://127.0.0.1:1#x",
    ],
)
def test_an_address_with_more_than_host_and_port_is_refused_instead_of_asking_somebody_else(
    stopped: Path, address: str
) -> None:
    with pytest.raises(BadInput, match=r"write .*http://HOST:PORT") as refused:
        remuda(stopped, address).get("/v1/names/a", Named)
    assert "word" not in str(refused.value)


@pytest.mark.parametrize("token", ["two\nlines", "dollar€", "esc\x1b"])
def test_a_token_that_cannot_be_one_is_refused_and_not_shown(stopped: Path, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(BadInput, match="the token in REMUDA_TOKEN holds what no token does") as refused:
            Remuda(stopped, address, lambda: VIEWS, token=token).get("/v1/names/a", Named)
    assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            b"302 Found\r\nLocation: https://else\x1b[31m/\r\nContent-Length: 0\r\n\r\n",
            r"sends elsewhere, to https://else.\[31m/",
        ),
        (b"200 OK\r\nContent-Length: 2000\r\n\r\n" + b"[" * 2000, "does not end"),
        (b"500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"[" * 2000 + b"\r\n", "does not end"),
        (b"500 Oh\r\nContent-Length: 900\r\n\r\n" + b"[" * 900, "remuda answered 500"),
    ],
)
def test_a_server_that_lies_is_reported(stopped: Path, answer: bytes, message: str) -> None:
    with cutting(stopped, b"HTTP/1.1 " + answer), pytest.raises(Unavailable, match=message):
        Remuda(stopped, None, lambda: VIEWS, most_bytes=1_000).get("/v1/names/a", Named)


@pytest.mark.parametrize(
    "begins",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Drip: ", id="headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", id="announced"),
        pytest.param(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", id="until it hangs up"),
    ],
)
def test_an_answer_that_drips_is_not_waited_for_forever(stopped: Path, begins: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                connection.sendall(begins)
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"remuda did not answer within 0\.5 s"):
            Remuda(stopped, address, lambda: VIEWS, timeout_s=0.5).get("/v1/names/a", Named)
        assert time.monotonic() - began < 30


def test_what_a_server_says_instead_of_http_cannot_move_the_cursor(stopped: Path) -> None:
    with cutting(stopped, b"\x1b]0;title\x07\r\n\r\n"), pytest.raises(Unavailable) as lost:
        remuda(stopped).get("/v1/names/a", Named)
    assert str(lost.value).isprintable()


# A connection that is cut.


@contextlib.contextmanager
def cutting(home: Path, answer: bytes) -> Iterator[None]:
    """A server that says so much and hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / SOCKET))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(30)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="before the answer"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="in the head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", id="in the body"),
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
    ],
)
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda r: r.get("/v1/names/a", Named), id="get"),
        pytest.param(lambda r: r.post("/v1/names", {}, Named), id="post"),
    ],
)
def test_a_connection_cut_in_the_middle_is_reported(
    stopped: Path, ask: Callable[[Remuda], object], answer: bytes
) -> None:
    with cutting(stopped, answer), pytest.raises(Unavailable):
        ask(remuda(stopped))


def test_a_stream_that_is_cut_is_reported_after_what_came(stopped: Path) -> None:
    pieces: list[bytes] = []
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    with cutting(stopped, answer), pytest.raises(Unavailable, match="connection to remuda was lost"):
        pieces.extend(remuda(stopped).stream("/v1/stream"))
    assert pieces == [b"hello"]
