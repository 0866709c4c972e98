"""The token of CircleCI's API: from a pool's Secret, or from the environment."""

import asyncio
import random

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from tests.builders import settings
from tests.kube.conftest import PLAIN
from tests.sources.circleci.loopback import TOKEN, Circle

from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.needs import Need
from remuda.runners import Runners
from remuda.sim.scenario import pool_setup


@pytest.mark.parametrize(
    ("token", "needs", "trouble"),
    [
        pytest.param(TOKEN, {"class-a": Need(3, 1)}, None, id="the right one"),
        pytest.param(f" {TOKEN}\n", {"class-a": Need(3, 1)}, None, id="with the line end of a file"),
        pytest.param("wrong", {}, "401", id="a wrong one"),
        pytest.param("", {}, "there is no CircleCI token: name a Secret", id="none"),
    ],
)
async def test_a_pool_that_names_no_secret_is_asked_about_with_the_environments_token(
    monkeypatch: pytest.MonkeyPatch, token: str, needs: dict[str, Need], trouble: str | None
) -> None:
    monkeypatch.setenv("CIRCLE_TOKEN", token)
    clock, rng = SystemClock(), random.Random(1)
    async with Circle() as circle, Client(Access("http://127.0.0.1:9", PLAIN), clock, rng) as nobody:
        tasks = circle.tasks("class-a")
        tasks.unclaimed, tasks.running = 3, 1
        runners = Runners(
            nobody, nobody, "ci", clock, rng, Log(clock, lambda _: None), lambda: None, lambda: None, CollectorRegistry()
        )  # fmt: skip
        setup = replace(
            pool_setup(settings("a"), max_uses=1), source="circleci", source_settings={"url": circle.url}
        )
        runners.serve([setup])
        polling = asyncio.create_task(runners.tasks.run())
        await runners.tasks.read()
        await runners.tasks.refresh()
        reading = await runners.tasks.read()
        told = " ".join(runners.tasks.trouble().values())
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    assert {name: replace(need, unsure_since=None) for name, need in reading.needs.items()} == needs
    assert (trouble or "") in told
    assert bool(trouble) == bool(told)
    assert bool(runners.problems()) == (not token)
    assert "wrong" not in told
