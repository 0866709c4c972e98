"""The queue of our own, served by processes on this host."""

from collections.abc import Collection

from remuda.control.routes import Route
from remuda.ledger.retention import Retention
from remuda.machines.process.driver import ProcessMachines
from remuda.model.times import Instant
from remuda.pools.policy import PoolSetup
from remuda.pools.ports import Backend
from remuda.providers.process import ProcessProvider
from remuda.runtime import Services
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.queue import Queue, Terms
from remuda.sources.queue.retention import forget_jobs
from remuda.sources.queue.routes import QueueRoutes


class QueueOnProcesses(Backend):
    """Jobs that people submit, and the processes that run them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._files = JobFiles(services.data_dir / "jobs")
        self._machines = ProcessMachines(
            services.data_dir / "machines", services.socket, services.clock, services.wake
        )
        self.queue = Queue(services.store, self._files, services.clock, services.wake, services.fault_point)
        self.sources = {"queue": self.queue}
        self.providers = {"process": ProcessProvider(self._machines)}
        self.partners = {"process": "queue"}
        self._classes = set[str]()

    def routes(self) -> tuple[Route, ...]:
        """Submitting, looking at and ending jobs."""
        return QueueRoutes(self.queue, self._files, lambda: self._classes).routes()

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
        for problem in await self._machines.adopt():
            self._services.log.warning("not a machine of ours", detail=problem)

    async def keep_house(self, keep: Retention, now: Instant) -> None:
        """Forget jobs that ended long ago, with their output."""
        await forget_jobs(self._services.store, self._files, keep, now)

    def close(self) -> None:
        """Let go of machines; they go on."""
        self._machines.close()
