"""Pausing loops through the control API, durably."""

import asyncio

import pytest
from tests.loop.toy import Rig, virtually

from remuda.control.loops import LoopChanged, LoopRoutes, paused_loops
from remuda.control.routes import Call
from remuda.errors import NotFound
from remuda.ledger.store import InlineStore
from remuda.loop.health import readiness


@virtually
async def test_a_pause_holds_over_a_restart_until_it_is_resumed() -> None:
    store, rig = InlineStore(), Rig()
    routes = LoopRoutes([rig.loop], store, rig.clock, lambda: readiness([rig.loop], {}))
    call = Call({"loop": "toy"}, {})
    assert await routes.pause(call) == LoopChanged("toy", paused=True)
    assert rig.loop.standing.paused
    assert store.read(paused_loops) == {"toy"}
    assert await routes.pause(call) == LoopChanged("toy", paused=True)
    assert await routes.resume(call) == LoopChanged("toy", paused=False)
    assert not rig.loop.standing.paused
    assert store.read(paused_loops) == set()


@virtually
async def test_a_loop_that_does_not_exist_is_reported_with_those_that_do() -> None:
    rig = Rig()
    routes = LoopRoutes([rig.loop], InlineStore(), rig.clock, lambda: readiness([rig.loop], {}))
    with pytest.raises(NotFound, match="there is no loop pols; there is: toy"):
        await routes.pause(Call({"loop": "pols"}, {}))


@virtually
async def test_the_routes_report_the_state_of_loops() -> None:
    rig = Rig()
    routes = LoopRoutes([rig.loop], InlineStore(), rig.clock, lambda: readiness([rig.loop], {}))
    assert not (await routes.show(Call({}, {}))).ok
    asyncio.get_running_loop().call_later(1, rig.loop.pause)
    task = asyncio.get_running_loop().create_task(rig.loop.run())
    await asyncio.sleep(2)
    answer = await routes.show(Call({}, {}))
    assert (answer.ok, answer.loops[0].phase) == (True, "paused")
    task.cancel()
    await asyncio.wait([task])
