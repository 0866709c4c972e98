"""What every provider of machines promises to the pools."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.patience import eventually

from remuda.loop.clock import SystemClock
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.records import read_json
from remuda.model.machines import Order, Supplied
from remuda.pools.ports import Provider
from remuda.providers.process import ProcessProvider
from remuda.sim.faults import Faults
from remuda.sim.provider import Behaviour, SimMachine, SimProvider

pytestmark = pytest.mark.slow


async def answered(answer: bool) -> bool:
    return answer


@dataclass
class Rig:
    """A provider, and a way to let a machine of it die."""

    provider: Provider
    kill: Callable[[str], Awaitable[None]]

    async def make(self, *names: str) -> None:
        for name in names:
            await self.provider.create(order(name))

    async def named(self, name: str) -> Supplied | None:
        return next((machine for machine in await self.provider.list() if machine.name == name), None)

    async def has_ended(self, name: str) -> bool:
        machine = await self.named(name)
        return machine is not None and machine.ended is not None

    async def has_spoken(self, name: str) -> bool:
        return bool(await self.provider.console(name))

    async def remove(self, name: str) -> bool:
        machine = await self.named(name)
        assert machine is not None
        return await self.provider.delete(name, machine.identity)


def order(name: str) -> Order:
    pool, _, _ = name.rpartition("-")
    return Order(name, pool, "t", SystemClock().now(), None, {})


class Nobody:
    """Hears of every change and says nothing."""

    def made(self, machine: SimMachine) -> None: ...

    def ready(self, machine: SimMachine) -> None: ...

    def ended(self, machine: SimMachine) -> None: ...

    def removed(self, machine: SimMachine) -> None: ...


#: every adapter there is; each is a context that gives a rig and leaves nothing behind
ADAPTERS: dict[str, Callable[[Path], contextlib.AbstractAsyncContextManager[Rig]]] = {}


@contextlib.asynccontextmanager
async def simulated(_: Path) -> AsyncIterator[Rig]:
    clock, tasks = SystemClock(), set[asyncio.Task[None]]()

    async def wait(machine: SimMachine) -> str:
        await asyncio.Event().wait()
        return machine.name

    def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        tasks.add(task)
        return task

    provider = SimProvider(clock, random.Random(1), Faults(1, {}), Nobody(), wait, start)
    provider.behaviour = Behaviour(boot_s=0.001)

    async def kill(name: str) -> None:
        provider.crash(provider.machines[name])

    yield Rig(provider, kill)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def process(_: Path) -> AsyncIterator[Rig]:
    """Its shims find nobody at their socket, so they boot and never become ready."""
    home = Path(tempfile.mkdtemp(prefix="r-"))
    machines = ProcessMachines(home / "m", home / "s", SystemClock(), lambda: None, grace_s=0.2)
    await machines.adopt()
    provider = ProcessProvider(machines)

    async def kill(name: str) -> None:
        file = str(home / "m" / name / "shim.json")
        await eventually(lambda: answered(read_json(file) is not None))
        shim = read_json(file)
        assert shim is not None
        os.kill(int(shim["pid"]), signal.SIGKILL)

    try:
        yield Rig(provider, kill)
    finally:
        for machine in await provider.list():
            await provider.delete(machine.name, machine.identity)
        machines.close()
        shutil.rmtree(home, ignore_errors=True)


ADAPTERS |= {"simulated": simulated, "process": process}


@pytest.fixture(params=sorted(ADAPTERS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with ADAPTERS[request.param](tmp_path) as made:
        yield made


async def test_at_first_there_is_nothing(rig: Rig) -> None:
    assert await rig.provider.list() == ()


async def test_what_was_made_is_listed_as_it_was_ordered_sorted_by_name(rig: Rig) -> None:
    await rig.make("b-1", "a-2", "a-10")
    listed = await rig.provider.list()
    assert [(machine.name, machine.pool, machine.template) for machine in listed] == [
        ("a-10", "a", "t"),
        ("a-2", "a", "t"),
        ("b-1", "b", "t"),
    ]
    assert all(machine.ended is None for machine in listed)


async def test_an_order_that_is_repeated_finds_the_machine_made(rig: Rig) -> None:
    wanted = order("a-1")
    await rig.provider.create(wanted)
    (first,) = await rig.provider.list()
    await rig.provider.create(wanted)
    (again,) = await rig.provider.list()
    assert first.created_at == again.created_at


async def test_orders_given_at_the_same_time_make_one_machine_each(rig: Rig) -> None:
    wanted = [order(name) for name in ("a-1", "a-2", "a-1", "a-2")]
    await asyncio.gather(*(rig.provider.create(each) for each in wanted))
    assert [machine.name for machine in await rig.provider.list()] == ["a-1", "a-2"]


async def test_a_deleted_machine_is_gone_and_its_neighbours_are_not(rig: Rig) -> None:
    await rig.make("a-1", "a-2")
    assert await rig.remove("a-1")
    assert [machine.name for machine in await rig.provider.list()] == ["a-2"]


async def test_deleting_again_or_what_never_was_is_done_already(rig: Rig) -> None:
    await rig.make("a-1")
    (machine,) = await rig.provider.list()
    assert await rig.provider.delete("a-1", machine.identity)
    assert await rig.provider.delete("a-1", machine.identity)
    assert await rig.provider.delete("a-99", "0")


async def test_a_namesake_is_not_touched(rig: Rig) -> None:
    await rig.make("a-1")
    (machine,) = await rig.provider.list()
    assert not await rig.provider.delete("a-1", str(machine.created_at - 1))
    assert await rig.named("a-1") is not None


async def test_a_machine_that_ended_is_listed_until_it_is_deleted(rig: Rig) -> None:
    await rig.make("a-1")
    await rig.kill("a-1")
    await eventually(lambda: rig.has_ended("a-1"))
    await rig.provider.create(order("a-1"))
    machine = await rig.named("a-1")
    assert machine is not None
    assert machine.ended is not None
    assert await rig.remove("a-1")
    assert await rig.provider.list() == ()


async def test_a_console_shows_what_the_machine_printed(rig: Rig) -> None:
    await rig.make("a-1")
    await eventually(lambda: rig.has_spoken("a-1"))
