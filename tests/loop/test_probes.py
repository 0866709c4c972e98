"""Probes and metrics over real HTTP, also when somebody is slow on purpose."""

import asyncio
import contextlib
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from tests.loop.test_health import Fake, SetClock
from tests.processes import eventually

from remuda.errors import BadInput
from remuda.loop.clock import SystemClock
from remuda.loop.health import TICK_LIMIT, Health, Pulse, liveness, readiness
from remuda.loop.loop import Phase
from remuda.loop.metrics import LoopMetrics
from remuda.loop.probes import MOST_CONNECTIONS, HealthServer, health_page, metrics_page

pytestmark = pytest.mark.slow


def get(port: int, path: str) -> tuple[int, str, str]:
    """Status, content type and body."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


@pytest.fixture(scope="module")
def server() -> Iterator[HealthServer]:
    registry = CollectorRegistry()
    LoopMetrics(registry).of("pools").errors.inc(2)
    loop = Fake(phase=Phase.RUNNING, cycles=7)

    def broken() -> tuple[int, str, bytes]:
        raise RuntimeError("no idea")

    served = HealthServer(
        "127.0.0.1",
        0,
        {
            "/ready": health_page(lambda: readiness([loop], {})),
            "/unready": health_page(lambda: Health(False, [], ["not yet"])),
            "/metrics": metrics_page(registry),
            "/broken": broken,
        },
    )
    yield served
    served.close()


def test_ready_answers_200_with_details_and_503_with_problems(server: HealthServer) -> None:
    status, kind, body = get(server.port, "/ready?verbose=1")
    assert (status, kind) == (200, "application/json")
    report = json.loads(body)
    assert report["ok"] is True
    assert report["loops"][0]["cycles"] == 7
    status, _, body = get(server.port, "/unready")
    assert status == 503
    assert json.loads(body)["problems"] == ["not yet"]


def test_metrics_are_what_prometheus_reads(server: HealthServer) -> None:
    status, kind, body = get(server.port, "/metrics")
    assert status == 200
    assert kind.startswith("text/plain; version=0.0.4")
    found = {family.name: family for family in text_string_to_metric_families(body)}
    assert found["remuda_loop_errors"].samples[0].value == 2
    assert {"remuda_loop_cycle_seconds", "remuda_loop_lag_seconds", "remuda_loop_plan_actions"} <= set(found)


def test_other_paths_are_not_found_and_say_what_there_is(server: HealthServer) -> None:
    status, _, body = get(server.port, "/helth")
    assert status == 404
    assert "/ready" in body


def test_a_page_that_fails_is_answered_all_the_same(server: HealthServer) -> None:
    assert get(server.port, "/broken")[0] == 500
    assert get(server.port, "/ready")[0] == 200


def test_many_probes_at_once_are_answered_while_one_does_not_speak(server: HealthServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert [get(server.port, "/ready")[0] for _ in range(20)] == [200] * 20


def test_a_port_that_is_taken_is_reported(server: HealthServer) -> None:
    with pytest.raises(
        BadInput, match=f"health port {server.port} cannot be used: .*; choose another one, or 0"
    ):
        HealthServer("127.0.0.1", server.port, {})


def test_after_close_the_port_is_free() -> None:
    first = HealthServer("127.0.0.1", 0, {})
    first.close()
    HealthServer("127.0.0.1", first.port, {}).close()


async def test_a_blocked_event_loop_is_noticed_from_another_thread() -> None:
    """The pulse's clock runs fast, so that nobody waits half a minute."""

    class Fast(SystemClock):
        def monotonic(self) -> float:
            return super().monotonic() * 1_000

    clock = Fast()
    pulse = Pulse(clock)
    task = asyncio.create_task(pulse.run())
    server = HealthServer("127.0.0.1", 0, {"/live": health_page(lambda: liveness([], pulse, clock))})
    try:
        await asyncio.sleep(0)
        began = time.monotonic()
        # Nothing else runs on this event loop until these calls are over.
        while (answer := get(server.port, "/live"))[0] == 200:
            assert time.monotonic() - began < 30
        assert answer[0] == 503
        assert "the process has been stuck for" in answer[2]
        assert time.monotonic() - began >= (TICK_LIMIT - 10) / 1_000
    finally:
        task.cancel()
        await asyncio.wait([task])
        server.close()


async def test_the_pulse_beats_while_the_event_loop_turns() -> None:
    clock = SetClock()
    pulse = Pulse(clock)
    clock.seconds += TICK_LIMIT + 1
    assert pulse.problems() == [f"the process has been stuck for {TICK_LIMIT + 1:.0f} s"]
    task = asyncio.create_task(pulse.run())
    await asyncio.sleep(0)
    assert pulse.problems() == []
    task.cancel()
    await asyncio.wait([task])


@contextlib.contextmanager
def serving(deadline_s: float = 60.0) -> Iterator[HealthServer]:
    pages = {
        "/live": lambda: (200, "text/plain", b"alive"),
        "/large": lambda: (200, "text/plain", b"x" * 50_000_000),
    }
    served = HealthServer("127.0.0.1", 0, pages, deadline_s)
    try:
        yield served
    finally:
        served.close()


def is_cut(peer: socket.socket) -> bool:
    """Whether the other side has closed a connection, waiting for it."""
    peer.settimeout(30)
    try:
        while peer.recv(1 << 20):
            pass
    except ConnectionError:
        pass
    return True


def test_hundreds_of_slow_connections_keep_no_probe_from_its_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with serving() as server, contextlib.ExitStack() as peers:
        slow = []
        for _ in range(300):
            slow.append(peers.enter_context(socket.create_connection(("127.0.0.1", server.port), 30)))
            slow[-1].sendall(b"GET /live HTTP/1.1\r\nX-Slow: ")
        for _ in range(20):
            assert get(server.port, "/live")[2] == "alive"
        assert len(server.connections) <= MOST_CONNECTIONS
        assert all(is_cut(peer) for peer in slow[: 300 - MOST_CONNECTIONS])
        # The newest ones are still heard.
        slow[-1].sendall(b"no\r\n\r\n")
        assert slow[-1].recv(100).startswith(b"HTTP/1.1 200 OK")
    assert capfd.readouterr() == ("", "")


def test_a_byte_now_and_then_does_not_move_the_deadline() -> None:
    with serving(deadline_s=0.3) as server, socket.create_connection(("127.0.0.1", server.port)) as slow:
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 30:
                slow.sendall(b"G")
                time.sleep(0.05)  # the peer is slow, and not the test
        eventually(lambda: not server.connections, "the end of the connection")


def test_a_peer_that_does_not_read_its_answer_is_cut() -> None:
    with serving(deadline_s=0.3) as server, socket.create_connection(("127.0.0.1", server.port)) as deaf:
        deaf.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        eventually(lambda: bool(deaf.recv(1, socket.MSG_PEEK)), "the beginning of an answer")
        eventually(lambda: not server.connections, "the end of the connection")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(b"GET /live HTTP/1.1\r\n\r\n", 200, id="in one piece"),
        pytest.param(b"HEAD /live HTTP/1.0\r\n\r\n", 200, id="only the head"),
        pytest.param(b"POST /live HTTP/1.1\r\n\r\n", 405, id="another method"),
        pytest.param(b"GET /nope HTTP/1.1\r\n\r\n", 404, id="another path"),
        pytest.param(b"\x16\x03\x01\xff\x00\r\n\r\n", 400, id="another protocol"),
        pytest.param(b"GET /live HTTP/2.0\r\n\r\n", 400, id="another version"),
        pytest.param(b"\r\n\r\n", 400, id="nothing at all"),
        pytest.param(b"GET /" + b"a" * 20_000, 431, id="too much"),
    ],
)
def test_one_request_is_answered_and_the_connection_closed(request_: bytes, status: int) -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", server.port)) as peer:
        peer.settimeout(30)
        peer.sendall(request_)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := peer.recv(1000):
                answer += piece
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert b"Connection: close\r\n" in answer
        assert answer.endswith(b"\r\n\r\n") == request_.startswith(b"HEAD")


def test_a_request_in_pieces_is_put_together() -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", server.port)) as peer:
        for piece in (b"GET /li", b"ve HTTP/1.1\r\nHost: x\r", b"\n\r\n"):
            peer.sendall(piece)
        peer.settimeout(30)
        assert peer.recv(1000).endswith(b"alive")


def test_an_address_of_the_newer_internet_is_listened_on() -> None:
    try:
        served = HealthServer("::1", 0, {})
    except BadInput:
        pytest.skip("this host has no ::1")
    served.close()
