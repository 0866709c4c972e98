"""From objects as they are written to a `Snapshot`, one by one, so that none is kept longer than it is looked at."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from remuda.capacity import manifests
from remuda.capacity.decide.admission import Admission, admit
from remuda.capacity.decide.neighbours import Kin, Resident, keep_apart, port_claims, scheduling_uncertainties
from remuda.capacity.observe.deployments import (
    DEPLOYMENT,
    RUNNER_SET,
    Older,
    as_scale_set,
    bounds_of,
    kind_of,
    targeted,
)
from remuda.capacity.observe.pods import NeedsByText, QuickPod, needs_of
from remuda.capacity.snapshot import (
    EPHEMERAL,
    LIMIT_RANGES,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    Amounts,
    Bare,
    Filesystem,
    Node,
    Quota,
    ScaleSet,
    Snapshot,
    Summary,
    Unknown,
    Usage,
)
from remuda.model.amounts import amount, as_written, pod_sizes, strict_amounts
from remuda.model.findings import Place
from remuda.model.manifests import LimitRange, Quantities, Resources
from remuda.model.times import Instant, read_instant
from remuda.rules.bounds import DEFAULT_MAX, default_min
from remuda.rules.instances import requested_millicores

SET_NAME = "actions.github.com/scale-set-name"
SET_NAMESPACE = "actions.github.com/scale-set-namespace"
#: a listener carries the labels of its scale set, too, and is no runner
COMPONENT, LISTENER = "app.kubernetes.io/component", "runner-scale-set-listener"
#: what every runner of GitHub's controller carries beside the name of its set
_RUNNER = {"actions-ephemeral-runner": "True", COMPONENT: "runner", "app.kubernetes.io/part-of": "gha-runner-scale-set"}  # fmt: skip
POOL = "remuda.dev/pool"
#: what a guard rail says of the policy it was made from
POLICY = "remuda.dev/capacity-policy"
#: what GitHub's controller takes a maximum for that is not given
NO_LIMIT = 2**31 - 1
#: pods that take nothing any more; a terminating one takes it until it has ended
_OVER = frozenset({"Succeeded", "Failed"})
_AnySet: TypeAlias = manifests.ScaleSet | Older | manifests.Pool
_K = TypeVar("_K")
_V = TypeVar("_V")
_NO_LAUNCHER = "what KubeVirt takes beside a guest is not counted: no VM of it runs that would show it"


class Taken(Struct, frozen=True, gc=False):
    """What a pod takes, and for which scale set if it is a runner. Pods without a node wait for one."""

    node: str
    scale_set: str
    namespace: str
    labels: Mapping[str, str]
    requests: Amounts
    limits: Amounts
    apart: tuple[manifests.PodTerm, ...] = ()


class Gathering:
    """
    What was read so far. An object that comes again replaces what it was.

    To add what holds a bad quantity is a `ValueError`, and adds nothing. Adding returns whether it was there already.
    """

    def __init__(self) -> None:
        self._scale_sets: dict[tuple[str, str, str], tuple[_AnySet, Place]] = {}
        #: by namespace and the name of what it scales
        self._autoscalers: dict[tuple[str, str, str], manifests.RunnerAutoscaler] = {}
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], Taken | None] = {}
        self._summaries: dict[str, Summary] = {}
        self._ranges: dict[tuple[str, str], LimitRange] = {}
        self._runtimes: dict[str, manifests.RuntimeClass] = {}
        self._priorities: dict[str, None] = {}
        self._quotas: dict[tuple[str, str], Quota] = {}
        self._names: dict[str, str] = {}
        self._needs = NeedsByText()
        #: pods are made from few templates: each set of labels is kept once
        self._labels: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def add_scale_set(self, item: manifests.ScaleSet, place: Place) -> bool:
        """Take an AutoscalingRunnerSet."""
        scale_set_from(item, place, Admission())
        return _put(
            self._scale_sets,
            ("AutoscalingRunnerSet", item.metadata.namespace, item.metadata.name),
            (item, place),
        )

    def add_older(self, item: Older, place: Place) -> bool:
        """Take a RunnerDeployment or a RunnerSet."""
        scale_set_from(as_scale_set(item), place, Admission())
        return _put(
            self._scale_sets, (kind_of(item), item.metadata.namespace, item.metadata.name), (item, place)
        )

    def add_autoscaler(self, item: manifests.RunnerAutoscaler, _: Place) -> bool:
        """Take a HorizontalRunnerAutoscaler; without a kind its target is a RunnerDeployment."""
        target = item.spec.scale_target_ref
        key = (target.kind or "RunnerDeployment", item.metadata.namespace, target.name)
        return _put(self._autoscalers, key, item)

    def add_pool(self, item: manifests.Pool, place: Place) -> bool:
        """Take a RunnerPool."""
        scale_set_from_pool(item, place)
        return _put(
            self._scale_sets, ("RunnerPool", item.metadata.namespace, item.metadata.name), (item, place)
        )

    def add_node(self, item: manifests.Node, place: Place) -> bool:
        """Take a Node."""
        return _put(self._nodes, item.metadata.name, node_of(item, place, self._names))

    def add_limit_range(self, item: LimitRange, _: Place) -> bool:
        """Take a LimitRange."""
        for each in item.spec.limits:
            for part in (
                each.default,
                each.default_request,
                each.min,
                each.max,
                each.max_limit_request_ratio,
            ):
                strict_amounts(part)
        return _put(self._ranges, (item.metadata.namespace, item.metadata.name), item)

    def add_runtime_class(self, item: manifests.RuntimeClass, _: Place) -> bool:
        """Take a RuntimeClass."""
        strict_amounts(item.overhead.pod_fixed)
        return _put(self._runtimes, item.metadata.name, item)

    def add_priority_class(self, item: manifests.PriorityClass, _: Place) -> bool:
        """Take a PriorityClass."""
        return _put(self._priorities, item.metadata.name, None)

    def add_quota(self, item: manifests.Quota, _: Place) -> bool:
        """Take a ResourceQuota."""
        meta = item.metadata
        made = Quota(meta.namespace, meta.name, item.classes, meta.labels.get(POLICY, ""), item.used)
        return _put(self._quotas, (meta.namespace, meta.name), made)

    def add_pod(self, item: manifests.Pod | QuickPod, _: Place) -> bool:
        """Take a Pod; one that is over takes nothing."""
        return self.put_pod(item.metadata, self.taken_by(item))

    def taken_by(self, item: manifests.Pod | QuickPod) -> Taken | None:
        """What a Pod takes, without taking it in."""
        if item.status.phase in _OVER:
            return None
        needs = self._needs.of(item) if isinstance(item, QuickPod) else needs_of(item.spec)
        meta = item.metadata
        labels = self._labels.setdefault(tuple(meta.labels.items()), meta.labels)
        return Taken(
            item.spec.node_name,
            _scale_set_of(meta),
            meta.namespace,
            labels,
            needs.requests,
            needs.limits,
            needs.apart,
        )

    def put_pod(self, meta: manifests.ObjectMeta, taken: Taken | None) -> bool:
        """Take in what a Pod takes."""
        return _put(self._pods, (meta.namespace, meta.name), taken)

    def add_summary(self, item: manifests.Stats, read_at: Instant) -> bool:
        """Take what a kubelet says; `read_at` is when, unless it says so itself."""
        return _put(self._summaries, item.node.node_name, summary_from(item, read_at))

    def snapshot(self, source: str, read_at: Instant, unknown: Iterable[Unknown] = ()) -> Snapshot:
        """All of it, in the order of names. What is unknown of admission is not taken for absent."""
        parts = tuple(unknown)
        pods = [taken for taken in self._pods.values() if taken is not None]
        scale_sets, leaving = self._made_scale_sets({item.part for item in parts}, pods)
        known = {scale_set.id for scale_set in scale_sets}
        apart = keep_apart(
            [
                Kin(
                    scale_set.id,
                    scale_set.namespace,
                    *_kinship(self._scale_sets[scale_set.kind, scale_set.namespace, scale_set.name][0]),
                )
                for scale_set in scale_sets
            ],
            (
                Resident(pod.node, pod.namespace, pod.labels, pod.apart)
                for pod in pods
                if pod.node and pod.scale_set not in known
            ),
            {node.name: node.labels for node in self._nodes.values()},
        )
        made = tuple(
            replace(
                scale_set,
                claims=scale_set.claims | apart.claims.get(scale_set.id, {}),
                unsure=(*scale_set.unsure, *apart.unsure.get(scale_set.id, ())),
            )
            for scale_set in scale_sets
        )
        usage, pending = _usage(
            pods, {scale_set.id: apart.claims.get(scale_set.id, {}) for scale_set in scale_sets}
        )
        for name, taken in apart.taken.items():
            requested = usage.setdefault(name, Usage({}, {}, {}, {}, {})).requested
            for claim, value in taken.items():
                requested[claim] = requested.get(claim, 0) + value
        return Snapshot(
            scale_sets=made,
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
            usage=usage,
            pending=pending,
            summaries=self._summaries,
            quotas=tuple(self._quotas[key] for key in sorted(self._quotas) if self._quotas[key].classes),
            leaving=leaving,
            unknown=parts,
            source=source,
            read_at=read_at,
        )

    def _made_scale_sets(
        self, unknown: set[str], pods: list[Taken]
    ) -> tuple[list[ScaleSet], tuple[str, ...]]:
        ranges: dict[str, list[LimitRange]] = {}
        for (namespace, _), range_ in sorted(self._ranges.items()):
            ranges.setdefault(namespace, []).append(range_)
        rules = Admission(
            None if LIMIT_RANGES in unknown else {key: tuple(items) for key, items in ranges.items()},
            None if RUNTIME_CLASSES in unknown else self._runtimes,
            None if PRIORITY_CLASSES in unknown else frozenset(self._priorities),
        )
        launchers: dict[str, Amounts] = {}
        for pod in pods:
            if POOL in pod.labels:
                known = launchers.setdefault(pod.scale_set, {})
                for name, value in pod.requests.items():
                    known[name] = max(value, known.get(name, 0))
        scale_sets: list[ScaleSet] = []
        leaving: list[str] = []
        for key in sorted(self._scale_sets):
            item, place = self._scale_sets[key]
            if isinstance(item, manifests.ScaleSet):
                made = scale_set_from(item, place, rules)
            elif isinstance(item, Older):
                autoscaler = self._autoscalers.get(key)
                made = scale_set_from(as_scale_set(item), place, rules)
                made = targeted(made, item, bounds_of(item, autoscaler))
            else:
                made = scale_set_from_pool(item, place, launchers)
            if item.metadata.deletion_timestamp is None:
                scale_sets.append(made)
            else:
                leaving.append(made.id)
        return scale_sets, tuple(leaving)


def _put(kept: dict[_K, _V], key: _K, value: _V) -> bool:
    """Keep something; whether there was something under its key already."""
    is_known = key in kept
    kept[key] = value
    return is_known


def _kinship(
    item: _AnySet,
) -> tuple[Mapping[str, str], tuple[manifests.PodTerm, ...]]:
    """The labels of its runners as far as they are known, and which pods they must be apart from."""
    meta = item.metadata
    if isinstance(item, manifests.ScaleSet):
        template = item.spec.template
        names = {SET_NAME: meta.name, SET_NAMESPACE: meta.namespace}
        return names | template.metadata.labels | _RUNNER, template.spec.affinity.pod_anti_affinity.required
    if isinstance(item, Older):
        runner = item.spec.template
        names = {RUNNER_SET if isinstance(item, manifests.RunnerSet) else DEPLOYMENT: meta.name}
        return runner.metadata.labels | names, runner.spec.affinity.pod_anti_affinity.required
    vm = item.spec.provider.kubevirt
    return {POOL: meta.name}, vm.spec.affinity.pod_anti_affinity.required if vm else ()


def scale_set_from(item: manifests.ScaleSet, place: Place, rules: Admission) -> ScaleSet:
    """A scale set as it is judged; `ValueError` for a bad quantity."""
    spec, pod = item.spec, item.spec.template.spec
    name = spec.runner_scale_set_name or item.metadata.name
    admitted = admit(item.metadata.namespace, pod, rules)
    stored = admitted.spec
    requests, limits = pod_sizes(stored)
    return ScaleSet(
        kind="AutoscalingRunnerSet",
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        labels=tuple(dict.fromkeys((name, *spec.runner_scale_set_labels))),
        own_labels=spec.runner_scale_set_labels,
        scope=spec.github_config_url,
        min=spec.min_runners or 0,
        max=None if spec.max_runners is None or spec.max_runners >= NO_LIMIT else spec.max_runners,
        requests=requests,
        limits=limits,
        overhead=strict_amounts(stored.overhead),
        claims=port_claims(stored),
        bare=_bare(stored),
        node_name=stored.node_name,
        refused=admitted.refused,
        unsure=(*admitted.unsure, *scheduling_uncertainties(stored)),
        written=as_written(pod) if pod_sizes(pod) == (requests, limits) else ({}, {}),
        node_selector=stored.node_selector,
        required=stored.required,
        preferred=stored.preferred,
        tolerations=stored.tolerations,
        priority_class=stored.priority_class_name,
        phase=item.status.phase or item.status.state,
        place=place,
    )


def _bare(pod: manifests.PlacedSpec) -> tuple[Bare, ...]:
    """What containers that run all the time do not give, unless the pod as a whole does."""
    whole = pod.resources or Resources()
    lasting = [each for each in pod.init_containers if each.restart_policy == "Always"]
    found = []
    for resource in ("cpu", "memory", EPHEMERAL):
        for kind, whole_amounts in (
            ("requests", {**whole.limits, **whole.requests}),
            ("limits", whole.limits),
        ):
            names = [
                each.name
                for each in (*pod.containers, *lasting)
                if not _has_amount(
                    each.resources.requests if kind == "requests" else each.resources.limits, resource
                )
            ]
            if names and not _has_amount(whole_amounts, resource):
                found.append(Bare("requests" if kind == "requests" else "limits", resource, tuple(names)))
    return tuple(found)


def _has_amount(amounts: Quantities, resource: str) -> bool:
    return resource in amounts and amount(resource, amounts[resource]) > 0


def scale_set_from_pool(
    item: manifests.Pool, place: Place, launchers: Mapping[str, Amounts] | None = None
) -> ScaleSet:
    """
    A pool as it is judged: its class is the label, and a VM asks for what KubeVirt requests for it.

    `launchers` are what pods of VMs that run really request, by scale set.
    """
    spec = item.spec
    vm = spec.provider.kubevirt.spec if spec.provider.kubevirt else manifests.VmSpec()
    most = DEFAULT_MAX if spec.max is None else spec.max
    requests, limits = _vm_sizes(vm)
    seen = (launchers or {}).get(f"{item.metadata.namespace}/{item.metadata.name}", {})
    unsure = [] if seen or not spec.provider.kubevirt else [_NO_LAUNCHER]
    return ScaleSet(
        kind="RunnerPool",
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        labels=(spec.class_,),
        min=default_min(most, has_ceiling=bool(spec.ceiling)) if spec.min is None else spec.min,
        max=most,
        requests={name: max(requests.get(name, 0), seen.get(name, 0)) for name in (requests | seen)},
        limits=limits,
        unsure=(*unsure, *scheduling_uncertainties(vm)),
        node_selector=vm.node_selector,
        required=vm.required,
        preferred=vm.preferred,
        tolerations=vm.tolerations,
        priority_class=vm.priority_class_name,
        place=place,
    )


def _vm_sizes(vm: manifests.VmSpec) -> tuple[Amounts, Amounts]:
    domain = vm.domain
    limits = strict_amounts(domain.resources.limits)
    requests = limits | strict_amounts(domain.resources.requests)
    if domain.cpu is not None and "cpu" not in requests:
        cpu = domain.cpu
        requests["cpu"] = requested_millicores(
            cpu.cores, cpu.sockets, cpu.threads, is_dedicated=cpu.dedicated_cpu_placement
        )
    if domain.memory.guest is not None and "memory" not in requests:
        requests["memory"] = amount("memory", domain.memory.guest)
    return requests, limits


def node_of(item: manifests.Node, place: Place, names: dict[str, str]) -> Node:
    """The node; `names` keeps each name of an image once, since nodes have much the same."""
    status = item.status
    return Node(
        name=item.metadata.name,
        labels=item.metadata.labels,
        taints=item.spec.taints,
        allocatable=strict_amounts(status.room),
        written=status.room,
        cordoned=item.spec.unschedulable,
        ready=all(each.status == "True" for each in status.conditions if each.type == "Ready"),
        images=tuple([names.setdefault(name, name) for image in status.images for name in image.names]),
        place=place,
    )


def _scale_set_of(meta: manifests.ObjectMeta) -> str:
    """The scale set whose runner a pod is, if it is one."""
    labels = meta.labels
    if SET_NAME in labels and labels.get(COMPONENT) != LISTENER:
        return f"{labels.get(SET_NAMESPACE) or meta.namespace}/{labels[SET_NAME]}"
    name = labels.get(DEPLOYMENT) or labels.get(RUNNER_SET) or labels.get(POOL)
    return f"{meta.namespace}/{name}" if name else ""


def summary_from(item: manifests.Stats, read_at: Instant) -> Summary:
    """What a kubelet says of its filesystems."""
    stats = item.node
    filesystems = [each for each in (stats.fs, stats.runtime.image_fs) if each is not None]
    times = [at for each in filesystems if (at := _instant(each.time)) is not None]
    return Summary(_filesystem(stats.fs), _filesystem(stats.runtime.image_fs), min(times, default=read_at))


def _filesystem(filesystem: manifests.Filesystem | None) -> Filesystem:
    if filesystem is None:
        return Filesystem()
    return Filesystem(
        filesystem.capacity_bytes, filesystem.available_bytes, filesystem.inodes, filesystem.inodes_free
    )


def _instant(text: str) -> Instant | None:
    try:
        return read_instant(text) if text else None
    except ValueError:
        return None


def _usage(pods: Iterable[Taken], claims: Mapping[str, Amounts]) -> tuple[dict[str, Usage], dict[str, int]]:
    """What is taken of nodes, and who waits for one; `claims` are what a runner of each scale set takes beside its requests."""
    usage: dict[str, Usage] = {}
    pending: dict[str, int] = {}
    for pod in pods:
        if not pod.node:
            if pod.scale_set:
                pending[pod.scale_set] = pending.get(pod.scale_set, 0) + 1
            continue
        on_node = usage.get(pod.node)
        if on_node is None:
            on_node = usage[pod.node] = Usage({}, {}, {}, {}, {})
        taken = pod.requests
        if more := claims.get(pod.scale_set):
            taken = taken | more
        _count(on_node.requested, taken)
        for name, value in pod.limits.items():
            on_node.limits[name] = on_node.limits.get(name, 0) + value
        if pod.scale_set:
            on_node.runners[pod.scale_set] = on_node.runners.get(pod.scale_set, 0) + 1
            _count(on_node.runner_requests.setdefault(pod.scale_set, {}), taken)
            limits = on_node.runner_limits.setdefault(pod.scale_set, {})
            for name, value in pod.limits.items():
                limits[name] = limits.get(name, 0) + value
    return usage, pending


def _count(total: Amounts, requests: Amounts) -> None:
    total["pods"] = total.get("pods", 0) + 1
    for name, value in requests.items():
        total[name] = total.get(name, 0) + value
