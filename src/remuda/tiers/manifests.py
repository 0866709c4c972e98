"""
What is read of each kind of object: projections that declare only the fields that an audit of tiers uses.

Amounts are as they are written; `remuda.tiers.observe.gather` makes the snapshot of these.
"""

from msgspec import Struct, field

from remuda.model import manifests
from remuda.model.manifests import (
    Condition,
    NonNegative,
    OwnerReference,
    Quantities,
    Reference,
    Resources,
    ScopeSelector,
    TemplateMeta,
    controller_of,
)
from remuda.model.nodes import NodeSpec, NodeStatus
from remuda.model.pods import Term, Toleration
from remuda.model.workloads import RolloutStrategy, Strategy


class ObjectMeta(manifests.ObjectMeta, frozen=True, gc=False, rename="camel"):
    """Who an object is, to whom it belongs, and whether it is on its way out."""

    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    @property
    def owner(self) -> OwnerReference | None:
        """Who keeps it, if anybody does."""
        return controller_of(self.owner_references)


class Manifest(manifests.Manifest, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Any object."""

    metadata: ObjectMeta


class Namespace(Manifest, frozen=True, kw_only=True):
    """A namespace, of which labels matter alone."""


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A container; a first container that is always restarted runs beside the others."""

    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""


class Terms(Struct, frozen=True, rename="camel"):
    """Terms of a hard affinity."""

    node_selector_terms: tuple[Term, ...] = ()


class Preferred(Struct, frozen=True):
    """One wish of an affinity."""

    preference: Term = Term()


class NodeAffinity(Struct, frozen=True):
    """Which nodes a pod must have, and which it would like."""

    required: Terms = field(name="requiredDuringSchedulingIgnoredDuringExecution", default=Terms())
    preferred: tuple[Preferred, ...] = field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Struct, frozen=True, rename="camel"):
    """What a pod asks of its node."""

    node_affinity: NodeAffinity = NodeAffinity()


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a pod asks for."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: Affinity = Affinity()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = {}
    #: of the pod as a whole, where the cluster knows that
    resources: Resources | None = None
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str = ""


class Template(Struct, frozen=True):
    """What pods are made from."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class ReplicatedSpec(Struct, frozen=True, rename="camel"):
    """Of whatever makes a number of equal pods."""

    replicas: NonNegative | None = None
    template: Template = Template()


class ReplicatedStatus(Struct, frozen=True):
    """How it fares: `ReplicaFailure` says why pods cannot be made."""

    conditions: tuple[Condition, ...] = ()


class Replicated(Manifest, frozen=True, kw_only=True):
    """A StatefulSet or a ReplicaSet: its pods are replaced without more of them, or not at all."""

    spec: ReplicatedSpec = ReplicatedSpec()
    status: ReplicatedStatus = ReplicatedStatus()


class DeploymentSpec(ReplicatedSpec, frozen=True):
    """Of a Deployment."""

    strategy: Strategy = Strategy()


class Deployment(Manifest, frozen=True, kw_only=True):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: ReplicatedStatus = ReplicatedStatus()


class RolloutSpec(ReplicatedSpec, frozen=True, rename="camel"):
    """Of a Rollout: it has a template, or says which Deployment has it."""

    strategy: RolloutStrategy = RolloutStrategy()
    workload_ref: Reference | None = None


class Rollout(Manifest, frozen=True, kw_only=True):
    """A Rollout of Argo Rollouts."""

    spec: RolloutSpec = RolloutSpec()


class DaemonSetSpec(Struct, frozen=True, rename="camel"):
    """Of a DaemonSet."""

    update_strategy: Strategy = Strategy()
    template: Template = Template()


class DaemonSetStatus(Struct, frozen=True, rename="camel"):
    """On how many nodes it should run."""

    desired_number_scheduled: NonNegative | None = None


class DaemonSet(Manifest, frozen=True, kw_only=True):
    """A DaemonSet."""

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Struct, frozen=True):
    """Of a Job."""

    parallelism: NonNegative | None = None
    suspend: bool = False
    template: Template = Template()


class JobStatus(Struct, frozen=True):
    """How far a Job is."""

    conditions: tuple[Condition, ...] = ()


class Job(Manifest, frozen=True, kw_only=True):
    """A Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True):
    """What Jobs are made from."""

    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True, rename="camel"):
    """Of a CronJob."""

    suspend: bool = False
    job_template: JobTemplate = JobTemplate()


class CronJob(Manifest, frozen=True, kw_only=True):
    """A CronJob."""

    spec: CronJobSpec = CronJobSpec()


class Annotations(Struct, frozen=True, gc=False):
    """Those of a pod that are read: what a LimitRange filled in, and the mark of a static pod."""

    limit_ranger: str = field(name="kubernetes.io/limit-ranger", default="")
    mirror: str = field(name="kubernetes.io/config.mirror", default="")


class PodMeta(ObjectMeta, frozen=True, gc=False, rename="camel"):
    """Who a pod is."""

    annotations: Annotations = Annotations()


class Waiting(Struct, frozen=True, gc=False):
    """Why a container does not run yet."""

    reason: str = ""


class Terminated(Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    reason: str = ""
    exit_code: int = 0
    finished_at: str | None = None


class State(Struct, frozen=True, gc=False):
    """What a container does, or did."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a container fares, and how the one before it ended."""

    name: str = ""
    restart_count: int = 0
    state: State = State()
    last_state: State = State()


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How a pod fares."""

    phase: str = ""
    qos_class: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Manifest, frozen=True, kw_only=True, gc=False):
    """A pod."""

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Node(Manifest, frozen=True, kw_only=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LimitRange(Manifest, frozen=True, kw_only=True):
    """A LimitRange."""

    spec: manifests.LimitRangeSpec = manifests.LimitRangeSpec()


class QuotaSpec(Struct, frozen=True, rename="camel"):
    """What a quota allows."""

    hard: Quantities = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector = ScopeSelector()


class QuotaStatus(Struct, frozen=True):
    """What a quota allows by now, and what of it is taken; nothing until the controllers have counted."""

    hard: Quantities = {}
    used: Quantities = {}


class Quota(Manifest, frozen=True, kw_only=True):
    """A ResourceQuota."""

    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class PriorityClass(Manifest, frozen=True, kw_only=True, rename="camel"):
    """A PriorityClass."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class AutoscalerSpec(Struct, frozen=True, rename="camel"):
    """Of a HorizontalPodAutoscaler."""

    scale_target_ref: Reference = Reference()
    min_replicas: NonNegative | None = None
    max_replicas: NonNegative = 0


class Autoscaler(Manifest, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler."""

    spec: AutoscalerSpec = AutoscalerSpec()


class Involved(Struct, frozen=True, gc=False):
    """What an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""


class Series(Struct, frozen=True, gc=False, rename="camel"):
    """How often an event came, where it is counted so."""

    count: int = 1
    last_observed_time: str | None = None


class Event(Manifest, frozen=True, kw_only=True, gc=False, rename="camel"):
    """An event."""

    involved_object: Involved = Involved()
    #: who brought it about, as far as that is said
    related: Involved | None = None
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: Series | None = None


class ContainerUse(Struct, frozen=True, gc=False):
    """What a container uses."""

    name: str = ""
    usage: Quantities = {}


class PodMetrics(Manifest, frozen=True, kw_only=True, gc=False):
    """What the metrics server says of a pod."""

    containers: tuple[ContainerUse, ...] = ()


class MemoryStats(Struct, frozen=True, gc=False, rename="camel"):
    """Memory as a kubelet measures it."""

    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None


class ContainerStats(Struct, frozen=True, gc=False):
    """A container, as a kubelet measures it."""

    name: str = ""
    memory: MemoryStats = MemoryStats()


class PodStats(Struct, frozen=True, gc=False, rename="camel"):
    """A pod, as a kubelet measures it."""

    pod_ref: Involved = Involved()
    containers: tuple[ContainerStats, ...] = ()
    memory: MemoryStats | None = None


class NodeStats(Struct, frozen=True, rename="camel"):
    """A node, as its kubelet measures it."""

    node_name: manifests.Name
    memory: MemoryStats = MemoryStats()
    system_containers: tuple[ContainerStats, ...] = ()


class Stats(Struct, frozen=True):
    """What a kubelet answers at /stats/summary."""

    node: NodeStats
    pods: tuple[PodStats, ...] = ()
