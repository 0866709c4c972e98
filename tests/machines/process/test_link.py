import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.machines.process.stand_in import JSON, reply

from remuda.machines.process.link import Link


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        yield listening


def answer_of(link: Link, connection: socket.socket, data: bytes) -> JSON | None:
    """What the link makes of an answer that arrives one byte at a time."""
    found = None
    for at in range(len(data)):
        if link.sock is None:
            break
        connection.sendall(data[at : at + 1])
        found = link.step()
    return found


def test_an_answer_in_many_pieces_is_one_answer_and_the_connection_is_kept(listener: socket.socket) -> None:
    link = Link(listener.getsockname())
    link.ask("/v1/x", {"a": 1})
    link.on_time(time.monotonic())
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(4096).endswith(b'Content-Length: 8\r\n\r\n{"a": 1}')
        assert answer_of(link, connection, reply({"do": "wait"})) == {"do": "wait"}
        link.ask("/v1/y", {})
        assert connection.recv(4096).startswith(b"POST /v1/y HTTP/1.1\r\n")
        assert answer_of(link, connection, reply({"do": "end"}, "404 Not Found")) == {"do": "end"}
    link._close()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n{}", id="no length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", id="nothing to do"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{x}", id="no JSON"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xff", id="no text"),
        pytest.param(b"\r\ncontent-length: 12\r\n\r\n" + b'{"do":"end"}', id="no status"),
        pytest.param(reply({"do": "end"}, "500 Oh"), id="an error of the server"),
    ],
)
def test_what_is_no_answer_is_asked_again_later(listener: socket.socket, data: bytes) -> None:
    link = Link(listener.getsockname())
    link.ask("/v1/x", {})
    link.on_time(time.monotonic())
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        assert answer_of(link, connection, data) is None
    assert link.sock is None
    assert link.unsent == link.request != b""
    assert 0 < link.due - time.monotonic() <= 0.05


def test_a_server_that_is_not_there_is_tried_again_ever_more_slowly(tmp_path: Path) -> None:
    link = Link(str(tmp_path / "missing"))
    link.ask("/v1/x", {})
    pauses = []
    for _ in range(12):
        link.on_time(link.due)
        pauses.append(link.due - time.monotonic())
    assert 0.02 <= pauses[0] <= 0.05
    assert all(0.9 <= pause <= 2.0 for pause in pauses[7:])


@pytest.mark.slow
def test_an_answer_that_is_overdue_is_asked_for_again(listener: socket.socket) -> None:
    link = Link(listener.getsockname())
    link.ask("/v1/x", {})
    link.on_time(time.monotonic())
    assert link.sock is not None
    link.on_time(link.due + 1)
    assert link.sock is None
    link.on_time(link.due)
    assert link.sock is not None
    link._close()
