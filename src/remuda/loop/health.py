"""
Readiness and liveness of a process and its loops; `probes` answers with them over HTTP.

`/live` is answered by a thread of its own, so that it can still say that everything else is stuck. `/ready` and
`/metrics` share the other port.
"""

import asyncio
from typing import Any, Protocol

from msgspec import Struct

from remuda.loop.clock import Clock
from remuda.loop.loop import Phase, Standing

#: an event loop that did not tick for so long is stuck
TICK_LIMIT = 30.0


class Watched(Protocol):
    """A loop, as far as health is concerned."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def standing(self) -> Standing:
        """How it fares."""
        ...

    @property
    def stuck_after(self) -> float:
        """Seconds after which a cycle is stuck."""
        ...


class LoopHealth(Struct, frozen=True):
    """One loop in the details of `/ready`."""

    name: str
    phase: str
    cycles: int
    errors_in_a_row: int = 0
    error: str | None = None
    last_success_at: int | None = None


class Health(Struct, frozen=True):
    """The answer of `/ready` and `/live`."""

    ok: bool
    loops: list[LoopHealth]
    problems: list[str]
    details: dict[str, Any] = {}


class Pulse:
    """Notices an event loop that no longer turns."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last = clock.monotonic()

    async def run(self) -> None:
        """Tick once a second until cancelled."""
        while True:
            self.last = self._clock.monotonic()
            await asyncio.sleep(1)

    def problems(self) -> list[str]:
        """What is wrong with the event loop, if anything."""
        age = self._clock.monotonic() - self.last
        return [f"the process has been stuck for {age:.0f} s"] if age > TICK_LIMIT else []


def readiness(loops: list[Watched], details: dict[str, Any]) -> Health:
    """Ready when every loop that is not paused has succeeded and none fails."""
    problems = [_unready(loop) for loop in loops]
    return Health(not any(problems), _health_of(loops), [problem for problem in problems if problem], details)


def liveness(loops: list[Watched], pulse: Pulse, clock: Clock) -> Health:
    """Alive unless the process or a cycle is stuck."""
    problems = pulse.problems()
    for loop in loops:
        since = loop.standing.in_cycle_since
        if since is not None and clock.monotonic() - since > loop.stuck_after:
            problems.append(f"loop {loop.name} has been in one cycle for {clock.monotonic() - since:.0f} s")
    return Health(not problems, _health_of(loops), problems)


def _unready(loop: Watched) -> str | None:
    standing = loop.standing
    match standing.phase:
        case Phase.RUNNING | Phase.PAUSED | Phase.STANDBY:
            return None
        case Phase.STARTING:
            return f"loop {loop.name} has not finished its first cycle"
        case Phase.FAILING:
            return f"loop {loop.name} failed {standing.errors_in_a_row} times in a row: {standing.last_error}"
        case Phase.BROKEN:
            return f"loop {loop.name} is broken and stays stopped: {standing.last_error}"
        case _:
            return f"loop {loop.name} is stopped"


def _health_of(loops: list[Watched]) -> list[LoopHealth]:
    return [
        LoopHealth(
            name=loop.name,
            phase=loop.standing.phase,
            cycles=loop.standing.cycles,
            errors_in_a_row=loop.standing.errors_in_a_row,
            error=loop.standing.last_error,
            last_success_at=loop.standing.last_success_at,
        )
        for loop in loops
    ]
