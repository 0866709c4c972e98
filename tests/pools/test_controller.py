"""Observe and act: what the ports say becomes a picture, and a plan becomes calls that check before they act."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from tests.builders import policy, settings

from remuda.errors import Unavailable
from remuda.model.jobs import Finished
from remuda.model.machines import Machine, Order, State, Supplied, worker_name
from remuda.model.needs import Need, Reading, Worker
from remuda.model.plans import Operation, Outcome, Reason
from remuda.pools.controller import PoolsController, _machine, _own
from remuda.pools.decide import decide
from remuda.pools.decide.census import take_census
from remuda.pools.decide.model import (
    Close,
    Create,
    Delete,
    Memory,
    Override,
    PoolMemory,
    PoolSeen,
    Snapshot,
)
from remuda.pools.meters import PoolMeters
from remuda.pools.policy import Setup
from remuda.pools.ports import Provider
from remuda.sim.clock import SimClock
from remuda.sim.faults import Fault, Faults
from remuda.sim.loop import run
from remuda.sim.process import terms_of
from remuda.sim.provider import Behaviour, SimMachine, SimProvider
from remuda.sim.scenario import pool_setup
from remuda.sim.source import SimSource

REASON = Reason("test", "test")
SETUP = Setup(policy(settings("a")), {"a": pool_setup(settings("a"), max_uses=None)})
JOB = ("run", "0", "0")


class Room:
    """A controller between a simulated source and a simulated provider; machines wait until a test acts for them."""

    def __init__(self, faults: dict[str, Fault] | None = None) -> None:
        self.clock = SimClock(asyncio.get_running_loop())
        self.source = SimSource(self.clock, terms_of(SETUP), lambda: None)
        self.tasks: set[asyncio.Task[None]] = set()
        self.faults = Faults(1, faults or {})
        self.provider = SimProvider(self.clock, random.Random(1), self.faults, self, self.hold, self.start)
        self.provider.behaviour = Behaviour(boot_s=5, boot_spread=0)
        self.overrides: dict[str, Override] = {}
        self.job = PoolsController(
            {"queue": self.source},
            {"sim": self.provider},
            lambda: self.overrides,
            self.clock,
            PoolMeters(CollectorRegistry()),
        )
        self.job.setups = SETUP.pools

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        return task

    async def hold(self, machine: SimMachine) -> str:
        await asyncio.Event().wait()
        return machine.name

    def made(self, machine: SimMachine) -> None: ...

    def ready(self, machine: SimMachine) -> None: ...

    def ended(self, machine: SimMachine) -> None: ...

    def removed(self, machine: SimMachine) -> None: ...

    async def make(self, number: int = 1, *, boots: bool = True) -> None:
        outcome = await self.create(number)
        assert outcome.status == "done", outcome
        if boots:
            await asyncio.sleep(10)

    async def create(self, number: int = 1, template: str = "t") -> Outcome:
        return await self.job.act(
            Operation(number, Create(target="a/new-1", expects=template, reason=REASON, pool="a"))
        )

    async def close(self, name: str = "a-1", expects: str = "idle") -> Outcome:
        return await self.job.act(Operation(90, Close(target=name, expects=expects, reason=REASON, pool="a")))

    async def delete(
        self, name: str = "a-1", created_at: int | None = None, *, even_busy: bool = False
    ) -> Outcome:
        if created_at is None:
            created_at = next(each.created_at for each in await self.provider.list() if each.name == name)
        action = Delete(target=name, expects=str(created_at), reason=REASON, pool="a", even_busy=even_busy)
        return await self.job.act(Operation(91, action))

    async def work(self, name: str = "a-1", retries: int = 0) -> Finished:
        """Let a machine take a job; its result, to be handed in."""
        self.source.submit("class-a", JOB, retries)
        answer = await self.source.next(name, None, leaving=False)
        assert answer.job is not None
        return Finished(answer.job.id, answer.job.attempt, "exited", 0)

    async def pool(self, name: str = "a") -> PoolSeen:
        seen = await self.job.observe(())
        return next(each for each in seen.pools if each.name == name)

    async def machine(self) -> Machine:
        (machine,) = (await self.pool()).machines
        return machine


def live(story: Callable[[Room], Coroutine[Any, Any, None]], faults: dict[str, Fault] | None = None) -> None:
    async def main() -> None:
        await story(Room(faults))

    run(main())


def test_a_machine_is_creating_then_idle_then_configured_then_idle_again() -> None:
    async def story(room: Room) -> None:
        await room.make(boots=False)
        booting = await room.machine()
        assert (booting.name, booting.state, booting.ready_at) == ("a-1", State.CREATING, None)
        await asyncio.sleep(10)
        warm = await room.machine()
        assert (warm.state, warm.since, warm.uses) == (State.IDLE, warm.ready_at, 0)
        result = await room.work()
        busy = await room.machine()
        assert (busy.state, busy.job, busy.uses) == (State.CONFIGURED, "1", 1)
        assert (await room.pool()).need == Need(0, 1)
        waiting = asyncio.ensure_future(room.source.next("a-1", result, leaving=False))
        await asyncio.sleep(1)
        free = await room.machine()
        assert (free.state, free.job, free.uses) == (State.IDLE, None, 1)
        waiting.cancel()

    live(story)


MADE = Supplied("a-1", "a", "t", created_at=100, ready_at=200)


@pytest.mark.parametrize(
    ("supplied", "worker", "is_listed", "state"),
    [
        pytest.param(MADE, None, False, State.IDLE, id="what is ready is idle"),
        pytest.param(MADE, None, True, State.CREATING, id="unless its source would know it, and does not"),
        pytest.param(MADE, Worker(150, connected_at=150), True, State.IDLE, id="known and without a job"),
        pytest.param(MADE, Worker(150, "x", connected_at=150), True, State.CONFIGURED, id="with a job"),
        pytest.param(
            MADE, Worker(50, "x", connected_at=99), True, State.CREATING, id="the job of an earlier namesake"
        ),
        pytest.param(
            MADE,
            Worker(50, "x", connected_at=99, heard_at=119_000),
            True,
            State.CREATING,
            id="whose last call was heard of late",
        ),
        pytest.param(
            MADE,
            Worker(50, "x", connected_at=99, heard_at=130_000),
            True,
            State.CONFIGURED,
            id="who goes on calling is itself, whatever the clocks say",
        ),
        pytest.param(
            msgspec.structs.replace(MADE, leaving=True),
            Worker(150, "x", connected_at=150),
            True,
            State.DELETING,
            id="on its way out, whatever it still does",
        ),
    ],
)
def test_what_provider_and_source_know_is_joined(
    supplied: Supplied, worker: Worker | None, is_listed: bool, state: State
) -> None:
    assert _machine(supplied, _own(worker, supplied, known_at=5_000), is_listed=is_listed).state is state


def test_what_is_deleted_and_down_has_no_job_though_its_source_still_tells_of_one() -> None:
    worker = Worker(150, "x", uses=1, connected_at=150)
    leaving = msgspec.structs.replace(MADE, leaving=True)
    at_work, down = (
        _machine(supplied, worker, is_listed=True, is_exact=False)
        for supplied in (leaving, msgspec.structs.replace(leaving, is_down=True))
    )
    assert (at_work.state, at_work.is_busy) == (State.DELETING, True)
    assert (down.state, down.is_busy, down.uses) == (State.DELETING, False, 1)
    seen = PoolSeen("a", Need(0, 0), (down,))
    census = take_census(seen, settings("a", template="t"), PoolMemory(), None, 1_000)
    assert (len(census.busy), census.ready, census.live) == (0, 0, 0)
    assert census.taking_room == 1, "until it is gone it may still use the host"


def test_a_closed_machine_drains_with_its_job_or_without() -> None:
    async def story(room: Room) -> None:
        await room.make()
        assert (await room.close()).status == "done"
        assert (await room.machine()).state is State.DRAINING
        await room.make(2)
        await room.work("a-2")
        assert (await room.close("a-2")).status == "refused"
        busy = (await room.pool()).machines[1]
        assert (busy.state, busy.is_busy) == (State.DRAINING, True)

    live(story)


def test_a_busy_machine_that_is_closed_ends_after_the_job_it_has_by_then() -> None:
    async def story(room: Room) -> None:
        await room.make()
        await room.work("a-1")
        assert (await room.close("a-1", "configured")).status == "done"
        busy = await room.machine()
        assert (busy.state, busy.is_busy) == (State.DRAINING, True)
        assert (await room.close("a-1", "configured")).status == "done"
        assert (await room.close("a-9", "configured")).status == "refused"

    live(story)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        pytest.param("finished", State.DRAINING, id="an end that was meant"),
        pytest.param("crashed", State.FAILED, id="an end that was not"),
    ],
)
def test_a_machine_that_ended_says_how(code: str, state: State) -> None:
    async def story(room: Room) -> None:
        await room.make()
        room.provider.crash(room.provider.machines["a-1"], code)
        over = await room.machine()
        assert over.ended is not None
        assert (over.state, over.ended.code) == (state, code)

    live(story)


def test_a_worker_without_a_machine_has_vanished() -> None:
    async def story(room: Room) -> None:
        await room.work("a-7")
        gone = await room.machine()
        assert gone.ended is not None
        assert (gone.name, gone.state, gone.ended.code, gone.job) == ("a-7", State.FAILED, "vanished", "1")
        assert (await room.delete("a-7", gone.created_at)).status == "done"
        assert (await room.pool()).machines == ()

    live(story)


def test_pools_are_those_configured_and_those_that_still_have_machines() -> None:
    async def story(room: Room) -> None:
        await room.make()
        room.job.setups = {}
        room.overrides["a"] = Override(paused=True)
        seen = await room.pool()
        assert (seen.need, seen.override) == (Need(0, 0), Override(paused=True))
        assert (await room.create(2)).status == "refused"
        assert (await room.close()).status == "done"
        assert (await room.delete()).status == "done"
        assert (await room.job.observe(())).pools == ()

    live(story)


def test_an_ordered_rollout_is_in_force_until_its_machines_are_gone() -> None:
    async def story(room: Room) -> None:
        setup = room.job.setups["a"]
        ordered = Override(min=2, finish_rollout="next", finish_rollout_at=room.clock.now() + 1000)
        assert room.job.still_in_force(setup, ordered) == ordered  # nothing is known of its machines yet
        await room.make()
        await room.job.observe(())
        assert room.job.still_in_force(setup, ordered) == ordered
        await room.close()
        await room.delete()
        await room.job.observe(())
        assert room.job.still_in_force(setup, ordered) == Override(min=2)

    live(story)


def test_a_machine_is_made_once_and_only_of_the_template_that_was_meant() -> None:
    async def story(room: Room) -> None:
        assert await room.create() == Outcome("done", room.clock.now(), "a-1")
        assert (await room.create()).status == "done"
        assert len(room.provider.machines) == 1
        assert (await room.create(2, template="before")).status == "refused"
        assert len(room.provider.machines) == 1

    live(story)


def test_a_machine_is_deleted_and_its_worker_forgotten_however_often() -> None:
    async def story(room: Room) -> None:
        await room.make()
        created_at = (await room.machine()).created_at
        for _ in range(2):
            assert (await room.delete(created_at=created_at)).status == "done"
        assert (room.provider.machines, (await room.source.read()).workers) == ({}, {})

    live(story)


def test_a_busy_machine_is_not_deleted_and_takes_no_more_work() -> None:
    async def story(room: Room) -> None:
        await room.make()
        result = await room.work()
        assert (await room.delete()).status == "refused"
        assert "a-1" in room.provider.machines
        assert (await room.source.next("a-1", result, leaving=False)).do == "end"
        assert (await room.delete()).status == "done"

    live(story)


def test_a_busy_machine_is_deleted_when_that_was_ordered_and_its_job_waits_again() -> None:
    async def story(room: Room) -> None:
        await room.make()
        await room.work(retries=1)
        assert (await room.delete(even_busy=True)).status == "done"
        assert room.provider.machines == {}
        assert (await room.pool()).need == Need(1, 0)

    live(story)


def test_an_ordered_rollout_is_over_once_the_machines_it_was_about_are_gone() -> None:
    async def story(room: Room) -> None:
        await room.make()
        ordered = Override(max=3, finish_rollout="new", finish_rollout_at=room.clock.now())
        room.overrides = {"a": ordered}
        assert (await room.pool()).override == ordered
        assert (await room.delete()).status == "done"
        await asyncio.sleep(1)
        await room.make(2)
        assert (await room.pool()).override == Override(max=3)

    live(story)


def test_a_machine_that_died_at_work_is_deleted_and_its_job_settled() -> None:
    async def story(room: Room) -> None:
        await room.make()
        await room.work(retries=1)
        room.provider.crash(room.provider.machines["a-1"])
        assert (await room.delete()).status == "done"
        assert (await room.pool()).need == Need(1, 0)

    live(story)


def test_a_namesake_is_not_deleted() -> None:
    async def story(room: Room) -> None:
        await room.make()
        assert (await room.delete(created_at=1)).status == "refused"
        assert "a-1" in room.provider.machines

    live(story)


def test_a_call_that_fails_is_an_error_and_can_be_repeated() -> None:
    async def story(room: Room) -> None:
        with pytest.raises(Unavailable):
            await room.make()
        room.faults.stop()
        await room.make()
        assert len(room.provider.machines) == 1

    live(story, {"provider.created": Fault(fail=1.0)})


class Renamed:
    """A provider that uses names again: machines have an identity of their own, and all the same second."""

    def __init__(self, room: Room) -> None:
        self.inner: Provider = room.provider
        self.uid = "first"
        self.deleted: list[tuple[str, str]] = []

    async def list(self) -> tuple[Supplied, ...]:
        return tuple(
            msgspec.structs.replace(item, created_at=5_000, uid=self.uid) for item in await self.inner.list()
        )

    async def create(self, order: Order) -> None:
        await self.inner.create(order)

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        del at_once
        self.deleted.append((name, identity))
        return True

    async def console(self, name: str) -> bytes:
        return await self.inner.console(name)


def test_a_namesake_of_the_same_second_is_not_deleted_and_an_order_of_an_earlier_version_is_carried_out() -> (
    None
):
    async def story(room: Room) -> None:
        provider = Renamed(room)
        job = PoolsController(
            {"queue": room.source}, {"sim": provider}, dict, room.clock, PoolMeters(CollectorRegistry())
        )
        job.setups = {"a": SETUP.pools["a"]}
        await room.make()
        (seen,) = (await job.observe(())).pools
        assert seen.machines[0].identity == "first"
        provider.uid = "second"
        for expects, status in (("first", "refused"), ("4000", "refused"), ("5000", "done")):
            action = Delete(target="a-1", expects=expects, reason=REASON, pool="a")
            assert (await job.act(Operation(1, action))).status == status, expects
        assert provider.deleted == [("a-1", "second")]

    live(story)


class Silent:
    """A provider that can be made to say nothing."""

    def __init__(self, room: Room) -> None:
        self.inner: Provider = room.provider
        self.is_silent = False
        self.made_for: str | None = None
        self.drains = False

    async def list(self) -> tuple[Supplied, ...]:
        if self.is_silent:
            raise Unavailable("KubeVirt is not installed")
        found = await self.inner.list()
        return tuple(
            msgspec.structs.replace(item, job_class=self.made_for, drains=self.drains) for item in found
        )

    async def create(self, order: Order) -> None:
        await self.inner.create(order)

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        return await self.inner.delete(name, identity, at_once=at_once)

    async def console(self, name: str) -> bytes:
        return await self.inner.console(name)


def test_a_provider_that_says_nothing_blinds_its_own_pools_alone() -> None:
    async def story(room: Room) -> None:
        silent = Silent(room)
        job = PoolsController(
            {"queue": room.source},
            {
                "sim": silent,
                "other": SimProvider(room.clock, random.Random(1), room.faults, room, room.hold, room.start),
            },
            dict,
            room.clock,
            PoolMeters(CollectorRegistry()),
        )
        other = msgspec.structs.replace(SETUP.pools["a"], name="b", provider="other", job_class="b")
        job.setups = {**SETUP.pools, "b": other}
        await room.make()
        before = await job.observe(())
        silent.is_silent = True
        after = await job.observe(())
        assert [pool.blind for pool in after.pools] == ["KubeVirt is not installed", ""]
        assert after.pools[0].machines == before.pools[0].machines
        plan, _ = decide(
            after, Memory(), policy(settings("a", min=9), settings("b", min=1)), room.clock.now()
        )
        assert {action.pool for action in plan.actions} == {"b"}
        assert plan.reasons[0].code == "pool.provider-silent"

    live(story)


def test_a_provider_that_no_pool_needs_may_say_nothing() -> None:
    async def story(room: Room) -> None:
        silent = Silent(room)
        silent.is_silent = True
        job = PoolsController(
            {"queue": room.source}, {"sim": silent}, dict, room.clock, PoolMeters(CollectorRegistry())
        )
        assert (await job.observe(())).pools == ()

    live(story)


class Agents:
    """A source that does not know everything: it says who works, of the classes that it is asked about."""

    exact = False

    def __init__(self) -> None:
        self.reading = Reading({}, {})
        self.closed: list[tuple[str, int]] = []
        self.trouble = ""
        self.forgotten: list[str] = []

    async def read(self) -> Reading:
        return self.reading

    async def close(
        self, machine: str, made_at: int = 0, job_class: str | None = None, boot: str = ""
    ) -> bool:
        del job_class
        self.closed.append((worker_name(machine, boot), made_at))
        if self.trouble:
            raise Unavailable(self.trouble)
        return False

    async def forget(self, machine: str) -> None:
        self.forgotten.append(machine)


def test_machines_of_a_pool_that_is_gone_are_asked_about_where_they_take_their_work() -> None:
    async def story(room: Room) -> None:
        agents, provider = Agents(), Silent(room)
        provider.drains = True
        job = PoolsController(
            {"queue": room.source, "ci": agents},
            {
                "other": SimProvider(room.clock, random.Random(1), room.faults, room, room.hold, room.start),
                "sim": provider,
            },
            dict,
            room.clock,
            PoolMeters(CollectorRegistry()),
            {"sim": "ci"},
        )
        await room.make()
        (machine,) = (await job.observe(())).pools[0].machines
        assert machine.state is State.IDLE
        delete = Delete(target="a-1", expects=str(machine.created_at), reason=REASON, pool="a")
        assert (await job.act(Operation(1, delete))).status == "refused"
        close = Close(target="a-1", expects="idle", reason=REASON, pool="a")
        assert (await job.act(Operation(2, close))).status == "refused"
        assert agents.closed == [("a-1", machine.created_at)] * 2
        assert (await room.source.read()).workers == {}, "the queue never heard of it"

    live(story)


@pytest.mark.parametrize(
    ("made_for", "state", "is_sure"),
    [
        pytest.param("class-a", State.CREATING, True, id="of the pool's class, it boots until it is listed"),
        pytest.param(None, State.CREATING, True, id="so does one whose class is not told"),
        pytest.param("class-b", State.IDLE, False, id="another class is not listed any more"),
    ],
)
def test_nobody_is_taken_for_idle_whose_class_is_not_listed(
    made_for: str | None, state: State, is_sure: bool
) -> None:
    async def story(room: Room) -> None:
        agents = Agents()
        agents.reading = Reading({"class-a": Need(0, 0)}, {}, frozenset({"class-a"}))
        provider = Silent(room)
        provider.made_for = made_for
        job = PoolsController(
            {"ci": agents}, {"sim": provider}, dict, room.clock, PoolMeters(CollectorRegistry())
        )
        job.setups = {"a": msgspec.structs.replace(SETUP.pools["a"], source="ci")}
        await room.make()
        (seen,) = (await job.observe(())).pools
        assert seen.need is not None
        assert seen.machines[0].state is state
        assert seen.machines[0].unsure == (not is_sure)
        plan, _ = decide(Snapshot((seen,)), Memory(), policy(settings("a", template="new")), room.clock.now())
        assert not plan.actions

    live(story)


class Guests:
    """A controller of guests that nobody can tell to take no more work, some of which drain when powered off."""

    def __init__(self, room: Room, *, drains: bool = True) -> None:
        self.agents, self.provider = Agents(), Silent(room)
        self.provider.made_for, self.provider.drains = "class-a", drains
        self.job = PoolsController(
            {"ci": self.agents}, {"sim": self.provider}, dict, room.clock, PoolMeters(CollectorRegistry())
        )

    async def delete(self, *, gently: bool = False, even_busy: bool = False) -> Outcome:
        (machine,) = await self.provider.list()
        return await self.job.act(
            Operation(
                1,
                Delete(
                    target=machine.name,
                    expects=str(machine.created_at),
                    reason=REASON,
                    pool="a",
                    gently=gently,
                    even_busy=even_busy,
                ),
            )
        )


@pytest.mark.parametrize(
    ("registering", "workers", "is_reported", "is_unsure"),
    [
        pytest.param((), {}, False, True, id="nobody asks about its class"),
        pytest.param((), {"a-1": Worker(7)}, False, False, id="its class cannot be listed any more"),
        pytest.param(
            ("class-a",), {"a-1": Worker(7)}, True, False, id="its class is listed for another pool"
        ),
    ],
)
def test_a_removed_pool_is_reported_as_long_as_the_class_of_its_machines_is_listed(
    registering: tuple[str, ...], workers: dict[str, Worker], is_reported: bool, is_unsure: bool
) -> None:
    async def story(room: Room) -> None:
        guests = Guests(room)
        guests.agents.reading = Reading({}, workers, frozenset(registering))
        await room.make()
        (seen,) = (await guests.job.observe(())).pools
        assert seen.need is not None
        assert (seen.need.unsure_since is None) == is_reported
        assert (seen.machines[0].state, seen.machines[0].unsure) == (State.IDLE, is_unsure)
        assert seen.machines[0].drains

    live(story)


def test_a_gentle_removal_does_not_ask_the_source() -> None:
    async def story(room: Room) -> None:
        guests = Guests(room)
        guests.agents.trouble = "resource class not found"
        await room.make()
        assert (await guests.delete(gently=True)).status == "done"
        assert guests.agents.closed == []
        assert await room.provider.list() == ()

    live(story)


def test_a_gentle_removal_is_refused_for_a_machine_that_would_not_end_its_job() -> None:
    async def story(room: Room) -> None:
        guests = Guests(room, drains=False)
        await room.make()
        outcome = await guests.delete(gently=True)
        assert (outcome.status, outcome.detail) == ("refused", "it would not end a job that it may have")
        assert len(await room.provider.list()) == 1

    live(story)


@pytest.mark.parametrize(
    ("drains", "boots", "even_busy", "goes"),
    [
        pytest.param(True, True, False, True, id="goes when it ends its job first"),
        pytest.param(False, False, False, True, id="goes when it never came up"),
        pytest.param(False, True, True, True, id="goes by order"),
        pytest.param(False, True, False, False, id="stays when it may have a job"),
    ],
)
def test_a_machine_to_be_removed_while_its_source_fails(
    drains: bool, boots: bool, even_busy: bool, goes: bool
) -> None:
    async def story(room: Room) -> None:
        guests = Guests(room, drains=drains)
        guests.agents.trouble = "HTTP 401"
        await room.make(boots=boots)
        assert (await guests.delete(even_busy=even_busy)).status == ("done" if goes else "refused")
        assert len(await room.provider.list()) == (not goes)

    live(story)


class Booted(Silent):
    """Machines whose guests were told which boot they are."""

    async def list(self) -> tuple[Supplied, ...]:
        return tuple(msgspec.structs.replace(item, boot="0a1b2c3d") for item in await super().list())


@pytest.mark.parametrize(
    ("name", "state"),
    [
        pytest.param("a-1.0a1b2c3d", State.CONFIGURED, id="of this boot, whenever it connected"),
        pytest.param("a-1.ffffffff", State.CREATING, id="of another boot"),
        pytest.param("a-1", State.CREATING, id="of an earlier machine of the name"),
    ],
)
def test_an_agent_that_tells_its_boot_needs_no_clock(name: str, state: State) -> None:
    """Its source's clock is years behind."""

    async def story(room: Room) -> None:
        guests = Guests(room)
        guests.provider = Booted(room)
        guests.provider.made_for = "class-a"
        worker = Worker(7, "task", 1, connected_at=7)
        guests.agents.reading = Reading({"class-a": Need(0, 1)}, {name: worker}, frozenset({"class-a"}))
        job = PoolsController(
            {"ci": guests.agents},
            {"sim": guests.provider},
            dict,
            room.clock,
            PoolMeters(CollectorRegistry()),
        )
        job.setups = {"a": msgspec.structs.replace(SETUP.pools["a"], source="ci")}
        await room.make()
        (seen,) = (await job.observe(())).pools
        assert seen.machines[0].state is state

    live(story)


def test_a_machine_of_an_exact_source_never_goes_unasked() -> None:
    async def story(room: Room) -> None:
        guests = Guests(room)
        guests.agents.exact = True
        guests.agents.trouble = "the disk is full"
        await room.make(boots=False)
        with pytest.raises(Unavailable, match="disk"):
            await guests.delete(even_busy=True)
        assert len(await room.provider.list()) == 1

    live(story)
