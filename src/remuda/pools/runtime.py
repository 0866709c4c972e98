"""Pools at work in `remuda up`: one loop over all backends, and what the objects' statuses say."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from remuda.control.routes import Route
from remuda.errors import BadInput
from remuda.ledger.retention import Retention
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.pools.controller import PoolsController
from remuda.pools.decide.model import Override, Policy
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import PoolSetup, Setup, compile_objects
from remuda.pools.ports import Backend
from remuda.pools.routes import PoolRoutes
from remuda.pools.status import pool_status
from remuda.runtime import Runtime, Services, Status

_NOTHING = Setup(Policy(), {})


class Compiled(Struct, frozen=True):
    """What objects mean, and the objects: they mean something else when a Secret changes."""

    setup: Setup
    objects: Objects
    broken: frozenset[tuple[str, str]]


class PoolsRuntime(Runtime):
    """All pools, because ceilings need them together."""

    def __init__(self, services: Services, backends: Sequence[Backend]) -> None:
        self._services = services
        self._backends = tuple(backends)
        self._store = services.store
        sources = {name: port for backend in backends for name, port in backend.sources.items()}
        providers = {name: port for backend in backends for name, port in backend.providers.items()}
        partners = {name: source for backend in backends for name, source in backend.partners.items()}
        self._exact = frozenset(name for name, source in sources.items() if source.exact)
        self._providers = providers
        self.controller = PoolsController(
            sources,
            providers,
            self._read_overrides,
            services.clock,
            PoolMeters(services.registry),
            partners,
        )
        self.controller.decided = self._decided
        self.loop = services.make_loop(self.controller, POOL_KINDS, Policy())
        for backend in backends:
            backend.changed = self._recompile_soon
        self._compiled: Compiled | None = None
        self._recompiling: asyncio.Handle | None = None
        #: by pool, the reason of the last cycle, and why its source is silent
        self._reasons: dict[str, Reason] = {}
        self._silent: dict[str, str] = {}
        #: by pool, what a person must supply
        self._incomplete: dict[str, str] = {}

    @property
    def _setup(self) -> Setup:
        return self._compiled.setup if self._compiled else _NOTHING

    async def _read_overrides(self) -> dict[str, Override]:
        """What is set by hand; a store across a network does not keep everything else waiting."""
        if self._store.is_apart:
            return await asyncio.to_thread(self._store.read, overrides)
        return self._store.read(overrides)

    def routes(self) -> tuple[Route, ...]:
        """What can be asked of pools, and of what feeds them."""
        services = self._services
        own = PoolRoutes(
            self.controller, self._providers, services.store, services.clock, services.wake, self._user_data
        )
        return (*(route for backend in self._backends for route in backend.routes()), *own.routes())

    def _user_data(self, setup: PoolSetup) -> str | None:
        found = (backend.user_data(setup) for backend in self._backends)
        return next((text for text in found if text is not None), None)

    def _fingerprint(self, setup: PoolSetup) -> str:
        return "".join(backend.fingerprint(setup) for backend in self._backends)

    def compile(self, objects: Objects, broken: frozenset[tuple[str, str]]) -> "Compiled":
        """The policy of all pools; `BadInput` when nothing here can make the machines of one."""
        setup = compile_objects(objects, self._exact, self._fingerprint)
        elsewhere = [pool.name for pool in setup.pools.values() if pool.provider not in self._providers]
        if elsewhere:
            raise BadInput(
                f"pools of VMs are run from within a cluster: {', '.join(elsewhere)}; kubectl apply them and start"
                " `remuda up --cluster`"
            )
        names = tuple(sorted(name for kind, name in broken if kind == "RunnerPool"))
        policy = msgspec.structs.replace(setup.policy, broken=names)
        return Compiled(Setup(policy, setup.pools), objects, broken)

    def apply(self, compiled: "Compiled") -> None:
        """Judge by another policy from the next cycle on."""
        self._compiled = compiled
        self.controller.setups = compiled.setup.pools
        for backend in self._backends:
            backend.serve(tuple(compiled.setup.pools.values()))
        self._incomplete = {}
        for backend in self._backends:
            for name, text in backend.problems().items():
                self._incomplete[name] = "; ".join(filter(None, (self._incomplete.get(name), text)))
        self._services.status_changed()
        self.loop.follow(compiled.setup.policy)

    def _recompile_soon(self) -> None:
        """Several changes of one moment are followed once."""
        if self._recompiling is None:
            self._recompiling = asyncio.get_running_loop().call_soon(self._recompile)

    def _recompile(self) -> None:
        """What machines are made of may have changed, though no object has."""
        self._recompiling = None
        if self._compiled is not None:  # else what is wanted is not known yet
            self.apply(self.compile(self._compiled.objects, self._compiled.broken))

    async def start(self) -> None:
        """Find what an earlier process left."""
        for backend in self._backends:
            await backend.start()

    async def lead(self) -> None:
        """Take up what the replica before us left."""
        for backend in self._backends:
            await backend.lead()

    async def run(self) -> None:
        """Follow the world of all backends until cancelled."""
        async with asyncio.TaskGroup() as group:
            for backend in self._backends:
                group.create_task(backend.run(), name=type(backend).__name__)

    async def settle(self) -> None:
        """Wait until machines and needs are known, or cannot be; what they are made of may change the policy."""
        for backend in self._backends:
            await backend.settle()
        self._recompile()

    def _decided(self, reasons: tuple[Reason, ...]) -> None:
        """A cycle is over; without reasons, another replica decides now."""
        for backend in self._backends:
            backend.decided(reasons, self._setup.policy)
        silences = {
            job_class: why for backend in self._backends for job_class, why in backend.silent().items()
        }
        silent = {
            name: silences[pool.job_class]
            for name, pool in self._setup.policy.pools.items()
            if pool.job_class in silences
        }
        fresh = {reason.subject.removeprefix("pool/"): reason for reason in reasons}
        if (fresh, silent) != (self._reasons, self._silent):
            self._reasons, self._silent = fresh, silent
            self._services.status_changed()

    def status(self, kind: str, name: str) -> Status:
        """What a pool has and wants, and what keeps it."""
        if kind != "RunnerPool":
            return Status()
        return pool_status(
            self._reasons.get(name), self._silent.get(name, ""), self._incomplete.get(name, "")
        )

    def details(self) -> Mapping[str, Any]:
        """How many pools there are."""
        return {"pools": len(self._setup.pools)}

    def trouble(self) -> list[str]:
        """Sources and providers that do not answer."""
        return [text for backend in self._backends for text in backend.trouble()]

    async def keep_house(self, keep: Retention, now: Instant) -> None:
        """Forget what backends keep no longer."""
        for backend in self._backends:
            await backend.keep_house(keep, now)

    def close(self) -> None:
        """Let go of machines; they go on."""
        for backend in self._backends:
            backend.close()
