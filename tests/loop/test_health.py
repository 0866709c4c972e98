"""Readiness, liveness and metrics, over real HTTP."""

import asyncio
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from remuda.errors import BadInput
from remuda.loop.clock import SystemClock
from remuda.loop.health import (
    TICK_LIMIT,
    Health,
    HealthServer,
    Pulse,
    health_page,
    liveness,
    metrics_page,
    readiness,
)
from remuda.loop.loop import Phase, Standing
from remuda.loop.metrics import LoopMetrics


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def now(self) -> int:
        return int(self.seconds * 1_000)

    def monotonic(self) -> float:
        return self.seconds


class Fake:
    """A loop, as far as health is concerned."""

    def __init__(self, name: str = "pools", **standing: Any) -> None:
        self.name = name
        self.standing = Standing(**standing)
        self.stuck_after = 60.0


def get(port: int, path: str) -> tuple[int, str, str]:
    """Status, content type and body."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


@pytest.mark.parametrize(
    ("standing", "problem"),
    [
        pytest.param({"phase": Phase.RUNNING}, None, id="running is ready"),
        pytest.param({"phase": Phase.PAUSED}, None, id="paused on purpose is ready"),
        pytest.param({}, "loop pools has not finished its first cycle", id="starting"),
        pytest.param(
            {"phase": Phase.FAILING, "errors_in_a_row": 3, "last_error": "no answer"},
            "loop pools failed 3 times in a row: no answer",
            id="failing",
        ),
        pytest.param(
            {"phase": Phase.BROKEN, "last_error": "a bug"},
            "loop pools is broken and stays stopped: a bug",
            id="broken",
        ),
        pytest.param({"phase": Phase.STOPPED}, "loop pools is stopped", id="stopped"),
    ],
)
def test_ready_is_when_every_loop_is(standing: dict[str, Any], problem: str | None) -> None:
    health = readiness([Fake(**standing), Fake("other", phase=Phase.RUNNING)], {"pools": 2})
    assert health.ok is (problem is None)
    assert health.problems == ([problem] if problem else [])
    assert [loop.name for loop in health.loops] == ["pools", "other"]
    assert health.details == {"pools": 2}


def test_a_cycle_that_takes_too_long_is_stuck() -> None:
    clock = SetClock()
    pulse, loop = Pulse(clock), Fake(phase=Phase.RUNNING, in_cycle_since=clock.seconds)
    clock.seconds += 20
    assert liveness([loop], pulse, clock).ok
    clock.seconds += 50
    pulse.last = clock.seconds
    assert liveness([loop], pulse, clock).problems == ["loop pools has been in one cycle for 70 s"]
    loop.standing.in_cycle_since = None
    assert liveness([loop], pulse, clock).ok


def test_failing_loops_are_alive() -> None:
    """A restart would not help them."""
    clock = SetClock()
    assert liveness([Fake(phase=Phase.FAILING), Fake(phase=Phase.BROKEN)], Pulse(clock), clock).ok


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
    told = json.loads(body)
    assert told["ok"] is True
    assert told["loops"][0]["cycles"] == 7
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


def test_a_port_that_is_taken_is_told(server: HealthServer) -> None:
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
