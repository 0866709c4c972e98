"""
What is read of each kind of object: projections that declare only the fields an audit uses.

Amounts are as they are written; `remuda.capacity.gather` makes lanes, nodes and usage of these.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from remuda.model.pods import Taint, Term, Toleration

Name = Annotated[str, Meta(min_length=1, description="The name of the object.")]
Natural = Annotated[int, Meta(ge=0)]
#: quantities by resource
Written = dict[str, Any]


class ObjectMeta(Struct, frozen=True, gc=False):
    """Who an object is."""

    name: Name
    namespace: str = ""
    labels: dict[str, str] = {}


class Whole(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Any object; those of a typed list carry neither version nor kind."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta


class Resources(Struct, frozen=True, gc=False):
    """Requests and limits."""

    requests: Written = {}
    limits: Written = {}


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A container; a first container that is always restarted runs beside the others."""

    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a pod takes, and where it is."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Written = {}
    #: of the pod as a whole, where the cluster knows that
    resources: Resources | None = None


class PodStatus(Struct, frozen=True, gc=False):
    """How far a pod is."""

    phase: str = ""


class Pod(Whole, frozen=True, kw_only=True, gc=False):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class _Terms(Struct, frozen=True, rename="camel"):
    node_selector_terms: tuple[Term, ...] = ()


class _Preferred(Struct, frozen=True):
    preference: Term = Term()


class _NodeAffinity(Struct, frozen=True):
    required: _Terms = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=_Terms())
    preferred: tuple[_Preferred, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class _Affinity(Struct, frozen=True, rename="camel"):
    node_affinity: _NodeAffinity = _NodeAffinity()


class PlacedSpec(PodSpec, frozen=True, rename="camel"):
    """What runners are made from: also which nodes they may be on."""

    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: _Affinity = _Affinity()
    priority_class_name: str = ""

    @property
    def required(self) -> tuple[Term, ...]:
        """One of these must hold, if there are any."""
        return self.affinity.node_affinity.required.node_selector_terms

    @property
    def preferred(self) -> tuple[Term, ...]:
        """What it would rather have."""
        return tuple(each.preference for each in self.affinity.node_affinity.preferred)


class Template(Struct, frozen=True):
    """The pod of a runner."""

    spec: PlacedSpec = PlacedSpec()


class ScaleSetSpec(Struct, frozen=True, rename="camel"):
    """What an AutoscalingRunnerSet says."""

    github_config_url: str = ""
    runner_scale_set_name: str = ""
    runner_scale_set_labels: tuple[str, ...] = ()
    min_runners: Natural | None = None
    max_runners: Natural | None = None
    template: Template = Template()


class ScaleSetStatus(Struct, frozen=True):
    """How a scale set fares: `phase` since 0.14, `state` before."""

    phase: str = ""
    state: str = ""


class ScaleSet(Whole, frozen=True, kw_only=True):
    """An AutoscalingRunnerSet."""

    spec: ScaleSetSpec = ScaleSetSpec()
    status: ScaleSetStatus = ScaleSetStatus()


class Cpu(Struct, frozen=True):
    """Processors of a VM: their product, and 1 for what is not said."""

    cores: Natural = 0
    sockets: Natural = 0
    threads: Natural = 0


class _Guest(Struct, frozen=True):
    guest: Any = None


class _Domain(Struct, frozen=True):
    cpu: Cpu | None = None
    memory: _Guest = _Guest()
    resources: Resources = Resources()


class VmSpec(PlacedSpec, frozen=True):
    """A VirtualMachineInstanceSpec, which has a domain instead of containers."""

    domain: _Domain = _Domain()


class _Kubevirt(Struct, frozen=True):
    spec: VmSpec = VmSpec()


class _Provider(Struct, frozen=True):
    kubevirt: _Kubevirt | None = None


class PoolSpec(Struct, frozen=True):
    """What a RunnerPool says."""

    class_: str = field(name="class", default="")
    min: Natural | None = None
    max: Natural | None = None
    ceiling: str = ""
    provider: _Provider = _Provider()


class Pool(Whole, frozen=True, kw_only=True):
    """A RunnerPool."""

    spec: PoolSpec = PoolSpec()


class _NodeSpec(Struct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class _Condition(Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Image(Struct, frozen=True, gc=False):
    names: tuple[str, ...] = ()


class _NodeStatus(Struct, frozen=True):
    allocatable: Written | None = None
    capacity: Written = {}
    conditions: tuple[_Condition, ...] = ()
    images: tuple[_Image, ...] = ()


class Node(Whole, frozen=True, kw_only=True):
    """A node."""

    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class Filesystem(Struct, frozen=True, rename="camel"):
    """A filesystem, as a kubelet tells it."""

    time: str = ""
    capacity_bytes: Natural = 0
    available_bytes: Natural = 0
    inodes: Natural = 0
    inodes_free: Natural = 0


class _Runtime(Struct, frozen=True, rename="camel"):
    image_fs: Filesystem | None = None


class _NodeStats(Struct, frozen=True, rename="camel"):
    node_name: Name
    fs: Filesystem | None = None
    runtime: _Runtime = _Runtime()


class Stats(Struct, frozen=True):
    """What a kubelet answers at /stats/summary."""

    node: _NodeStats
