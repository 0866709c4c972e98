"""
`remuda up --dry-run`: one cycle without its last step, in files or in a cluster; and what `up` needs of a cluster.

The world is observed as it is, with everything that `up` would use, and nothing is written anywhere.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import msgspec
from prometheus_client import CollectorRegistry

from remuda.app import Options, read_setup, terms_of
from remuda.catalog import FOLLOWED
from remuda.cluster import ClusterObjects, ReplicaConfig
from remuda.control.server import SOCKET
from remuda.errors import BadInput, RemudaError, Unavailable
from remuda.jobs import JOBS
from remuda.kube.client import Client
from remuda.kube.preflight import check
from remuda.ledger.record import Ledger, MemoryRecorder
from remuda.ledger.store import FILE, InlineStore, ReadOnlyStore
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.machines.process.driver import ProcessMachines
from remuda.model.plans import Plan
from remuda.objects.crds import crd_of
from remuda.objects.load import Loaded
from remuda.objects.problems import Problem
from remuda.pools.controller import PoolsController
from remuda.pools.decide.world import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.meters import PoolMeters
from remuda.pools.overrides import overrides
from remuda.pools.policy import EXACT_SOURCES, PARTNERS, Setup, compile_objects
from remuda.pools.ports import Provider, Source
from remuda.providers.kubevirt.permissions import PERMISSIONS as VMS
from remuda.providers.process import ProcessProvider
from remuda.runners import Runners
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue

#: how long a cluster is waited for
_GREETING_S = 10.0


async def check_cluster(
    replica: ReplicaConfig, clock: Clock, rng: random.Random, *, only_reads: bool = False
) -> None:
    """Raise `BadInput` with all that keeps `remuda up`, or a dry run of it, from working in a cluster."""
    needs = JOBS.permissions()["up"]
    if only_reads:
        needs = tuple(
            msgspec.structs.replace(rule, verbs=("list",))
            for rule in needs
            if "list" in rule.verbs and not rule.names and rule not in VMS
        )
    async with Client(replica.access, clock, rng, timeout=_GREETING_S) as client:
        await check(client, "up", needs, [crd_of(kind) for kind in FOLLOWED], replica.namespace)
        loaded, problems = await read_cluster(client, replica, clock, rng, Log(clock, lambda _: None))
    if problems and not any(item.kind == "RunnerPool" for item in loaded.objects):
        told = f"no pool in namespace {replica.namespace} can be run"
        raise BadInput("\n".join(f"{told}: {problem}" for problem in problems))


async def read_cluster(
    client: Client, replica: ReplicaConfig, clock: Clock, rng: random.Random, log: Log
) -> tuple[Loaded, tuple[Problem, ...]]:
    """The objects of a cluster that are whole, and the problems of the others. Nothing is written."""
    return await ClusterObjects(client, replica.namespace, clock, rng, log, client, lambda: False).read_once()


async def rehearse(
    options: Options, clock: Clock, rng: random.Random, log: Log
) -> tuple[Plan[PoolAction], tuple[Problem, ...]]:
    """What one cycle would do, and the problems of objects that it would do without."""
    sources, providers = dict[str, Source](), dict[str, Provider]()
    registry = CollectorRegistry()
    if options.cluster is None:
        return await _judge(
            options, read_setup(options.files), sources, providers, registry, clock, rng, log
        ), ()
    replica = options.cluster
    await check_cluster(replica, clock, rng, only_reads=True)
    async with Client(replica.access, clock, rng, fence=lambda: False) as client:
        loaded, problems = await read_cluster(client, replica, clock, rng, log)
        setup = compile_objects(loaded.objects, EXACT_SOURCES)
        if any(pool.source == "circleci" for pool in setup.pools.values()):
            runners = Runners(
                client, client, replica.namespace, clock, rng, log, lambda: None, lambda: None, registry
            )
            async with _at_work(runners, setup):
                setup = compile_objects(loaded.objects, EXACT_SOURCES, runners.fingerprint)
                sources["circleci"], providers["kubevirt"] = runners.tasks, runners.vms
                plan = await _judge(options, setup, sources, providers, registry, clock, rng, log)
        else:
            plan = await _judge(options, setup, sources, providers, registry, clock, rng, log)
    return plan, problems


@contextlib.asynccontextmanager
async def _at_work(runners: Runners, setup: Setup) -> AsyncIterator[None]:
    """Follow VMs and tasks until both are known, or cannot be: that is then part of the plan."""
    runners.serve(setup.pools.values())
    task = asyncio.ensure_future(runners.run())
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GREETING_S):
                await _are_known(runners)
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _are_known(runners: Runners) -> None:
    while True:
        try:
            await runners.vms.list()
        except Unavailable:
            await asyncio.sleep(0.05)
        else:
            break
    with contextlib.suppress(RemudaError):
        await runners.tasks.refresh()


async def _judge(
    options: Options,
    setup: Setup,
    sources: dict[str, Source],
    providers: dict[str, Provider],
    registry: CollectorRegistry,
    clock: Clock,
    rng: random.Random,
    log: Log,
) -> Plan[PoolAction]:
    path = options.data_dir.absolute()
    store = ReadOnlyStore(path / FILE) if (path / FILE).exists() else InlineStore()
    machines = ProcessMachines(path / "machines", path / SOCKET, clock, lambda: None)
    queue = Queue(store, JobFiles(path / "jobs"), clock, lambda: None)
    job = PoolsController(
        {"queue": queue, **sources},
        {"process": ProcessProvider(machines), **providers},
        lambda: store.read(overrides),
        clock,
        PoolMeters(registry),
        PARTNERS,
    )
    job.setups = setup.pools
    queue.serve(terms_of(setup))
    try:
        if (path / "machines").exists():
            await machines.adopt(sweep=False)
        remembered: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, job.name, POOL_KINDS)
        notebook: MemoryRecorder[Snapshot, Memory, Policy, PoolAction] = MemoryRecorder(
            remembered.memory(), starts=False
        )
        return await Loop(job, notebook, setup.policy, Tools(clock, rng, log, LoopMetrics(registry))).cycle()
    finally:
        machines.close()
        store.close()
