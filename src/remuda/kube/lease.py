"""
Leader election by a Lease: of several replicas one acts, and it stops before another may begin.

Nobody compares clocks. A follower takes over when it has seen the same record for a whole term on its own monotonic
clock, beginning when it *saw* the record. The leader counts from before it *sent* its last renewal and stops acting
well before a term is over. So whatever the clocks say, the old leader's time ends first; a process that was frozen
finds its time over when it wakes.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.errors import Conflict, KubeError, Missing
from remuda.kube.resources import LEASES, Thing
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.times import SECOND


class Term(Struct, frozen=True):
    """How long a leader leads without renewing, when it stops acting if it cannot, and how often it renews."""

    duration: float = 15.0
    act_for: float = 10.0
    renew_every: float = 2.0


class LeaseSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a lease says."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int = 0


class Lease(Thing, frozen=True, gc=False):
    """A lease as it is read."""

    spec: LeaseSpec = field(default_factory=LeaseSpec)


class Leadership:
    """
    One replica's part in the election.

    `run` takes part until cancelled, and gives the lease back when it ends. `holds` is asked right before anything is
    written; `changed` is called when it begins or ends.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        clock: Clock,
        rng: random.Random,
        log: Log,
        changed: Callable[[], None] = lambda: None,
        term: Term | None = None,
    ) -> None:
        self.identity = identity
        self._client = client
        self._name, self._namespace = name, namespace
        self._clock = clock
        self._rng = rng
        self._log = log
        self._changed = changed
        self._term = term or Term()
        self._until = float("-inf")
        self._seen: tuple[str, float] = ("", float("-inf"))
        self._woken = asyncio.Event()
        self._cache: Cache[Lease] = Cache(
            client,
            LEASES,
            Lease,
            clock,
            rng,
            self._woken.set,
            namespace=namespace,
            fields=f"metadata.name={name}",
        )

    def holds(self) -> bool:
        """True while this replica may act."""
        return self._clock.monotonic() < self._until

    @property
    def leader(self) -> str | None:
        """Who leads, as far as this replica knows."""
        known = self._cache.get(self._name, self._namespace)
        return known.spec.holder_identity or None if known else None

    async def run(self) -> None:
        """Take part until cancelled."""
        led = False
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._cache.run(), name=f"lease {self._name}")
                while True:
                    self._woken.clear()
                    try:
                        await self._step()
                    except (KubeError, TimeoutError) as error:
                        self._log.warning("the lease cannot be renewed", lease=self._name, error=str(error))
                    if self.holds() != led:
                        led = not led
                        self._log.info(
                            "leading" if led else "not leading", lease=self._name, identity=self.identity
                        )
                        self._changed()
                    await self._rest(led=led)
        finally:
            await self._release()

    async def _rest(self, *, led: bool) -> None:
        """Until the next renewal; a follower also wakes when the lease changed, a leader when its time is over."""
        wait = self._term.renew_every * self._rng.uniform(0.9, 1.1)
        if led:
            await asyncio.sleep(min(wait, max(0.0, self._until - self._clock.monotonic())))
            return
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _step(self) -> None:
        """Renew, take over, or wait: one read and at most one write, which fails if anyone else wrote first."""
        async with asyncio.timeout(self._term.act_for):
            began = self._clock.monotonic()
            try:
                lease = await self._client.get(LEASES, self._name, Lease, self._namespace)
            except Missing:
                await self._write(None, began)
                return
            if lease.metadata.resource_version != self._seen[0]:
                self._seen = (lease.metadata.resource_version, self._clock.monotonic())
            held_by = lease.spec.holder_identity
            term_over = self._seen[1] + max(self._term.duration, lease.spec.lease_duration_seconds)
            if held_by in ("", self.identity) or self._clock.monotonic() >= term_over:
                await self._write(lease, began)

    async def _write(self, lease: Lease | None, began: float) -> None:
        spec = lease.spec if lease else LeaseSpec()
        is_new = spec.holder_identity != self.identity
        now = _micro_time(self._clock)
        body: dict[str, Any] = {
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": int(self._term.duration),
                "acquireTime": now if is_new else spec.acquire_time,
                "renewTime": now,
                "leaseTransitions": spec.lease_transitions + (1 if is_new and lease else 0),
            },
        }
        try:
            if lease is None:
                written = await self._client.create(LEASES, body, Lease, self._namespace)
            else:
                body["metadata"]["resourceVersion"] = lease.metadata.resource_version
                written = await self._client.replace(LEASES, body, Lease, self._namespace)
        except Conflict:
            return
        self._seen = (written.metadata.resource_version, self._clock.monotonic())
        self._until = began + self._term.act_for

    async def _release(self) -> None:
        """Give it back, so that the next one need not wait for the term to end."""
        if not self.holds():
            return
        self._until = float("-inf")
        try:
            async with asyncio.timeout(2):
                lease = await self._client.get(LEASES, self._name, Lease, self._namespace)
                if lease.spec.holder_identity == self.identity:
                    body = {
                        "metadata": {
                            "name": self._name,
                            "namespace": self._namespace,
                            "resourceVersion": lease.metadata.resource_version,
                        },
                        "spec": {
                            "holderIdentity": "",
                            "leaseDurationSeconds": 1,
                            "leaseTransitions": lease.spec.lease_transitions,
                        },
                    }
                    await self._client.replace(LEASES, body, Lease, self._namespace)
        except (KubeError, TimeoutError) as error:
            self._log.warning("the lease was not given back; it ends by itself", error=str(error))


def _micro_time(clock: Clock) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - for people who read the object; nobody compares it

    return datetime.fromtimestamp(clock.now() / SECOND, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
