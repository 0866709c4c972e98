"""
The machines behind the cached objects, kept up to date change by change.

A change costs what changed: with ten thousand VMs known, one that changes is looked at alone, and a machine that did
not change stays the same object in the list.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import nlargest
from operator import attrgetter

from msgspec import structs

from remuda.kube.cache import Cache
from remuda.kube.resources import Key
from remuda.model.machines import Supplied
from remuda.model.times import Instant
from remuda.providers.kubevirt.orders import fulfilled, placeholders
from remuda.providers.kubevirt.resources import Vm, Vmi, VmPool
from remuda.providers.kubevirt.status import supplied

_name_of = attrgetter("name")


class View:
    """All machines, sorted by name. `refresh` takes the changes of the caches in."""

    def __init__(
        self,
        vms: Cache[Vm],
        vmis: Cache[Vmi],
        pools: Cache[VmPool] | None,
        namespace: str,
        now: Callable[[], Instant],
    ) -> None:
        self._vms, self._vmis, self._pools = vms, vmis, pools
        self._namespace = namespace
        self._now = now
        self._sorted: list[Supplied] = []
        self._listed: tuple[Supplied, ...] | None = ()
        #: by uid of a VirtualMachinePool: its VMs, names by uid
        self._owned: dict[str, dict[str, str]] = defaultdict(dict)
        #: by pool: an order for each of its newest VMs, by the VM's name and uid
        self._order_of: dict[str, dict[tuple[str, str], str]] = {}
        #: the VM as it was taken in, by name: which pool it counted for
        self._seen: dict[str, Vm] = {}
        self._placeholders: dict[str, tuple[Supplied, ...]] = {}
        #: since when a pool lacks VMs that nobody ordered
        self._noticed: dict[str, Instant] = {}

    def machines(self) -> tuple[Supplied, ...]:
        """Every machine, sorted by name; the same tuple while nothing changes."""
        self.refresh()
        if self._listed is None:
            self._listed = tuple(self._sorted)
        return self._listed

    def owned(self, pool: VmPool) -> frozenset[str]:
        """The uids of the VMs that a VirtualMachinePool has."""
        self.refresh()
        return frozenset(self._owned.get(pool.metadata.uid, ()))

    def guest_of(self, vm: Vm) -> Vmi | None:
        """A VM's own instance."""
        found = self._vmis.get(vm.metadata.name, vm.metadata.namespace)
        return found if found is not None and found.is_of(vm) else None

    def refresh(self) -> bool:
        """Take in what changed; whether any machine did."""
        pools = set[str]()
        changed = False
        for key in dict.fromkeys((*self._vms.take_changes(), *self._vmis.take_changes())):
            changed |= self._take(key, pools)
        if self._pools is not None:
            pools |= {name for _, name in self._pools.take_changes()}
        for pool in sorted(pools):
            changed |= self._count(pool)
        if changed:
            self._listed = None
        return changed

    def _take(self, key: Key, pools: set[str]) -> bool:
        """Look at one VM anew; pools whose number of VMs changed are added to `pools`."""
        name = key[1]
        vm = self._vms.get(name, key[0])
        if vm is not None and not vm.is_ours:
            vm = None
        old = self._seen.get(name)
        if old is not None and (
            vm is None or (vm.metadata.uid, vm.owner_uid) != (old.metadata.uid, old.owner_uid)
        ):
            self._owned[old.owner_uid].pop(old.metadata.uid, None)
            pools.add(old.pool)
        if vm is None:
            self._seen.pop(name, None)
            return self._set(name, None)
        self._seen[name] = vm
        if vm.owner_uid and vm.metadata.uid not in self._owned[vm.owner_uid]:
            self._owned[vm.owner_uid][vm.metadata.uid] = name
            pools.add(vm.pool)
        return self._set(name, self._machine(vm))

    def _machine(self, vm: Vm) -> Supplied:
        machine = supplied(vm, self.guest_of(vm))
        order = self._order_of.get(vm.pool, {}).get((vm.metadata.name, vm.metadata.uid))
        return structs.replace(machine, order=order) if order and vm.owner_uid else machine

    def _set(self, name: str, machine: Supplied | None) -> bool:
        place = bisect_left(self._sorted, name, key=_name_of)
        known = self._sorted[place] if place < len(self._sorted) else None
        is_known = known is not None and known.name == name
        if machine is None:
            if is_known:
                del self._sorted[place]
            return is_known
        if not is_known:
            self._sorted.insert(place, machine)
        elif known != machine:
            self._sorted[place] = machine
        return known != machine

    def _count(self, name: str) -> bool:
        """What a pool is still to make, and for whom it made what it has."""
        pool = None if self._pools is None else self._pools.get(name, self._namespace)
        owned = {} if pool is None else self._owned.get(pool.metadata.uid, {})
        fresh: tuple[Supplied, ...] = ()
        if pool is not None:
            noticed = self._noticed.setdefault(name, self._now())
            fresh = placeholders(pool, owned.keys(), noticed)
        if not fresh:
            self._noticed.pop(name, None)
        changed = self._match(name, owned, () if pool is None else fulfilled(pool, owned.keys()))
        known = self._placeholders.get(name, ())
        if fresh == known:
            return changed
        self._placeholders[name] = fresh
        self._remove(known)
        for machine in fresh:
            insort(self._sorted, machine, key=_name_of)
        return True

    def _match(self, pool: str, owned: dict[str, str], orders: tuple[str, ...]) -> bool:
        """
        Give the newest orders to the newest VMs, so that nobody waits for another VM of an order that was fulfilled.

        An operation may be under way long after its VM is there: who counted both would have one VM too many.
        """
        vms = (self._seen[name] for name in owned.values())
        newest = nlargest(len(orders), vms, key=lambda vm: (vm.metadata.creation_timestamp, vm.metadata.name))
        before = self._order_of.get(pool, {})
        after = {
            (vm.metadata.name, vm.metadata.uid): order
            for vm, order in zip(newest, reversed(orders), strict=False)
        }
        if before == after:
            return False
        self._order_of[pool] = after
        changed = False
        for name, uid in before | after:
            vm = self._seen.get(name)
            if vm is not None and vm.metadata.uid == uid:
                changed |= self._set(name, self._machine(vm))
        return changed

    def _remove(self, machines: Iterable[Supplied]) -> None:
        for machine in machines:
            self._set(machine.name, None)
