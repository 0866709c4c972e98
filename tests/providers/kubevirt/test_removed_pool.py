"""VMs of a pool that is gone, of whose agents nobody tells: a real API server and virt-controller, guests played."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from tests.builders import actions_of, policy
from tests.kubevirt.guests import Boot, Guests, Script
from tests.providers.kubevirt.rig import Rig

from remuda.errors import Unavailable
from remuda.loop.clock import SystemClock
from remuda.model.needs import Reading
from remuda.model.plans import Operation
from remuda.model.times import MINUTE
from remuda.pools.controller import PoolsController
from remuda.pools.decide.model import Memory
from remuda.pools.meters import PoolMeters

pytestmark = pytest.mark.slow


class Nobody:
    """A CircleCI of which no class is known any more."""

    exact = False

    async def read(self) -> Reading:
        return Reading({}, {})

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        del boot
        raise Unavailable(f"{machine} of {job_class}, made at {made_at}: HTTP 404: resource class not found")

    async def forget(self, machine: str) -> None:
        del machine


class Pools:
    """Cycles over no pool at all, each some minutes after the one before."""

    def __init__(self, rig: Rig) -> None:
        self._clock, self._meters = SystemClock(), PoolMeters(CollectorRegistry())
        self._job = PoolsController(
            {"ci": Nobody()}, {"kubevirt": rig.provider}, dict, self._clock, self._meters
        )
        self._memory, self._later = Memory(), 0

    async def cycle(self, minutes: int) -> list[str]:
        """Look, decide and act; what was decided."""
        self._later += minutes * MINUTE
        seen = await self._job.observe(())
        plan, self._memory = self._job.decide(seen, self._memory, policy(), self._clock.now() + self._later)
        for number, action in enumerate(plan.actions):
            assert (await self._job.act(Operation(number, action))).status == "done"
        return actions_of(plan)


async def test_they_are_powered_off_end_their_tasks_and_are_deleted_when_they_are_down(
    rig: Rig, guests: Guests
) -> None:
    guests.script("linux-1", Script(shutdown_s=None))  # it has a task
    await rig.create(2)
    before = await rig.until_ready("linux-0", "linux-1")
    assert all(item.drains for item in before.values())
    pools = Pools(rig)
    assert await pools.cycle(0) == []
    assert await pools.cycle(9) == [], "an answer may still come"
    assert await pools.cycle(2) == [f"delete linux-{index} machine.powered-off" for index in range(2)]
    assert rig.replicas() == 0
    seen = await rig.until(lambda seen: seen["linux-0"].ended)
    assert (seen["linux-1"].leaving, seen["linux-1"].ended) == (True, None)
    assert rig.vms()["linux-1"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 3600
    assert await pools.cycle(1) == ["delete linux-0 machine.closed"]
    await rig.until_vms(lambda vms: set(vms) == {"linux-1"})
    assert await pools.cycle(1) == [], "it ends its task first"
    await asyncio.to_thread(guests.power_off, "linux-1")
    await rig.until(lambda seen: seen["linux-1"].ended)
    assert await pools.cycle(1) == ["delete linux-1 machine.closed"]
    await rig.until_vms(lambda vms: not vms)


async def test_one_that_would_be_killed_with_its_task_stays(rig: Rig, guests: Guests) -> None:
    del guests
    await rig.create(1, spec={"domain": {"devices": {}}, "terminationGracePeriodSeconds": 30})
    before = await rig.until_ready("linux-0")
    assert not before["linux-0"].drains
    pools = Pools(rig)
    assert [await pools.cycle(minutes) for minutes in (0, 11, 100)] == [[], [], []]
    assert rig.vms()["linux-0"]["spec"]["runStrategy"] == "Once"
    assert rig.replicas() == 1


async def test_one_that_never_comes_up_is_deleted_though_nobody_can_be_asked(
    rig: Rig, guests: Guests
) -> None:
    guests.script("*", Script(Boot.HANGS))
    await rig.create(1)
    await rig.until(lambda seen: set(seen) == {"linux-0"})
    pools = Pools(rig)
    assert await pools.cycle(0) == []
    assert await pools.cycle(11) == ["delete linux-0 machine.boot-timeout"]
    await rig.until_vms(lambda vms: not vms)
