"""What the provider asks of the API server is what the table of permissions says, and no more."""

import asyncio
from contextlib import suppress

import pytest
from tests.kube.conftest import Robot, eventually
from tests.kubevirt.guests import Guests, Script
from tests.kubevirt.installation import Installation
from tests.providers.kubevirt.rig import Rig, running

from remuda.kube.errors import KubeError
from remuda.kube.resources import Key
from remuda.providers.kubevirt.permissions import PERMISSIONS as VMS

pytestmark = pytest.mark.slow
Grant = tuple[str, str, str]
TABLE = {(rule.group, resource, verb) for rule in VMS for resource in rule.resources for verb in rule.verbs}
#: used only where there are no pools, whose test runs as an admin
ALONE = {("kubevirt.io", "virtualmachines", "create")}


async def test_no_permission_is_missing_or_unused(
    kubevirt: Installation, vm_namespace: str, guests: Guests
) -> None:
    robot = Robot(kubevirt.cluster, vm_namespace, "robot")
    robot._post(f"/api/v1/namespaces/{vm_namespace}/serviceaccounts", {"metadata": {"name": "robot"}})
    robot.permit(*((rule.group or "-", " ".join(rule.resources), " ".join(rule.verbs)) for rule in VMS))
    async with running(kubevirt.cluster, vm_namespace, user=robot.token(), young_s=0.3) as rig:
        await live(rig, guests)
        await eventually(lambda: asked(rig, robot.user)[0] >= TABLE - ALONE, "every permission is used")
    used, refused = asked(rig, robot.user)
    assert refused == []
    assert used == TABLE - ALONE


async def live(rig: Rig, guests: Guests) -> None:
    """Everything that a pool goes through, with somebody else's hand in it."""
    await rig.create(3)
    await rig.until_ready("linux-0", "linux-1", "linux-2")
    world = rig.provider._watched
    assert world is not None
    assert world.pool_objects is not None
    guests.script("*", Script(shutdown_s=0.1))
    key: Key = (rig.namespace, "linux")
    pool = world.pool_objects.objects[key]
    await asyncio.to_thread(rig.patch, "virtualmachinepools/linux", {"metadata": {"labels": {"a": "b"}}})
    await eventually(lambda: world.pool_objects and world.pool_objects.objects[key] is not pool)
    world.pool_objects.objects[key] = pool  # as if the watch were late
    vm = world.vms.objects[rig.namespace, "linux-0"]
    await asyncio.to_thread(rig.patch, "virtualmachines/linux-0", {"metadata": {"labels": {"a": "b"}}})
    await eventually(lambda: world.vms.objects[rig.namespace, "linux-0"] is not vm)
    world.vms.objects[rig.namespace, "linux-0"] = vm
    assert await rig.delete("linux-0", at_once=True)
    with suppress(KubeError):
        await rig.provider.console("linux-1")
    for name in ("linux-1", "linux-2"):
        assert await rig.delete(name, at_once=True)
    await rig.until(lambda seen: not seen)
    rig.provider.follow([])


def asked(rig: Rig, user: str) -> tuple[set[Grant], list[str]]:
    """What a user asked of the API server, and what of it was refused."""
    used, refused = set[Grant](), list[str]()
    for line in rig.cluster.audit():
        about = line.get("objectRef")
        if about is None or line["user"].get("username") != user:
            continue
        what = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        used.add((about.get("apiGroup", ""), what, line["verb"]))
        if line.get("responseStatus", {}).get("code") == 403:
            refused.append(f"{line['verb']} {line['requestURI']}")
    return used, refused
