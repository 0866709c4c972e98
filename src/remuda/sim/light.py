"""The light world, for scale: a queue and a record in memory, and a process that never dies."""

from prometheus_client import CollectorRegistry

from remuda.ledger.record import MemoryRecorder
from remuda.model.jobs import Finished
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.meters import PoolMeters
from remuda.sim.history import Summary
from remuda.sim.pool_history import PoolHistory
from remuda.sim.process import WatchedJob, make_loop, terms_of
from remuda.sim.scenario import Arrival, Event, Reload, Scenario
from remuda.sim.source import SimSource
from remuda.sources.queue.queue import Answer


class LightPoolHistory(PoolHistory):
    """Jobs arrive, machines fail and settings change; nobody meddles."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(scenario, seed)
        self._terms = terms_of(self.setup)
        self.source = SimSource(self.clock, self._terms, self._wake)
        self._job = job = WatchedJob(
            {"queue": self.source}, {"sim": self.provider}, dict, self.clock, PoolMeters(CollectorRegistry())
        )
        job.watch = self.watch
        job.setups = self.setup.pools
        self.recorder: MemoryRecorder[Snapshot, Memory, Policy, PoolAction] = MemoryRecorder(Memory())
        self.loop = make_loop(
            job,
            self.recorder,
            self.setup.policy,
            self.clock,
            seed,
            scenario.pace,
            self.faults.fault_point,
            self.watch.heard,
        )

    def _wake(self) -> None:
        self.loop.wake()

    def begin(self) -> None:
        """Start the loop."""
        self.start(self.loop.run())

    async def next(
        self, machine: str, finished: Finished | None, *, leaving: bool, ran: int | None = None
    ) -> Answer:
        """A machine asks for work."""
        del ran
        return await self.source.next(machine, finished, leaving=leaving)

    async def happen(self, event: Event) -> None:
        """A job arrives, or settings change."""
        if isinstance(event, Reload):
            self.setup = event.setup
            self._job.setups = event.setup.pools
            self._terms.clear()
            self._terms.update(terms_of(event.setup))
            self.loop.follow(event.setup.policy)
            return
        assert isinstance(event, Arrival), "a light world knows only arrivals and reloads"
        command = ("run", str(event.seconds), str(event.exit_code))
        number = self.source.submit(event.job_class, command, event.retries, event.priority)
        self.arrivals[number] = event.at

    def unrest(self) -> str:
        """Jobs that have not ended, or operations under way."""
        if self.source.unfinished:
            return f"{self.source.unfinished} jobs are left"
        return f"operations are left: {self.recorder.operations()}" if self.recorder.operations() else ""

    async def check_end(self) -> None:
        """The source and the provider agree on who is there."""
        known, there = set((await self.source.read()).workers), set(self.provider.machines)
        if known != there:
            raise self.watch.broken("no machine leaks", f"{known ^ there} is not known to both")

    def summary(self) -> Summary:
        """What came of it."""
        failed = self.source.failed
        return self._summary(len(self.arrivals) - failed, failed, 0, self.loop.standing.cycles, 0)
