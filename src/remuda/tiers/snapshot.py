"""
What an audit of tiers looks at, as plain data: namespaces, workloads, pods, nodes and what bounds them.

It is the same from a cluster and from files. Amounts are whole numbers by resource: `cpu` in millicores, everything else in
bytes or counts; a resource that is not there was not given, which is not the same as zero. Pods of one template share what
they are made of, so that what is found out about it is found out once.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from remuda.model.amounts import Amounts
from remuda.model.pods import Taint, Term, Toleration
from remuda.model.times import Instant
from remuda.model.workloads import WorkloadId

#: the parts that may be unknown, called as their resources are
NAMESPACES, PODS, NODES, WORKLOADS = "namespaces", "pods", "nodes", "workloads"
LIMIT_RANGES, QUOTAS, PRIORITY_CLASSES = "limitranges", "resourcequotas", "priorityclasses"
AUTOSCALERS, EVENTS, USAGE, SUMMARIES = "horizontalpodautoscalers", "events", "usage", "summaries"

Key: TypeAlias = tuple[str, str]


class Container(Struct, frozen=True, gc=False):
    """A container as it is written, of a pod or of a template."""

    name: str
    requests: Amounts = {}
    limits: Amounts = {}
    #: one of the `initContainers`
    is_init: bool = False
    #: one of those that is always restarted, and so runs beside the others
    is_sidecar: bool = False

    @property
    def asks(self) -> Amounts:
        """Its requests as the API server has them: a limit without a request is the request, too."""
        return self.limits | self.requests

    @property
    def lasts(self) -> bool:
        """Whether it runs as long as its pod does."""
        return self.is_sidecar or not self.is_init

    @property
    def resources(self) -> "Container":
        """As `remuda.model.amounts` wants to see it."""
        return self

    @property
    def restart_policy(self) -> str:
        """As `remuda.model.amounts` wants to see it."""
        return "Always" if self.is_sidecar else ""


class Containers(Struct, frozen=True, gc=False):
    """What a pod is made of, and what it comes to."""

    #: `initContainers` first
    all: tuple[Container, ...] = ()
    #: of the pod as a whole, `spec.resources`; None where it has none
    pod: Container | None = None
    #: what the runtime takes beside them
    overhead: Amounts = {}
    #: as the scheduler and quotas count them, with overhead
    requests: Amounts = {}
    limits: Amounts = {}

    @property
    def containers(self) -> tuple[Container, ...]:
        """Those that run together."""
        return tuple(each for each in self.all if not each.is_init)

    @property
    def init_containers(self) -> tuple[Container, ...]:
        """Those that run one after the other before, and sidecars among them."""
        return tuple(each for each in self.all if each.is_init)

    @property
    def resources(self) -> Container | None:
        """As `remuda.model.amounts` wants to see it."""
        return self.pod


class Placement(Struct, frozen=True, gc=False):
    """Where a pod may go."""

    node_selector: dict[str, str] = {}
    #: the terms of its hard node affinity: one of them must hold, if there are any
    required: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class PodSpec(Struct, frozen=True, gc=False):
    """What a pod asks for; pods of one template share it."""

    containers: Containers = Containers()
    placement: Placement = Placement()
    priority_class: str = ""
    #: the number its class came to when it was made; of a template, None
    priority: int | None = None
    preemption_policy: str = ""


class Workload(Struct, frozen=True):
    """Pods of one template, and who keeps them."""

    id: WorkloadId
    labels: dict[str, str] = {}
    #: of the pods that it makes
    pod_labels: dict[str, str] = {}
    spec: PodSpec = PodSpec()
    #: the node that its template names, which passes the scheduler by
    node_name: str = ""
    #: how many pods are wanted; of a CronJob, how many run at a time
    replicas: int = 1
    #: pods beyond `replicas` that a change of the template may bring about for a while, and how many may be missing then
    surge: int = 0
    unavailable: int = 0
    #: why the API server refuses its pods, in its words
    refused: str = ""


class Defaulted(Struct, frozen=True, gc=False):
    """Resources of a container that a LimitRange filled in when the pod was made."""

    container: str
    kind: Literal["request", "limit"]
    resources: tuple[str, ...]


class ContainerState(Struct, frozen=True, gc=False):
    """A container that does not just run: one that waits, ended, or was started again."""

    name: str
    restarts: int = 0
    #: why it waits
    waiting: str = ""
    #: how it ended, now or the last time: OOMKilled, Error, Completed
    ended: str = ""
    exit_code: int = 0
    ended_at: Instant | None = None


class Pod(Struct, frozen=True, gc=False):
    """A pod."""

    namespace: str
    name: str
    #: the workload that keeps it; of a pod that nobody keeps, itself as a `Pod`; of a static one, its Node
    owner: WorkloadId
    spec: PodSpec = PodSpec()
    labels: Mapping[str, str] = {}
    node: str = ""
    #: where the scheduler makes room for it
    nominated_node: str = ""
    phase: str = ""
    #: as the API server says
    qos: str = ""
    #: of the pod as a whole: Evicted, Preempting, OutOfmemory
    reason: str = ""
    message: str = ""
    #: why no node takes it, where the scheduler says so
    unplaced: str = ""
    #: reason and message of what takes it away: PreemptionByScheduler, TerminationByKubelet
    disruption: tuple[str, str] = ("", "")
    defaulted: tuple[Defaulted, ...] = ()
    states: tuple[ContainerState, ...] = ()
    created: Instant | None = None
    deleted: bool = False
    #: of a file of its kubelet, which never evicts it
    is_static: bool = False

    @property
    def id(self) -> str:
        """How it is named everywhere."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_over(self) -> bool:
        """Whether it ended: then neither node nor quota counts it."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def runs(self) -> bool:
        """Whether it is on a node and takes what it asks for there."""
        return bool(self.node) and not self.is_over


class Node(Struct, frozen=True):
    """A node."""

    name: str
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    #: `pods` is among them
    allocatable: Amounts = {}
    capacity: Amounts = {}
    is_cordoned: bool = False
    is_ready: bool = True
    #: conditions that hold and should not: MemoryPressure, DiskPressure …
    pressures: tuple[str, ...] = ()


class LimitRangeItem(Struct, frozen=True):
    """Bounds of containers, pods or claims, and what containers get that do not say."""

    type: str
    default: Amounts = {}
    default_request: Amounts = {}
    min: Amounts = {}
    max: Amounts = {}


class LimitRange(Struct, frozen=True):
    """A LimitRange."""

    namespace: str
    name: str
    labels: dict[str, str] = {}
    items: tuple[LimitRangeItem, ...] = ()


class Quota(Struct, frozen=True):
    """A ResourceQuota: resource as it is written (`requests.memory`) → millicores, bytes or a count."""

    namespace: str
    name: str
    labels: dict[str, str] = {}
    #: what it says
    hard: Amounts = {}
    #: what admission goes by; empty until the controllers have counted
    enforced: Amounts = {}
    used: Amounts = {}
    #: with scopes it counts some pods alone
    scopes: tuple[str, ...] = ()


class PriorityClass(Struct, frozen=True):
    """A PriorityClass."""

    name: str
    value: int = 0
    labels: dict[str, str] = {}
    is_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class Autoscaler(Struct, frozen=True):
    """A HorizontalPodAutoscaler: between how many pods a workload has."""

    namespace: str
    name: str
    target: WorkloadId
    min: int = 1
    max: int = 1


class Event(Struct, frozen=True, gc=False):
    """
    What happened to a pod, a node or a workload, of what tells why: preempted, evicted, out of memory, not created.

    What happened to a ReplicaSet or a Job of another is told of that one.
    """

    kind: str
    namespace: str
    name: str
    reason: str
    message: str = ""
    at: Instant | None = None
    count: int = 1
    #: namespace and name of the pod that brought it about
    by: Key = ("", "")


class PodMemory(Struct, frozen=True, gc=False):
    """The working set of a pod, in bytes: of all of it, as its kubelet goes by, and of its containers."""

    all: int
    containers: dict[str, int] = {}


class NodeMemory(Struct, frozen=True):
    """What a kubelet says of the memory of its node, in bytes; None is not said."""

    available: int | None = None
    usage: int | None = None
    working_set: int | None = None
    rss: int | None = None
    #: of `kubelet`, `runtime`, `pods` and other system containers: working set
    system: dict[str, int] = {}


class Unknown(Struct, frozen=True):
    """
    A part that could not be read, and why: nothing is concluded from its absence.

    One that is quiet need not be there at all, and is reported only with what depends on it.
    """

    part: str
    why: str
    is_quiet: bool = False


class Snapshot(Struct, frozen=True):
    """Everything that was read, in the order of names."""

    at: Instant = 0
    #: the server, or the files
    source: str = ""
    #: namespace → its labels; of those that are being deleted nothing is said
    namespaces: dict[str, dict[str, str]] = {}
    workloads: tuple[Workload, ...] = ()
    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[Quota, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    events: tuple[Event, ...] = ()
    #: by namespace and name of a pod; one that is not here was not measured
    memory_used: dict[Key, PodMemory] = {}
    #: by node
    node_memory: dict[str, NodeMemory] = {}
    unknown: tuple[Unknown, ...] = ()

    def is_unknown(self, part: str) -> bool:
        """Whether a part could not be read."""
        return any(item.part == part for item in self.unknown)
