"""Readiness and liveness."""

from typing import Any

import pytest

from remuda.loop.health import Pulse, liveness, readiness
from remuda.loop.loop import Phase, Standing


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
