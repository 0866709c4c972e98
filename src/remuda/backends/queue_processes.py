"""The queue of our own, served by processes on this host."""

from collections.abc import Collection, Iterator

import msgspec
from msgspec import UnsetType

from remuda.backends.foreign import Foreign
from remuda.backends.shared_queue import join
from remuda.control.routes import Call, Route
from remuda.errors import NotFound, Unavailable
from remuda.ledger.dialects import number_from
from remuda.ledger.identity import lineage, new_identity, renew
from remuda.ledger.retention import Retention
from remuda.ledger.store import Store
from remuda.machines.process.cgroups import find_cgroups
from remuda.machines.process.driver import ProcessMachines
from remuda.machines.process.limits import enforcement
from remuda.machines.process.separation import describe, find_means
from remuda.machines.process.spec import Means, Separation, SeparationPolicy
from remuda.model.machines import Confinement, number_of
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.pools.policy import PoolSetup
from remuda.pools.ports import Backend
from remuda.providers.process import ProcessProvider, read_settings
from remuda.runtime import Services
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue
from remuda.sources.queue.retention import forget_jobs, forget_shared_jobs
from remuda.sources.queue.routes import QueueRoutes, Standing
from remuda.sources.queue.settle import Terms


def remarks(objects: Objects) -> Iterator[str]:
    """How the jobs of pools of processes are separated on this host, and how their limits are enforced."""
    pools = [
        (item.name, item.spec.provider.process)
        for item in objects
        if item.kind == "RunnerPool" and not isinstance(item.spec.provider.process, UnsetType)
    ]
    if not pools:
        return
    try:
        means = find_means()
    except Unavailable as problem:
        yield f"on this host, separation of jobs is not known: {problem}"
        return
    controllers = find_cgroups().controllers
    found: dict[tuple[str, str], list[str]] = {}
    for name, process in pools:
        limits, policy = read_settings(msgspec.to_builtins(process, enc_hook=str))
        used = Means.NONE if policy is SeparationPolicy.NONE else means
        facts = {"separation": describe(Separation(used)), **enforcement(limits, controllers, used)}
        for fact in facts.items():
            found.setdefault(fact, []).append(name)
    for (what, how), names in found.items():
        yield f"on this host, {what} of pool{'s' * (len(names) != 1)} {', '.join(names)}: {how}"


class QueueOnProcesses(Backend):
    """Jobs that people submit, and the processes that run them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._files = JobFiles(services.data_dir / "jobs")
        self._identity = new_identity(services.rng, services.store.read(lineage))
        self._machines = ProcessMachines(
            services.data_dir / "machines",
            services.socket,
            services.clock,
            services.wake,
            store=self._identity,
            private=services.data_dir,
            owns=lambda file: services.store.read(lineage).made(file.store, number_of(file.name)),
        )
        services.refused_callers.append(self._machines.is_separated_job)
        self._joined = join(services, services.queue, self._files, self._identity) if services.queue else None
        self.queue = (
            self._joined.queue
            if self._joined
            else Queue(
                services.store,
                self._files,
                services.clock,
                services.wake,
                services.fault_point,
                self._identity,
            )
        )
        #: what has the jobs
        self._store: Store = self._joined.store if self._joined else services.store
        self.sources = {"queue": self.queue}
        self.providers = {"process": ProcessProvider(self._machines)}
        self.partners = {"process": "queue"}
        self._classes = set[str]()

    def routes(self) -> tuple[Route, ...]:
        """Submitting, looking at and ending jobs."""
        shared = self._joined.store if self._joined else None
        return (
            *QueueRoutes(self.queue, self._files, self._all_classes, self._vouch, shared).routes(),
            *Foreign(lambda: self._identity, self._machines, self._files, self._store, self.queue).routes(),
            Route(
                "GET",
                "/v1/machines/{machine}/confinement",
                "What holds the jobs of a process machine in: its separation, and how its limits are enforced.",
                Confinement,
                handler=self._confinement,
            ),
        )

    def _all_classes(self) -> set[str]:
        """What jobs may ask for: of a queue that hosts share, also what others of them serve."""
        return self._classes | (self._joined.queue.served_elsewhere() if self._joined else set())

    async def _confinement(self, call: Call) -> Confinement:
        found = self._machines.confinement(call.names["machine"])
        if found is None:
            raise NotFound(f"there is no process machine {call.names['machine']}")
        return Confinement(found)

    def _vouch(self, machine: str, secret: str, is_busy: bool) -> Standing | None:  # noqa: FBT001 - a fact of a call
        found = self._machines.vouch(machine, secret, is_busy)
        return None if found is None else Standing(found)

    def serve(self, setups: Collection[PoolSetup]) -> None:
        """The classes that jobs may ask for, and what the machines of each pool may take from the queue."""
        self._classes = {setup.job_class for setup in setups}
        self.queue.serve(
            {
                setup.name: Terms(setup.job_class, setup.max_uses, setup.job_timeout)
                for setup in setups
                if setup.source == "queue"
            }
        )

    async def start(self) -> None:
        """Find the machines that an earlier process left running."""
        if self._services.is_dry_run:
            if (self._services.data_dir / "machines").exists():
                await self._machines.adopt(sweep=False)
            return
        self._files.prepare()
        if self._services.store.is_writer:
            await self._adopt()

    async def lead(self) -> None:
        """Go on with the queue as the replica before us left it, under an identity of our own."""
        self._identity = new_identity(self._services.rng, self._services.store.read(lineage))
        self._machines.carry(self._identity)
        await self._adopt()
        self.queue.take_up(self._identity)

    async def _adopt(self) -> None:
        """Take over what an earlier run left, and set apart what another store did."""
        now, store, log = self._services.clock.now(), self._services.store, self._services.log
        await store.write(lambda db: renew(db, self._identity, now))
        for problem in await self._machines.adopt():
            log.warning("not a machine of ours", detail=problem)
        # One that was never ready has never asked for work.
        self.queue.adopt(
            item.name
            for item in await self._machines.list()
            if item.ready_at is not None and item.ended is None
        )
        if foreign := self._machines.foreign():
            # Machines are named after operations: none may get the name of one that is there.
            first = max(number_of(item.name) for item in foreign) + 1
            await store.write(lambda db: number_from(db, first))
            log.warning(
                "machines of another store are kept; `remuda store foreign` lists them",
                machines=[item.name for item in foreign],
            )

    async def run(self) -> None:
        """Follow what other hosts do with a queue that is shared with them."""
        if self._joined is not None:
            await self._joined.queue.follow()

    async def keep_house(self, keep: Retention, now: Instant) -> None:
        """Forget jobs that ended long ago, with their output."""
        if self._joined is not None:
            await forget_shared_jobs(self._joined.store, self._files, self.queue.running(), keep, now)
        else:
            await forget_jobs(self._services.store, self._files, keep, now)

    def close(self) -> None:
        """Let go of machines; they go on, and their jobs for as long as a lease of a shared queue holds."""
        self._machines.close()
        if self._joined is not None:
            self._joined.store.close()
