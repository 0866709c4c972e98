"""The provider on KubeVirt's real virt-controller."""

import asyncio

import pytest
from tests.kubevirt.guests import Guests, Script
from tests.providers.kubevirt.rig import TOKEN, Rig

pytestmark = pytest.mark.slow


async def test_orders_become_machines_of_a_pool_that_run(rig: Rig) -> None:
    orders = await rig.create(3)
    listed = await rig.machines()
    assert len(listed) == 3
    assert all(item.pool == "linux" and item.template == "t1" for item in listed.values())
    seen = await rig.until_ready("linux-0", "linux-1", "linux-2")
    assert all(not item.trouble and item.ended is None and not item.leaving for item in seen.values())
    assert rig.replicas() == 3
    for order in orders:
        await rig.provider.create(order)
    assert rig.replicas() == 3
    (secret,) = rig.user_data().values()
    assert secret["metadata"]["ownerReferences"][0]["uid"] == rig.pools()["linux"]["metadata"]["uid"]
    assert TOKEN not in str(rig.vms()) + str(rig.pools()) + "".join(rig.lines)


async def test_a_machine_that_finished_is_replaced_by_deleting_it(rig: Rig, guests: Guests) -> None:
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    await asyncio.to_thread(guests.power_off, "linux-0")
    seen = await rig.until(lambda seen: seen["linux-0"].ended)
    assert seen["linux-0"].ended is not None
    assert seen["linux-0"].ended.code == "finished"
    assert await rig.delete("linux-0")
    assert rig.replicas() == 1
    await rig.until_ready("linux-1")
    await rig.until_vms(lambda vms: set(vms) == {"linux-1"})


async def test_a_busy_machine_that_must_go_ends_its_work_first(rig: Rig, guests: Guests) -> None:
    guests.script("*", Script(shutdown_s=None))
    await rig.create(2)
    await rig.until_ready("linux-0", "linux-1")
    assert await rig.delete("linux-0")
    seen = await rig.until(lambda seen: seen["linux-0"].leaving)
    assert seen["linux-0"].ended is None
    assert rig.replicas() == 1
    await rig.until_vms(lambda vms: vms["linux-0"]["status"].get("printableStatus") == "Stopping")
    assert await rig.delete("linux-0")
    await asyncio.to_thread(guests.power_off, "linux-0")
    seen = await rig.until(lambda seen: seen["linux-0"].ended)
    assert seen["linux-0"].ended is not None
    assert seen["linux-0"].ended.code == "closed"
    assert await rig.delete("linux-0")
    await rig.until_ready("linux-1")
    assert rig.replicas() == 1
