"""A sign of life is asked for with less patience than all else."""

import asyncio
import random
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from tests.prometheus.loopback import Asked, Loopback, refusal, vector

from remuda.loop.clock import SystemClock
from remuda.prometheus.access import Access
from remuda.prometheus.client import Limits, Prometheus
from remuda.prometheus.errors import PrometheusError
from remuda.prometheus.probe import check_up, count_series


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with Loopback([lambda _: vector(({}, [1, "1"]))]) as loopback:
        yield loopback


def client_of(server: Loopback, **limits: float) -> Prometheus:
    made = Limits(first_wait_s=0.001, **limits)  # type: ignore[arg-type]
    return Prometheus(Access(server.url), SystemClock(), random.Random(1), limits=made)


async def test_a_sign_of_life_is_to_come_soon_and_other_answers_when_they_can(server: Loopback) -> None:
    async with client_of(server) as prometheus:
        await check_up(prometheus)
        await count_series(prometheus, "up", at=0)
    assert [asked.form["timeout"] for asked in server.asked] == ["10s", "60s"]


async def test_a_sign_of_life_is_never_waited_for_longer_than_anything_else(server: Loopback) -> None:
    async with client_of(server, timeout_s=3) as prometheus:
        await check_up(prometheus)
    assert server.asked[0].form["timeout"] == "3s"


async def test_a_sign_of_life_is_asked_for_twice(server: Loopback) -> None:
    server.replies = [lambda _: refusal(503, "unavailable", "starting")]
    async with client_of(server) as prometheus:
        with pytest.raises(PrometheusError, match="503"):
            await check_up(prometheus)
        assert len(server.asked) == 2
        with pytest.raises(PrometheusError, match="503"):
            await count_series(prometheus, "up", at=0)
        assert len(server.asked) == 2 + 4


@pytest.mark.slow
async def test_a_question_with_a_time_of_its_own_is_given_up_then(server: Loopback) -> None:
    released = asyncio.Event()

    async def hang(_: Asked) -> web.StreamResponse:
        await released.wait()
        return web.Response()

    server.replies = [hang]
    async with client_of(server, timeout_s=600) as prometheus:
        with pytest.raises(PrometheusError, match=r"no answer within 0\.2 s") as raised:
            await prometheus.instant("up", what="a test", within_s=0.2, tries=1)
    released.set()
    assert raised.value.kind == "timeout"
