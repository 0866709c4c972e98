"""What KubeVirt says of a VM, as a machine."""

from typing import Any

import pytest
from tests.providers.kubevirt.builders import MADE_AT, RAN_AT, vm, vmi

from remuda.model.machines import Ended, Supplied
from remuda.model.manifests import Condition
from remuda.pools.codes import CODES
from remuda.providers.kubevirt.resources import (
    MANAGED_BY,
    MEMBER,
    OURS,
    OUT,
    POOL,
    TEMPLATE,
    Vm,
    Vmi,
)
from remuda.providers.kubevirt.status import is_at_work, supplied

DETACHED = {POOL: "linux", TEMPLATE: "t1", MEMBER: OUT}
UNSCHEDULABLE = Condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available")
NOT_READY = Condition("Ready", "False", "GuestNotRunning", "Guest VM is not reported as running")
GONE: dict[str, Any] = {"deletion_timestamp": "2026-01-31T15:00:00Z"}


@pytest.mark.parametrize(
    ("machine", "guest", "ready_at", "trouble"),
    [
        pytest.param(vm(status=""), None, None, "", id="just made"),
        pytest.param(vm(status="Starting"), vmi("Scheduling", ran=False), None, "", id="it boots"),
        pytest.param(vm(), vmi("Running"), RAN_AT, "", id="it runs"),
        pytest.param(vm(), vmi("Running", ran=False), MADE_AT, "", id="it runs, since when is not told"),
        pytest.param(vm(status="Starting"), vmi("Running", of="another"), None, "", id="a namesake's guest"),
        pytest.param(
            vm(status="ErrorUnschedulable"),
            vmi("Scheduling", ran=False, conditions=(NOT_READY, UNSCHEDULABLE)),
            None,
            "ErrorUnschedulable: 0/1 nodes are available",
            id="no node takes it",
        ),
        pytest.param(vm(status="ErrImagePull"), None, None, "ErrImagePull", id="no image"),
        pytest.param(
            vm(status="DataVolumeError", conditions=(Condition("Failure", "True", "x", "no storage class"),)),
            None,
            None,
            "DataVolumeError: no storage class",
            id="no volume",
        ),
        pytest.param(
            vm(status="Unknown"), vmi("Running"), RAN_AT, "", id="trouble of one that runs is no trouble"
        ),
    ],
)
def test_a_vm_that_lives_is_ready_when_its_guest_runs(
    machine: Vm, guest: Vmi | None, ready_at: int | None, trouble: str
) -> None:
    own = guest if guest is not None and guest.is_of(machine) else None
    assert supplied(machine, own) == Supplied(
        "linux-0",
        "linux",
        "t1",
        MADE_AT,
        ready_at,
        None,
        leaving=False,
        trouble=trouble,
        order="",
        uid="uid-linux-0",
    )


@pytest.mark.parametrize(
    ("machine", "guest", "ended"),
    [
        pytest.param(vm(status="Stopped"), vmi("Succeeded"), Ended("finished"), id="it powered off"),
        pytest.param(
            vm(status="Stopped"),
            vmi("Failed", conditions=(Condition("Ready", "False", "x", "killed"),)),
            Ended("crashed", "Failed: killed"),
            id="it died at work",
        ),
        pytest.param(vm(), vmi("Failed", ran=False), Ended("boot", "Failed"), id="it died before it ran"),
        pytest.param(
            vm(status="CrashLoopBackOff"),
            None,
            Ended("boot", "CrashLoopBackOff"),
            id="it dies again and again",
        ),
        pytest.param(vm(strategy="Halted"), None, Ended("closed"), id="it was stopped by hand"),
        pytest.param(vm(labels=DETACHED, owner=""), None, Ended("closed"), id="it was let go"),
        pytest.param(vm(labels=DETACHED, owner=""), vmi("Succeeded"), Ended("closed"), id="it did as told"),
        pytest.param(vm(**GONE), None, Ended("closed", "it was deleted by hand"), id="a person deleted it"),
        pytest.param(
            vm(**GONE), vmi("Succeeded"), Ended("closed", "it was deleted by hand"), id="so, and it had ended"
        ),
    ],
)
def test_a_vm_whose_guest_is_over_has_ended(machine: Vm, guest: Vmi | None, ended: Ended) -> None:
    listed = supplied(machine, guest)
    assert listed.ended == ended
    assert not listed.leaving
    assert f"machine.{ended.code}" in CODES


@pytest.mark.parametrize(
    ("machine", "guest", "is_down"),
    [
        pytest.param(vm(strategy="Halted", labels=DETACHED), vmi("Running"), False, id="it ends its work"),
        pytest.param(vm(**GONE), vmi("Running"), False, id="a person deleted it, and it ends its work"),
        pytest.param(vm(**GONE), vmi("Unknown"), False, id="so, and nobody hears of it"),
        pytest.param(vm(**GONE, finalizers=()), None, True, id="nothing holds it back"),
        pytest.param(
            vm(**GONE, finalizers=()), vmi("Succeeded"), True, id="so, and its guest is still told of"
        ),
    ],
)
def test_a_vm_that_was_told_to_go_leaves_until_its_guest_is_over(
    machine: Vm, guest: Vmi | None, is_down: bool
) -> None:
    listed = supplied(machine, guest)
    assert listed.leaving
    assert listed.ended is None
    assert listed.is_down is is_down


def test_a_vm_that_no_pool_made_has_the_name_of_its_order() -> None:
    assert supplied(vm(owner="", labels={POOL: "linux", MANAGED_BY: OURS}), None).order is None


def test_times_that_cannot_be_read_are_the_beginning_of_time() -> None:
    assert supplied(vm(creation_timestamp="soon"), None).created_at == 0


@pytest.mark.parametrize(
    ("guest", "works"),
    [
        pytest.param(None, False, id="no guest"),
        pytest.param(vmi("Scheduled", ran=False), False, id="a guest that boots claims nothing"),
        pytest.param(vmi("Running"), True, id="a guest that runs"),
        pytest.param(vmi("Unknown"), True, id="a guest that nobody hears of"),
        pytest.param(vmi("Succeeded"), False, id="a guest that is over"),
    ],
)
def test_only_a_guest_that_may_run_can_be_at_work(guest: Vmi | None, works: bool) -> None:
    assert is_at_work(guest) is works
