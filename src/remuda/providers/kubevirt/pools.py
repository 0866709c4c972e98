"""
Writes VirtualMachinePools: every wish for one pool in one patch, one patch at a time.

A patch holds only for the version it was made from, and says in the pool's notes what it fulfilled: a wish that is
repeated, or whose answer was lost, is found fulfilled.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from remuda.errors import Unavailable
from remuda.kube.cache import Cache
from remuda.kube.client import JSON_PATCH, Client
from remuda.kube.errors import Conflict, KubeError, Missing, Unreachable
from remuda.loop.faults import FaultPoint
from remuda.model.times import Instant
from remuda.providers.kubevirt.orders import Wish, changed, read_notes, write_notes
from remuda.providers.kubevirt.resources import MANAGED_BY, ORDERS, OURS, WRITTEN, VmPool
from remuda.providers.kubevirt.template import UNMANAGED, Blueprint

_TRIES = 6


class _Batch(Struct):
    """Wishes of one pool that wait for the next patch, and the newest template among them."""

    wishes: list[tuple[Wish, asyncio.Future[None]]]
    blueprint: Blueprint | None = None


class VmPools:
    """The VirtualMachinePools of one namespace."""

    def __init__(
        self,
        writer: Client,
        cache: Cache[VmPool],
        namespace: str,
        owned: Callable[[VmPool], frozenset[str]],
        now: Callable[[], Instant],
        fault_point: FaultPoint,
    ) -> None:
        self._writer = writer
        self._cache = cache
        self._namespace = namespace
        self._owned = owned
        self._now = now
        self._fault_point = fault_point
        self._waiting: dict[str, _Batch] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    def get(self, name: str) -> VmPool | None:
        """A pool, as it was last heard of."""
        return self._cache.get(name, self._namespace)

    async def ensure(self, blueprint: Blueprint) -> VmPool:
        """A pool for VMs of ours, made without any where there is none."""
        found = self.get(blueprint.pool)
        if found is None:
            try:
                body = blueprint.vm_pool()
                found = await self._writer.create(self._cache.resource, body, VmPool, self._namespace)
            except Conflict:
                found = await self._fresh(blueprint.pool)
            await self._fault_point("pool.made")
            if found is None:
                raise Unavailable(f"VirtualMachinePool {blueprint.pool} vanished as it was made")
            self._cache.put(found)
        self._check(found)
        return found

    def _check(self, pool: VmPool) -> None:
        name = pool.metadata.name
        if pool.metadata.labels.get(MANAGED_BY) != OURS:
            raise Unavailable(
                f"VirtualMachinePool {self._namespace}/{name} is not Remuda's: rename the RunnerPool, or delete it with "
                f"kubectl delete vmpool {name} -n {self._namespace}"
            )
        if pool.metadata.deletion_timestamp is not None:
            raise Unavailable(
                f"VirtualMachinePool {self._namespace}/{name} is being deleted; a new one follows"
            )

    async def change(self, name: str, wish: Wish, blueprint: Blueprint | None = None) -> None:
        """
        Fulfil a wish, together with all that come meanwhile.

        A pool that is gone has nothing to lower. With a `blueprint` its VMs made from now on follow that.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        batch = self._waiting.setdefault(name, _Batch([]))
        batch.wishes.append((wish, done))
        batch.blueprint = blueprint or batch.blueprint
        try:
            await asyncio.sleep(0)  # whoever asks in this turn of the event loop is in the same patch
            async with self._turns.setdefault(name, asyncio.Lock()):
                if not done.done():
                    await self._fulfil(name)
        except asyncio.CancelledError:
            done.cancel()
            raise
        await done

    async def _fulfil(self, name: str) -> None:
        batch = self._waiting.pop(name)
        try:
            wishes = [wish for wish, done in batch.wishes if not done.cancelled()]
            await self._patch(name, wishes, batch.blueprint)
        except asyncio.CancelledError:
            # The others do it again, and find done what was done.
            later = self._waiting.setdefault(name, _Batch([]))
            later.wishes[:0] = batch.wishes
            later.blueprint = later.blueprint or batch.blueprint
            raise
        except Exception as error:  # noqa: BLE001 - everybody who waits gets it
            for _, done in batch.wishes:
                if not done.done():
                    done.set_exception(error)
                    done.exception()  # who is cancelled next does not ask for it
        else:
            for _, done in batch.wishes:
                if not done.done():
                    done.set_result(None)

    async def _patch(self, name: str, wishes: list[Wish], blueprint: Blueprint | None) -> None:
        pool = self.get(name)
        for attempt in range(_TRIES):
            if pool is None:
                if blueprint is None:
                    return
                pool = await self.ensure(blueprint)
            self._check(pool)
            operations = self._operations(pool, wishes, blueprint)
            if not operations:
                return
            try:
                answer = await self._writer.patch(
                    self._cache.resource, name, operations, VmPool, self._namespace, content=JSON_PATCH
                )
            except (Conflict, Missing, Unreachable) as error:
                # Somebody else changed it, or it is unknown whether we did.
                if attempt == _TRIES - 1:
                    raise
                pool = await self._again(name, error)
                continue
            self._cache.put(answer)
            return

    async def _again(self, name: str, error: KubeError) -> VmPool | None:
        if isinstance(error, Missing):
            self._cache.drop(name, self._namespace)
            return None
        fresh = await self._fresh(name)
        if fresh is not None:
            self._cache.put(fresh)
        return fresh

    async def _fresh(self, name: str) -> VmPool | None:
        try:
            return await self._writer.get(self._cache.resource, name, VmPool, self._namespace)
        except Missing:
            return None

    def _operations(
        self, pool: VmPool, wishes: list[Wish], blueprint: Blueprint | None
    ) -> list[dict[str, Any]]:
        """The JSON patch from a pool as it is to one that fulfils the wishes; empty when it does so already."""
        change = changed(pool, self._owned(pool), wishes, self._now())
        operations: list[dict[str, Any]] = []
        has_new_template = (
            blueprint is not None and pool.metadata.annotations.get(WRITTEN) != blueprint.written
        )
        if change.notes == read_notes(pool) and change.replicas == pool.replicas and not has_new_template:
            return operations
        annotations = dict(pool.metadata.annotations) | {ORDERS: write_notes(change.notes)}
        if blueprint is not None and has_new_template:
            annotations[WRITTEN] = blueprint.written
            operations.append(_set("/spec/virtualMachineTemplate", blueprint.vm_template()))
        operations += [
            _set("/metadata/resourceVersion", pool.metadata.resource_version),
            _set("/metadata/annotations", annotations),
            _set("/spec/replicas", change.replicas),
        ]
        # A person who changed one of these would have KubeVirt delete VMs that work.
        for field, policy in (
            ("scaleInStrategy", pool.spec.scale_in_strategy),
            ("updateStrategy", pool.spec.update_strategy),
        ):
            if policy != UNMANAGED:
                operations.append(_set(f"/spec/{field}", UNMANAGED))
        if pool.spec.autohealing is not None:
            operations.append({"op": "remove", "path": "/spec/autohealing"})
        return operations


def _set(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
