"""
What an audit looks at, as plain data: scale sets, nodes and what runs there, from a cluster or from files alike.

Amounts are whole numbers by resource: `cpu` in millicores, everything else in bytes or counts. A resource that is not
there was not given, which is not the same as zero.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.findings import Place
from remuda.model.pods import Taint, Term, Toleration
from remuda.model.times import Instant

Amounts: TypeAlias = dict[str, int]

EPHEMERAL = "ephemeral-storage"
#: The resources every table shows, in this order.
RESOURCES = ("cpu", "memory", EPHEMERAL)
#: The parts that may be unknown; of one node `summary_of` names what its kubelet says.
SCALE_SETS, POOLS, NODES, PODS, SUMMARIES = "scale sets", "pools", "nodes", "pods", "summaries"
LIMIT_RANGES, RUNTIME_CLASSES, PRIORITY_CLASSES = "limit ranges", "runtime classes", "priority classes"
QUOTAS = "quotas"
RUNNER_DEPLOYMENTS, RUNNER_SETS, RUNNER_AUTOSCALERS = (
    "runner deployments",
    "runner sets",
    "runner autoscalers",
)


def summary_of(node: str) -> str:
    """The part that is one node's summary, where the others could be read."""
    return f"summary of {node}"


#: why it is unknown whether runners fit whose jobs run beside them, unless a policy says how large these are
JOB_PODS = "its jobs run in pods of their own (container hooks): give their size in the policy, sets[].jobPod"


class Bare(Struct, frozen=True):
    """Containers of a runner that give no request, or no limit, for a resource."""

    kind: Literal["requests", "limits"]
    resource: str
    containers: tuple[str, ...]


class ScaleSet(Struct, frozen=True):
    """One AutoscalingRunnerSet, RunnerDeployment, RunnerSet or RunnerPool: what advertises labels and makes runners for them."""

    kind: Literal["AutoscalingRunnerSet", "RunnerDeployment", "RunnerSet", "RunnerPool"]
    namespace: str
    name: str
    #: what a workflow targets: the scale set's name, and the labels it was given
    labels: tuple[str, ...]
    #: those of them that it was given one by one: then workflows are to target these, and not its name
    own_labels: tuple[str, ...] = ()
    #: the GitHub URL it is registered with
    scope: str = ""
    min: int = 0
    #: None is unbounded
    max: int | None = None
    #: as the API server would store its runners: with what LimitRanges and a RuntimeClass add
    requests: Amounts = {}
    limits: Amounts = {}
    #: of both that which the runtime takes beside the containers
    overhead: Amounts = {}
    #: requests and limits, among both, of the pod that a job runs in beside its runner
    job_pod: tuple[Amounts, Amounts] = ({}, {})
    #: what a runner takes of things that a node has once: see `remuda.capacity.decide.neighbours`
    claims: Amounts = {}
    bare: tuple[Bare, ...] = ()
    #: the node that its runners are put on without asking the scheduler
    node_name: str = ""
    #: why the API server would refuse its runners
    refused: tuple[str, ...] = ()
    #: why it is unknown whether its runners fit where their resources do
    unsure: tuple[str, ...] = ()
    #: requests and limits as they are written, where each is written once
    written: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {})
    node_selector: dict[str, str] = {}
    #: one of these must hold, if there are any
    required: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    priority_class: str = ""
    #: `phase` of newer controllers, `state` of older ones
    phase: str = ""
    place: Place = Place()

    @property
    def id(self) -> str:
        """How it is named everywhere: `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def carried(self) -> tuple[Amounts, Amounts]:
        """Requests and limits of its containers alone, which an envelope is about."""
        requests, limits = (
            {name: value - beside.get(name, 0) - self.overhead.get(name, 0) for name, value in whole.items()}
            for whole, beside in zip((self.requests, self.limits), self.job_pod, strict=True)
        )
        return requests, limits

    def with_job_pod(self, requests: Amounts, limits: Amounts) -> "ScaleSet":
        """The same with the pod of its job counted as a part of each runner."""
        return replace(
            self,
            requests=_sum(self.requests, requests),
            limits=_sum(self.limits, limits),
            job_pod=(requests, limits),
            claims=self.claims | {"pods": 2},
            unsure=tuple(words for words in self.unsure if words != JOB_PODS),
        )

    def lacks(self, kind: Literal["requests", "limits"], resource: str) -> tuple[str, ...] | None:
        """Containers that give none of a resource, by name; none by name is the runner as a whole; None when all do."""
        for item in self.bare:
            if (item.kind, item.resource) == (kind, resource):
                return item.containers
        return None if (self.requests if kind == "requests" else self.limits).get(resource) else ()


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (one | other)}


class Node(Struct, frozen=True):
    """A node, as far as it matters to runners."""

    name: str
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    #: `pods` is among them
    allocatable: Amounts = {}
    #: the same as it is written
    written: Mapping[str, object] = {}
    cordoned: bool = False
    ready: bool = True
    #: names of images it has, where the node lists them
    images: tuple[str, ...] = ()
    place: Place = Place()


class Quota(Struct, frozen=True):
    """A ResourceQuota that counts pods of some PriorityClasses alone."""

    namespace: str
    name: str
    classes: tuple[str, ...]
    #: the CapacityPolicy it was made from, if it was
    policy: str = ""
    #: by resource, how much is taken of how much, as quantities are written; nothing when that was not read
    used: dict[str, tuple[str, str]] = {}


class Usage(Struct, frozen=True):
    """What is taken of a node: by all pods that are not over, and by the runners of each scale set among them."""

    #: `pods` is among them, here and in what runners request; so is what a node has once
    requested: Amounts = {}
    limits: Amounts = {}
    #: scale set id → pods
    runners: dict[str, int] = {}
    #: scale set id → what its runners request together
    runner_requests: dict[str, Amounts] = {}
    #: scale set id → what their limits come to
    runner_limits: dict[str, Amounts] = {}


class Filesystem(Struct, frozen=True):
    """A filesystem of a node as its kubelet sees it."""

    capacity: int = 0
    available: int = 0
    inodes: int = 0
    inodes_free: int = 0


class Summary(Struct, frozen=True):
    """What a kubelet says of its filesystems: where pods write, and where images are."""

    root: Filesystem = Filesystem()
    images: Filesystem = Filesystem()
    read_at: Instant = 0


class Unknown(Struct, frozen=True):
    """
    A part that could not be read: what, and why. It is absent where the cluster has no such kind at all.

    Where it may well be that there is nothing to read it is reported only with what depends on it.
    """

    part: str
    why: str
    is_absent: bool = False
    is_quiet: bool = False


class Snapshot(Struct, frozen=True):
    """Everything that was read."""

    scale_sets: tuple[ScaleSet, ...] = ()
    nodes: tuple[Node, ...] = ()
    #: by node
    usage: dict[str, Usage] = {}
    #: pods of scale sets that have no node yet, by scale set id
    pending: dict[str, int] = {}
    #: by node
    summaries: dict[str, Summary] = {}
    quotas: tuple[Quota, ...] = ()
    #: ids of scale sets and pools that are being deleted: their runners count as other pods
    leaving: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    #: where it came from: the context, or the files
    source: str = ""
    read_at: Instant = 0

    def is_unknown(self, part: str) -> bool:
        """True when that part could not be read, so that nothing may be concluded from its absence."""
        return any(item.part == part for item in self.unknown)
