"""The rate limit, in virtual time."""

import asyncio
from itertools import pairwise

import pytest

from remuda.kube.limits import RateLimit
from remuda.sim.clock import SimClock
from remuda.sim.loop import run


async def pass_times(count: int, qps: float, burst: int, pause: float = 0.0) -> list[tuple[float, int]]:
    """When each of many that come at once passes, in the order of passing."""
    loop = asyncio.get_running_loop()
    limit = RateLimit(SimClock(loop), qps, burst)
    passed: list[tuple[float, int]] = []

    async def one(number: int) -> None:
        await limit.wait()
        passed.append((loop.time(), number))

    for number in range(burst if pause else 0):
        await one(-number)
    await asyncio.sleep(pause)
    passed.clear()
    await asyncio.gather(*(one(number) for number in range(count)))
    return passed


def test_a_burst_passes_at_once_and_the_rest_at_the_rate_in_the_order_they_came() -> None:
    passed = run(pass_times(300, 50, 100))
    assert [number for _, number in passed] == list(range(300))
    assert [at for at, _ in passed[:100]] == pytest.approx([0.0] * 100)
    gaps = [later - sooner for (sooner, _), (later, _) in pairwise(passed[99:])]
    assert gaps == pytest.approx([0.02] * 200)


@pytest.mark.parametrize(
    ("pause", "at_once"),
    [pytest.param(0.1, 5, id="a short pause"), pytest.param(60.0, 10, id="a long pause")],
)
def test_a_pause_gives_back_what_it_would_have_let_pass_and_a_burst_at_most(
    pause: float, at_once: int
) -> None:
    passed = run(pass_times(30, 50, 10, pause))
    assert sum(at == pytest.approx(pause) for at, _ in passed) == at_once


def test_who_gives_up_costs_its_place_and_nobody_elses() -> None:
    async def world() -> float:
        loop = asyncio.get_running_loop()
        limit = RateLimit(SimClock(loop), 1, 1)
        await limit.wait()
        waiting = asyncio.create_task(limit.wait())
        last = asyncio.create_task(limit.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        await last
        return loop.time()

    assert run(world()) == pytest.approx(2.0)
