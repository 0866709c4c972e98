"""
The composition root: objects → adapters → loops, and everything one process is.

`remuda.runners` builds the adapters that only a cluster can feed, `remuda.rehearsal` the same for one cycle that changes
nothing; nobody else knows more than one job. `App.run` lives until it is told to stop, reloads its files
when they change, and leaves machines running for the next start.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry

from remuda.control.loops import LoopRoutes, paused_loops
from remuda.control.routes import Route
from remuda.control.server import SOCKET, ControlServer
from remuda.datadir import DataDir
from remuda.errors import BadInput, RemudaError
from remuda.job import Place
from remuda.jobs import JOBS
from remuda.ledger.record import Ledger
from remuda.ledger.retention import Retention, forget, make_room
from remuda.ledger.store import FILE, SqliteStore
from remuda.loop.clock import Clock
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.health import Health, HealthServer, Pulse, health_page, liveness, metrics_page, readiness
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import ConfigMeters, LoopMetrics
from remuda.loop.supervise import run_loops
from remuda.machines.process.driver import ProcessMachines
from remuda.model.plans import Reason
from remuda.objects.load import Loaded, Objects
from remuda.output.words import UNKNOWN, number
from remuda.pools.controller import PoolsController
from remuda.pools.decide.world import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import EXACT_SOURCES, PARTNERS, Setup, compile_objects
from remuda.pools.ports import Provider, Source
from remuda.pools.routes import PoolRoutes
from remuda.providers.process import ProcessProvider
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue, Terms
from remuda.sources.queue.retention import forget_jobs
from remuda.sources.queue.routes import QueueRoutes

if TYPE_CHECKING:
    from remuda.cluster import Cluster, ReplicaConfig
    from remuda.runners import Runners

PORTS = "ports.json"
_LOOK_AT_FILES_S = 1.0
_HOUSEKEEPING_S = 60.0
#: 2026-01-01, which keeps the numbers of operations short
_FIRST_MOMENT = 1_767_225_600_000


@dataclass(frozen=True, slots=True)
class Options:
    """What `remuda up` is told beside its files."""

    files: tuple[str, ...]
    data_dir: Path
    health_port: int = 8000
    live_port: int = 8001
    address: str = "127.0.0.1"
    retention: Retention = field(default_factory=Retention)
    #: a quota on the store; none by default
    most_bytes: int | None = None
    pace: Pace = field(default_factory=Pace)
    #: objects come from this cluster instead of files
    cluster: "ReplicaConfig | None" = None


class Ports(Struct, frozen=True):
    """`ports.json`: what was chosen where 0 was asked for."""

    health: int
    live: int


def read_setup(files: tuple[str, ...]) -> Setup:
    """Load and compile the files; `BadInput` with every problem, a line each."""
    if not files:
        raise BadInput("there is no file to read objects from")
    loaded = JOBS.load(files, Place.RUN, Place.KEPT)
    if loaded.problems:
        raise BadInput("\n".join(str(problem) for problem in loaded.problems))
    setup = compile_objects(loaded.objects, EXACT_SOURCES)
    elsewhere = [pool.name for pool in setup.pools.values() if pool.provider == "kubevirt"]
    if elsewhere:
        raise BadInput(
            f"pools of VMs are run from within a cluster: {', '.join(elsewhere)}; kubectl apply them and start"
            " `remuda up --cluster`"
        )
    return setup


def terms_of(setup: Setup) -> dict[str, Terms]:
    """What the machines of each pool may take from the queue."""
    return {
        name: Terms(pool.job_class, pool.max_uses, pool.job_timeout)
        for name, pool in setup.pools.items()
        if pool.source == "queue"
    }


class App:
    """Everything in one process: store, queue, machines, the pools loop, control and health."""

    def __init__(
        self, options: Options, clock: Clock, rng: random.Random, log: Log, fault_point: FaultPoint = no_fault
    ) -> None:
        """Hold the data directory and build everything. Nothing is started and nothing outside it is changed yet."""
        self.options = options
        self._clock = clock
        self._log = log
        self._setup = read_setup(options.files) if options.cluster is None else Setup(Policy(), {})
        self._stamps = _stamps(options.files)
        self._cluster = self._join(options.cluster, rng) if options.cluster else None
        self.home = DataDir(options.data_dir)
        path = self.home.path
        self.files = JobFiles(path / "jobs")
        try:
            self.files.prepare()
            self.store = SqliteStore(path / FILE, most_bytes=options.most_bytes, make_room=make_room)
        except BaseException:
            self.home.release()
            raise
        self.queue = Queue(self.store, self.files, clock, self._wake, fault_point)
        self._machines = ProcessMachines(path / "machines", path / SOCKET, clock, self._wake)
        sources: dict[str, Source] = {"queue": self.queue}
        providers: dict[str, Provider] = {"process": ProcessProvider(self._machines)}
        registry = CollectorRegistry()
        self._objects: Objects | None = None
        self._runners = self._hire(self._cluster, rng, registry, fault_point) if self._cluster else None
        if self._runners is not None:
            sources["circleci"], providers["kubevirt"] = self._runners.tasks, self._runners.vms
        self.job = PoolsController(
            sources, providers, lambda: self.store.read(overrides), clock, PoolMeters(registry), PARTNERS
        )
        self._ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(
            self.store, self.job.name, POOL_KINDS
        )
        self._leads = False
        tools = Tools(clock, rng, log, LoopMetrics(registry), fault_point, self._may_act)
        self.loop = Loop(self.job, self._ledger, self._setup.policy, tools, options.pace)
        self.loops: list[Loop[Any, Any, Any, Any]] = [self.loop]
        self._pulse = Pulse(clock)
        self._pages: tuple[dict[str, Callable[[], tuple[int, str, bytes]]], ...] = (
            {"/ready": health_page(self.readiness), "/metrics": metrics_page(registry)},
            {"/live": health_page(lambda: liveness(list(self.loops), self._pulse, clock))},
        )
        self._control = ControlServer(path / SOCKET, self._routes(providers), self.store, log)
        self._reloading = asyncio.Lock()
        self._recompiling: asyncio.Handle | None = None
        self._refused: str | None = None
        self._config = ConfigMeters(registry)
        #: by class, the last poll that was logged
        self._polls: dict[str, tuple[int, int, int]] = {}

    def _join(self, replica: "ReplicaConfig", rng: random.Random) -> "Cluster":
        from remuda.cluster import Cluster  # noqa: PLC0415 - a laptop does not pay for it

        return Cluster(replica, self._clock, rng, self._log, self._wake)

    def _may_act(self) -> bool:
        """Always on a host; in a cluster only while we lead."""
        if self._cluster is None:
            return True
        may_act = self._cluster.may_act()
        if may_act and not self._leads:
            # Machines are named after operations, and the leaders before us had ledgers of their own.
            self._ledger.number_from(self._clock.now() - _FIRST_MOMENT)
        self._leads = may_act
        return may_act

    def _hire(
        self, cluster: "Cluster", rng: random.Random, registry: CollectorRegistry, fault_point: FaultPoint
    ) -> "Runners":
        from remuda.runners import Runners  # noqa: PLC0415 - a laptop does not pay for it

        return Runners(
            cluster.reader,
            cluster.writer,
            cluster.namespace,
            self._clock,
            rng,
            self._log,
            self._wake,
            self._recompile_soon,
            registry,
            fault_point,
        )

    def _routes(self, providers: dict[str, Provider]) -> tuple[Route, ...]:
        clock = self._clock
        told = {"kubevirt": self._runners.user_data} if self._runners else {}
        return (
            *QueueRoutes(self.queue, self.files, self._classes).routes(),
            *PoolRoutes(self.job, providers, self.store, clock, self._wake, told).routes(),
            *LoopRoutes(self.loops, self.store, clock, self.readiness).routes(),
        )

    def _classes(self) -> set[str]:
        return {setup.job_class for setup in self._setup.pools.values()}

    def _wake(self) -> None:
        self.loop.wake()

    def readiness(self) -> Health:
        """What `/ready` answers."""
        details: dict[str, Any] = {"pools": len(self._setup.pools), "data_dir": str(self.home.path)}
        if self._refused is not None:
            details["refused_reload"] = self._refused
        if self._cluster is not None:
            details["leader"] = self._cluster.leadership.leader
            trouble = self._cluster.objects.trouble()
            if not self._cluster.objects.is_known:
                trouble = trouble or ["the objects are not read yet"]
            trouble += self._runners.trouble() if self._runners else []
            if trouble:
                details["trouble"] = trouble
        return readiness(list(self.loops), details)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set. Machines stay: the next start finds them."""
        async with contextlib.AsyncExitStack() as ends:
            ends.callback(self.close)
            # Everything that may be refused comes before anything that changes the world.
            servers = []
            for name, port, pages in zip(
                ("--health-port", "--live-port"),
                (self.options.health_port, self.options.live_port),
                self._pages,
                strict=True,
            ):
                try:
                    servers.append(HealthServer(self.options.address, port, pages))
                except BadInput as error:
                    raise BadInput(f"{error} ({name}, --address {self.options.address})") from error
                ends.callback(servers[-1].close)
            ends.callback(self._machines.close)
            self._apply(self._setup)
            paused = self.store.read(paused_loops)
            for loop in self.loops:
                if loop.name in paused:
                    loop.pause()
            for problem in await self._machines.adopt():
                self._log.warning("not a machine of ours", detail=problem)
            await self._control.start()
            ends.push_async_callback(self._control.stop)
            ports = Ports(servers[0].port, servers[1].port)
            _write_file(self.home.path / PORTS, msgspec.json.encode(ports))
            ends.callback((self.home.path / PORTS).unlink, missing_ok=True)
            self._log.info(
                "remuda is up",
                pid=os.getpid(),
                data_dir=str(self.home.path),
                health=ports.health,
                live=ports.live,
            )
            async with asyncio.TaskGroup() as group:
                chores = [
                    group.create_task(self._pulse.run(), name="pulse"),
                    group.create_task(self._keep_house(), name="housekeeping"),
                    group.create_task(self._look_at_files(), name="files"),
                ]
                if self._cluster is not None:
                    self.job.tell = self._tell
                    chores.append(group.create_task(self._cluster.run(self._follow), name="cluster"))
                if self._runners is not None:
                    chores.append(group.create_task(self._runners.run(), name="runners"))
                await run_loops(self.loops, stop, self._log)
                for chore in chores:
                    chore.cancel()
        self._log.info("remuda is down; machines that run wait for the next start")

    def close(self) -> None:
        """Let go of the store and the data directory."""
        self.store.close()
        self.home.release()

    async def reload(self) -> bool:
        """Read the files again and follow them, all or nothing. False when they were refused, or there are none."""
        if self._cluster is not None:
            return False  # objects are followed as they change
        async with self._reloading:
            self._stamps = _stamps(self.options.files)
            try:
                setup = await asyncio.to_thread(read_setup, self.options.files)
            except Exception as error:  # noqa: BLE001 - no file, however strange, may stop what runs
                told = str(error) if isinstance(error, RemudaError) else f"{type(error).__name__}: {error}"
                self._refused = told
                self._config.reloaded(is_refused=True)
                self._log.error("reload refused; the old configuration stays", problems=told.splitlines())
                return False
            self._refused = None
            self._apply(setup)
            self._config.reloaded(is_refused=False)
            self._log.info("reloaded", pools=len(setup.pools))
            return True

    def _apply(self, setup: Setup) -> None:
        """Between two cycles, because nothing awaits here: the loop sees all of it or nothing."""
        self._setup = setup
        self.job.setups = setup.pools
        self.queue.serve(terms_of(setup))
        self.loop.follow(setup.policy)

    def _follow(self, loaded: Loaded) -> None:
        """Go by the objects of a cluster that are whole."""
        self._objects = loaded.objects
        self._recompile()

    def _tell(self, reasons: tuple[Reason, ...]) -> None:
        """Statuses of objects; and for pools that took over from Runner Provisioner, its log line for each poll."""
        assert self._cluster is not None
        assert self._runners is not None
        refusals = self._runners.tasks.refusals()
        silent = {
            name: refusals[pool.job_class]
            for name, pool in self._setup.policy.pools.items()
            if pool.job_class in refusals
        }
        self._cluster.objects.heard(reasons, silent)
        heard_at = self._runners.tasks.heard_at()
        for reason in reasons:
            pool = self._setup.policy.pools.get(reason.subject.removeprefix("pool/"))
            if pool is None or not pool.natural or pool.job_class not in heard_at:
                continue
            if reason.code in UNKNOWN and pool.job_class not in self._polls:
                continue  # how many it wants is not known yet
            unclaimed, running = number(reason.terms, "unclaimed"), number(reason.terms, "running")
            poll = (heard_at[pool.job_class], unclaimed, running)
            if self._polls.get(pool.job_class) != poll:
                self._polls[pool.job_class] = poll
                self._log.info(
                    "scaled",
                    loop_name="scaler",
                    resource_class=pool.job_class,
                    unclaimed_tasks=unclaimed,
                    running_tasks=running,
                    desired_vms=number(reason.terms, "target"),
                )

    def _recompile_soon(self) -> None:
        """Several changes of one moment are followed once."""
        if self._recompiling is None:
            self._recompiling = asyncio.get_running_loop().call_soon(self._recompile)

    def _recompile(self) -> None:
        """What machines are made of may have changed, though no object has."""
        assert self._cluster is not None
        assert self._runners is not None
        self._recompiling = None
        if self._objects is None:
            return  # what is wanted is not known yet
        setup = compile_objects(self._objects, EXACT_SOURCES, self._runners.fingerprint)
        policy = msgspec.structs.replace(setup.policy, broken=self._cluster.objects.broken_pools())
        self._runners.serve(setup.pools.values())
        self._cluster.objects.complain(self._runners.problems())
        self._apply(Setup(policy, setup.pools))

    async def _look_at_files(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AT_FILES_S)
            if _stamps(self.options.files) != self._stamps:
                await self.reload()

    async def _keep_house(self) -> None:
        keep = self.options.retention
        while True:
            await asyncio.sleep(_HOUSEKEEPING_S)
            try:
                await self._forget(keep)
            except RemudaError as error:
                self._log.error("housekeeping failed", error=str(error))

    async def _forget(self, keep: Retention) -> None:
        now = self._clock.now()
        gone = 1
        while gone:
            gone = await self.store.write(lambda db: forget(db, keep, now), durable=False)
        await forget_jobs(self.store, self.files, keep, now)


def _stamps(files: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """What changes when a file or a directory of files changes."""
    stamps = []
    for name in files:
        path = Path(name)
        items = [path]
        with contextlib.suppress(OSError):
            items = [item for item in sorted(path.iterdir()) if item.is_file()] if path.is_dir() else items
        for item in items:
            with contextlib.suppress(OSError):
                stat = item.stat()
                stamps.append((str(item), stat.st_mtime_ns, stat.st_size))
    return tuple(stamps)


def _write_file(path: Path, data: bytes) -> None:
    draft = path.with_suffix(".new")
    draft.write_bytes(data)
    draft.replace(path)
