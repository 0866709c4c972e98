"""The token of CircleCI's API: from a pool's Secret, or from the environment."""

import asyncio
import random
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from tests.builders import settings
from tests.kube.conftest import PLAIN
from tests.sources.circleci.loopback import TOKEN, Circle

from remuda.backends.circleci_kubevirt import CircleciOnKubevirt
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.ledger.store import InlineStore
from remuda.loop.clock import SystemClock
from remuda.loop.logs import Log
from remuda.model.needs import Need
from remuda.runtime import ClusterAccess, MakeLoop, Services
from remuda.sim.scenario import pool_setup


def no_loop(*_: Any) -> Any:
    raise AssertionError("a backend makes no loop")


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
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str, needs: dict[str, Need], trouble: str | None
) -> None:
    monkeypatch.setenv("CIRCLE_TOKEN", token)
    clock, rng = SystemClock(), random.Random(1)
    async with Circle() as circle, Client(Access("http://127.0.0.1:9", PLAIN), clock, rng) as nobody:
        tasks = circle.tasks("class-a")
        tasks.unclaimed, tasks.running = 3, 1
        services = Services(
            clock=clock,
            rng=rng,
            log=Log(clock, lambda _: None),
            store=InlineStore(),
            data_dir=tmp_path,
            socket=tmp_path / "control.sock",
            registry=CollectorRegistry(),
            make_loop=cast("MakeLoop", no_loop),
            wake=lambda: None,
            status_changed=lambda: None,
            cluster=ClusterAccess(nobody, nobody, "ci"),
        )
        runners = CircleciOnKubevirt(services)
        setup = replace(
            pool_setup(settings("a"), max_uses=1), source="circleci", source_settings={"url": circle.url}
        )
        runners.serve([setup])
        polling = asyncio.create_task(runners.tasks.run())
        await runners.tasks.read()
        await runners.tasks.refresh()
        reading = await runners.tasks.read()
        text = " ".join(runners.tasks.trouble().values())
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    assert {name: replace(need, unsure_since=None) for name, need in reading.needs.items()} == needs
    assert (trouble or "") in text
    assert bool(trouble) == bool(text)
    assert bool(runners.problems()) == (not token)
    assert "wrong" not in text
