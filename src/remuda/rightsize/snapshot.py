"""What is sized and what bounds it: workloads, limit ranges, quotas, autoscalers and advisors, as plain data."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from remuda.model.times import Instant
from remuda.model.workloads import WorkloadId
from remuda.rightsize.estimate.estimator import Estimate
from remuda.rightsize.estimate.histogram import Second

#: what makes pods, and is sized
KINDS: Final = (
    "Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job", "Rollout", "DeploymentConfig", "StrimziPodSet",
)  # fmt: skip


class Ask(Struct, frozen=True, gc=False):
    """Of both resources; None is not set."""

    cpu_millicores: int | None = None
    memory_bytes: int | None = None


class Size(Struct, frozen=True, gc=False):
    """What a container requests, and what it is limited to."""

    requests: Ask = Ask()
    limits: Ask = Ask()


class Container(Struct, frozen=True):
    """A container of a pod template."""

    name: str
    size: Size = Size()
    #: limits of all other resources, as they are written: `nvidia.com/gpu`, `ephemeral-storage`
    others: dict[str, str] = {}
    #: one of the first containers that is always restarted, and so runs beside the others
    is_sidecar: bool = False
    #: requests of all other resources, as they are written
    other_requests: dict[str, str] = {}
    #: where it stands among `containers` of the template, a sidecar among `initContainers`; None is not known
    index: int | None = None
    #: `requests` and `limits` as the template has them, resource → quantity; None is not known
    written: dict[str, dict[str, str]] | None = None
    #: when the newest pod that has it without a CPU limit was made, 0 is not known; None where there is none, or one has a limit
    unlimited_at: Second | None = None
    #: names of the devices that it claims (DRA), under which its pod has them
    claims: tuple[str, ...] = ()


class InitContainer(Struct, frozen=True):
    """A container that ends before those of the pod start; while it runs, the pod reserves what it asks for."""

    name: str
    size: Size = Size()
    #: names of the sidecars that have started before it, and run beside it
    sidecars: tuple[str, ...] = ()


class Workload(Struct, frozen=True):
    """Pods of one template, and who keeps them."""

    id: WorkloadId
    containers: tuple[Container, ...]
    #: of the workload itself over those of its pod template
    labels: dict[str, str] = {}
    #: how many pods are wanted; of a CronJob, how many run at a time
    replicas: int = 1
    #: pods beyond `replicas` that a change of the template may bring about for a while
    surge: int = 0
    #: names of all `initContainers` of the template in their order, sidecars and those that end
    init_containers: tuple[str, ...] = ()
    #: those of them that end
    initial: tuple[InitContainer, ...] = ()
    #: where an operator takes its size from, as `spec.kafka.resources of Kafka shop/events`; empty where it has a template of its own
    sized_by: str = ""


class LimitRange(Struct, frozen=True):
    """Bounds of what containers, or pods as a whole, may ask for in a namespace; amounts as in `Ask`, None is open."""

    namespace: str
    name: str
    of: Literal["Container", "Pod"]
    least: Ask = Ask()
    most: Ask = Ask()
    #: limit ÷ request, at most
    memory_ratio: float | None = None
    #: what containers get that do not say, be it wanted or not
    defaults: Size = Size()
    #: limit ÷ request, at most
    cpu_ratio: float | None = None
    #: when it was made; 0 is not known
    created: Second = 0
    #: what it says about CPU limits is not what pods have: something else, a webhook, takes them out again
    is_overruled: bool = False


class Quota(Struct, frozen=True):
    """What a namespace may ask for in all: resource as written (`requests.memory`) → millicores, bytes or a count."""

    namespace: str
    name: str
    hard: dict[str, int]
    used: dict[str, int] = {}
    #: with scopes it counts only some pods, and is reported without being judged
    scopes: tuple[str, ...] = ()


class Autoscaler(Struct, frozen=True):
    """A HorizontalPodAutoscaler that counts use against requests: to change these changes how many pods there are."""

    name: str
    target: WorkloadId
    resource: Literal["cpu", "memory"]
    #: one container alone; all where it is empty
    container: str = ""
    most: int = 0


class Advisor(Struct, frozen=True):
    """A VerticalPodAutoscaler and what it recommends."""

    name: str
    target: WorkloadId
    #: Off, Initial, Recreate, Auto, InPlaceOrRecreate …: all but Off change pods behind people's backs
    mode: str = ""
    estimates: dict[str, Estimate] = {}
    #: condition → its message, of those that tell why there is none
    complaints: dict[str, str] = {}


class Kill(Struct, frozen=True):
    """A container that was OOM-killed, as its pod reports."""

    workload: WorkloadId
    container: str
    pod: str
    at: Second
    #: what was requested then, and its limit then; None where it is not known, or there was none
    requested: int | None = None
    limit: int | None = None


class Unknown(Struct, frozen=True):
    """A part of the world that could not be read, and why: nothing is concluded from its absence."""

    part: str
    why: str


#: namespace and name of a pod → the workload it belongs to
Owners: TypeAlias = dict[tuple[str, str], WorkloadId]


class Snapshot(Struct, frozen=True):
    """Everything but use, as it was at a moment."""

    at: Instant
    #: the server, or the files
    source: str
    workloads: tuple[Workload, ...] = ()
    #: namespace → its labels
    namespaces: dict[str, dict[str, str]] = {}
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[Quota, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    advisors: tuple[Advisor, ...] = ()
    owners: Owners = {}
    kills: tuple[Kill, ...] = ()
    unknown: tuple[Unknown, ...] = ()
