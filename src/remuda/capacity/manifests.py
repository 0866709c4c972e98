"""
What is read of each kind of object: projections that declare only the fields an audit uses.

Amounts are as they are written; `remuda.capacity.observe.gather` makes scale sets, nodes and usage of these.
"""

from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from remuda.model import manifests
from remuda.model.manifests import Name, NonNegative, Quantities, Reference, Resources, TemplateMeta
from remuda.model.nodes import NodeSpec, NodeStatus
from remuda.model.pods import Match, Named, Term, Toleration
from remuda.model.quantities import Quantity


class ObjectMeta(manifests.ObjectMeta, frozen=True, gc=False, rename="camel"):
    """Who an object is, and whether it is on its way out."""

    deletion_timestamp: str | None = None


class Manifest(manifests.Manifest, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Any object."""

    metadata: ObjectMeta


class Port(Struct, frozen=True, gc=False, rename="camel"):
    """A port of a container; one of a pod on the host's network is the host's."""

    container_port: NonNegative = 0
    host_port: NonNegative = 0
    #: every address, unless one is given
    host_ip: str = field(name="hostIP", default="")
    protocol: str = "TCP"


class EnvVar(Struct, frozen=True, gc=False):
    """The name of an environment variable; never its value."""

    name: str = ""


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A container; a first container that is always restarted runs beside the others."""

    resources: Resources = Resources()
    restart_policy: str = ""
    ports: tuple[Port, ...] = ()


class RunnerContainer(Container, frozen=True, gc=False, rename="camel"):
    """A container of a runner, of which more is known than what it takes."""

    name: str = ""
    env: tuple[EnvVar, ...] = ()


class LabelSelector(Struct, frozen=True, rename="camel"):
    """Which pods are meant; one that says nothing means all of them."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Match, ...] = ()


class PodTerm(Struct, frozen=True, rename="camel"):
    """Pods that a pod must be with, or apart from, by what their nodes have in common."""

    topology_key: str = ""
    #: none means no pod
    label_selector: LabelSelector | None = None
    #: none means the pod's own
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class _PodTerms(Struct, frozen=True):
    required: tuple[PodTerm, ...] = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=())


class PodAffinity(Struct, frozen=True, rename="camel"):
    """What a pod demands of the pods beside it."""

    pod_affinity: _PodTerms = _PodTerms()
    pod_anti_affinity: _PodTerms = _PodTerms()


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a pod takes, and where it is."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = {}
    #: of the pod as a whole, where the cluster knows that
    resources: Resources | None = None
    host_network: bool = False
    affinity: PodAffinity = PodAffinity()


class PodStatus(Struct, frozen=True, gc=False):
    """How far a pod is."""

    phase: str = ""


class Pod(Manifest, frozen=True, kw_only=True, gc=False):
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


class _Affinity(PodAffinity, frozen=True, rename="camel"):
    node_affinity: _NodeAffinity = _NodeAffinity()


class _Spread(Struct, frozen=True, rename="camel"):
    topology_key: str = ""
    when_unsatisfiable: str = ""


class _Empty(Struct, frozen=True):
    """Whatever it says."""


class Volume(Struct, frozen=True, rename="camel"):
    """A volume, by those kinds that decide where a pod can be."""

    name: str = ""
    persistent_volume_claim: _Empty | None = None
    ephemeral: _Empty | None = None
    aws_elastic_block_store: _Empty | None = None
    gce_persistent_disk: _Empty | None = None
    azure_disk: _Empty | None = None
    cinder: _Empty | None = None
    iscsi: _Empty | None = None
    rbd: _Empty | None = None

    @property
    def is_disk(self) -> bool:
        """Whether the scheduler has something to say to it."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__[1:])


class PlacedSpec(PodSpec, frozen=True, rename="camel"):
    """What runners are made from: also which nodes they may be on."""

    containers: tuple[RunnerContainer, ...] = ()
    init_containers: tuple[RunnerContainer, ...] = ()
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: _Affinity = _Affinity()
    priority_class_name: str = ""
    runtime_class_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[Named, ...] = ()
    resource_claims: tuple[Named, ...] = ()
    topology_spread_constraints: tuple[_Spread, ...] = ()
    volumes: tuple[Volume, ...] = ()

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

    metadata: TemplateMeta = TemplateMeta()
    spec: PlacedSpec = PlacedSpec()


class ScaleSetSpec(Struct, frozen=True, rename="camel"):
    """What an AutoscalingRunnerSet says."""

    github_config_url: str = ""
    runner_scale_set_name: str = ""
    runner_scale_set_labels: tuple[str, ...] = ()
    min_runners: NonNegative | None = None
    max_runners: NonNegative | None = None
    template: Template = Template()


class ScaleSetStatus(Struct, frozen=True):
    """How a scale set fares: `phase` since 0.14, `state` before."""

    phase: str = ""
    state: str = ""


class ScaleSet(Manifest, frozen=True, kw_only=True):
    """An AutoscalingRunnerSet."""

    spec: ScaleSetSpec = ScaleSetSpec()
    status: ScaleSetStatus = ScaleSetStatus()


class RunnerSpec(PlacedSpec, frozen=True, rename="camel"):
    """What a RunnerDeployment's runners are: `resources` are those of the container `runner`."""

    enterprise: str = ""
    organization: str = ""
    repository: str = ""
    labels: tuple[str, ...] = ()
    container_mode: str = ""
    docker_enabled: bool | None = None
    dockerd_within_runner_container: bool | None = None
    dockerd_container_resources: Resources = Resources()
    sidecar_containers: tuple[RunnerContainer, ...] = ()


class RunnerTemplate(Struct, frozen=True):
    """A runner of a RunnerDeployment."""

    metadata: TemplateMeta = TemplateMeta()
    spec: RunnerSpec = RunnerSpec()


class RunnerDeploymentSpec(Struct, frozen=True):
    """What a RunnerDeployment says."""

    replicas: NonNegative | None = None
    template: RunnerTemplate = RunnerTemplate()


class RunnerDeployment(Manifest, frozen=True, kw_only=True):
    """The older form of a scale set."""

    spec: RunnerDeploymentSpec = RunnerDeploymentSpec()


class RunnerSetSpec(Struct, frozen=True, rename="camel"):
    """What a RunnerSet says: that of a StatefulSet, and beside its template what runners are."""

    enterprise: str = ""
    organization: str = ""
    repository: str = ""
    labels: tuple[str, ...] = ()
    container_mode: str = ""
    docker_enabled: bool | None = None
    dockerd_within_runner_container: bool | None = None
    replicas: NonNegative | None = None
    template: Template = Template()


class RunnerSet(Manifest, frozen=True, kw_only=True):
    """The older form of a scale set whose runners keep volumes."""

    spec: RunnerSetSpec = RunnerSetSpec()


class _RunnerAutoscalerSpec(Struct, frozen=True, rename="camel"):
    scale_target_ref: Reference = Reference()
    min_replicas: NonNegative | None = None
    max_replicas: NonNegative | None = None


class RunnerAutoscaler(Manifest, frozen=True, kw_only=True):
    """What sets the replicas of a RunnerDeployment or a RunnerSet, between bounds."""

    spec: _RunnerAutoscalerSpec = _RunnerAutoscalerSpec()


class Cpu(Struct, frozen=True, rename="camel"):
    """Processors of a VM: their product, and 1 for what is not said."""

    cores: NonNegative = 0
    sockets: NonNegative = 0
    threads: NonNegative = 0
    dedicated_cpu_placement: bool = False


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
    min: NonNegative | None = None
    max: NonNegative | None = None
    ceiling: str = ""
    provider: _Provider = _Provider()


class Pool(Manifest, frozen=True, kw_only=True):
    """A RunnerPool."""

    spec: PoolSpec = PoolSpec()


class _Image(Struct, frozen=True, gc=False):
    names: tuple[str, ...] = ()


class _NodeStatus(NodeStatus, frozen=True):
    images: tuple[_Image, ...] = ()


class Node(Manifest, frozen=True, kw_only=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Overhead(Struct, frozen=True, rename="camel"):
    pod_fixed: Quantities = {}


class _Scheduling(Struct, frozen=True, rename="camel"):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Manifest, frozen=True, kw_only=True):
    """What pods of a runtime take beside their containers, and on which nodes it is."""

    overhead: _Overhead = _Overhead()
    scheduling: _Scheduling = _Scheduling()


class PriorityClass(Manifest, frozen=True, kw_only=True):
    """A PriorityClass, of which the name matters alone."""


class _QuotaSpec(Struct, frozen=True, rename="camel"):
    scope_selector: manifests.ScopeSelector = manifests.ScopeSelector()


class _QuotaStatus(Struct, frozen=True):
    hard: dict[str, str | int | float] = {}
    used: dict[str, str | int | float] = {}


class Quota(Manifest, frozen=True, kw_only=True):
    """A ResourceQuota, as far as it counts pods by their PriorityClass."""

    spec: _QuotaSpec = _QuotaSpec()
    status: _QuotaStatus = _QuotaStatus()

    @property
    def used(self) -> dict[str, tuple[str, str]]:
        """By resource, how much is taken of how much; what makes no sense is left out."""
        found = {}
        for name, hard in self.status.hard.items():
            with suppress(ValueError):
                found[name] = (str(Quantity.parse(self.status.used.get(name, 0))), str(Quantity.parse(hard)))
        return found

    @property
    def classes(self) -> tuple[str, ...]:
        """The PriorityClasses whose pods alone it counts, if it is about such."""
        terms = self.spec.scope_selector.match_expressions
        return tuple(
            name
            for term in terms
            if (term.scope_name, term.operator) == ("PriorityClass", "In")
            for name in term.values
        )


class Filesystem(Struct, frozen=True, rename="camel"):
    """A filesystem, as a kubelet reports it."""

    time: str = ""
    capacity_bytes: NonNegative = 0
    available_bytes: NonNegative = 0
    inodes: NonNegative = 0
    inodes_free: NonNegative = 0


class _Runtime(Struct, frozen=True, rename="camel"):
    image_fs: Filesystem | None = None


class _NodeStats(Struct, frozen=True, rename="camel"):
    node_name: Name
    fs: Filesystem | None = None
    runtime: _Runtime = _Runtime()


class Stats(Struct, frozen=True):
    """What a kubelet answers at /stats/summary."""

    node: _NodeStats
