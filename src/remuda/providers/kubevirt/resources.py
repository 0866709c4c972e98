"""KubeVirt's kinds: where they are, the few fields of them that are read, and the labels that make them ours."""

from typing import Any

from msgspec import Struct

from remuda.kube.resources import KubeObject, Resource
from remuda.model.manifests import Condition, TemplateMeta, controller_of

VMS = Resource("kubevirt.io", "v1", "virtualmachines", "VirtualMachine")
VMIS = Resource("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance")
POOL_GROUP, POOL_PLURAL, POOL_KIND = "pool.kubevirt.io", "virtualmachinepools", "VirtualMachinePool"
#: KubeVirt's own finalizer on the VMs of a pool, which it does not take off a VM that somebody else deleted
POOL_FINALIZER = "pool.kubevirt.io/finalizer"

#: on everything: the pool it belongs to
POOL = "remuda.dev/pool"
#: on VMs: digest of the configuration they were made from
TEMPLATE = "remuda.dev/template"
#: on VMs: digest of what Secrets add to the configuration
BESIDE = "remuda.dev/beside"
#: annotation: the class a VM was made for
CLASS = "remuda.dev/class"
#: annotation: a VM that is powered off is given the time to end any task
DRAINS = "remuda.dev/drains"
#: annotation: the guest is told which boot it is, and its agent has that in its name
BOOTS = "remuda.dev/boots"
#: on VMs, pools' templates and Secrets: which user data
GUEST = "remuda.dev/guest"
#: on VMs: what a VirtualMachinePool selects its own by; another value once it is out
MEMBER = "remuda.dev/pool-member"
OUT = "out"
#: on VirtualMachinePools and on VMs that no pool owns: made, or taken out of a pool, by us
MANAGED_BY, OURS = "remuda.dev/managed-by", "remuda"
#: on VirtualMachinePools: what was asked of them, and digest of the template they have
ORDERS, WRITTEN = "remuda.dev/orders", "remuda.dev/written"

FINAL = ("Succeeded", "Failed")


class Passed(Struct, frozen=True, gc=False, rename="camel"):
    """When an instance came into a phase."""

    phase: str = ""
    phase_transition_timestamp: str = ""


class VmSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a VM is to be."""

    run_strategy: str = ""


class VmStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a VM fares."""

    printable_status: str = ""
    conditions: tuple[Condition, ...] = ()


class Vm(KubeObject, frozen=True, gc=False):
    """A VirtualMachine."""

    spec: VmSpec = VmSpec()
    status: VmStatus = VmStatus()

    @property
    def pool(self) -> str:
        """The pool that its label names."""
        return self.metadata.labels.get(POOL, "")

    @property
    def owner_uid(self) -> str:
        """The VirtualMachinePool that has it, if one does."""
        owner = controller_of(self.metadata.owner_references)
        return owner.uid if owner and (owner.kind, owner.name) == (POOL_KIND, self.pool) else ""

    @property
    def is_ours(self) -> bool:
        """Whether we may touch it: our pool made it, or we did; a copy of a VM of ours is neither."""
        if not self.pool:
            return False
        return bool(self.owner_uid) or self.metadata.labels.get(MANAGED_BY) == OURS

    @property
    def is_going(self) -> bool:
        """Whether it was deleted, and only waits for its end."""
        return self.metadata.deletion_timestamp is not None


class VmiStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a guest fares."""

    phase: str = ""
    phase_transition_timestamps: tuple[Passed, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Vmi(KubeObject, frozen=True, gc=False):
    """A VirtualMachineInstance: the guest itself."""

    status: VmiStatus = VmiStatus()

    def is_of(self, vm: Vm) -> bool:
        """Whether this is that machine's guest: names are used again."""
        return any(owner.uid == vm.metadata.uid for owner in self.metadata.owner_references)

    @property
    def is_over(self) -> bool:
        """Whether the guest has ended."""
        return self.status.phase in FINAL


class _Template(Struct, frozen=True, gc=False):
    metadata: TemplateMeta = TemplateMeta()


class PoolSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a VirtualMachinePool is to be."""

    replicas: int | None = None
    paused: bool = False
    scale_in_strategy: dict[str, Any] | None = None
    update_strategy: dict[str, Any] | None = None
    autohealing: dict[str, Any] | None = None
    virtual_machine_template: _Template = _Template()


class PoolStatus(Struct, frozen=True, gc=False):
    """How a VirtualMachinePool fares."""

    conditions: tuple[Condition, ...] = ()


class VmPool(KubeObject, frozen=True, gc=False):
    """A VirtualMachinePool."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()

    @property
    def replicas(self) -> int:
        """How many VMs it is to have."""
        return 1 if self.spec.replicas is None else self.spec.replicas

    @property
    def trouble(self) -> str:
        """What keeps it from making VMs."""
        if self.metadata.deletion_timestamp is not None:
            return f"VirtualMachinePool {self.metadata.name} is being deleted"
        if self.spec.paused:
            return f"VirtualMachinePool {self.metadata.name} is paused"
        for condition in self.status.conditions:
            if condition.type == "ReplicaFailure" and condition.status == "True":
                return f"VirtualMachinePool {self.metadata.name}: {condition.message or condition.reason}"
        return ""
