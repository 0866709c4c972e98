"""
What a VirtualMachine and its instance say, as a machine. Pure.

A guest that could not start yet is in trouble and not over: a node or an image may still come, and the pool's boot
timeout decides. One that KubeVirt starts again and again has ended.
"""

from remuda.model.machines import Ended, Supplied
from remuda.model.manifests import Condition
from remuda.model.times import Instant, read_instant
from remuda.providers.kubevirt.resources import (
    BOOTS,
    CLASS,
    DRAINS,
    MEMBER,
    OUT,
    POOL_FINALIZER,
    TEMPLATE,
    Vm,
    Vmi,
)

#: statuses of a VM that say what keeps it from running
TROUBLES = frozenset(
    {
        "ErrorUnschedulable",
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrorPvcNotFound",
        "DataVolumeError",
        "WaitingForVolumeBinding",
        "Unknown",
    }
)
#: phases in which the guest may be at work
ALIVE = frozenset({"Running", "Unknown", "WaitingForSync"})
#: conditions that say why, the most telling first
_TELLING = ("PodScheduled", "Failure", "Synchronized", "DataVolumesReady")
_LONGEST_DETAIL = 300
_BOOT_LENGTH = 8


def supplied(vm: Vm, vmi: Vmi | None) -> Supplied:
    """The machine behind a VM of ours; `vmi` is that VM's own guest."""
    ended = ending(vm, vmi)
    leaving = ended is None and is_leaving(vm)
    ready_at = running_since(vmi)
    return Supplied(
        vm.metadata.name,
        vm.pool,
        vm.metadata.labels.get(TEMPLATE, ""),
        created_at(vm),
        ready_at,
        ended,
        leaving,
        "" if ready_at is not None or ended is not None else trouble(vm, vmi),
        # A pool makes nameless VMs; others have the name of their order.
        "" if vm.owner_uid or MEMBER in vm.metadata.labels else None,
        vm.metadata.annotations.get(CLASS),
        DRAINS in vm.metadata.annotations,
        boot(vmi) if BOOTS in vm.metadata.annotations else "",
        vm.metadata.uid,
        leaving and _is_over(vmi),
    )


def boot(vmi: Vmi | None) -> str:
    """What the guest adds to its agent's name: the beginning of its uid."""
    return "" if vmi is None else vmi.metadata.uid[:_BOOT_LENGTH]


def created_at(vm: Vm) -> Instant:
    """When it was made, to the second."""
    return _instant(vm.metadata.creation_timestamp)


def is_leaving(vm: Vm) -> bool:
    """Whether it was told to go."""
    return vm.is_going or vm.spec.run_strategy == "Halted" or vm.metadata.labels.get(MEMBER) == OUT


def is_at_work(vmi: Vmi | None) -> bool:
    """Whether the guest may have a job, so that it must end by itself."""
    return vmi is not None and vmi.status.phase in ALIVE


def running_since(vmi: Vmi | None) -> Instant | None:
    """When the guest came up, if it did."""
    if vmi is not None:
        for passed in vmi.status.phase_transition_timestamps:
            if passed.phase == "Running":
                return _instant(passed.phase_transition_timestamp)
        if vmi.status.phase == "Running":
            return _instant(vmi.metadata.creation_timestamp)
    return None


def ending(vm: Vm, vmi: Vmi | None) -> Ended | None:
    """How the machine itself came to its end, if it did."""
    is_over = _is_over(vmi)
    if vm.is_going:
        # KubeVirt does not let a VM of a pool go that a person deleted: we must.
        if is_over and POOL_FINALIZER in vm.metadata.finalizers:
            return Ended("closed", "it was deleted by hand")
        return None
    if is_leaving(vm):
        return Ended("closed") if is_over else None
    if vm.status.printable_status == "CrashLoopBackOff":
        return Ended("boot", _detail("CrashLoopBackOff", vm, vmi))
    if vmi is None:
        return None
    if vmi.status.phase == "Succeeded":
        return Ended("finished")
    if vmi.status.phase == "Failed":
        return Ended("crashed" if running_since(vmi) is not None else "boot", _detail("Failed", vm, vmi))
    return None


def _is_over(vmi: Vmi | None) -> bool:
    return vmi is None or vmi.is_over


def trouble(vm: Vm, vmi: Vmi | None) -> str:
    """What keeps the guest from coming up, in KubeVirt's words."""
    status = vm.status.printable_status
    return _detail(status, vm, vmi) if status in TROUBLES else ""


def _detail(word: str, vm: Vm, vmi: Vmi | None) -> str:
    """The word with the message that explains it best."""
    conditions = (*(vmi.status.conditions if vmi else ()), *vm.status.conditions)
    bad = sorted(filter(_is_bad, conditions), key=_rank)
    return (f"{word}: {bad[0].message}" if bad else word)[:_LONGEST_DETAIL]


def _is_bad(condition: Condition) -> bool:
    return bool(condition.message) and condition.status == (
        "True" if condition.type == "Failure" else "False"
    )


def _rank(condition: Condition) -> int:
    """A guest that is not up is never ready, which explains nothing."""
    return _TELLING.index(condition.type) if condition.type in _TELLING else len(_TELLING)


def _instant(text: str) -> Instant:
    try:
        return read_instant(text)
    except ValueError:
        return 0
