"""
`remuda up --dry-run`: one cycle of every loop without its last step, on files or in a cluster.

The world is observed as it is, with everything that `up` would use, and nothing is written anywhere.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import CollectorRegistry

from remuda.app import Options
from remuda.assembly import assemble, compile_all, configured, read_objects
from remuda.cluster.preflight import TIMEOUT_S, check_cluster, read_cluster
from remuda.control.server import SOCKET
from remuda.job import Jobs
from remuda.kube.client import Client
from remuda.ledger.place import open_read_only
from remuda.ledger.read_only import ReadOnlyStore
from remuda.ledger.record import Kinds, Ledger, MemoryRecorder
from remuda.ledger.store import FILE, InlineStore, Store
from remuda.loop.clock import Clock
from remuda.loop.controller import Controller
from remuda.loop.logs import Log
from remuda.loop.loop import Loop, Tools
from remuda.loop.metrics import LoopMetrics
from remuda.model.plans import Action, Plan
from remuda.objects.load import Objects
from remuda.objects.problems import Problem
from remuda.runtime import ClusterAccess, Runtime, Services

if TYPE_CHECKING:
    from remuda.ledger.postgres import ReadOnlyPostgres

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
A = TypeVar("A", bound=Action)


async def dry_run(
    options: Options, jobs: Jobs, clock: Clock, rng: random.Random, log: Log
) -> tuple[Plan[Any], tuple[Problem, ...]]:
    """What one cycle of every loop would do, and the problems of objects that it would do without."""
    jobs.teach()
    trial = _Trial(options, jobs, clock, rng, log)
    if options.cluster is None:
        return await trial.decide(read_objects(jobs, options.files), None), ()
    replica = options.cluster
    await check_cluster(replica, jobs, clock, rng, only_reads=True)
    async with Client(replica.access, clock, rng, fence=lambda: False) as client:
        loaded, problems = await read_cluster(client, replica, jobs, clock, rng)
        access = ClusterAccess(client, client, replica.namespace)
        return await trial.decide(loaded.objects, access), problems


class _Trial:
    """Everything of one dry run."""

    def __init__(self, options: Options, jobs: Jobs, clock: Clock, rng: random.Random, log: Log) -> None:
        self._options, self._jobs = options, jobs
        self._clock, self._rng, self._log = clock, rng, log
        self._loops: list[Loop[Any, Any, Any, Any]] = []

    async def decide(self, objects: Objects, cluster: ClusterAccess | None) -> Plan[Any]:
        """The plans of all loops as one."""
        store = self._open()
        registry = CollectorRegistry()
        metrics = LoopMetrics(registry)
        runtimes = assemble(
            self._jobs,
            configured(self._jobs, objects),
            lambda _: self._services(store, registry, metrics, cluster),
        )
        try:
            for name, compiled in compile_all(runtimes, objects).items():
                runtimes[name].apply(compiled)
            async with _at_work(runtimes):
                plans = [await loop.cycle() for loop in self._loops]
        finally:
            for runtime in runtimes.values():
                runtime.close()
            store.close()
        return Plan(
            tuple(action for plan in plans for action in plan.actions),
            tuple(reason for plan in plans for reason in plan.reasons),
        )

    def _open(self) -> "ReadOnlyStore | ReadOnlyPostgres | InlineStore":
        tables = self._jobs.tables()
        if self._options.store is not None:
            from remuda.ledger.postgres import is_there  # noqa: PLC0415 - an extra

            address = self._options.store
            return open_read_only(address, tables) if is_there(address) else InlineStore(tables)
        path = self._options.data_dir.absolute() / FILE
        return ReadOnlyStore(path, tables) if path.exists() else InlineStore(tables)

    def _services(
        self, store: Store, registry: CollectorRegistry, metrics: LoopMetrics, cluster: ClusterAccess | None
    ) -> Services:
        def make_loop(
            controller: Controller[S, M, P, A], records: Kinds[S, M, P, A], policy: P
        ) -> Loop[S, M, P, A]:
            memory = Ledger(store, controller.name, records).memory()
            recorder: MemoryRecorder[S, M, P, A] = MemoryRecorder(memory, starts=False)
            loop = Loop(controller, recorder, policy, Tools(self._clock, self._rng, self._log, metrics))
            self._loops.append(loop)
            return loop

        path = self._options.data_dir.absolute()
        return Services(
            clock=self._clock,
            rng=self._rng,
            log=self._log,
            store=store,
            data_dir=path,
            socket=path / SOCKET,
            registry=registry,
            make_loop=make_loop,
            wake=lambda: None,
            status_changed=lambda: None,
            cluster=cluster,
            is_dry_run=True,
        )


@contextlib.asynccontextmanager
async def _at_work(runtimes: dict[str, Runtime]) -> AsyncIterator[None]:
    """Follow the world until it is known, or cannot be: that is then part of the plan."""
    for runtime in runtimes.values():
        await runtime.start()
    tasks = [asyncio.ensure_future(runtime.run()) for runtime in runtimes.values()]
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                for runtime in runtimes.values():
                    await runtime.settle()
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
