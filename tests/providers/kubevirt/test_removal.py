"""The one patch that takes a VM out of its pool."""

import pytest
from msgspec import structs
from tests.providers.kubevirt.builders import vm

from remuda.model.manifests import OwnerReference
from remuda.providers.kubevirt.removal import detachment
from remuda.providers.kubevirt.resources import MANAGED_BY, MEMBER, OURS, OUT, POOL, POOL_FINALIZER, Vm

OUTSIDE = {POOL: "linux", MEMBER: OUT, MANAGED_BY: OURS}
KEPT = "kubevirt.io/virtualMachineControllerFinalize"


def test_owner_finalizer_and_label_go_in_one_patch_of_the_version_that_was_seen() -> None:
    operations = {item["path"]: (item["op"], item.get("value")) for item in detachment(vm(), halts=True)}
    assert operations == {
        "/metadata/resourceVersion": ("add", "7"),
        "/metadata/ownerReferences/0": ("remove", None),
        "/metadata/finalizers": ("add", [KEPT]),
        "/metadata/labels/remuda.dev~1pool-member": ("add", OUT),
        "/metadata/labels/remuda.dev~1managed-by": ("add", OURS),
        "/spec/runStrategy": ("add", "Halted"),
    }


def test_owners_that_are_no_pools_stay() -> None:
    owners = (
        OwnerReference("VirtualMachinePool", "linux", "pool-uid", controller=True),
        OwnerReference("KubeObject", "other", "u"),
    )
    seen = vm()
    seen = structs.replace(seen, metadata=structs.replace(seen.metadata, owner_references=owners))
    removed = [item["path"] for item in detachment(seen, halts=False) if item["op"] == "remove"]
    assert removed == ["/metadata/ownerReferences/0"]


@pytest.mark.parametrize(
    ("seen", "halts", "paths"),
    [
        pytest.param(vm(owner="", finalizers=(KEPT,), labels=OUTSIDE), False, [], id="out already"),
        pytest.param(
            vm(owner="", finalizers=(KEPT,), labels=OUTSIDE, strategy="Halted"), True, [], id="out and halted"
        ),
        pytest.param(
            vm(owner="", finalizers=(KEPT,), labels={POOL: "linux", MANAGED_BY: OURS}),
            True,
            ["/spec/runStrategy"],
            id="never in a pool",
        ),
        pytest.param(
            vm(owner="", labels=OUTSIDE), False, ["/metadata/finalizers"], id="the finalizer is left over"
        ),
    ],
)
def test_what_is_done_is_not_done_again(seen: Vm, halts: bool, paths: list[str]) -> None:
    found = [item["path"] for item in detachment(seen, halts=halts)]
    assert found[1:] == paths
    assert found[:1] == (["/metadata/resourceVersion"] if paths else [])


def test_kubevirts_own_finalizer_is_never_touched() -> None:
    for seen in (vm(), vm(owner=""), vm(finalizers=(KEPT, POOL_FINALIZER, "other"))):
        for item in detachment(seen, halts=False):
            if item["path"] == "/metadata/finalizers":
                assert KEPT in item["value"]
                assert POOL_FINALIZER not in item["value"]
