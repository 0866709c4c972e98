"""
Machines that are KubeVirt VMs, in VirtualMachinePools where those leave the choice of VMs to us, else one by one.

Whatever is made or removed can be repeated after a crash at any step: the pool's notes say what was counted, and every
change of an object holds only for the very version or uid that was seen. Only VMs that our pools own, or that we made
or took out of one, are ever touched.
"""

import asyncio
import random
from collections.abc import Callable, Iterable

from remuda.errors import NotFound, Unavailable
from remuda.kube.client import JSON_PATCH, Client
from remuda.kube.errors import Conflict, Fenced, KubeError, Missing
from remuda.kube.resources import PODS, KubeObject, Resource
from remuda.kube.secrets import Secrets
from remuda.loop.clock import Clock
from remuda.loop.faults import FaultPoint, no_fault
from remuda.loop.logs import Log
from remuda.model.machines import Order, Supplied
from remuda.providers.kubevirt.discovery import ABSENT, discover
from remuda.providers.kubevirt.orders import MARK, Asked, Cancel, Lower, order_of, read_notes
from remuda.providers.kubevirt.removal import detachment
from remuda.providers.kubevirt.resources import BESIDE, MANAGED_BY, OURS, Vm, VmPool
from remuda.providers.kubevirt.settings import Fingerprints, Make, Setup, read_settings, resolve
from remuda.providers.kubevirt.status import created_at as made_at
from remuda.providers.kubevirt.status import is_at_work
from remuda.providers.kubevirt.template import Blueprint
from remuda.providers.kubevirt.userdata import YOUNG_S
from remuda.providers.kubevirt.watched import Tools, WatchedObjects

_AGAIN_S, _HOUSEKEEPING_S, _LOOK_AGAIN_S = 5.0, 30.0, 600.0
_TRIES = 6
_MOST_OF_A_CONSOLE = 256 * 1024
_CONSOLE = "guest-console-log"
#: what virt-api serves; it knows how to shorten a grace period
_STOPS = Resource("subresources.kubevirt.io", "v1", "virtualmachines", "VirtualMachine")


class KubevirtProvider:
    """
    The VMs of one namespace. `run` follows them until cancelled; before it has, there is nothing to list.

    `reader` is asked for what is, `writer` changes it and is fenced: only a leader's does.
    """

    def __init__(
        self,
        reader: Client,
        writer: Client,
        namespace: str,
        secrets: Secrets,
        clock: Clock,
        rng: random.Random,
        log: Log,
        wake: Callable[[], None] = lambda: None,
        *,
        fault_point: FaultPoint = no_fault,
        young_s: float = YOUNG_S,
    ) -> None:
        self._tools = Tools(reader, writer, namespace, clock, rng, fault_point, young_s)
        self._reader, self._writer = reader, writer
        self._namespace = namespace
        self._secrets = secrets
        self._log = log
        self._wake = wake
        self._fault_point = fault_point
        self._fingerprints = Fingerprints(secrets)
        self._watched: WatchedObjects | None = None
        self._absence = "KubeVirt is not looked for yet"
        self._blueprints: dict[str, tuple[tuple[str, Make], Blueprint]] = {}
        self._preparing: dict[str, asyncio.Lock] = {}
        #: the pools that are configured, with the Secrets they need; None until that is known
        self._followed: dict[str, tuple[str, ...]] | None = None
        #: called when fingerprints may be others than before: as soon as the VMs are known
        self.refingerprint: Callable[[], None] = lambda: None

    # What there is

    async def list(self) -> tuple[Supplied, ...]:
        """Every VM of ours, and every one that was ordered and is not there yet."""
        if self._absence == ABSENT and not self._followed and self._watched is None:
            return ()  # nobody wants any, and none can be left
        watched = self._known()
        for pool, secrets in sorted((self._followed or {}).items()):
            for secret in secrets:
                if not self._secrets.is_tried(secret):
                    # What the pool's template is, is not known before.
                    raise Unavailable(f"pool {pool}: Secret {self._namespace}/{secret} is not read yet")
        return watched.view.machines()

    def has(self, pool: str) -> bool:
        """Whether there are VMs of a pool, as far as is known."""
        return self._watched is not None and any(
            vm.is_ours and vm.pool == pool for vm in self._watched.vms.objects.values()
        )

    def trouble(self) -> tuple[str, ...]:
        """Why the machines may not be as they are listed, if so."""
        reasons = (self._absence,) if self._watched is None else self._watched.trouble()
        return (*reasons, *self._secrets.trouble())

    def fingerprint(self, setup: Setup) -> str:
        """
        A digest of what Secrets add to a pool's template.

        The last one known holds while a Secret is missing: also over restarts, since VMs carry it.
        """
        remembered = ""
        if self._watched is not None:
            vms = [vm for vm in self._watched.vms.objects.values() if vm.is_ours and vm.pool == setup.name]
            newest = max(vms, key=made_at, default=None)
            remembered = newest.metadata.labels.get(BESIDE, "") if newest else ""
        return self._fingerprints.of(setup, remembered)

    def follow(self, setups: Iterable[Setup]) -> None:
        """The pools that are configured now; VirtualMachinePools of others go when they are empty."""
        self._followed = {setup.name: read_settings(setup.settings).secrets for setup in setups}
        names = frozenset(self._followed)
        self._fingerprints.keep(names)
        self._blueprints = {name: kept for name, kept in self._blueprints.items() if name in names}

    async def console(self, name: str) -> bytes:
        """The last of what the guest wrote on its console."""
        watched = self._known()
        vm = watched.vm(name)
        if vm is None:
            raise NotFound(f"there is no VM {name} of Remuda in namespace {self._namespace}")
        vmi = watched.view.guest_of(vm)
        if vmi is None:
            return b""
        created_by = f"kubevirt.io/created-by={vmi.metadata.uid}"
        pods = (await self._reader.list(PODS, KubeObject, self._namespace, labels=created_by)).items
        if not pods:
            return b""
        newest = max(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.name))
        return await self._reader.pod_log(
            newest.metadata.name, self._namespace, _CONSOLE, most=_MOST_OF_A_CONSOLE
        )

    def _known(self) -> WatchedObjects:
        if self._watched is None:
            raise Unavailable(self._absence)
        if not self._watched.is_synced:
            message = "; ".join(self._watched.trouble())
            raise Unavailable(f"the VMs are not read yet{': ' if message else ''}{message}")
        return self._watched

    # Making

    async def create(self, order: Order) -> None:
        """Order a VM, or find that it was ordered."""
        watched = self._known()
        blueprint = self._blueprint(order)
        if watched.pools is None:
            await self._create_alone(watched, order, blueprint)
            return
        asked = Asked(order.name, order.created_at, order.template)
        if not watched.is_prepared(blueprint):
            async with self._preparing.setdefault(order.pool, asyncio.Lock()):
                pool = await watched.pools.ensure(blueprint)
                await watched.user_data.ensure(blueprint, pool, watched.api.pools)
                await self._fault_point("userdata.made")
        watched.user_data.asked(blueprint)
        await watched.pools.change(order.pool, asked, blueprint)
        await self._fault_point("ordered")

    async def _create_alone(self, watched: WatchedObjects, order: Order, blueprint: Blueprint) -> None:
        async with self._preparing.setdefault(order.pool, asyncio.Lock()):
            await watched.user_data.ensure(blueprint, None, None)
            await self._fault_point("userdata.made")
        try:
            made = await self._writer.create(watched.api.vms, blueprint.vm(order.name), Vm, self._namespace)
        except Conflict:
            made = await self._writer.get(watched.api.vms, order.name, Vm, self._namespace)
            if not made.is_ours:
                raise Unavailable(
                    f"VM {self._namespace}/{order.name} is not Remuda's: delete or rename it"
                ) from None
        watched.vms.put(made)
        await self._fault_point("ordered")

    def _blueprint(self, order: Order) -> Blueprint:
        make = resolve(order.settings, order.idle_timeout, self._secrets)
        known = self._blueprints.get(order.pool)
        if known is None or known[0] != (order.template, make):
            known = (order.template, make), Blueprint(order.pool, order.template, make)
            self._blueprints[order.pool] = known
        return known[1]

    # Removing

    async def delete(self, name: str, identity: str, *, at_once: bool = False) -> bool:
        """
        Take a VM out of its pool and let it go: at once when nothing can be at work in it, or `at_once` says so.

        Else it is powered off gracefully, which lets its agent end the task it may have; it is listed as leaving, then as
        ended, and then deleted by a repeated call.
        """
        watched = self._known()
        if MARK in name:
            return await self._cancel(watched, name, identity)
        vm = watched.vm(name)
        if vm is None:
            return True
        if vm.metadata.uid != identity:
            return False
        await self._lower(watched, vm)
        await self._fault_point("lowered")
        is_at_once = at_once or not is_at_work(watched.view.guest_of(vm))
        if at_once and is_at_work(watched.view.guest_of(vm)) and not vm.is_going:
            await self._stop(vm)
            await self._fault_point("stopped")
        await self._detach(watched, vm, halts=not is_at_once)
        await self._fault_point("detached")
        if is_at_once:
            try:
                await self._writer.delete(watched.api.vms, name, self._namespace, uid=vm.metadata.uid)
            except Conflict:
                return True  # another one has the name by now
            await self._fault_point("deleted")
        return True

    async def _cancel(self, watched: WatchedObjects, name: str, identity: str) -> bool:
        listed = next((item for item in watched.view.machines() if item.name == name), None)
        if listed is None or watched.pools is None:
            return True
        if listed.identity != identity:
            return False
        pool, order = order_of(name)
        await watched.pools.change(pool, Cancel(order))
        await self._fault_point("cancelled")
        return True

    async def _lower(self, watched: WatchedObjects, vm: Vm) -> None:
        """Take a VM out of its pool's count, so that none follows it unasked."""
        pool = watched.pools.get(vm.pool) if watched.pools else None
        if watched.pools is None or pool is None or pool.metadata.uid != vm.owner_uid:
            return
        if pool.metadata.deletion_timestamp is None and vm.metadata.uid not in read_notes(pool).leaving:
            await watched.pools.change(vm.pool, Lower(vm.metadata.uid))

    async def _stop(self, vm: Vm) -> None:
        """Power a guest off without the grace its tasks have; without virt-api it keeps that."""
        name = vm.metadata.name
        try:
            await self._writer.request(
                "PUT",
                _STOPS.path(self._namespace, name, "stop"),
                body=b'{"gracePeriod":0}',
                doing=f"stopping {_STOPS.describe(self._namespace, name)}",
            )
        except Fenced:
            raise
        except KubeError as error:
            if error.status.code >= 400 or not error.status.code:
                self._log.warning("a guest is not stopped at once", machine=name, error=str(error))

    async def _detach(self, watched: WatchedObjects, vm: Vm, *, halts: bool) -> None:
        """Out of its pool in one patch; again from its newest version when somebody else changed it meanwhile."""
        name, uid = vm.metadata.name, vm.metadata.uid
        for _ in range(_TRIES):
            operations = detachment(vm, halts=halts and not vm.is_going)
            if not operations:
                return
            try:
                answer = await self._writer.patch(
                    watched.api.vms, name, operations, Vm, self._namespace, content=JSON_PATCH
                )
            except Missing:
                return
            except Conflict:
                try:
                    vm = await self._writer.get(watched.api.vms, name, Vm, self._namespace)
                except Missing:
                    return
                if vm.metadata.uid != uid:
                    return
            else:
                if not (answer.is_going and not answer.metadata.finalizers):
                    watched.vms.put(answer)
                return
        raise Unavailable(
            f"VM {self._namespace}/{name} changes all the time: it cannot be taken out of its pool now"
        )

    # Following

    async def run(self) -> None:
        """Look for KubeVirt and follow its objects until cancelled."""
        while True:
            before = self._absence
            try:
                api = await discover(self._reader)
                self._absence = ABSENT
            except KubeError as error:
                api, self._absence = None, f"KubeVirt is looked for in vain: {error}"
            if api is None:
                if self._followed and self._absence != before:
                    self._log.warning("VMs cannot be followed", trouble=self._absence)
                wait = _AGAIN_S if self._followed or self._absence != ABSENT else _HOUSEKEEPING_S
                await asyncio.sleep(wait * self._tools.rng.uniform(0.8, 1.2))
                continue
            watched = WatchedObjects(api, self._tools, self._changed)
            self._watched = watched
            self._log.info(
                "VMs are followed", pools=api.pools.api_version if api.pools else "none: one by one"
            )
            try:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(work) for work in watched.work()]
                    await self._keep_house(watched)
                    for task in tasks:
                        task.cancel()
            finally:
                self._watched = None

    def _changed(self) -> None:
        watched = self._watched
        if watched is None or not watched.is_synced:
            return
        is_first = not watched.was_synced
        watched.was_synced = True
        if is_first:
            self.refingerprint()
        if watched.view.refresh() or is_first:
            self._wake()

    async def _keep_house(self, watched: WatchedObjects) -> None:
        """Remove what nothing refers to, and return when the cluster has another KubeVirt."""
        looked_at = self._tools.clock.monotonic()
        while True:
            await asyncio.sleep(min(_HOUSEKEEPING_S, self._tools.young_s) * self._tools.rng.uniform(0.8, 1.2))
            try:
                if watched.is_synced:
                    await self.clean(watched)
                if self._tools.clock.monotonic() - looked_at > _LOOK_AGAIN_S:
                    looked_at = self._tools.clock.monotonic()
                    if await discover(self._reader) != watched.api:
                        return
            except Fenced:
                continue
            except KubeError as error:
                self._log.warning("housekeeping of VMs failed", error=str(error))

    async def clean(self, watched: WatchedObjects) -> None:
        """Delete the VirtualMachinePools that are empty and not configured, and the user data nobody uses."""
        if watched.pools is not None and watched.pool_objects is not None and self._followed is not None:
            for (_, name), pool in sorted(watched.pool_objects.objects.items()):
                if name not in self._followed and self._is_spent(watched, pool):
                    meta = pool.metadata
                    try:
                        await self._writer.delete(
                            watched.pool_objects.resource,
                            name,
                            self._namespace,
                            uid=meta.uid,
                            version=meta.resource_version,
                        )
                    except Conflict:
                        continue  # it is used again, or changed otherwise: the next round will see
        await watched.user_data.collect(watched.guests_in_use())

    @staticmethod
    def _is_spent(watched: WatchedObjects, pool: VmPool) -> bool:
        meta = pool.metadata
        is_ours = meta.labels.get(MANAGED_BY) == OURS and meta.deletion_timestamp is None
        return is_ours and pool.replicas == 0 and not watched.view.owned(pool)
