"""The objects of one KubeVirt that are followed, and what keeps each kind of them."""

import random
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.resources import SECRETS, KubeObject, Resource
from remuda.loop.clock import Clock
from remuda.loop.faults import FaultPoint, no_fault
from remuda.providers.kubevirt.discovery import Api
from remuda.providers.kubevirt.pools import VmPools
from remuda.providers.kubevirt.resources import GUEST, POOL, Vm, Vmi, VmPool
from remuda.providers.kubevirt.template import Blueprint
from remuda.providers.kubevirt.userdata import YOUNG_S, UserData
from remuda.providers.kubevirt.view import View

T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class Tools:
    """What everything here works with. `young_s`: user data asked for so recently is never collected."""

    reader: Client
    writer: Client
    namespace: str
    clock: Clock
    rng: random.Random
    fault_point: FaultPoint = no_fault
    young_s: float = YOUNG_S


class WatchedObjects:
    """Everything of ours in one namespace, as one KubeVirt serves it."""

    def __init__(self, api: Api, tools: Tools, wake: Callable[[], None]) -> None:
        def cache(resource: Resource, kind: type[T], label: str) -> Cache[T]:
            return Cache(
                tools.reader,
                resource,
                kind,
                tools.clock,
                tools.rng,
                wake,
                namespace=tools.namespace,
                labels=label,
            )

        self.api = api
        self._namespace = tools.namespace
        self.vms = cache(api.vms, Vm, POOL)
        self._vmis = cache(api.vmis, Vmi, POOL)
        self._secrets = cache(SECRETS, KubeObject, GUEST)
        self.pool_objects = None if api.pools is None else cache(api.pools, VmPool, POOL)
        self._caches: list[Cache[Any]] = [self.vms, self._vmis, self._secrets]
        self.view = View(self.vms, self._vmis, self.pool_objects, tools.namespace, tools.clock.now)
        self.user_data = UserData(tools.writer, self._secrets, tools.namespace, tools.clock, tools.young_s)
        self.pools: VmPools | None = None
        if self.pool_objects is not None:
            self._caches.append(self.pool_objects)
            self.pools = VmPools(
                tools.writer,
                self.pool_objects,
                tools.namespace,
                self.view.owned,
                tools.clock.now,
                tools.fault_point,
            )
        #: set once all was read and that was reported
        self.was_synced = False

    @property
    def is_synced(self) -> bool:
        """Whether everything was read once."""
        return all(cache.is_synced for cache in self._caches)

    def work(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What must run for it to stay fresh."""
        return (cache.run() for cache in self._caches)

    def trouble(self) -> list[str]:
        """Why it may be old, if it may."""
        return [cache.trouble for cache in self._caches if cache.trouble is not None]

    def vm(self, name: str) -> Vm | None:
        """A VM of ours."""
        found = self.vms.get(name, self._namespace)
        return found if found is not None and found.is_ours else None

    def is_prepared(self, blueprint: Blueprint) -> bool:
        """Whether the pool and the user data of a configuration are there."""
        pool = self.pools.get(blueprint.pool) if self.pools else None
        return pool is not None and self.user_data.is_kept(blueprint, pool)

    def guests_in_use(self) -> set[str]:
        """The user data that VMs and pools refer to."""
        used = {vm.metadata.labels.get(GUEST, "") for vm in self.vms.objects.values()}
        if self.pool_objects is not None:
            for pool in self.pool_objects.objects.values():
                used.add(pool.spec.virtual_machine_template.metadata.labels.get(GUEST, ""))
        return used
