"""
User data Secrets: one per configuration, made before the VMs that refer to it and collected after the last of them.

Each belongs to its VirtualMachinePool, or to the RunnerPool where there are no such pools, so that it goes with it even
when nobody is there to collect it.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.errors import Conflict
from remuda.kube.resources import RUNNER_POOLS, SECRETS, KubeObject, Resource
from remuda.loop.clock import Clock
from remuda.providers.kubevirt.resources import GUEST, MANAGED_BY, OURS, VmPool
from remuda.providers.kubevirt.template import Blueprint

#: what was asked for so recently may be referred to by what is not seen yet
YOUNG_S = 600.0


class UserData:
    """The user data Secrets of one namespace."""

    def __init__(
        self, writer: Client, cache: Cache[KubeObject], namespace: str, clock: Clock, young_s: float = YOUNG_S
    ) -> None:
        self._writer = writer
        self._cache = cache
        self._namespace = namespace
        self._clock = clock
        self._young_s = young_s
        self._asked_at: dict[str, float] = {}

    def asked(self, blueprint: Blueprint) -> None:
        """Note that a configuration is about to be used."""
        self._asked_at[blueprint.secret] = self._clock.monotonic()

    def is_kept(self, blueprint: Blueprint, pool: VmPool | None) -> bool:
        """Whether the Secret of a configuration is there and stays as long as its pool."""
        secret = self._cache.get(blueprint.secret, self._namespace)
        if secret is None or secret.metadata.deletion_timestamp is not None:
            return False
        owners = secret.metadata.owner_references
        return pool is None or not owners or any(owner.uid == pool.metadata.uid for owner in owners)

    async def ensure(self, blueprint: Blueprint, pool: VmPool | None, resource: Resource | None) -> None:
        """Make the Secret of a configuration, or find it made."""
        self.asked(blueprint)
        if self.is_kept(blueprint, pool):
            return
        known = self._cache.get(blueprint.secret, self._namespace)
        owner = await self._owner(blueprint.pool, pool, resource)
        if known is not None:
            # Its owner is gone, and takes it along.
            await self._writer.delete(SECRETS, known.metadata.name, self._namespace, uid=known.metadata.uid)
        try:
            made = await self._writer.create(
                SECRETS, blueprint.user_data_secret(owner), KubeObject, self._namespace
            )
        except Conflict:
            return
        self._cache.put(made)

    async def _owner(
        self, name: str, pool: VmPool | None, resource: Resource | None
    ) -> dict[str, Any] | None:
        item: KubeObject | None = pool
        if pool is None:
            resource = RUNNER_POOLS
            listed = await self._writer.list(
                RUNNER_POOLS, KubeObject, self._namespace, fields=f"metadata.name={name}"
            )
            item = next(iter(listed.items), None)
        if item is None or resource is None:
            return None
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": name,
            "uid": item.metadata.uid,
        }

    async def collect(self, used: AbstractSet[str]) -> None:
        """Delete the Secrets that nothing refers to and that nobody asked for lately."""
        now = self._clock.monotonic()
        for (_, name), secret in sorted(self._cache.objects.items()):
            asked_at = self._asked_at.setdefault(name, now)  # by an earlier process, maybe just now
            is_ours = secret.metadata.labels.get(MANAGED_BY) == OURS
            if not is_ours or now - asked_at < self._young_s or secret.metadata.labels.get(GUEST) in used:
                continue
            await self._writer.delete(SECRETS, name, self._namespace, uid=secret.metadata.uid)
            self._asked_at.pop(name, None)
