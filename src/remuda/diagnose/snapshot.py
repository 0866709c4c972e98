"""
What is known of a cluster, as the checks read it and as a bundle holds it.

Each type declares the few fields that are read; whatever else an object holds (values of environment variables,
arguments, annotations, user data, what is in a Secret) is never in it.
"""

from collections.abc import Iterator

from msgspec import Struct, field

from remuda.model.amounts import KVM, Amounts, amounts
from remuda.model.manifests import Condition, TemplateMeta
from remuda.model.nodes import NodeSpec, NodeStatus
from remuda.model.pods import Meta, Pod, PodSpec, Toleration
from remuda.model.times import Instant, read_instant

POOL, TEMPLATE, BESIDE = "remuda.dev/pool", "remuda.dev/template", "remuda.dev/beside"
SCHEDULABLE = "kubevirt.io/schedulable"
COMPONENT = "kubevirt.io"
#: which container of a launcher writes what the guest says
CONSOLE = "guest-console-log"


class Ref(Struct, frozen=True):
    """One value of a Secret."""

    secret: str
    key: str


class VmWords(Struct, frozen=True, rename="camel"):
    """What a pool says of its VMs, as far as it is about where they fit and what they are made of."""

    token: Ref | None = None
    provisioner: Ref | None = None
    bundle: str | None = None
    asks: Amounts = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    images: tuple[str, ...] = ()


class CircleWords(Struct, frozen=True):
    """Where a pool's demand comes from."""

    url: str = "https://runner.circleci.com/"
    token: Ref | None = None


class PoolWords(Struct, frozen=True, rename="camel"):
    """What a person wrote about a pool."""

    class_: str = field(name="class", default="")
    min: int = 0
    max: int = 10
    ceiling: str = ""
    #: an idle VM is never removed, not even one of an older configuration
    natural: bool = False
    circleci: CircleWords | None = None
    vms: VmWords | None = None


class PoolStatus(Struct, frozen=True, rename="camel"):
    """How a pool fares, as Remuda reports it."""

    wanted: int = 0
    ready: int = 0
    busy: int = 0
    booting: int = 0
    waiting: int = 0
    old: int = 0
    why: str = ""
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class Pool(Struct, frozen=True):
    """A RunnerPool."""

    metadata: Meta
    words: PoolWords
    status: PoolStatus = PoolStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    def condition(self, kind: str) -> Condition | None:
        """A condition by its type."""
        return next((item for item in self.status.conditions if item.type == kind), None)


class _VmSpec(Struct, frozen=True, rename="camel"):
    run_strategy: str = ""


class _VmStatus(Struct, frozen=True, rename="camel"):
    printable_status: str = ""
    conditions: tuple[Condition, ...] = ()


class Vm(Struct, frozen=True):
    """A VirtualMachine."""

    metadata: Meta = Meta()
    spec: _VmSpec = _VmSpec()
    status: _VmStatus = _VmStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def pool(self) -> str:
        """The pool that its label names."""
        return self.metadata.labels.get(POOL, "")

    @property
    def configuration(self) -> tuple[str, str]:
        """What it was made from: digests of the pool's words and of what Secrets add to them."""
        return self.metadata.labels.get(TEMPLATE, ""), self.metadata.labels.get(BESIDE, "")


class Passed(Struct, frozen=True, rename="camel"):
    """When an instance came into a phase."""

    phase: str = ""
    phase_transition_timestamp: str = ""


class _VmiStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    node_name: str = ""
    phase_transition_timestamps: tuple[Passed, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Vmi(Struct, frozen=True):
    """A VirtualMachineInstance."""

    metadata: Meta = Meta()
    status: _VmiStatus = _VmiStatus()

    def came_into(self, phase: str) -> Instant | None:
        """When it came into a phase."""
        for passed in self.status.phase_transition_timestamps:
            if passed.phase == phase:
                return instant(passed.phase_transition_timestamp)
        return None


class _Template(Struct, frozen=True):
    metadata: TemplateMeta = TemplateMeta()


class _VmPoolSpec(Struct, frozen=True, rename="camel"):
    replicas: int | None = None
    paused: bool = False
    virtual_machine_template: _Template = _Template()


class _VmPoolStatus(Struct, frozen=True):
    replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class VmPool(Struct, frozen=True):
    """A VirtualMachinePool."""

    metadata: Meta = Meta()
    spec: _VmPoolSpec = _VmPoolSpec()
    status: _VmPoolStatus = _VmPoolStatus()

    @property
    def configuration(self) -> tuple[str, str]:
        """What its next VM is made from."""
        labels = self.spec.virtual_machine_template.metadata.labels
        return labels.get(TEMPLATE, ""), labels.get(BESIDE, "")


class Node(Struct, frozen=True):
    """A node."""

    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def is_up(self) -> bool:
        """Whether it is Ready and takes new pods."""
        is_ready = any(item.type == "Ready" and item.status == "True" for item in self.status.conditions)
        return is_ready and not self.spec.unschedulable


class _WorkloadTemplate(Struct, frozen=True):
    spec: PodSpec = PodSpec()


class _WorkloadSpec(Struct, frozen=True):
    replicas: int = 1
    template: _WorkloadTemplate = _WorkloadTemplate()


class _WorkloadStatus(Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    conditions: tuple[Condition, ...] = ()


class Workload(Struct, frozen=True):
    """A Deployment, or a DaemonSet."""

    metadata: Meta = Meta()
    spec: _WorkloadSpec = _WorkloadSpec()
    status: _WorkloadStatus = _WorkloadStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name


class _Development(Struct, frozen=True, rename="camel"):
    use_emulation: bool = False


class _KubeVirtConfiguration(Struct, frozen=True, rename="camel"):
    developer_configuration: _Development = _Development()


class _KubeVirtSpec(Struct, frozen=True):
    configuration: _KubeVirtConfiguration = _KubeVirtConfiguration()


class _KubeVirtStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    observed_kube_virt_version: str = ""
    conditions: tuple[Condition, ...] = ()


class KubeVirt(Struct, frozen=True):
    """The KubeVirt object: one installation."""

    metadata: Meta = Meta()
    spec: _KubeVirtSpec = _KubeVirtSpec()
    status: _KubeVirtStatus = _KubeVirtStatus()

    @property
    def emulates(self) -> bool:
        """Whether VMs run without /dev/kvm."""
        return self.spec.configuration.developer_configuration.use_emulation


class _Involved(Struct, frozen=True):
    kind: str = ""
    name: str = ""


class Event(Struct, frozen=True, rename="camel"):
    """A warning about an object."""

    metadata: Meta = Meta()
    involved_object: _Involved = _Involved()
    reason: str = ""
    message: str = ""


class SecretKeys(Struct, frozen=True):
    """The keys of a Secret, and which of them hold nothing."""

    keys: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


class Lead(Struct, frozen=True):
    """Who leads, by the Lease."""

    holder: str = ""
    renewed_at: Instant | None = None


class Permissions(Struct, frozen=True):
    """What somebody may not do that `remuda up` needs."""

    who: str
    refused: tuple[str, ...] = ()


class Asked(Struct, frozen=True):
    """What CircleCI itself says of a class: an `outcome` other than `answered` is why it said nothing."""

    outcome: str
    message: str = field(name="told", default="")
    unclaimed: int = 0
    running: int = 0
    #: agents by name, with the instant they first called; by CircleCI's clock
    agents: dict[str, Instant] = {}
    #: the last call of any of them, by that clock
    called_at: Instant = 0


class Device(Struct, frozen=True):
    """Whether a node has /dev/kvm, by what its virt-handler sees: there, missing or unsure, in its words."""

    outcome: str
    message: str = field(name="told", default="")
    #: namespace and name of the pod that was asked
    pod: str = ""


class Snapshot(Struct, frozen=True, rename="camel"):
    """Everything that was collected; `unread` says what could not be, and why."""

    at: Instant
    namespace: str
    remuda: str = ""
    kubernetes: str = ""
    #: versions served, by plural name and group
    served: dict[str, tuple[str, ...]] = {}
    pools: tuple[Pool, ...] = ()
    lead: Lead | None = None
    controllers: tuple[Workload, ...] = ()
    pods: tuple[Pod, ...] = ()
    secrets: dict[str, SecretKeys] = {}
    permissions: Permissions | None = None
    vms: tuple[Vm, ...] = ()
    vmis: tuple[Vmi, ...] = ()
    vm_pools: tuple[VmPool, ...] = ()
    kubevirts: tuple[KubeVirt, ...] = ()
    components: tuple[Workload, ...] = ()
    handlers: tuple[Workload, ...] = ()
    component_pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    #: of nodes that take VMs and do not offer KVM
    devices: dict[str, Device] = {}
    #: what pods on a node ask for together, by node; None when that is not known
    taken: dict[str, Amounts] | None = None
    events: tuple[Event, ...] = ()
    #: what guests and controllers said last, by VM and by pod
    consoles: dict[str, str] = {}
    logs: dict[str, str] = {}
    asked: dict[str, Asked] = {}
    unread: dict[str, str] = {}

    def trouble(self, *needed: str) -> tuple[str, ...]:
        """Why a check that needs these cannot be made, a line each."""
        return tuple(f"{what}: {self.unread[what]}" for what in needed if what in self.unread)

    def vms_of(self, pool: str) -> Iterator[Vm]:
        """The VMs of a pool."""
        return (vm for vm in self.vms if vm.pool == pool)

    def lacking_kvm(self) -> Iterator[Node]:
        """Nodes that take VMs and have no /dev/kvm to give."""
        for node in self.nodes:
            takes_vms = node.metadata.labels.get(SCHEDULABLE) == "true"
            if takes_vms and not amounts(node.status.room).get(KVM):
                yield node

    def guests(self) -> dict[str, Vmi]:
        """Guests by the uid of their VM: names are used again."""
        return {owner.uid: vmi for vmi in self.vmis for owner in vmi.metadata.owner_references}

    def launchers(self) -> dict[str, Pod]:
        """The newest pod of each guest, by the guest's uid."""
        found = sorted(self.pods, key=lambda pod: pod.metadata.creation_timestamp)
        return {pod.metadata.labels.get("kubevirt.io/created-by", ""): pod for pod in found}

    def warnings(self, kind: str, name: str) -> tuple[str, ...]:
        """What was warned of an object."""
        return tuple(
            f"event {event.reason} on {kind} {name}: {event.message}"
            for event in self.events
            if (event.involved_object.kind, event.involved_object.name) == (kind, name)
        )


def instant(text: str) -> Instant | None:
    """A time as Kubernetes writes it; None when it is none."""
    try:
        return read_instant(text)
    except ValueError:
        return None
