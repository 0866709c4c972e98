"""The provider on KubeVirt's real virt-controller."""

import asyncio
from typing import Any

import pytest
from tests.kube.conftest import eventually
from tests.kubevirt.guests import Boot, Guests, Script
from tests.kubevirt.installation import Installation
from tests.providers.kubevirt.rig import SETTINGS, TOKEN, Rig, quiet, running
from tests.providers.kubevirt.test_settings import Setup

from remuda.errors import BadInput, NotFound, Unavailable
from remuda.kube.errors import Fenced, KubeError

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


async def test_orders_and_removals_of_one_moment_are_one_patch(rig: Rig, guests: Guests) -> None:
    await rig.create(4)
    await rig.until_ready(*(f"linux-{number}" for number in range(4)))
    for name in ("linux-0", "linux-1"):
        await asyncio.to_thread(guests.power_off, name)
    await rig.until(lambda seen: seen["linux-0"].ended and seen["linux-1"].ended)
    before = rig.pools()["linux"]["metadata"]["generation"]
    await asyncio.gather(rig.create(3), rig.delete("linux-0"), rig.delete("linux-1"))
    pool = rig.pools()["linux"]
    assert pool["spec"]["replicas"] == 5
    assert pool["metadata"]["generation"] == before + 1


async def test_a_hundred_orders_for_a_new_pool_are_a_handful_of_requests(rig: Rig) -> None:
    await rig.create(100)
    assert rig.replicas() == 100
    assert rig.pools()["linux"]["metadata"]["generation"] <= 4
    assert len(await rig.machines()) == 100
    assert len(rig.user_data()) == 1


async def test_another_template_reaches_new_machines_only(rig: Rig) -> None:
    await rig.create(1)
    old = (await rig.until_ready("linux-0"))["linux-0"]
    uid = rig.vms()["linux-0"]["metadata"]["uid"]
    spec = {"domain": {"devices": {}, "resources": {"requests": {"memory": "128Mi"}}}}
    await rig.create(1, template="t2", spec=spec)
    seen = await rig.until_ready("linux-0", "linux-1")
    assert seen["linux-0"] == old
    assert seen["linux-1"].template == "t2"
    vms = rig.vms()
    assert vms["linux-0"]["metadata"]["uid"] == uid
    memory = vms["linux-1"]["spec"]["template"]["spec"]["domain"]["resources"]["requests"]["memory"]
    assert memory == "128Mi"


async def test_another_token_is_another_user_data_and_the_old_one_goes_with_its_last_machine(
    kubevirt: Installation, vm_namespace: str, guests: Guests
) -> None:
    async with running(kubevirt.cluster, vm_namespace, young_s=0.3) as rig:
        await rig.create(1)
        await rig.until_ready("linux-0")
        (first,) = rig.user_data()
        rig.token("another")
        await eventually(lambda: rig.secrets.value("runner", "token") == "another")
        await rig.create(1, template="t2")
        await rig.until_ready("linux-0", "linux-1")
        await quiet(lambda: asyncio.to_thread(lambda: set(rig.user_data())), 1.5)
        both = set(rig.user_data())
        assert len(both) == 2
        assert first in both
        await asyncio.to_thread(guests.power_off, "linux-0")
        await rig.until(lambda seen: seen["linux-0"].ended)
        assert await rig.delete("linux-0")
        await eventually(lambda: set(rig.user_data()) == both - {first})


async def test_a_pool_nobody_configures_any_more_goes_when_it_is_empty(
    kubevirt: Installation, vm_namespace: str, guests: Guests
) -> None:
    async with running(kubevirt.cluster, vm_namespace, young_s=0.3) as rig:
        await rig.create(1)
        await rig.create(1, pool="other")
        await rig.until_ready("linux-0", "other-0")
        rig.provider.follow([Setup(name="other")])
        await quiet(lambda: asyncio.to_thread(lambda: set(rig.pools())), 1.5)
        assert set(rig.pools()) == {"linux", "other"}
        await asyncio.to_thread(guests.power_off, "linux-0")
        await rig.until(lambda seen: seen["linux-0"].ended)
        assert await rig.delete("linux-0")
        await eventually(lambda: set(rig.pools()) == {"other"})
        # A scaled-down pool that is configured stays.
        assert await rig.delete("other-0", at_once=True)
        await rig.until(lambda seen: not seen)
        await quiet(lambda: asyncio.to_thread(lambda: set(rig.pools())), 1.5)
        assert set(rig.pools()) == {"other"}


async def test_a_replica_that_does_not_lead_changes_nothing(
    kubevirt: Installation, vm_namespace: str, rig: Rig
) -> None:
    await rig.create(1)
    await rig.until_ready("linux-0")
    async with running(kubevirt.cluster, vm_namespace, fence=lambda: False, young_s=0.1) as other:
        other.provider.follow([])
        seen = await other.until_ready("linux-0")
        next(other.numbers)  # the first one is ordered
        with pytest.raises(Fenced):
            await other.create(1)
        with pytest.raises(Fenced):
            await other.provider.delete("linux-0", seen["linux-0"].identity)
        await asyncio.sleep(0.5)
    assert set(rig.pools()) == {"linux"}
    assert len(rig.user_data()) == 1


@pytest.mark.parametrize(
    ("boot", "trouble"),
    [
        pytest.param(Boot.UNSCHEDULABLE, "ErrorUnschedulable: 0/1 nodes are available", id="no node"),
        pytest.param(Boot.ERR_IMAGE_PULL, "ErrImagePull", id="no image"),
        pytest.param(Boot.IMAGE_PULL_BACK_OFF, "ImagePullBackOff", id="still no image"),
    ],
)
async def test_a_machine_that_does_not_boot_says_why_and_can_be_removed(
    rig: Rig, guests: Guests, boot: Boot, trouble: str
) -> None:
    guests.script("*", Script(boot=boot))
    await rig.create(1)
    seen = await rig.until(lambda seen: any(item.trouble for item in seen.values()))
    assert seen["linux-0"].trouble.startswith(trouble)
    assert seen["linux-0"].ended is None
    assert await rig.delete("linux-0")
    await rig.until(lambda seen: not seen)
    assert rig.replicas() == 0


async def test_machines_that_crash_have_ended(rig: Rig, guests: Guests) -> None:
    guests.script("linux-1", Script(boot=Boot.CRASHES))
    await rig.create(2)
    seen = await rig.until(lambda seen: "linux-1" in seen and seen["linux-1"].ended)
    assert seen["linux-1"].ended is not None
    assert seen["linux-1"].ended.code == "boot"
    await rig.until(lambda seen: seen["linux-0"].ready_at)
    await asyncio.to_thread(guests.crash, "linux-0")
    seen = await rig.until(lambda seen: seen["linux-0"].ended)
    assert seen["linux-0"].ended is not None
    assert seen["linux-0"].ended.code == "crashed"
    for name in ("linux-0", "linux-1"):
        assert await rig.delete(name)
    await rig.until(lambda seen: not seen)


async def test_a_pool_of_somebody_else_is_left_alone(rig: Rig) -> None:
    body = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "linux"},
        "spec": {"replicas": 0, **template("theirs")},
    }
    answer = await asyncio.to_thread(rig.cluster.request, "POST", rig.path("virtualmachinepools"), body)
    assert answer.status == 201, answer.text
    with pytest.raises(Unavailable, match="is not Remuda's: rename the RunnerPool, or delete it"):
        await rig.create(1)
    assert rig.replicas() == 0
    assert rig.user_data() == {}


def template(name: str) -> dict[str, Any]:
    labels = {"of": name}
    instance = {"metadata": {"labels": labels}, "spec": {"domain": {"devices": {}}}}
    vm = {"metadata": {"labels": labels}, "spec": {"runStrategy": "Once", "template": instance}}
    return {"selector": {"matchLabels": labels}, "virtualMachineTemplate": vm}


async def test_a_missing_secret_stops_new_machines_and_never_looks_like_a_new_template(
    kubevirt: Installation, vm_namespace: str, rig: Rig
) -> None:
    setup = Setup(settings=SETTINGS)
    await rig.create(1)
    await rig.until_ready("linux-0")
    known = rig.provider.fingerprint(setup)
    secret = f"/api/v1/namespaces/{vm_namespace}/secrets/runner"
    assert (await asyncio.to_thread(rig.cluster.request, "DELETE", secret)).status == 200
    await eventually(lambda: "no Secret runner" in trouble_of(rig))
    with pytest.raises(BadInput, match="there is no Secret runner"):
        await rig.create(1)
    assert rig.provider.fingerprint(setup) == known
    assert rig.replicas() == 1
    async with running(kubevirt.cluster, vm_namespace, token=None) as anew:
        assert anew.provider.fingerprint(setup) == known


def trouble_of(rig: Rig) -> str:
    try:
        return rig.secrets.value("runner", "token")
    except BadInput as error:
        return str(error)


async def test_wakes_come_with_changes_of_machines_alone(rig: Rig) -> None:
    await rig.create(1)
    await rig.until_ready("linux-0")
    await quiet(lambda: asyncio.to_thread(lambda: len(rig.wakes)), 1.5)
    before = len(rig.wakes)
    note = {"metadata": {"annotations": {"a": "b"}}}
    await asyncio.to_thread(rig.patch, "virtualmachines/linux-0", note)
    await quiet(lambda: asyncio.to_thread(lambda: len(rig.wakes)), 0.5)
    assert len(rig.wakes) == before


async def test_a_console_is_the_log_of_the_launchers_console(rig: Rig) -> None:
    with pytest.raises(NotFound, match="there is no VM linux-9 of Remuda"):
        await rig.provider.console("linux-9")
    await rig.create(1)
    await rig.until_ready("linux-0")
    # No kubelet runs here: that the API server asks for one says that the right container was asked for.
    with pytest.raises(
        KubeError, match=r"reading the log of pods .*virt-launcher-linux-0.*guest-console-log"
    ):
        await rig.provider.console("linux-0")
