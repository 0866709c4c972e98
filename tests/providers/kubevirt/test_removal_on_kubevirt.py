"""KubeVirt's four defects do not bite, and whatever is killed on the way converges when it is repeated."""

import asyncio
from typing import Any

import pytest
from tests.kubevirt.guests import Guests, Script
from tests.kubevirt.installation import Installation
from tests.providers.kubevirt.rig import Rig, killed, quiet, running

from remuda.model.machines import Supplied

pytestmark = pytest.mark.slow


async def test_a_machine_deleted_after_lowering_replicas_really_goes(rig: Rig, guests: Guests) -> None:
    """Defect 1: KubeVirt never takes its finalizer off such a VM."""
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    await asyncio.to_thread(guests.power_off, "linux-1")
    await rig.until(lambda seen: seen["linux-1"].ended)
    assert await rig.delete("linux-1")
    await rig.until_vms(lambda vms: set(vms) == {"linux-0"})


async def test_the_pool_never_lets_kubevirt_choose_nor_heal(rig: Rig) -> None:
    """Defects 2 and 3: selectors crash virt-controller, and healing deletes VMs of other pools."""
    await rig.create(1)
    spec = rig.pools()["linux"]["spec"]
    assert spec["scaleInStrategy"] == {"unmanaged": {}}
    assert spec["updateStrategy"] == {"unmanaged": {}}
    assert "autohealing" not in spec
    by_hand = {
        "scaleInStrategy": {"unmanaged": None, "opportunistic": {}},
        "updateStrategy": {"unmanaged": None, "opportunistic": {}},
        "autohealing": {"startUpFailureThreshold": 1},
    }
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux", {"spec": by_hand})
    await rig.create(1)
    spec = rig.pools()["linux"]["spec"]
    assert spec["scaleInStrategy"] == {"unmanaged": {}}
    assert spec["updateStrategy"] == {"unmanaged": {}}
    assert "autohealing" not in spec


async def test_a_machine_is_relabelled_only_with_its_detachment_and_the_pool_goes_on(
    rig: Rig, guests: Guests
) -> None:
    """Defect 4: a VM with another label and the pool as its owner stops the whole pool."""
    guests.script("*", Script(shutdown_s=None))
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    assert await rig.delete("linux-0")
    meta = rig.vms()["linux-0"]["metadata"]
    assert meta["labels"]["remuda.dev/pool-member"] == "out"
    assert "ownerReferences" not in meta
    assert "pool.kubevirt.io/finalizer" not in meta["finalizers"]
    await rig.create(1)
    seen = await rig.until(lambda seen: set(seen) == {"linux-0", "linux-1", "linux-2"})
    assert seen["linux-0"].leaving
    await rig.until(lambda seen: seen["linux-2"].ready_at)


@pytest.mark.parametrize("step", ["lowered", "detached", "deleted"])
async def test_a_removal_killed_at_any_step_converges_when_it_is_repeated(
    kubevirt: Installation, vm_namespace: str, guests: Guests, step: str
) -> None:
    async with running(kubevirt.cluster, vm_namespace) as rig:
        await rig.create(3)
        await rig.until_ready("linux-0", "linux-1", "linux-2")
        await asyncio.to_thread(guests.power_off, "linux-1")
        seen = await rig.until(lambda seen: seen["linux-1"].ended)
        rig.steps.kill_at = step
        with killed():
            await rig.delete("linux-1")
    async with running(kubevirt.cluster, vm_namespace) as again:
        await again.provider.delete("linux-1", seen["linux-1"].identity)
        await again.until_ready("linux-0", "linux-2")
        await quiet(again.machines)
        assert set(await again.machines()) == {"linux-0", "linux-2"}
        assert again.replicas() == 2
        await again.until_vms(lambda vms: set(vms) == {"linux-0", "linux-2"})


@pytest.mark.parametrize("step", ["lowered", "detached"])
async def test_a_graceful_removal_killed_at_any_step_converges_too(
    kubevirt: Installation, vm_namespace: str, guests: Guests, step: str
) -> None:
    guests.script("*", Script(shutdown_s=None))
    async with running(kubevirt.cluster, vm_namespace) as rig:
        await rig.create(2)
        seen = await rig.until_ready("linux-0", "linux-1")
        rig.steps.kill_at = step
        with killed():
            await rig.delete("linux-0")
    async with running(kubevirt.cluster, vm_namespace) as again:
        assert await again.provider.delete("linux-0", seen["linux-0"].identity)
        await again.until(lambda seen: seen["linux-0"].leaving)
        assert again.replicas() == 1
        await asyncio.to_thread(guests.power_off, "linux-0")
        await again.until(lambda seen: seen["linux-0"].ended)
        assert await again.delete("linux-0")
        await again.until_ready("linux-1")


@pytest.mark.parametrize("step", ["pool.made", "userdata.made", "ordered"])
async def test_an_order_killed_at_any_step_is_counted_once_when_it_is_repeated(
    kubevirt: Installation, vm_namespace: str, guests: Guests, step: str
) -> None:
    del guests
    async with running(kubevirt.cluster, vm_namespace) as rig:
        order = rig.order()
        rig.steps.kill_at = step
        with killed():
            await rig.provider.create(order)
    async with running(kubevirt.cluster, vm_namespace) as again:
        await again.provider.create(order)
        await again.until_ready("linux-0")
        assert again.replicas() == 1


async def test_machines_that_a_person_deletes_go_and_are_reported_as_ended(rig: Rig) -> None:
    await rig.create(3)
    await rig.until_ready("linux-0", "linux-1", "linux-2")
    await asyncio.to_thread(rig.cluster.kubectl, "delete", "vm", "--all", "--wait=false", "-n", rig.namespace)
    seen = await rig.until(lambda seen: all(item.ended for item in seen.values()))
    assert {item.ended.code for item in seen.values() if item.ended} == {"closed"}
    await asyncio.gather(*(rig.delete(name) for name in seen))
    await rig.create(2)
    fresh = await rig.until(
        lambda now: len(now) == 2 and all(item.ready_at and not item.leaving for item in now.values())
    )
    assert all(item.created_at >= seen["linux-0"].created_at for item in fresh.values())
    assert rig.replicas() == 2
    await rig.until_vms(lambda vms: len(vms) == 2)


async def test_a_machine_that_a_person_deletes_while_it_works_leaves_first(rig: Rig, guests: Guests) -> None:
    guests.script("*", Script(shutdown_s=None))
    await rig.create(1)
    await rig.until_ready("linux-0")
    await asyncio.to_thread(
        rig.cluster.kubectl, "delete", "vm", "linux-0", "--wait=false", "-n", rig.namespace
    )
    seen = await rig.until(lambda seen: seen["linux-0"].leaving)
    assert seen["linux-0"].ended is None
    await asyncio.to_thread(guests.power_off, "linux-0")
    await rig.until(lambda seen: seen["linux-0"].ended)
    assert await rig.delete("linux-0")
    await rig.until(lambda seen: not seen)
    assert rig.replicas() == 0


async def test_a_machine_removed_at_once_does_not_wait_for_its_work(rig: Rig, guests: Guests) -> None:
    guests.script("*", Script(shutdown_s=0.2))
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    assert await rig.delete("linux-0", at_once=True)
    assert "stopped" in rig.steps.passed
    assert (
        "deletionTimestamp" in rig.vms().get("linux-0", {"metadata": {"deletionTimestamp": ""}})["metadata"]
    )
    await rig.until_ready("linux-1")


async def test_a_pool_that_a_person_deletes_is_made_anew_and_its_machines_can_be_removed(rig: Rig) -> None:
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    # The garbage collector of Kubernetes does not run here: the VMs stay, as they do with --cascade=orphan.
    await asyncio.to_thread(
        rig.cluster.kubectl, "delete", "vmpool", "linux", "--wait=false", "-n", rig.namespace
    )
    await rig.until_vms(
        lambda vms: all("pool.kubevirt.io/finalizer" not in _finalizers(vm) for vm in vms.values())
    )
    assert set(await rig.machines()) == {"linux-0", "linux-1"}
    assert await rig.delete("linux-0")
    await rig.until(lambda seen: "linux-0" not in seen or seen["linux-0"].ended)
    while "linux-0" in await rig.machines():
        await rig.delete("linux-0")
        await asyncio.sleep(0.05)
    await _eventually_created(rig)
    seen = await rig.until(lambda seen: len(seen) == 2 and all(item.ready_at for item in seen.values()))
    assert "linux-1" in seen
    assert rig.replicas() == 1
    assert len(rig.user_data()) == 1


def _finalizers(vm: dict[str, Any]) -> list[str]:
    found: list[str] = vm["metadata"].get("finalizers", [])
    return found


async def _eventually_created(rig: Rig) -> None:
    """As the loop does: an order that fails is made again under another name."""
    async with asyncio.timeout(60):
        while True:
            try:
                await rig.create(1)
            except Exception as error:  # noqa: BLE001 - told below when it does not end
                assert "being deleted" in str(error) or "vanished" in str(error), error  # noqa: PT017
            else:
                return
            await asyncio.sleep(0.1)


async def test_replicas_that_a_person_lowers_or_raises_are_followed(rig: Rig) -> None:
    await rig.create(3)
    await rig.until_ready("linux-0", "linux-1", "linux-2")
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux/scale", {"spec": {"replicas": 1}})
    await rig.create(1)
    await rig.until_ready("linux-0", "linux-1", "linux-2", "linux-3")
    assert rig.replicas() == 4
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux/scale", {"spec": {"replicas": 6}})
    await rig.until(lambda seen: len(seen) == 6 and all(item.ready_at for item in seen.values()))
    assert await rig.delete("linux-5", at_once=True)
    await rig.until(lambda seen: len(seen) == 5)
    assert rig.replicas() == 5


async def test_what_is_ordered_and_not_made_yet_is_listed_once_and_can_be_cancelled(
    kubevirt: Installation, rig: Rig
) -> None:
    del kubevirt
    await rig.create(1)
    await rig.until_ready("linux-0")
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux", {"spec": {"paused": True}})
    orders = await rig.create(2)
    names = {f"linux:{order.name.rpartition('-')[2]}": order for order in orders}

    def is_paused(seen: dict[str, Supplied]) -> bool:
        return set(seen) == {"linux-0", *names} and all("paused" in seen[name].trouble for name in names)

    seen = await rig.until(is_paused)
    for name, order in names.items():
        assert (seen[name].created_at, seen[name].ready_at) == (order.created_at, None)
    first, second = sorted(names)
    assert not await rig.provider.delete(first, "1")
    assert await rig.delete(first)
    assert set(await rig.machines()) == {"linux-0", second}
    assert rig.replicas() == 2
    assert await rig.provider.delete(first, seen[first].identity)
    assert rig.replicas() == 2
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux", {"spec": {"paused": False}})
    await rig.until_ready("linux-0", "linux-1")


async def test_what_is_not_ours_is_neither_listed_nor_touched(rig: Rig) -> None:
    await rig.create(1)
    await rig.until_ready("linux-0")
    vm = rig.vms()["linux-0"]
    copy = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "linux-7", "labels": vm["metadata"]["labels"]},
        "spec": vm["spec"],
    }
    answer = await asyncio.to_thread(rig.cluster.request, "POST", rig.path("virtualmachines"), copy)
    assert answer.status == 201, answer.text
    await rig.until_vms(lambda vms: vms["linux-7"].get("status", {}).get("printableStatus") == "Running")
    assert set(await rig.machines()) == {"linux-0"}
    assert await rig.provider.delete("linux-7", "0")
    assert "deletionTimestamp" not in rig.vms()["linux-7"]["metadata"]


async def test_a_namesake_is_not_touched_though_it_was_made_in_the_same_second(rig: Rig) -> None:
    await rig.create(1)
    seen = await rig.until_ready("linux-0")
    assert seen["linux-0"].identity == rig.vms()["linux-0"]["metadata"]["uid"]
    for other in (str(seen["linux-0"].created_at), "4f1ed8a5-0000-4000-8000-000000000000", ""):
        assert not await rig.provider.delete("linux-0", other)
    assert rig.replicas() == 1
    assert await rig.provider.delete("linux-99", "0")
