"""What operators set by hand, through the control API's handlers."""

import asyncio

from prometheus_client import CollectorRegistry
from tests.builders import policy, settings
from tests.loop.toy import virtually

from remuda.control.routes import Call
from remuda.ledger.store import InlineStore
from remuda.pools.controller import PoolsController
from remuda.pools.decide.model import Override
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import Setup
from remuda.pools.routes import PoolRoutes, Rollout, Scale
from remuda.sim.clock import SimClock
from remuda.sim.scenario import pool_setup

SETUP = Setup(policy(settings("a")), {"a": pool_setup(settings("a"), max_uses=None)})


def call(body: object = None) -> Call:
    return Call({"pool": "a"}, {}, body)


@virtually
async def test_resuming_ends_a_pause_a_drain_and_an_ordered_rollout_and_leaves_bounds_alone() -> None:
    clock, store = SimClock(asyncio.get_running_loop()), InlineStore()
    job = PoolsController({}, {}, dict, clock, PoolMeters(CollectorRegistry()))
    job.setups = SETUP.pools
    routes = PoolRoutes(job, {}, store, clock, lambda: None)
    await routes.scale(call(Scale(max=3)))
    await routes.pause(call())
    await routes.drain(call())
    ordered = await routes.rollout(call(Rollout(immediate=True)))
    assert ordered == Override(
        max=3, paused=True, draining=True, finish_rollout="t", finish_rollout_at=clock.now()
    )
    assert store.read(overrides) == {"a": ordered}
    assert await routes.resume(call()) == Override(max=3)
    assert store.read(overrides) == {"a": Override(max=3)}
    store.close()
