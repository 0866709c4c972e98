"""
Observe and act for pools, over the ports. No judgement lives here.

Sources are read before providers are listed: a machine that took work by then was made before, so a worker without a
machine means that the machine is gone.
"""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from remuda.errors import RemudaError
from remuda.loop.clock import Clock
from remuda.model.machines import (
    Ended,
    Machine,
    Order,
    State,
    Supplied,
    machine_name,
    pool_of,
    worker_name,
)
from remuda.model.needs import Need, Reading, Worker
from remuda.model.plans import Operation, Outcome, Plan, Reason
from remuda.model.times import Instant
from remuda.pools.decide import decide
from remuda.pools.decide.census import PROPER_ENDS
from remuda.pools.decide.model import (
    Close,
    Create,
    Delete,
    Memory,
    Override,
    Policy,
    PoolAction,
    PoolSeen,
    Snapshot,
)
from remuda.pools.meters import PoolMeters
from remuda.pools.policy import PoolSetup
from remuda.pools.ports import Provider, Source

LOOP = "pools"
_NO_NEED = Need(0, 0)
_NO_HAND = Override()
_name_of = attrgetter("name")


class _Joined(NamedTuple):
    """What the last observation made of a machine."""

    supplied: Supplied
    worker: Worker | None
    is_listed: bool
    machine: Machine
    #: it looks idle, and the class it serves is not listed
    is_unlisted: bool
    #: when this very boot of the machine was first seen
    known_at: Instant


class PoolsController:
    """One loop for all pools, because ceilings need them together."""

    name = LOOP

    def __init__(
        self,
        sources: Mapping[str, Source],
        providers: Mapping[str, Provider],
        overrides: Callable[[], dict[str, Override] | Awaitable[dict[str, Override]]],
        clock: Clock,
        meters: PoolMeters,
        partners: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`partners` tells, by provider, which source its machines take work from: the first one by default."""
        self._partners = partners
        self._sources = sources
        self._providers = providers
        self._overrides = overrides
        self._clock = clock
        self._meters = meters
        self.setups: dict[str, PoolSetup] = {}
        #: each provider's machines, as they were last seen
        self._listed: dict[str, tuple[Supplied, ...]] = {}
        #: machines of the last observation; most are the same in the next one
        self._joined: dict[str, _Joined] = {}
        #: called with the reasons of each cycle
        self.decided: Callable[[tuple[Reason, ...]], None] = lambda _: None

    async def observe(self, operations: tuple[Operation[PoolAction], ...]) -> Snapshot:
        """All pools that are configured or still have machines."""
        readings = dict(
            zip(
                self._sources,
                await asyncio.gather(*(source.read() for source in self._sources.values())),
                strict=True,
            )
        )
        blind = {name: message for name in self._providers if (message := await self._look(name))}
        machines, unlisted = self._join(readings)
        for name, source in self._sources.items():
            # Elsewhere machines that are gone are listed for hours.
            if source.exact:
                workers = readings[name].workers
                for machine in workers.keys() - self._joined.keys():
                    machines[pool_of(machine)].append(_vanished(machine, workers[machine]))
        found = self._overrides()
        overrides = await found if isinstance(found, Awaitable) else found
        pools = []
        for name in sorted(set(self.setups) | set(machines)):
            need = self._need(name, readings)
            if name in unlisted:
                need = Need(0, 0, unsure_since=unlisted[name])
            pools.append(self._pool(name, need, machines.get(name, []), overrides, blind))
        return Snapshot(tuple(pools), operations)

    def _join(self, readings: dict[str, Reading]) -> tuple[dict[str, list[Machine]], dict[str, Instant]]:
        """The machines of each pool; and since when a removed pool has an idle one whose class is not listed."""
        machines: dict[str, list[Machine]] = defaultdict(list)
        unlisted: dict[str, Instant] = {}
        before, after, now = self._joined, {}, self._clock.now()
        for provider, listed in self._listed.items():
            source = self._partner(provider)
            workers, is_exact = readings[source].workers, self._sources[source].exact
            registering = readings[source].registering
            pool, pool_class, is_pool_listed, found = None, None, False, list[Machine]()
            for supplied in listed:
                name = supplied.name
                if supplied.pool != pool:  # machines of one pool mostly come one after another
                    pool = supplied.pool
                    setup, found = self.setups.get(pool), machines[pool]
                    pool_class = setup.job_class if setup is not None else None
                    is_pool_listed = pool_class in registering
                named = workers.get(name)
                booted = workers.get(worker_name(name, supplied.boot)) if supplied.boot else None
                worker = booted or named
                is_listed = is_pool_listed
                if supplied.job_class not in (None, pool_class):
                    is_listed = supplied.job_class in registering
                joined = before.get(name)
                if (
                    joined is None
                    or joined.supplied is not supplied
                    or joined.worker is not worker
                    or joined.is_listed is not is_listed
                ):
                    known_at = joined.known_at if joined and _is_same(joined.supplied, supplied) else now
                    own = booted or _own(named, supplied, known_at)
                    machine = _machine(supplied, own, is_listed=is_listed, is_exact=is_exact)
                    is_unlisted = not is_exact and not is_listed and machine.state is State.IDLE
                    joined = _Joined(supplied, worker, is_listed, machine, is_unlisted, known_at)
                after[name] = joined
                found.append(joined.machine)
                if pool_class is None and joined.is_unlisted:
                    since = joined.machine.since
                    unlisted[supplied.pool] = min(unlisted.get(supplied.pool, since), since)
        self._joined = after
        return machines, unlisted

    def still_in_force(self, setup: PoolSetup, override: Override) -> Override:
        """What is set by hand without a rollout that was carried out, as far as the machines are known."""
        if setup.provider not in self._listed:
            return override
        machines = (joined.machine for joined in self._joined.values())
        return _in_force(override, (machine for machine in machines if machine.pool == setup.name))

    async def _look(self, provider: str) -> str:
        """List a provider's machines; why that is not possible, when they must be taken as they were."""
        try:
            self._listed[provider] = await self._providers[provider].list()
        except RemudaError as error:
            # Whether it works is nobody's concern while no pool needs it.
            is_used = provider in self._listed or any(
                pool.provider == provider for pool in self.setups.values()
            )
            return str(error) if is_used else ""
        return ""

    def _need(self, name: str, readings: dict[str, Reading]) -> Need | None:
        setup = self.setups.get(name)
        # A pool nobody configures any more has no need; its idle machines may go.
        return readings[setup.source].needs.get(setup.job_class) if setup else _NO_NEED

    def _pool(
        self,
        name: str,
        need: Need | None,
        machines: list[Machine],
        overrides: dict[str, Override],
        blind: dict[str, str],
    ) -> PoolSeen:
        setup = self.setups.get(name)
        machines.sort(key=_name_of)
        # Of a pool that nobody configures any more, any provider may have the machines.
        message = blind.get(setup.provider, "") if setup else "; ".join(blind.values())
        unseen = setup is not None and setup.provider not in self._listed
        override = _in_force(overrides.get(name, _NO_HAND), machines)
        return PoolSeen(name, need, tuple(machines), override, message, unseen)

    def decide(
        self, seen: Snapshot, memory: Memory, policy: Policy, now: Instant
    ) -> tuple[Plan[PoolAction], Memory]:
        """Judge; see `remuda.pools.decide`."""
        return decide(seen, memory, policy, now)

    async def act(self, operation: Operation[PoolAction]) -> Outcome:
        """Carry out one operation, or refuse it when the world is no longer what the plan saw."""
        match operation.action:
            case Create():
                return await self._create(operation.id, operation.action)
            case Close():
                return await self._close(operation.action)
            case Delete():
                return await self._delete(operation.action)

    async def _create(self, number: int, action: Create) -> Outcome:
        setup = self.setups.get(action.pool)
        if setup is None or setup.template != action.expects:
            return self._refused("the pool's template has changed since")
        order = Order(
            name=machine_name(action.pool, number),
            pool=action.pool,
            template=setup.template,
            created_at=self._clock.now(),
            idle_timeout=setup.idle_timeout,
            settings=setup.settings,
        )
        await self._providers[setup.provider].create(order)
        return self._done(order.name)

    async def _close(self, action: Close) -> Outcome:
        found = await self._find(action.target)
        if found is None:
            return self._refused("it is gone")
        provider, machine = found
        source = self._sources[self._partner(provider)]
        is_free = await source.close(action.target, machine.created_at, machine.job_class, machine.boot)
        if not is_free and action.expects == State.IDLE:
            return self._refused("it took a job in the meantime; it takes no more after that")
        return self._done()

    async def _delete(self, action: Delete) -> Outcome:
        found = await self._find(action.target)
        if found is not None:
            provider, machine = found
            if not machine.is_expected(action.expects):
                return self._refused("a machine of that name was made anew")
            if action.gently and not machine.drains:
                return self._refused("it would not end a job that it may have")
            source = self._sources[self._partner(provider)]
            if _is_abrupt(machine, is_exact=source.exact) and not action.even_busy:
                return self._refused("it would not end a job that it may have")
            # What is over or never came up has no work, and must be removable while its source says nothing.
            may_work = machine.ended is None and (source.exact or machine.ready_at is not None)
            if may_work and not action.gently:
                is_free = await _is_free(source, machine, action)
                if not is_free and not action.even_busy:
                    return self._refused("it has a job")
            if not await self._providers[provider].delete(
                machine.name, machine.identity, at_once=action.even_busy
            ):
                return self._refused("a machine of that name was made anew")
        for source in self._sources.values():
            await source.forget(action.target)
        return self._done()

    async def _find(self, name: str) -> tuple[str, Supplied] | None:
        """A machine and its provider; an error when one that may have it says nothing."""
        silent: RemudaError | None = None
        for provider, port in self._providers.items():
            try:
                listed = await port.list()
            except RemudaError as error:
                silent = error if provider in self._listed else silent
                continue
            place = bisect_left(listed, name, key=_name_of)
            if place < len(listed) and listed[place].name == name:
                return provider, listed[place]
        if silent is not None:
            raise silent
        return None

    def _partner(self, provider: str) -> str:
        """The source that a provider's machines take their work from."""
        return self._partners.get(provider) or next(iter(self._sources))

    def report(self, seen: Snapshot, plan: Plan[PoolAction]) -> dict[str, object]:
        """Set the pools' gauges and return the totals."""
        self.decided(plan.reasons)
        return self._meters.report(seen, plan)

    def stand_by(self) -> None:
        """Show no pools: the replica that acts does."""
        self._meters.clear()
        self.decided(())

    def _done(self, detail: str = "") -> Outcome:
        return Outcome("done", self._clock.now(), detail)

    def _refused(self, detail: str) -> Outcome:
        return Outcome("refused", self._clock.now(), detail)


def _in_force(override: Override, machines: Iterable[Machine]) -> Override:
    """Without an ordered rollout that was carried out: all machines that it was about are gone."""
    if override.finish_rollout is None or any(map(override.removes, machines)):
        return override
    return structs.replace(override, finish_rollout=None, finish_rollout_at=0)


async def _is_free(source: Source, machine: Supplied, action: Delete) -> bool:
    """
    Whether a machine has no work, and gets none.

    A source that fails does not keep what never came up, ends its job before it goes, or goes by order with its job.
    """
    try:
        return await source.close(machine.name, machine.created_at, machine.job_class, machine.boot)
    except RemudaError:
        if source.exact or not (action.even_busy or machine.drains or machine.ready_at is None):
            raise
        return True


def _own(worker: Worker | None, supplied: Supplied, known_at: Instant) -> Worker | None:
    """A worker that has a machine's name, unless it is an earlier machine that had it."""
    return worker if worker is not None and worker.is_of(supplied.created_at, known_at) else None


def _is_same(one: Supplied, other: Supplied) -> bool:
    """Whether two readings are of one boot of one machine; before it boots nobody knows which."""
    return one.identity == other.identity and (not one.boot or one.boot == other.boot)


def _machine(
    supplied: Supplied, worker: Worker | None, *, is_listed: bool = False, is_exact: bool = True
) -> Machine:
    """Join what the provider and the source know of one machine; `is_listed` when the source knows all that boot."""
    uses = worker.uses if worker else 0
    # A source reports the last job of a machine for as long as it lists the machine.
    job = worker.job if worker and not supplied.is_down else None
    if supplied.ended is not None:
        state = State.DRAINING if supplied.ended.code in PROPER_ENDS else State.FAILED
        since = supplied.ready_at or supplied.created_at
    elif supplied.leaving:
        state, since = State.DELETING, supplied.ready_at or supplied.created_at
    elif worker is None and (supplied.ready_at is None or is_listed):
        state, since = State.CREATING, supplied.created_at
    elif worker is None:
        state, since = State.IDLE, supplied.ready_at or supplied.created_at
    else:
        state = (
            State.DRAINING if worker.closed else State.CONFIGURED if worker.job is not None else State.IDLE
        )
        since = worker.since
    # By position, which is twice as fast: this is done for every machine in every cycle.
    return Machine(
        supplied.name,
        supplied.pool,
        state,
        supplied.template,
        supplied.created_at,
        since,
        supplied.ready_at,
        job,
        uses,
        supplied.ended,
        supplied.trouble,
        supplied.order,
        not is_exact and worker is None and state is State.IDLE,
        supplied.drains,
        _is_abrupt(supplied, is_exact=is_exact),
        supplied.uid,
    )


def _is_abrupt(supplied: Supplied, *, is_exact: bool) -> bool:
    """Whether a machine may have a job that nobody knows of, and would not end it before it goes."""
    is_up = supplied.ready_at is not None and supplied.ended is None and not supplied.leaving
    return is_up and not is_exact and not supplied.drains


def _vanished(name: str, worker: Worker) -> Machine:
    return Machine(
        name=name,
        pool=pool_of(name),
        state=State.FAILED,
        template="",
        created_at=worker.since,
        since=worker.since,
        job=worker.job,
        uses=worker.uses,
        ended=Ended("vanished", "its provider no longer knows it"),
    )
