"""One process among several replicas: the clients it has, the objects it follows, and its part in the election."""

import asyncio
import random
from collections.abc import Callable

from msgspec import Struct

from remuda.cluster.followed import Apply, FollowedObjects
from remuda.cluster.status import StatusWriter
from remuda.job import Jobs
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.lease import Leadership, Term
from remuda.kube.limits import RateLimit
from remuda.kube.rbac import LEASE
from remuda.ledger.seat import Claimant
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.runtime import ClusterAccess, Status

#: how often statuses that could not be written are tried again
_GLANCE_S = 5.0


class ReplicaConfig(Struct, frozen=True):
    """Where a replica runs: which cluster and namespace, who it is, and how long a leader leads."""

    access: Access
    namespace: str
    identity: str
    term: Term = Term()
    #: the address of the pod; nothing where it is not known
    pod_address: str = ""


class Replica:
    """This process in a cluster."""

    def __init__(
        self,
        config: ReplicaConfig,
        jobs: Jobs,
        clock: Clock,
        rng: random.Random,
        log: Log,
        wake: Callable[[], None],
        status: Callable[[str, str], Status],
    ) -> None:
        """`wake` is called when who leads changes; `status` says of an object, by kind and name, what its job does."""

        def changed() -> None:
            self.objects.changed.set()
            wake()

        self._log = log
        self._config = config
        self._scope = f"namespace {config.namespace} of {config.access.server}"
        reader = Client(config.access, clock, rng, limit=RateLimit(clock))
        # Nothing else may keep its renewal waiting.
        self._elector = Client(config.access, clock, rng)
        self.leadership = Leadership(
            self._elector, LEASE, config.namespace, config.identity, clock, rng, log, changed, config.term
        )
        writer = Client(config.access, clock, rng, limit=RateLimit(clock), fence=self.leadership.holds)
        self.access = ClusterAccess(reader, writer, config.namespace)
        self.objects = FollowedObjects(reader, config.namespace, jobs, clock, rng, log)
        self._statuses = StatusWriter(self.objects, writer, clock, log, status)
        for warning in config.access.warnings:
            log.warning(warning)

    def may_act(self) -> bool:
        """Only the leader acts, and only once it knows what is wanted."""
        return self.objects.is_known and self.leadership.holds()

    def claimant(self) -> Claimant:
        """As whom this replica writes a store that all replicas share, while it leads."""
        return Claimant(self._config.identity, self._scope, is_elected=True)

    def status_changed(self) -> None:
        """Write statuses soon."""
        self.objects.changed.set()

    def trouble(self) -> list[str]:
        """Why the objects may be old, or are not known."""
        trouble = self.objects.trouble()
        if not self.objects.is_known:
            trouble = trouble or ["the objects are not read yet"]
        return trouble

    async def run(self, apply: Apply) -> None:
        """Take part until cancelled; the lease is given back then."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.leadership.run(), name="lease")
                group.create_task(self.objects.run(), name="objects")
                group.create_task(self._follow(apply), name="statuses")
        finally:
            await self._elector.close()
            await self.access.reader.close()
            await self.access.writer.close()

    async def _follow(self, apply: Apply) -> None:
        """Hand on the objects whenever they change, and write statuses while we lead."""
        logged: list[str] = []
        while True:
            self.objects.changed.clear()
            trouble = self.objects.trouble()
            if trouble != logged:
                logged = trouble
                log = self._log.warning if trouble else self._log.info
                log(
                    "the objects cannot be followed" if trouble else "the objects are followed",
                    trouble=trouble,
                )
            if self.objects.look(apply):
                if self.leadership.holds():
                    await self._statuses.write_all()
                else:
                    self._statuses.forget()
            try:
                async with asyncio.timeout(_GLANCE_S):
                    await self.objects.changed.wait()
            except TimeoutError:
                pass
