"""The simulated clock: it follows the virtual loop, and its wall can jump."""

import asyncio

from remuda.loop.clock import Clock
from remuda.model.times import HOUR, Instant, write_instant
from remuda.sim.clock import MONDAY, SimClock
from remuda.sim.loop import run


def read(clock: Clock) -> tuple[Instant, float]:
    return clock.now(), clock.monotonic()


def test_the_wall_moves_with_the_loop() -> None:
    async def main() -> list[tuple[Instant, float]]:
        clock = SimClock(asyncio.get_running_loop(), epoch=1_000_000)
        before = read(clock)
        await asyncio.sleep(1.5)
        return [before, read(clock)]

    assert run(main()) == [(1_000_000, 0.0), (1_001_500, 1.5)]


def test_many_small_steps_add_up_to_whole_milliseconds() -> None:
    async def main() -> Instant:
        clock = SimClock(asyncio.get_running_loop(), epoch=0)
        for _ in range(8):
            await asyncio.sleep(0.1)
        assert clock.monotonic() < 0.8
        return clock.now()

    assert run(main()) == 800


def test_a_jump_moves_the_wall_only() -> None:
    async def main() -> list[tuple[Instant, float]]:
        clock = SimClock(asyncio.get_running_loop(), epoch=0)
        await asyncio.sleep(1)
        clock.jump(HOUR)
        ahead = read(clock)
        clock.jump(-2 * HOUR)
        return [ahead, read(clock)]

    assert run(main()) == [(1_000 + HOUR, 1.0), (1_000 - HOUR, 1.0)]


def test_it_begins_on_a_monday() -> None:
    assert write_instant(MONDAY) == "2026-01-05T00:00:00Z"
