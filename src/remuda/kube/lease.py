"""
Leader election by a Lease: of several replicas one acts, and it stops before another may begin.

Nobody compares clocks. A follower takes over when it has seen the same record for a whole term on its own monotonic
clock, beginning when it *saw* the record. The leader counts from before it *sent* its last renewal and stops acting
well before a term is over. So whatever the clocks say, the old leader's time ends first; a process that was frozen
finds its time over when it wakes.
"""

import asyncio
import math
import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.errors import Conflict, KubeError, Missing
from remuda.kube.resources import LEASES, KubeObject
from remuda.loop.clock import Clock
from remuda.loop.logs import Log
from remuda.model.times import SECOND

_RELEASE_S = 2.0
#: timers may fire a little early, and nobody should ask again and again until they are right
_SHORTEST_REST_S = 0.02


class Term(Struct, frozen=True):
    """
    How long a leader leads without renewing, when it stops acting if it cannot, and how often it renews.

    What lies between `act_for` and `duration` is for clocks that run at different speeds and for requests on their way.
    """

    duration: float = 15.0
    act_for: float = 10.0
    renew_every: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.renew_every < self.act_for < self.duration:
            raise ValueError(f"{self} cannot be: 0 < renew_every < act_for < duration")


class LeaseSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a lease says."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int = 0


class Lease(KubeObject, frozen=True, gc=False):
    """A lease as it is read."""

    spec: LeaseSpec = field(default_factory=LeaseSpec)


class Leadership:
    """
    One replica's part in the election. No other process may ever use its identity.

    `run` takes part until cancelled, and gives the lease back when it ends: cancel it when nothing of ours is under way
    any more. `holds` is asked right before anything is written; `changed` is called when it begins or ends. The client's
    rate limit must not be one that other requests can use up.
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
        #: what the lease says beside its holder while it is ours, for other replicas
        self.annotations: dict[str, str] = {}
        #: what it says whoever holds it, once one of us has written it
        self.lasting: dict[str, str] = {}
        self._client = client
        self._name, self._namespace = name, namespace
        self._clock = clock
        self._rng = rng
        self._log = log
        self._changed = changed
        self._term = term or Term()
        self._until, self._wall_until = float("-inf"), 0
        self._seen: tuple[str, float] = ("", float("-inf"))
        self._term_over = float("-inf")
        self._may_be_holder = False
        self._led = False
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
        """
        True while this replica may act.

        The wall clock is asked too: the monotonic one stands still while a computer sleeps. If it jumps ahead, we only
        stop for a moment.
        """
        return self._clock.monotonic() < self._until and self._clock.now() < self._wall_until

    @property
    def leader(self) -> str | None:
        """Who leads, as far as this replica knows."""
        known = self._cache.get(self._name, self._namespace)
        return known.spec.holder_identity or None if known else None

    def annotation(self, name: str) -> str:
        """What the leader says beside its name; nothing when it says nothing."""
        known = self._cache.get(self._name, self._namespace)
        return known.metadata.annotations.get(name, "") if known else ""

    async def say_lasting(self) -> None:
        """Write `lasting` into another's lease, which stays as it is; `KubeError` when that cannot be done now."""
        lease = await self._read()
        if lease is None:
            return
        body = self._body(
            lease,
            holderIdentity=lease.spec.holder_identity,
            leaseDurationSeconds=lease.spec.lease_duration_seconds,
            acquireTime=lease.spec.acquire_time,
            renewTime=lease.spec.renew_time,
            leaseTransitions=lease.spec.lease_transitions,
        )
        body["metadata"]["annotations"] = lease.metadata.annotations | self.lasting
        await self._client.replace(LEASES, body, Lease, self._namespace)

    async def run(self) -> None:
        """Take part until cancelled."""
        logged: str | None = None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._cache.run(), name=f"lease {self._name}")
                while True:
                    self._woken.clear()
                    error = await self._step()
                    if error is not None and error != logged:
                        self._log.warning("the lease cannot be renewed", lease=self._name, error=error)
                    logged = error
                    self._notify()
                    await self._rest()
        finally:
            # Said before it is given back: who takes it up then is never told before us.
            self._until = float("-inf")
            self._notify()
            await self._release()

    def _notify(self) -> None:
        if self.holds() != self._led:
            self._led = not self._led
            self._log.info(
                "leading" if self._led else "not leading", lease=self._name, identity=self.identity
            )
            self._changed()

    async def _rest(self) -> None:
        """Until the next renewal, or the end of our time; a follower wakes when the lease changes or its term ends."""
        now = self._clock.monotonic()
        wait = self._term.renew_every * self._rng.uniform(0.9, 1.1)
        end = self._until if self.holds() else self._term_over
        if end > now:
            wait = min(wait, max(_SHORTEST_REST_S, end - now))
        if self.holds():
            await asyncio.sleep(wait)
            return
        try:
            async with asyncio.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _step(self) -> str | None:
        """Renew, take over, or wait, while our time lasts; what went wrong, if something did."""
        now = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._until - now if self.holds() else self._term.act_for):
                await self._try()
        except KubeError as error:
            return str(error)
        except TimeoutError:
            return "no answer in time"
        return None

    async def _try(self) -> None:
        """One read and at most one write, which fails if anyone else wrote first."""
        began, wall_began = self._clock.monotonic(), self._clock.now()
        lease = await self._read()
        now = self._clock.monotonic()
        version, spec = (lease.metadata.resource_version, lease.spec) if lease else ("", LeaseSpec())
        if version != self._seen[0]:
            self._seen = (version, now)
        self._term_over = self._seen[1] + max(self._term.duration, spec.lease_duration_seconds)
        if spec.holder_identity != self.identity:
            self._may_be_holder = False
        # One that is gone though we knew it was removed by hand, and its holder may not know yet.
        is_ours = spec.holder_identity in ("", self.identity) if lease else self.holds()
        if not is_ours and now < self._term_over:
            return
        self._may_be_holder = True
        written = await self._write(lease)
        if written is not None:
            self._seen = (written, self._clock.monotonic())
            self._until = began + self._term.act_for
            self._wall_until = wall_began + int(self._term.act_for * SECOND)

    async def _read(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._name, Lease, self._namespace)
        except Missing:
            return None

    async def _write(self, lease: Lease | None) -> str | None:
        """Write ourselves in; the version that made, or None when someone else was faster."""
        spec = lease.spec if lease else LeaseSpec()
        is_new = spec.holder_identity != self.identity
        now = _micro_time(self._clock)
        body = self._body(
            lease,
            holderIdentity=self.identity,
            leaseDurationSeconds=math.ceil(self._term.duration),
            acquireTime=now if is_new else spec.acquire_time,
            renewTime=now,
            leaseTransitions=spec.lease_transitions + (1 if is_new and lease else 0),
        )
        if said := self.annotations | self.lasting:
            body["metadata"]["annotations"] = said
        try:
            if lease is None:
                written = await self._client.create(LEASES, body, Lease, self._namespace)
            else:
                written = await self._client.replace(LEASES, body, Lease, self._namespace)
        except Conflict:
            return None
        return written.metadata.resource_version

    async def _release(self) -> None:
        """Give it back, so that the next one need not wait for the term to end."""
        if not self._may_be_holder:
            return
        try:
            async with asyncio.timeout(_RELEASE_S):
                lease = await self._client.get(LEASES, self._name, Lease, self._namespace)
                if lease.spec.holder_identity == self.identity:
                    transitions = lease.spec.lease_transitions
                    body = self._body(
                        lease, holderIdentity="", leaseDurationSeconds=1, leaseTransitions=transitions
                    )
                    body["metadata"]["annotations"] = self.lasting
                    await self._client.replace(LEASES, body, Lease, self._namespace)
        except (KubeError, TimeoutError) as error:
            self._log.warning(
                "the lease was not given back; it ends by itself", lease=self._name, error=str(error)
            )

    def _body(self, lease: Lease | None, **spec: object) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if lease is not None:
            metadata["resourceVersion"] = lease.metadata.resource_version
        return {"metadata": metadata, "spec": spec}


def _micro_time(clock: Clock) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - for people who read the object; nobody compares it

    return datetime.fromtimestamp(clock.now() / SECOND, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
