"""From objects as they are written to a `World`, one by one, so that none is kept longer than it is looked at."""

from collections.abc import Iterable

from msgspec import Struct

from remuda.capacity import written
from remuda.capacity.pods import QuickPod, SizesByText
from remuda.capacity.world import Amounts, Filesystem, Lane, Node, Summary, Unknown, Usage, World
from remuda.model.amounts import amount, as_written, pod_sizes, strict_amounts
from remuda.model.times import Instant, read_instant
from remuda.objects.problems import Place

SET_NAME = "actions.github.com/scale-set-name"
SET_NAMESPACE = "actions.github.com/scale-set-namespace"
#: a listener carries the labels of its scale set, too, and is no runner
COMPONENT, LISTENER = "app.kubernetes.io/component", "runner-scale-set-listener"
POOL = "remuda.dev/pool"
#: what GitHub's controller takes a maximum for that is not given
NO_LIMIT = 2**31 - 1
#: what a RunnerPool means that does not say it
POOL_MIN, POOL_MAX = 3, 10
#: KubeVirt requests a tenth of a processor for each that it shows to a guest
_SHARE_OF_CPU = 100
#: pods that take nothing any more; one that is told to end takes it until it has
_OVER = frozenset({"Succeeded", "Failed"})


class Taken(Struct, frozen=True, gc=False):
    """What a pod takes, and for which lane if it is a runner. Pods without a node wait for one."""

    node: str
    lane: str
    requests: Amounts
    limits: Amounts


class Gathering:
    """
    What was read so far. An object that comes again replaces what it was.

    To add what holds a bad quantity is a `ValueError`, and adds nothing. Adding tells whether it was there already.
    """

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str, str], Lane] = {}
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], Taken | None] = {}
        self._summaries: dict[str, Summary] = {}
        self._names: dict[str, str] = {}
        self._sizes = SizesByText()

    def add_scale_set(self, item: written.ScaleSet, place: Place) -> bool:
        """Take an AutoscalingRunnerSet."""
        return self._add_lane(lane_of_set(item, place))

    def add_pool(self, item: written.Pool, place: Place) -> bool:
        """Take a RunnerPool."""
        return self._add_lane(lane_of_pool(item, place))

    def add_node(self, item: written.Node, place: Place) -> bool:
        """Take a Node."""
        made = node_of(item, place, self._names)
        is_known = made.name in self._nodes
        self._nodes[made.name] = made
        return is_known

    def add_pod(self, item: written.Pod | QuickPod, _: Place) -> bool:
        """Take a Pod; one that is over takes nothing."""
        return self.put_pod(item.metadata, self.taken_by(item))

    def taken_by(self, item: written.Pod | QuickPod) -> Taken | None:
        """What a Pod takes, without taking it in."""
        if item.status.phase in _OVER:
            return None
        sizes = self._sizes.of(item) if isinstance(item, QuickPod) else pod_sizes(item.spec)
        return Taken(item.spec.node_name, _lane_of(item.metadata), *sizes)

    def put_pod(self, meta: written.ObjectMeta, taken: Taken | None) -> bool:
        """Take in what a Pod takes."""
        key = (meta.namespace, meta.name)
        is_known = key in self._pods
        self._pods[key] = taken
        return is_known

    def add_summary(self, item: written.Stats, read_at: Instant) -> bool:
        """Take what a kubelet says; `read_at` is when, unless it says so itself."""
        is_known = item.node.node_name in self._summaries
        self._summaries[item.node.node_name] = summary_from(item, read_at)
        return is_known

    def _add_lane(self, made: Lane) -> bool:
        key = (made.kind, made.namespace, made.name)
        is_known = key in self._lanes
        self._lanes[key] = made
        return is_known

    def world(self, source: str, read_at: Instant, unknown: Iterable[Unknown] = ()) -> World:
        """All of it, in the order of names."""
        usage, pending = _usage(taken for taken in self._pods.values() if taken is not None)
        return World(
            lanes=tuple(self._lanes[key] for key in sorted(self._lanes)),
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
            usage=usage,
            pending=pending,
            summaries=self._summaries,
            unknown=tuple(unknown),
            source=source,
            read_at=read_at,
        )


def lane_of_set(item: written.ScaleSet, place: Place) -> Lane:
    """The lane that a scale set is; `ValueError` for a bad quantity."""
    spec, pod = item.spec, item.spec.template.spec
    name = spec.runner_scale_set_name or item.metadata.name
    requests, limits = pod_sizes(pod)
    return Lane(
        kind="AutoscalingRunnerSet",
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        labels=tuple(dict.fromkeys((name, *spec.runner_scale_set_labels))),
        given=spec.runner_scale_set_labels,
        scope=spec.github_config_url,
        min=spec.min_runners or 0,
        max=None if spec.max_runners is None or spec.max_runners >= NO_LIMIT else spec.max_runners,
        requests=requests,
        limits=limits,
        written=as_written(pod),
        node_selector=pod.node_selector,
        required=pod.required,
        preferred=pod.preferred,
        tolerations=pod.tolerations,
        priority_class=pod.priority_class_name,
        phase=item.status.phase or item.status.state,
        place=place,
    )


def lane_of_pool(item: written.Pool, place: Place) -> Lane:
    """The lane that a pool is: its class is the label, and a VM asks for what KubeVirt requests for it."""
    spec = item.spec
    vm = spec.provider.kubevirt.spec if spec.provider.kubevirt else written.VmSpec()
    least = 0 if spec.ceiling else POOL_MIN
    requests, limits = _vm_sizes(vm)
    return Lane(
        kind="RunnerPool",
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        labels=(spec.class_,),
        min=least if spec.min is None else spec.min,
        max=POOL_MAX if spec.max is None else spec.max,
        requests=requests,
        limits=limits,
        node_selector=vm.node_selector,
        required=vm.required,
        preferred=vm.preferred,
        tolerations=vm.tolerations,
        priority_class=vm.priority_class_name,
        place=place,
    )


def _vm_sizes(vm: written.VmSpec) -> tuple[Amounts, Amounts]:
    domain = vm.domain
    limits = strict_amounts(domain.resources.limits)
    requests = limits | strict_amounts(domain.resources.requests)
    if domain.cpu is not None and "cpu" not in requests:
        cpu = domain.cpu
        requests["cpu"] = (cpu.cores or 1) * (cpu.sockets or 1) * (cpu.threads or 1) * _SHARE_OF_CPU
    if domain.memory.guest is not None and "memory" not in requests:
        requests["memory"] = amount("memory", domain.memory.guest)
    return requests, limits


def node_of(item: written.Node, place: Place, names: dict[str, str]) -> Node:
    """The node; `names` keeps each name of an image once, since nodes have much the same."""
    status = item.status
    # Kubernetes means the capacity where nothing is said to be allocatable.
    room = status.capacity if status.allocatable is None else status.allocatable
    return Node(
        name=item.metadata.name,
        labels=item.metadata.labels,
        taints=item.spec.taints,
        allocatable=strict_amounts(room),
        written=room,
        cordoned=item.spec.unschedulable,
        ready=all(each.status == "True" for each in status.conditions if each.type == "Ready"),
        images=tuple([names.setdefault(name, name) for image in status.images for name in image.names]),
        place=place,
    )


def _lane_of(meta: written.ObjectMeta) -> str:
    """The lane whose runner a pod is, if it is one."""
    labels = meta.labels
    if SET_NAME in labels and labels.get(COMPONENT) != LISTENER:
        return f"{labels.get(SET_NAMESPACE) or meta.namespace}/{labels[SET_NAME]}"
    return f"{meta.namespace}/{labels[POOL]}" if POOL in labels else ""


def summary_from(item: written.Stats, read_at: Instant) -> Summary:
    """What a kubelet says of its filesystems."""
    stats = item.node
    told = [each for each in (stats.fs, stats.runtime.image_fs) if each is not None]
    times = [at for each in told if (at := _instant(each.time)) is not None]
    return Summary(_filesystem(stats.fs), _filesystem(stats.runtime.image_fs), min(times, default=read_at))


def _filesystem(told: written.Filesystem | None) -> Filesystem:
    if told is None:
        return Filesystem()
    return Filesystem(told.capacity_bytes, told.available_bytes, told.inodes, told.inodes_free)


def _instant(text: str) -> Instant | None:
    try:
        return read_instant(text) if text else None
    except ValueError:
        return None


def _usage(pods: Iterable[Taken]) -> tuple[dict[str, Usage], dict[str, int]]:
    usage: dict[str, Usage] = {}
    pending: dict[str, int] = {}
    for pod in pods:
        if not pod.node:
            if pod.lane:
                pending[pod.lane] = pending.get(pod.lane, 0) + 1
            continue
        on_node = usage.get(pod.node)
        if on_node is None:
            on_node = usage[pod.node] = Usage({}, {}, {}, {}, {})
        _count(on_node.requested, pod.requests)
        for name, value in pod.limits.items():
            on_node.limits[name] = on_node.limits.get(name, 0) + value
        if pod.lane:
            on_node.runners[pod.lane] = on_node.runners.get(pod.lane, 0) + 1
            _count(on_node.runner_requests.setdefault(pod.lane, {}), pod.requests)
            limits = on_node.runner_limits.setdefault(pod.lane, {})
            for name, value in pod.limits.items():
                limits[name] = limits.get(name, 0) + value
    return usage, pending


def _count(total: Amounts, requests: Amounts) -> None:
    total["pods"] = total.get("pods", 0) + 1
    for name, value in requests.items():
        total[name] = total.get(name, 0) + value
