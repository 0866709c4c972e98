"""Machines follow the cached objects change by change."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.providers.kubevirt.builders import vm, vm_pool, vmi

from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.config import Access
from remuda.kube.credentials import Fixed
from remuda.kube.resources import KubeObject, Resource
from remuda.kube.trust import Trust
from remuda.loop.clock import SystemClock
from remuda.model.machines import Supplied
from remuda.providers.kubevirt.orders import Asked, Notes
from remuda.providers.kubevirt.resources import VMIS, VMS, Vm, Vmi, VmPool
from remuda.providers.kubevirt.view import View

#: of a VM that was taken out of its pool
OUT = {"remuda.dev/pool": "linux", "remuda.dev/pool-member": "out", "remuda.dev/managed-by": "remuda"}
POOLS = Resource("pool.kubevirt.io", "v1beta1", "virtualmachinepools", "VirtualMachinePool")


class Caches:
    """Caches that a test fills by hand, and the view over them."""

    def __init__(self) -> None:
        access = Access("http://127.0.0.1:1", Fixed(Trust(verify=False)))
        clock, rng = SystemClock(), random.Random(1)
        client = Client(access, clock, rng)
        self.vms: Cache[Vm] = Cache(client, VMS, Vm, clock, rng)
        self.vmis: Cache[Vmi] = Cache(client, VMIS, Vmi, clock, rng)
        self.pools: Cache[VmPool] = Cache(client, POOLS, VmPool, clock, rng)
        self.view = View(self.vms, self.vmis, self.pools, "ci", lambda: 5)

    def names(self) -> list[str]:
        return [machine.name for machine in self.view.machines()]

    def named(self, name: str) -> Supplied:
        return next(machine for machine in self.view.machines() if machine.name == name)


def orders(caches: Caches) -> dict[str, str | None]:
    return {machine.name: machine.order for machine in caches.view.machines()}


def put(cache: Cache[Vm], things: Iterable[Vm]) -> None:
    for thing in things:
        cache.put(thing)


def test_machines_are_sorted_by_name_and_only_ours_are_reported() -> None:
    caches = Caches()
    put(caches.vms, [vm("linux-2"), vm("linux-10"), vm("linux-1"), vm("linux-3", owner="", labels={})])
    assert caches.names() == ["linux-1", "linux-10", "linux-2"]
    caches.vms.drop("linux-10", "ci")
    assert caches.names() == ["linux-1", "linux-2"]


def test_a_machine_that_did_not_change_stays_the_same_object() -> None:
    caches = Caches()
    put(caches.vms, [vm("linux-1"), vm("linux-2")])
    before = caches.view.machines()
    assert caches.view.machines() is before
    caches.vmis.put(vmi("Running", "linux-2"))
    after = caches.view.machines()
    assert after[0] is before[0]
    assert after[1].ready_at is not None


def test_a_change_that_says_nothing_new_of_a_machine_is_no_change() -> None:
    caches = Caches()
    caches.vms.put(vm("linux-1"))
    before = caches.view.machines()
    caches.vms.put(vm("linux-1", version="8", annotations={"a": "b"}))
    assert not caches.view.refresh()
    assert caches.view.machines() is before


def test_a_guest_of_an_earlier_machine_of_that_name_is_not_its_own() -> None:
    caches = Caches()
    caches.vmis.put(vmi("Succeeded", "linux-1", of="uid-before"))
    caches.vms.put(vm("linux-1", status="Starting"))
    assert caches.named("linux-1").ended is None


def test_what_a_pool_is_to_make_is_reported_until_it_is_there() -> None:
    caches = Caches()
    notes = Notes((Asked("linux-7", 1, "t1"), Asked("linux-8", 2, "t1")))
    caches.pools.put(vm_pool(2, notes))
    assert caches.names() == ["linux:7", "linux:8"]
    caches.vms.put(vm("linux-0"))
    assert caches.names() == ["linux-0", "linux:8"]
    caches.vms.put(vm("linux-1"))
    assert caches.names() == ["linux-0", "linux-1"]
    caches.pools.put(vm_pool(1, Notes(leaving=("uid-linux-0",)), version="2"))
    assert caches.names() == ["linux-0", "linux-1"]
    caches.vms.put(vm("linux-0", owner="", version="8", labels={"remuda.dev/pool": "linux"}))
    assert caches.names() == ["linux-1"]
    caches.pools.drop("linux", "ci")
    assert caches.names() == ["linux-1"]


def test_an_order_that_was_fulfilled_is_reported_with_a_vm() -> None:
    """Else its operation, while it is under way, would be taken for one more VM to come."""
    caches = Caches()
    put(caches.vms, [vm("linux-0", creation_timestamp="2026-01-31T12:00:00Z")])
    caches.pools.put(vm_pool(3, Notes((Asked("linux-7", 1, "t1"), Asked("linux-8", 2, "t1")))))
    assert orders(caches) == {"linux-0": "", "linux:7": "linux-7", "linux:8": "linux-8"}
    caches.vms.put(vm("linux-1", creation_timestamp="2026-01-31T12:00:05Z"))
    assert orders(caches) == {"linux-0": "", "linux-1": "linux-7", "linux:8": "linux-8"}
    caches.vms.put(vm("linux-2", creation_timestamp="2026-01-31T12:00:05Z"))
    assert orders(caches) == {"linux-0": "", "linux-1": "linux-7", "linux-2": "linux-8"}
    # One that is out of its pool was made for nobody any more; the others stay as they were.
    two = (Asked("linux-7", 1, "t1"), Asked("linux-8", 2, "t1"))
    caches.pools.put(vm_pool(2, Notes(two, leaving=("uid-linux-1",)), version="8"))
    caches.vms.put(
        vm("linux-1", version="8", owner="", labels=OUT, creation_timestamp="2026-01-31T12:00:05Z")
    )
    assert orders(caches)["linux-1"] == ""
    assert orders(caches)["linux-2"] == "linux-8"
    # What is not remembered any more is told of nobody.
    caches.pools.put(vm_pool(2, version="9"))
    assert orders(caches) == {"linux-0": "", "linux-1": "", "linux-2": ""}
    caches.pools.put(vm_pool(2, Notes((Asked("linux-9", 1, "t1"),)), version="10"))
    assert orders(caches)["linux-2"] == "linux-9"
    caches.pools.drop("linux", "ci")
    assert set(orders(caches).values()) == {""}


def test_vms_count_for_the_pool_that_has_them_now() -> None:
    caches = Caches()
    caches.pools.put(vm_pool(0))
    put(caches.vms, [vm("linux-0"), vm("linux-1", owner="an-earlier-pool")])
    pool = caches.pools.objects["ci", "linux"]
    assert caches.view.owned(pool) == {"uid-linux-0"}
    caches.vms.put(vm("linux-0", uid="made-anew", version="9"))
    assert caches.view.owned(pool) == {"made-anew"}


steps = st.lists(
    st.tuples(
        st.sampled_from(["vm", "gone", "vmi", "out"]),
        st.integers(0, 5),
        st.sampled_from(["Running", "Succeeded", "Scheduling"]),
    ),
    max_size=30,
)


@pytest.mark.slow
@given(steps)
def test_safety_step_by_step_or_all_anew_tells_the_same(taken: list[tuple[str, int, str]]) -> None:
    caches = Caches()
    caches.pools.put(vm_pool(3, Notes((Asked("linux-7", 1, "t1"), Asked("linux-8", 2, "t1")))))
    for version, (what, number, phase) in enumerate(taken, 10):
        name = f"linux-{number}"
        if what == "vm":
            caches.vms.put(vm(name, version=str(version)))
        elif what == "gone":
            caches.vms.drop(name, "ci")
        elif what == "out":
            caches.vms.put(vm(name, version=str(version), owner="", labels=OUT))
        else:
            caches.vmis.put(vmi(phase, name))
        caches.view.refresh()
    anew = Caches()
    for one, other in ((caches.vms, anew.vms), (caches.vmis, anew.vmis), (caches.pools, anew.pools)):
        _pour(one, other)
    assert caches.view.machines() == anew.view.machines()


def _pour(one: Cache[Vm] | Cache[Vmi] | Cache[VmPool], other: Cache[Vm] | Cache[Vmi] | Cache[VmPool]) -> None:
    thing: KubeObject
    for thing in one.objects.values():
        other.put(thing)  # type: ignore[arg-type]
