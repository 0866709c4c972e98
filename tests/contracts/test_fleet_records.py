"""What a fleet's shard records is shown and explained alike from every store."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from tests.contracts.stores import KINDS, Stored, opened
from tests.fleet.builders import need
from tests.fleet.counting import check
from tests.fleet.test_shard import Clock, Clusters, Provider

from remuda.control.routes import Call
from remuda.errors import NotFound
from remuda.fleet import states
from remuda.fleet.answers import Chosen
from remuda.fleet.history.recorder import FleetLedger
from remuda.fleet.history.replay import cycle_at
from remuda.fleet.policy import Policy
from remuda.fleet.routes import fleet_view, need_view
from remuda.fleet.shard import Shard
from remuda.jobs import JOBS
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.times import SECOND

JOBS.teach()


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    with opened(request.param, tmp_path, request) as made:
        yield made


async def test_each_recorded_cycle_is_counted_and_explained(store: Stored) -> None:
    clock, policy = Clock(), Policy()
    provider = Provider(clock)
    shard = Shard([provider], Clusters(need("web", 1), need("db", 3)), clock, lambda: policy, 1)
    ledger = FleetLedger(store, shard.journal, shard.fleet.names)
    tools = Tools(
        clock, random.Random(1), Log(clock, lambda _: None, "error"), LoopMetrics(CollectorRegistry())
    )
    loop = Loop(shard, ledger, policy, tools)
    for number in range(4):
        provider.machines[f"late{number}"] = states.FAILED if number % 2 else states.SPECULATIVE
        await loop.cycle(None)
        clock.at += 10 * SECOND
        shown = store.read(lambda db: fleet_view(db, Call({}, {})))
        recorded = store.read(lambda db: cycle_at(db, clock.at))
        assert recorded is not None
        check(shown, recorded.fleet, recorded.demand, recorded.plan, Chosen())
    answer = store.read(lambda db: need_view(db, Call({"need": "c/db"}, {})))
    assert answer.headline.startswith("c/db ")
    with pytest.raises(NotFound, match=r"nothing by then is recorded"):
        store.read(lambda db: fleet_view(db, Call({}, {"at": "5"})))
