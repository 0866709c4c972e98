"""
One process of `remuda up`: the store, the clock, the log, health, the control API, loops and who leads.

What runs in it are jobs, assembled from their descriptions; nothing here knows one by name. `App.run` lives until it is
stopped, reloads its files when they change, and leaves what jobs started running for the next start.
"""

import asyncio
import contextlib
import os
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from prometheus_client import CollectorRegistry

from remuda import __version__
from remuda.assembly import assemble, compile_all, configured, read_objects
from remuda.control.about import About, ShownObjects, about_route
from remuda.control.documents import VIEWS as DOCUMENTS
from remuda.control.loops import LoopRoutes, paused_loops
from remuda.control.ports import PORTS, Ports
from remuda.control.replay import replay_route
from remuda.control.routes import Route
from remuda.control.server import SOCKET, ControlServer
from remuda.datadir import DataDir
from remuda.errors import BadInput, RemudaError
from remuda.job import Job, Jobs, load
from remuda.jobs import JOBS
from remuda.ledger.address import PostgresAddress
from remuda.ledger.age import AgeClock, newest_record
from remuda.ledger.ballast import Ballast, room
from remuda.ledger.opening import open_store
from remuda.ledger.record import Kinds, Ledger
from remuda.ledger.retention import Retention, forget
from remuda.ledger.seat import Claimant
from remuda.loop.clock import Clock
from remuda.loop.controller import Controller
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.health import Health, Pulse, liveness, readiness
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Pace, Tools
from remuda.loop.metrics import ConfigMeters, LoopMetrics
from remuda.loop.probes import HealthServer, health_page, metrics_page
from remuda.loop.supervise import run_loops
from remuda.model.disks import shortage
from remuda.model.plans import Action
from remuda.model.times import write_duration
from remuda.objects.load import Objects
from remuda.runtime import Services, SharedPlace, Status

if TYPE_CHECKING:
    from remuda.cluster.replica import Replica, ReplicaConfig
    from remuda.web.dashboard import Dashboard, WebOptions

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)

_LOOK_AT_FILES_S = 1.0
_HOUSEKEEPING_S = 60.0
#: how often is looked whether we lead, and how soon the seat of the store is tried again
_LOOK_AT_SEAT_S, _SEAT_AGAIN_S = 0.2, 5.0
#: 2026-01-01, which keeps the numbers of operations short
_FIRST_MOMENT = 1_767_225_600_000


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `remuda up` beside its files."""

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
    #: the dashboard; None without one
    web: "WebOptions | None" = None
    #: the database that keeps the store instead of a file in the data directory
    store: PostgresAddress | None = None
    #: the job queue that this host shares with others
    queue: SharedPlace | None = None


class App:
    """Everything in one process."""

    def __init__(
        self,
        options: Options,
        clock: Clock,
        rng: random.Random,
        log: Log,
        fault_point: FaultPoint = no_fault,
        jobs: Jobs = JOBS,
    ) -> None:
        """Hold the data directory and build everything. Nothing is started and nothing outside it is changed yet."""
        self.options = options
        self._clock, self._rng, self._log = clock, rng, log
        self._fault_point = fault_point
        self._jobs = jobs
        jobs.teach()
        objects = Objects() if options.cluster else read_objects(jobs, options.files)
        chosen = configured(jobs, objects)
        self._stamps = _stamps(options.files)
        self._objects, self._started_at = objects, clock.now()
        self._shown = ShownObjects()
        self._replica = self._join(options.cluster) if options.cluster else None
        self._registry = CollectorRegistry()
        self._metrics = LoopMetrics(self._registry)
        self._config = ConfigMeters(self._registry)
        self.loops: list[Loop[Any, Any, Any, Any]] = []
        self._ledgers: list[Ledger[Any, Any, Any, Any]] = []
        self._refused_callers: list[Callable[[int], bool]] = []
        self._leads = self._is_seated = False
        self._reloading = asyncio.Lock()
        #: set once everything answers
        self.is_up = asyncio.Event()
        self._refused: str | None = None
        self.home = DataDir(options.data_dir)
        self._ballast = Ballast(self.home.path / "ballast")
        try:
            self.store = open_store(
                options.store or self.home.path, jobs.tables(), clock.now, options.most_bytes, self._ballast
            )
        except BaseException:
            self.home.release()
            raise
        if self.store.backup is not None:
            log.info("the store was upgraded; it is kept as it was before", copy=str(self.store.backup))
        try:
            if self._replica is None:
                self.store.take_seat(Claimant(f"{socket.gethostname()}, pid {os.getpid()}", "host"))
            self._runtimes = assemble(jobs, chosen, self._services)
            self._compiled = compile_all(self._runtimes, objects)
        except BaseException:
            self.close()
            raise
        self._age = AgeClock(clock, self.store.read(newest_record), self._warn_of_jump)
        self._pulse = Pulse(clock)
        self._pages: tuple[dict[str, Callable[[], tuple[int, str, bytes]]], ...] = (
            {"/ready": health_page(self.readiness), "/metrics": metrics_page(self._registry)},
            {"/live": health_page(lambda: liveness(list(self.loops), self._pulse, clock))},
        )
        routes = self._routes()
        self._control = ControlServer(self.home.path / SOCKET, routes, self.store, log, self._refused_callers)
        self._web = self._dashboard(options.web, routes) if options.web else None

    def _join(self, config: "ReplicaConfig") -> "Replica":
        from remuda.cluster.replica import Replica  # noqa: PLC0415 - a laptop does not pay for it

        return Replica(config, self._jobs, self._clock, self._rng, self._log, self._wake, self._status)

    def _dashboard(self, options: "WebOptions", routes: tuple[Route, ...]) -> "Dashboard":
        from remuda.web.dashboard import Dashboard  # noqa: PLC0415 - who wants none does not pay for it

        try:
            home, election = self.home.path, self._replica.leadership if self._replica else None
            return Dashboard(options, home, self._jobs, routes, self.store, self._clock, self._log, election)
        except BaseException:
            self.close()
            raise

    @property
    def web_link(self) -> str:
        """What opens the dashboard, for the terminal alone: it holds the token. Nothing without a dashboard."""
        return self._web.link if self._web else ""

    def _services(self, job: Job) -> Services:
        own: list[Loop[Any, Any, Any, Any]] = []

        def make_loop(
            controller: Controller[S, M, P, A], records: Kinds[S, M, P, A], policy: P
        ) -> Loop[S, M, P, A]:
            ledger = Ledger(self.store, controller.name, records)
            tools = Tools(self._clock, self._rng, self._log, self._metrics, self._fault_point, self._may_act)
            loop = Loop(controller, ledger, policy, tools, self.options.pace)
            own.append(loop)
            self.loops.append(loop)
            self._ledgers.append(ledger)
            return loop

        def wake() -> None:
            for loop in own:
                loop.wake()

        del job
        return Services(
            clock=self._clock,
            rng=self._rng,
            log=self._log,
            store=self.store,
            data_dir=self.home.path,
            socket=self.home.path / SOCKET,
            registry=self._registry,
            make_loop=make_loop,
            wake=wake,
            status_changed=self._replica.status_changed if self._replica else lambda: None,
            cluster=self._replica.access if self._replica else None,
            fault_point=self._fault_point,
            refused_callers=self._refused_callers,
            queue=self.options.queue,
        )

    def _may_act(self) -> bool:
        """Always on a host; in a cluster only while we lead."""
        if self._replica is None:
            return True
        may_act = self._replica.may_act() and (self._is_seated or not self.store.is_apart)
        if may_act and not self._leads:
            # What operations make is named after them, and the leaders before us had ledgers of their own.
            for ledger in self._ledgers:
                ledger.number_from(self._clock.now() - _FIRST_MOMENT)
        self._leads = may_act
        return may_act

    def _status(self, kind: str, name: str) -> Status:
        """What the job whose kind it is says about an object."""
        for job in self._jobs:
            if job.name in self._runtimes and any(each.name == kind for each in job.kinds):
                return self._runtimes[job.name].status(kind, name)
        return Status()

    def _routes(self) -> tuple[Route, ...]:
        jobs = [route for runtime in self._runtimes.values() for route in runtime.routes()]
        # What commands of a job keep can be asked for though nothing of it runs here.
        jobs += [route for job in self._jobs if job.views and not job.runtime for route in load(job.views)]
        loops = LoopRoutes(self.loops, self.store, self._clock, self.readiness).routes()
        replay = replay_route(self._jobs, self.store, self._clock)
        return (*jobs, *loops, *DOCUMENTS, about_route(self._about), replay)

    def _about(self) -> About:
        options = self.options
        return About(
            version=__version__,
            pid=os.getpid(),
            started_at=self._started_at,
            now=self._clock.now(),
            files=tuple(str(Path(name).absolute()) for name in options.files),
            options={
                "address": options.address,
                "interval_s": options.pace.interval,
                "keep_ms": int(options.retention.age),
                "keep_bytes": options.retention.most_bytes,
                "keep_output_bytes": options.retention.output_bytes,
                "is_in_cluster": options.cluster is not None,
            },
            objects=self._shown.of(self._objects),
        )

    def _wake(self) -> None:
        for loop in self.loops:
            loop.wake()

    def readiness(self) -> Health:
        """What `/ready` answers."""
        details: dict[str, Any] = {}
        for runtime in self._runtimes.values():
            details |= runtime.details()
        details["data_dir"] = str(self.home.path)
        if self.options.store is not None:
            details["store"] = str(self.options.store)
        if self.options.queue is not None:
            details["queue"] = str(self.options.queue.address)
        if self._refused is not None:
            details["refused_reload"] = self._refused
        trouble = []
        if lack := shortage(*room(self.home.path)):
            trouble.append(
                f"the disk of {self.home.path} is almost full: {lack}; history gives way, then jobs are refused"
            )
        if self._replica is not None:
            details["leader"] = self._replica.leadership.leader
            trouble += self._replica.trouble()
            trouble += [text for runtime in self._runtimes.values() for text in runtime.trouble()]
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
            if self._web is not None:
                self._web.listen()
                ends.push_async_callback(self._web.stop)
            for runtime in self._runtimes.values():
                ends.callback(runtime.close)
            self._apply(self._compiled)
            self._pause_loops()
            for runtime in self._runtimes.values():
                await runtime.start()
            await self._control.start()
            ends.push_async_callback(self._control.stop)
            if self._web is not None:
                await self._web.start()
                if self._replica is not None and self.options.cluster is not None:
                    self._web.publish(self._replica.leadership, self.options.cluster.pod_address)
            ports = Ports(servers[0].port, servers[1].port)
            if self._web is not None and self.options.web is not None:
                web = self.options.web
                token = str(web.token.absolute()) if web.token else ""
                ports = Ports(ports.health, ports.live, self._web.port, web.address, token)
            _write_file(self.home.path / PORTS, msgspec.json.encode(ports))
            ends.callback((self.home.path / PORTS).unlink, missing_ok=True)
            self._log.info(
                "remuda is up",
                pid=os.getpid(),
                data_dir=str(self.home.path),
                health=ports.health,
                live=ports.live,
                **({"web": ports.web} if ports.web else {}),
            )
            self.is_up.set()
            async with asyncio.TaskGroup() as group:
                chores = [
                    group.create_task(self._pulse.run(), name="pulse"),
                    group.create_task(self._keep_house(), name="housekeeping"),
                    group.create_task(self._look_at_files(), name="files"),
                    *(
                        group.create_task(runtime.run(), name=name)
                        for name, runtime in self._runtimes.items()
                    ),
                ]
                if self._replica is not None:
                    chores.append(group.create_task(self._replica.run(self._follow), name="cluster"))
                    if self.store.is_apart:
                        chores.append(group.create_task(self._keep_seat(self._replica), name="seat"))
                await run_loops(self.loops, stop, self._log)
                for chore in chores:
                    chore.cancel()
        self._log.info("remuda is down; machines that run wait for the next start")

    def _pause_loops(self) -> None:
        """As an operator said, here or at the replica that led before."""
        paused = self.store.read(paused_loops)
        for loop in self.loops:
            if loop.name in paused:
                loop.pause()
            elif loop.standing.paused:
                loop.resume()

    async def _keep_seat(self, replica: "Replica") -> None:
        """Of replicas that share a store, write it while we lead, from where the one before us left it."""
        who = replica.claimant()
        while True:
            if not self.store.is_writer:
                self._is_seated = False
            if self._is_seated and not replica.may_act():
                self._is_seated = False
                await asyncio.to_thread(self.store.leave_seat)
            elif replica.may_act() and not self._is_seated:
                try:
                    await asyncio.to_thread(self.store.take_seat, who)
                    for runtime in self._runtimes.values():
                        await runtime.lead()
                    self._pause_loops()
                except RemudaError as error:
                    self._log.error("the store cannot be written", error=str(error), next_try_s=_SEAT_AGAIN_S)
                    await asyncio.sleep(_SEAT_AGAIN_S)
                    continue
                for loop in self.loops:
                    loop.begin_anew()
                self._is_seated = True
                self._log.info("writing the store", store=str(self.options.store))
                self._wake()
            await asyncio.sleep(_LOOK_AT_SEAT_S)

    def close(self) -> None:
        """Let go of the store and the data directory."""
        self.store.close()
        self.home.release()

    async def reload(self) -> bool:
        """Read the files again and follow them, all or nothing. False when they were refused, or there are none."""
        if self._replica is not None:
            return False  # objects are followed as they change
        async with self._reloading:
            self._stamps = _stamps(self.options.files)
            try:
                objects = await asyncio.to_thread(read_objects, self._jobs, self.options.files)
                compiled = compile_all(self._runtimes, objects)
                self._check_jobs(objects)
            except Exception as error:  # noqa: BLE001 - no file, however strange, may stop what runs
                message = str(error) if isinstance(error, RemudaError) else f"{type(error).__name__}: {error}"
                self._refused = message
                self._config.reloaded(is_refused=True)
                self._log.error("reload refused; the old configuration stays", problems=message.splitlines())
                return False
            self._refused, self._objects = None, objects
            self._apply(compiled)
            self._config.reloaded(is_refused=False)
            self._log.info("reloaded", objects=len(objects))
            return True

    def _check_jobs(self, objects: Objects) -> None:
        """Refuse objects of a job that does not run here: its loops begin with the process."""
        kinds = {item.kind for item in objects}
        for job in configured(self._jobs, objects):
            found = sorted(kind.name for kind in job.kinds if kind.name in kinds)
            if found and job.name not in self._runtimes:
                raise BadInput(
                    f"{', '.join(found)} is of {job.name}, which does not run: start Remuda again to run it"
                )

    def _apply(self, compiled: dict[str, Any]) -> None:
        """Between two cycles, because nothing awaits here: loops see all of it or nothing."""
        for name, runtime in self._runtimes.items():
            runtime.apply(compiled[name])

    def _follow(self, objects: Objects, broken: frozenset[tuple[str, str]]) -> None:
        """Go by the objects of a cluster that are whole."""
        self._objects = objects
        self._apply(compile_all(self._runtimes, objects, broken))

    async def _look_at_files(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AT_FILES_S)
            if _stamps(self.options.files) != self._stamps:
                await self.reload()

    async def _keep_house(self) -> None:
        keep = self.options.retention
        while True:
            await asyncio.to_thread(self._ballast.keep)
            await asyncio.sleep(_HOUSEKEEPING_S)
            if not self.store.is_writer:
                continue  # who writes it looks after it
            try:
                await self._forget(keep)
            except RemudaError as error:
                self._log.error("housekeeping failed", error=str(error))

    def _warn_of_jump(self, jump: int) -> None:
        self._log.warning(
            "the clock is far ahead of the newest record: nothing more is forgotten for its age until it has been so for a day",
            ahead=write_duration(jump),
        )

    async def _forget(self, keep: Retention) -> None:
        now = self._age.now()
        gone = 1
        while gone:
            gone = await self.store.write(lambda db: forget(db, keep, now), durable=False)
        for runtime in self._runtimes.values():
            await runtime.keep_house(keep, now)


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
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
        file.write(data)
    draft.replace(path)
