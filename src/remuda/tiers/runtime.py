"""Tiers at work in `remuda up --cluster`: one loop over all policies, and what their statuses say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remuda.errors import BadInput
from remuda.model.plans import Reason
from remuda.objects.load import Objects
from remuda.objects.tiers import TIER_POLICY
from remuda.runtime import ClusterAccess, Runtime, Services, Status
from remuda.tiers.controller import TIER_KINDS, TiersController
from remuda.tiers.decide.model import Policies, TierAction
from remuda.tiers.decide.namespaces import BLOCKED
from remuda.tiers.meters import TierMeters
from remuda.tiers.policies import policies_of
from remuda.tiers.status import policy_status
from remuda.tiers.watched import WatchedCluster

_KIND = TIER_POLICY.name


class _Kept:
    """The loop and the cluster that it keeps to its policies."""

    def __init__(
        self, services: Services, cluster: ClusterAccess, decided: Callable[[tuple[Reason, ...]], None]
    ) -> None:
        self.world = WatchedCluster(
            cluster.reader, cluster.writer, services.clock, services.rng, services.wake
        )
        self._meters = TierMeters(services.registry)
        self._controller = TiersController(self.world, services.clock)
        self._controller.remembers = self.world.activate
        self._controller.decided = self._decided
        self._hear = decided
        self._loop = services.make_loop(self._controller, TIER_KINDS, Policies())

    def follow(self, policies: Policies) -> None:
        self._controller.follow(policies)
        if policies.policies:
            self.world.activate()
        self._loop.follow(policies)

    def _decided(self, reasons: tuple[Reason, ...], actions: tuple[TierAction, ...]) -> None:
        self._meters.report(reasons, actions)
        self._hear(reasons)


class TiersRuntime(Runtime):
    """All policies, because a namespace must have one at most."""

    def __init__(self, services: Services, backends: Sequence[object]) -> None:
        assert not backends
        self._services = services
        self._policies = Policies()
        self._reasons: tuple[Reason, ...] = ()
        self._kept = None if services.cluster is None else _Kept(services, services.cluster, self._decided)

    def compile(self, objects: Objects, broken: frozenset[tuple[str, str]]) -> Policies:
        """The policies; `BadInput` where there is no cluster to keep to them."""
        compiled = policies_of(objects, broken)
        if compiled.policies and self._kept is None:
            names = ", ".join(policy.name for policy in compiled.policies)
            raise BadInput(
                f"tiers are kept in a cluster: TierPolicy {names}; kubectl apply it and start `remuda up --cluster`, or use"
                " `remuda tiers apply` once"
            )
        return compiled

    def apply(self, compiled: Policies) -> None:
        """Judge by other policies from the next cycle on."""
        self._policies = compiled
        if self._kept is not None:
            self._kept.follow(compiled)
            self._services.status_changed()

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        if self._kept is not None:
            await self._kept.world.run()

    async def settle(self) -> None:
        """Wait until the cluster was read, or cannot be."""
        if self._kept is not None:
            await self._kept.world.settle()

    def _decided(self, reasons: tuple[Reason, ...]) -> None:
        if reasons != self._reasons:
            self._reasons = reasons
            self._services.status_changed()

    def status(self, kind: str, name: str) -> Status:
        """How many namespaces a policy has, and what keeps those that are not as it says."""
        return policy_status(name, self._reasons, BLOCKED) if kind == _KIND else Status()

    def details(self) -> Mapping[str, Any]:
        """How many policies there are, where there are any."""
        return {"tier_policies": len(self._policies.policies)} if self._policies.policies else {}

    def trouble(self) -> list[str]:
        """What cannot be read of the cluster."""
        return self._kept.world.trouble() if self._kept is not None else []
