"""From objects as they are written to a `Snapshot`, one by one, so that none is kept longer than it is looked at."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from remuda.model.amounts import Amounts, amount, strict_amounts
from remuda.model.manifests import Condition, Quantities, ScopeTerm
from remuda.model.times import Instant
from remuda.model.workloads import (
    DEFAULT_SURGE,
    Strategy,
    WorkloadId,
    canary,
    surge_of,
    unavailable_of,
)
from remuda.tiers import manifests
from remuda.tiers.observe.pods import Templates, instant_of, pod_of
from remuda.tiers.snapshot import (
    Autoscaler,
    Event,
    Key,
    LimitRange,
    LimitRangeItem,
    Node,
    NodeMemory,
    Pod,
    PodMemory,
    PriorityClass,
    Quota,
    Snapshot,
    Unknown,
    Workload,
)

#: what tells why a pod or a node fares as it does; of all others there are too many
TELLING: Final = frozenset(
    {
        "Preempted", "Evicted", "FailedScheduling", "FailedCreate", "OOMKilling", "SystemOOM",
        "EvictionThresholdMet", "NodeHasInsufficientMemory", "TaintManagerEviction",
    }
)  # fmt: skip
#: what a ReplicaSet of a Deployment, or of a Rollout, writes onto its pods
_HASHES: Final = {"pod-template-hash": "Deployment", "rollouts-pod-template-hash": "Rollout"}
_OF_CRON_JOB: Final = re.compile(r"(.+)-[0-9]{8,11}")
_PRESSURES: Final = frozenset({"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
#: of what replaces pods by stopping them first
_IN_PLACE: Final = Strategy("OnDelete")
T = TypeVar("T")


class Gathering:
    """
    What was read so far. An object that comes again replaces what it was.

    To add what is wrong is a `ValueError`, and adds nothing. Adding returns whether it was there already.
    """

    def __init__(self) -> None:
        self._templates = Templates()
        self._namespaces: dict[str, dict[str, str] | None] = {}
        self._workloads: dict[WorkloadId, Workload | None] = {}
        #: ReplicaSets and Jobs that belong to another
        self._between: dict[WorkloadId, WorkloadId] = {}
        #: Rollouts whose template is a Deployment's, and how many pods they want
        self._referring: dict[WorkloadId, tuple[WorkloadId, int]] = {}
        self._pods: dict[Key, Pod] = {}
        self._nodes: dict[str, Node] = {}
        self._limit_ranges: dict[Key, LimitRange] = {}
        self._quotas: dict[Key, Quota] = {}
        self._priority_classes: dict[str, PriorityClass] = {}
        self._autoscalers: dict[Key, Autoscaler] = {}
        self._events: dict[Key, Event | None] = {}
        self._memory: dict[Key, PodMemory] = {}
        self._node_memory: dict[str, NodeMemory] = {}

    def add_namespace(self, item: manifests.Namespace) -> bool:
        """Take a Namespace; one that is being deleted is nobody's to judge."""
        meta = item.metadata
        return _put(self._namespaces, meta.name, None if meta.deletion_timestamp else meta.labels)

    def add_deployment(self, item: manifests.Deployment) -> bool:
        """Take a Deployment."""
        spec = item.spec
        refused = _refused(item.status)
        return self._add(
            "Deployment", item, spec.template, _or_one(spec.replicas), spec.strategy, refused=refused
        )

    def add_stateful_set(self, item: manifests.Replicated) -> bool:
        """Take a StatefulSet, whose pods are replaced in place."""
        return self._add("StatefulSet", item, item.spec.template, _or_one(item.spec.replicas))

    def add_daemon_set(self, item: manifests.DaemonSet) -> bool:
        """Take a DaemonSet, which wants as many pods as there are nodes for it."""
        replicas = _or_one(item.status.desired_number_scheduled)
        spec = item.spec
        return self._add("DaemonSet", item, spec.template, replicas, spec.update_strategy, (0, 1))

    def add_rollout(self, item: manifests.Rollout) -> bool:
        """Take a Rollout of Argo Rollouts; where a Deployment has its template, its pods are that one's."""
        spec, meta = item.spec, item.metadata
        replicas = _or_one(spec.replicas)
        who = WorkloadId(meta.namespace, "Rollout", meta.name)
        self._referring.pop(who, None)
        if spec.workload_ref is None:
            return self._add("Rollout", item, spec.template, replicas, canary(spec.strategy))
        target = WorkloadId(meta.namespace, spec.workload_ref.kind, spec.workload_ref.name)
        self._referring[who] = (target, replicas)
        return _put(self._workloads, who, None)

    def add_replica_set(self, item: manifests.Replicated) -> bool:
        """Take a ReplicaSet: a workload if it belongs to nobody."""
        replicas = _or_one(item.spec.replicas)
        return self._add_between("ReplicaSet", item, item.spec.template, replicas, _refused(item.status))

    def add_job(self, item: manifests.Job) -> bool:
        """Take a Job: a workload if it belongs to nobody; one that is over wants no pods."""
        is_over = any(_holds(each, "Complete", "Failed") for each in item.status.conditions)
        replicas = 0 if is_over or item.spec.suspend else _or_one(item.spec.parallelism)
        return self._add_between("Job", item, item.spec.template, replicas)

    def add_cron_job(self, item: manifests.CronJob) -> bool:
        """Take a CronJob, as if one of its Jobs ran at a time."""
        job = item.spec.job_template.spec
        replicas = 0 if item.spec.suspend or job.suspend else _or_one(job.parallelism)
        return self._add("CronJob", item, job.template, replicas)

    def add_pod(self, item: manifests.Pod) -> bool:
        """Take a Pod, be it over or not."""
        return _put(self._pods, _key(item), pod_of(item, self._templates))

    def add_node(self, item: manifests.Node) -> bool:
        """Take a Node."""
        meta, spec, status = item.metadata, item.spec, item.status
        conditions = status.conditions
        made = Node(
            meta.name,
            meta.labels,
            spec.taints,
            strict_amounts(status.room),
            strict_amounts(status.capacity),
            spec.unschedulable,
            not conditions or any(_holds(each, "Ready") for each in conditions),
            tuple(each.type for each in conditions if _holds(each, *_PRESSURES)),
        )
        return _put(self._nodes, meta.name, made)

    def add_limit_range(self, item: manifests.LimitRange) -> bool:
        """Take a LimitRange."""
        items = tuple(
            LimitRangeItem(
                each.type,
                strict_amounts(each.default),
                strict_amounts(each.default_request),
                strict_amounts(each.min),
                strict_amounts(each.max),
            )
            for each in item.spec.limits
        )
        meta = item.metadata
        return _put(self._limit_ranges, _key(item), LimitRange(meta.namespace, meta.name, meta.labels, items))

    def add_quota(self, item: manifests.Quota) -> bool:
        """Take a ResourceQuota."""
        meta, spec, status = item.metadata, item.spec, item.status
        scopes = (*spec.scopes, *map(_scope, spec.scope_selector.match_expressions))
        made = Quota(
            meta.namespace,
            meta.name,
            meta.labels,
            _counts(spec.hard),
            _counts(status.hard),
            _counts(status.used),
            scopes,
        )
        return _put(self._quotas, _key(item), made)

    def add_priority_class(self, item: manifests.PriorityClass) -> bool:
        """Take a PriorityClass."""
        meta = item.metadata
        made = PriorityClass(meta.name, item.value, meta.labels, item.global_default, item.preemption_policy)
        return _put(self._priority_classes, meta.name, made)

    def add_autoscaler(self, item: manifests.Autoscaler) -> bool:
        """Take a HorizontalPodAutoscaler."""
        meta, spec = item.metadata, item.spec
        target = WorkloadId(meta.namespace, spec.scale_target_ref.kind, spec.scale_target_ref.name)
        made = Autoscaler(meta.namespace, meta.name, target, _or_one(spec.min_replicas), spec.max_replicas)
        return _put(self._autoscalers, _key(item), made)

    def add_event(self, item: manifests.Event) -> bool:
        """Take an Event, if it tells why."""
        about, series = item.involved_object, item.series
        if item.reason not in TELLING:
            return _put(self._events, _key(item), None)
        last = item.last_timestamp or (series.last_observed_time if series else None) or item.event_time
        made = Event(
            about.kind,
            about.namespace,
            about.name,
            item.reason,
            item.message,
            instant_of(last),
            item.count or (series.count if series else 1),
            (item.related.namespace, item.related.name) if item.related is not None else ("", ""),
        )
        return _put(self._events, _key(item), made)

    def add_pod_metrics(self, item: manifests.PodMetrics) -> bool:
        """Take what the metrics server says of a pod."""
        used = {each.name: amount("memory", each.usage.get("memory", 0)) for each in item.containers}
        return _put(self._memory, _key(item), PodMemory(sum(used.values()), used))

    def add_summary(self, item: manifests.Stats) -> bool:
        """Take what a kubelet says; its pods are measured as the eviction manager measures them."""
        node, memory = item.node, item.node.memory
        made = NodeMemory(
            memory.available_bytes,
            memory.usage_bytes,
            memory.working_set_bytes,
            memory.rss_bytes,
            {each.name: each.memory.working_set_bytes or 0 for each in node.system_containers},
        )
        for pod in item.pods:
            used = {each.name: each.memory.working_set_bytes or 0 for each in pod.containers}
            whole = None if pod.memory is None else pod.memory.working_set_bytes
            self._memory[pod.pod_ref.namespace, pod.pod_ref.name] = PodMemory(
                sum(used.values()) if whole is None else whole, used
            )
        return _put(self._node_memory, node.node_name, made)

    def _add(
        self,
        kind: str,
        item: manifests.Manifest,
        template: manifests.Template,
        replicas: int,
        strategy: Strategy = _IN_PLACE,
        defaults: tuple[int | str, int | str] = (DEFAULT_SURGE, DEFAULT_SURGE),
        *,
        refused: str = "",
    ) -> bool:
        meta = item.metadata
        surge = surge_of(strategy, replicas, defaults[0])
        made = Workload(
            WorkloadId(meta.namespace, kind, meta.name),
            meta.labels,
            template.metadata.labels,
            self._templates.spec_of(template.spec),
            template.spec.node_name,
            replicas,
            surge,
            unavailable_of(strategy, replicas, defaults[1], surge),
            refused,
        )
        return _put(self._workloads, made.id, made)

    def _add_between(
        self,
        kind: str,
        item: manifests.Manifest,
        template: manifests.Template,
        replicas: int,
        refused: str = "",
    ) -> bool:
        meta, owner = item.metadata, item.metadata.owner
        who = WorkloadId(meta.namespace, kind, meta.name)
        self._between.pop(who, None)
        if owner is None:
            return self._add(kind, item, template, replicas, refused=refused)
        self._between[who] = WorkloadId(meta.namespace, owner.kind, owner.name)
        return _put(self._workloads, who, None)

    def snapshot(self, source: str, at: Instant, unknown: Iterable[Unknown] = ()) -> Snapshot:
        """All of it, in the order of names."""
        return Snapshot(
            at,
            source,
            {name: labels for name, labels in _sorted(self._namespaces) if labels is not None},
            tuple(self._with_referring(each) for _, each in _sorted(self._workloads) if each is not None),
            tuple(self._owned(pod) for _, pod in _sorted(self._pods)),
            tuple(each for _, each in _sorted(self._nodes)),
            tuple(each for _, each in _sorted(self._limit_ranges)),
            tuple(each for _, each in _sorted(self._quotas)),
            tuple(each for _, each in _sorted(self._priority_classes)),
            tuple(each for _, each in _sorted(self._autoscalers)),
            tuple(self._told(each) for _, each in _sorted(self._events) if each is not None),
            dict(_sorted(self._memory)),
            dict(_sorted(self._node_memory)),
            (*unknown, *self._dangling()),
        )

    def _told(self, event: Event) -> Event:
        """An event of what belongs to a workload, told of that one."""
        about = WorkloadId(event.namespace, event.kind, event.name)
        owner = self._between.get(about, about)
        return event if owner == about else replace(event, kind=owner.kind, name=owner.name)

    def _with_referring(self, workload: Workload) -> Workload:
        """A Deployment with the pods of a Rollout that refers to it, which mostly scales it down to none."""
        more = [count for target, count in self._referring.values() if target == workload.id]
        return replace(workload, replicas=max(workload.replicas, *more)) if more else workload

    def _dangling(self) -> Iterator[Unknown]:
        for who, (target, _) in _sorted(self._referring):
            if self._workloads.get(target) is None:
                words = f"has its template in {target}, which was not read: it is not judged"
                yield Unknown(str(who), words)

    def _owned(self, pod: Pod) -> Pod:
        """A pod with the workload it belongs to in the end."""
        owner = self._between.get(pod.owner) or self._by_name(pod)
        if owner in self._referring:
            owner = self._referring[owner][0]
        return pod if owner == pod.owner else replace(pod, owner=owner)

    def _by_name(self, pod: Pod) -> WorkloadId:
        """The owner of a ReplicaSet or Job that was not read, by how controllers name what they make."""
        owner = pod.owner
        if owner in self._workloads:
            return owner
        if owner.kind == "ReplicaSet":
            for label, kind in _HASHES.items():
                if ending := pod.labels.get(label):
                    return WorkloadId(owner.namespace, kind, owner.name.removesuffix(f"-{ending}"))
        if owner.kind == "Job" and (found := _OF_CRON_JOB.fullmatch(owner.name)):
            of = WorkloadId(owner.namespace, "CronJob", found[1])
            return of if of in self._workloads else owner
        return owner


def _refused(status: manifests.ReplicatedStatus) -> str:
    return next((each.message for each in status.conditions if _holds(each, "ReplicaFailure")), "")


def _put(into: dict[Any, T], key: object, made: T) -> bool:
    is_known = key in into
    into[key] = made
    return is_known


def _key(item: manifests.Manifest) -> Key:
    return item.metadata.namespace, item.metadata.name


def _sorted(found: dict[Any, T]) -> list[tuple[Any, T]]:
    return sorted(found.items(), key=lambda item: item[0])


def _or_one(count: int | None) -> int:
    return 1 if count is None else count


def _holds(condition: Condition, *types: str) -> bool:
    return condition.type in types and condition.status == "True"


def _counts(amounts: Quantities) -> Amounts:
    return {name: amount(name.rpartition(".")[2], value) for name, value in amounts.items()}


def _scope(term: ScopeTerm) -> str:
    return " ".join(part for part in (term.scope_name, term.operator, ", ".join(term.values)) if part)
