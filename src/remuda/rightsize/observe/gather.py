"""From objects as they are written to a `Snapshot`, one by one, so that none is kept longer than it is looked at."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.times import SECOND, Instant
from remuda.model.workloads import DEFAULT_SURGE, WorkloadId, canary, surge_of
from remuda.rightsize import manifests
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.observe.bounds import advisor_of, autoscalers_of, limit_ranges_of, quota_of
from remuda.rightsize.observe.faults import all_faults, faults
from remuda.rightsize.observe.owners import Owning
from remuda.rightsize.observe.templates import (
    Killed,
    containers_of,
    initial_of,
    kills_of,
    limited_of,
    second_of,
    strimzi_place,
)
from remuda.rightsize.snapshot import (
    Advisor,
    Autoscaler,
    Kill,
    LimitRange,
    Owners,
    Quota,
    Snapshot,
    Unknown,
    Workload,
)

#: what a workload makes pods through
_BETWEEN: Final = frozenset({"ReplicaSet", "Job", "ReplicationController"})
_Key: TypeAlias = tuple[str, str]
T = TypeVar("T")


class _Pod(Struct, frozen=True):
    owner: WorkloadId
    kills: tuple[Killed, ...]
    #: container → whether it has a CPU limit; nothing of what is over
    limited: dict[str, bool] = {}
    created: Second = 0


_NO_POD: Final = _Pod(WorkloadId("", "", ""), ())
#: phases of pods that run no more
_OVER: Final = frozenset({"Succeeded", "Failed"})


class Gathering:
    """
    What was read so far. An object that comes again replaces what it was.

    To add what is wrong is a `ValueError`, and adds nothing; but of pods, and of what others keep, amounts that are not used
    are not looked at, since there are most of these. Adding returns whether it was there already.
    """

    def __init__(self) -> None:
        self._workloads: dict[WorkloadId, Workload | None] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._limit_ranges: dict[_Key, tuple[LimitRange, ...]] = {}
        self._quotas: dict[_Key, Quota] = {}
        self._autoscalers: dict[_Key, tuple[Autoscaler, ...]] = {}
        self._advisors: dict[_Key, Advisor] = {}
        #: ReplicaSets, ReplicationControllers and Jobs that belong to another
        self._between: dict[WorkloadId, WorkloadId] = {}
        #: Rollouts whose template is another's, and how many pods they want
        self._referring: dict[WorkloadId, tuple[WorkloadId, int]] = {}
        self._pods: dict[_Key, _Pod] = {}

    def add_namespace(self, item: manifests.Namespace) -> bool:
        """Take a Namespace."""
        is_known = item.metadata.name in self._namespaces
        self._namespaces[item.metadata.name] = item.metadata.labels
        return is_known

    def add_deployment(
        self, item: manifests.Deployment | manifests.DeploymentConfig, kind: str = "Deployment"
    ) -> bool:
        """Take a Deployment."""
        spec = item.spec
        replicas = _or_one(spec.replicas)
        surge = surge_of(spec.strategy, replicas, DEFAULT_SURGE)
        return self._add(kind, item, spec.template, replicas, surge)

    def add_stateful_set(self, item: manifests.Replicated) -> bool:
        """Take a StatefulSet, whose pods are replaced in place."""
        return self._add("StatefulSet", item, item.spec.template, _or_one(item.spec.replicas))

    def add_daemon_set(self, item: manifests.DaemonSet) -> bool:
        """Take a DaemonSet, which wants as many pods as there are nodes for it."""
        replicas = _or_one(item.status.desired_number_scheduled)
        surge = surge_of(item.spec.update_strategy, replicas, 0)
        return self._add("DaemonSet", item, item.spec.template, replicas, surge)

    def add_replica_set(self, item: manifests.Replicated) -> bool:
        """Take a ReplicaSet: a workload if it belongs to nobody."""
        return self._add_between("ReplicaSet", item, item.spec.template, _or_one(item.spec.replicas))

    def add_job(self, item: manifests.Job) -> bool:
        """Take a Job: a workload if it belongs to nobody; one that is over wants no pods."""
        is_over = any(
            each.type in {"Complete", "Failed"} and each.status == "True" for each in item.status.conditions
        )
        return self._add_between("Job", item, item.spec.template, 0 if is_over else _at_once(item.spec))

    def add_cron_job(self, item: manifests.CronJob) -> bool:
        """Take a CronJob; as many of its Jobs as run now are taken to run at a time, and one at least."""
        job = item.spec.job_template.spec
        replicas = 0 if item.spec.suspend else _at_once(job) * max(1, len(item.status.active))
        return self._add("CronJob", item, job.template, replicas)

    def add_rollout(self, item: manifests.Rollout) -> bool:
        """Take a Rollout of Argo Rollouts; where a Deployment has its template, its pods are that one's."""
        spec, meta = item.spec, item.metadata
        replicas = _or_one(spec.replicas)
        who = WorkloadId(meta.namespace, "Rollout", meta.name)
        self._referring.pop(who, None)
        if spec.workload_ref is None:
            surge = surge_of(canary(spec.strategy), replicas, DEFAULT_SURGE)
            return self._add("Rollout", item, spec.template, replicas, surge)
        _right(item)
        is_known = who in self._workloads
        self._workloads[who] = None
        ref = spec.workload_ref
        self._referring[who] = (WorkloadId(meta.namespace, ref.kind, ref.name), replicas)
        return is_known

    def add_deployment_config(self, item: manifests.DeploymentConfig) -> bool:
        """Take a DeploymentConfig of OpenShift."""
        return self.add_deployment(item, "DeploymentConfig")

    def add_replication_controller(self, item: manifests.Replicated) -> bool:
        """Take a ReplicationController, through which a DeploymentConfig makes pods; one of nobody is not sized."""
        if item.metadata.owner is not None:
            return self._add_between("ReplicationController", item, item.spec.template, 0)
        return False

    def add_pod_set(self, item: manifests.PodSet) -> bool:
        """Take a StrimziPodSet: its pods are all alike but for their numbers."""
        pods = item.spec.pods
        template = pods[0] if pods else manifests.Template()
        return self._add("StrimziPodSet", item, template, len(pods), sized_by=strimzi_place(item))

    def add_limit_range(self, item: manifests.LimitRange) -> bool:
        """Take a LimitRange."""
        return _put(self._limit_ranges, item, limit_ranges_of(item))

    def add_quota(self, item: manifests.Quota) -> bool:
        """Take a ResourceQuota."""
        return _put(self._quotas, item, quota_of(item))

    def add_autoscaler(self, item: manifests.Autoscaler) -> bool:
        """Take a HorizontalPodAutoscaler."""
        return _put(self._autoscalers, item, autoscalers_of(item))

    def add_advisor(self, item: manifests.Advisor) -> bool:
        """Take a VerticalPodAutoscaler."""
        return _put(self._advisors, item, advisor_of(item))

    def add_pod(self, item: manifests.Pod) -> bool:
        """Take a Pod, be it over or not: whose it is, and which of its containers ran out of memory."""
        meta = item.metadata
        owner = meta.owner
        whose = WorkloadId(meta.namespace, *((owner.kind, owner.name) if owner else ("Pod", meta.name)))
        limited = {} if item.status.phase in _OVER else limited_of(item.spec)
        made = _Pod(whose, tuple(kills_of(item)), limited, second_of(meta.creation_timestamp) or 0)
        return _put(self._pods, item, made, faults)

    def _add(
        self,
        kind: str,
        item: manifests.Manifest,
        template: manifests.Template,
        replicas: int,
        surge: int = 0,
        sized_by: str = "",
    ) -> bool:
        meta = _right(item).metadata
        made = Workload(
            WorkloadId(meta.namespace, kind, meta.name),
            tuple(containers_of(template.spec)),
            template.metadata.labels | meta.labels,
            replicas,
            surge,
            tuple(each.name for each in template.spec.init_containers),
            tuple(initial_of(template.spec)),
            sized_by,
        )
        is_known = made.id in self._workloads
        self._workloads[made.id] = made
        return is_known

    def _add_between(
        self, kind: str, item: manifests.Manifest, template: manifests.Template, replicas: int
    ) -> bool:
        meta, owner = item.metadata, item.metadata.owner
        who = WorkloadId(meta.namespace, kind, meta.name)
        self._between.pop(who, None)
        if owner is None:
            return self._add(kind, item, template, replicas)
        _right(item, faults)
        is_known = who in self._workloads
        self._workloads[who] = None
        self._between[who] = WorkloadId(meta.namespace, owner.kind, owner.name)
        return is_known

    def snapshot(self, source: str, at: Instant, unknown: Iterable[Unknown] = ()) -> Snapshot:
        """All of it, in the order of names."""
        made = Snapshot(
            at=at,
            source=source,
            workloads=tuple(
                self._with_referring(found)
                for _, found in sorted(self._workloads.items(), key=_first)
                if found is not None
            ),
            namespaces=dict(sorted(self._namespaces.items())),
            limit_ranges=tuple(
                each for _, some in sorted(self._limit_ranges.items(), key=_first) for each in some
            ),
            quotas=tuple(each for _, each in sorted(self._quotas.items(), key=_first)),
            autoscalers=tuple(
                replace(each, target=self._whose(each.target))
                for _, some in sorted(self._autoscalers.items(), key=_first)
                for each in some
            ),
            advisors=tuple(
                replace(each, target=self._whose(each.target))
                for _, each in sorted(self._advisors.items(), key=_first)
            ),
            owners=self._owners(),
            unknown=(*unknown, *self._dangling()),
        )
        owning = Owning(made)
        return replace(
            made,
            workloads=tuple(self._as_pods_have(made.workloads, owning)),
            kills=tuple(self._all_kills(made, owning)),
        )

    def _with_referring(self, workload: Workload) -> Workload:
        """A Deployment with the pods of a Rollout that refers to it, which mostly scales it down to none."""
        more = [count for target, count in self._referring.values() if target == workload.id]
        return replace(workload, replicas=max(workload.replicas, *more)) if more else workload

    def _dangling(self) -> Iterator[Unknown]:
        for who, (target, _) in sorted(self._referring.items(), key=_first):
            if self._workloads.get(target) is None:
                yield Unknown(str(who), f"has its template in {target}, which was not read: it is not sized")

    def _whose(self, owner: WorkloadId) -> WorkloadId:
        """The workload in the end: what it belongs to, or what has its template."""
        owner = self._between.get(owner, owner)
        return self._referring[owner][0] if owner in self._referring else owner

    def _as_pods_have(self, workloads: Iterable[Workload], owning: Owning) -> Iterator[Workload]:
        """Workloads with what the newest of their pods tells about CPU limits."""
        newest: dict[WorkloadId, _Pod] = {}
        for (namespace, name), pod in sorted(self._pods.items(), key=_first):
            whose = owning.of(namespace, name) if pod.limited else None
            if whose is not None and (whose not in newest or newest[whose].created <= pod.created):
                newest[whose] = pod
        for each in workloads:
            pod = newest.get(each.id, _NO_POD)
            yield replace(
                each,
                containers=tuple(
                    replace(part, unlimited_at=pod.created) if pod.limited.get(part.name) is False else part
                    for part in each.containers
                ),
            )

    def _owners(self) -> Owners:
        """Of pods whose ReplicaSet or Job was not read only the name tells."""
        return {
            key: self._whose(pod.owner)
            for key, pod in sorted(self._pods.items(), key=_first)
            if pod.owner.kind not in _BETWEEN or pod.owner in self._workloads
        }

    def _all_kills(self, snapshot: Snapshot, owning: Owning) -> Iterator[Kill]:
        for (namespace, name), pod in sorted(self._pods.items(), key=_first):
            whose = owning.of(namespace, name) if pod.kills else None
            if whose is None:
                continue
            for kill in pod.kills:
                at = snapshot.at // SECOND if kill.at is None else kill.at
                yield Kill(whose, kill.container, name, at, kill.requested, kill.limit)


_Faults: TypeAlias = Callable[[manifests.Manifest], Iterable[tuple[str, str]]]


def _right(item: manifests.Manifest, wrong: _Faults = all_faults) -> manifests.Manifest:
    """The object if nothing is wrong with it."""
    for path, words in wrong(item):
        raise ValueError(f"{path}: {words}")
    return item


def _first(item: tuple[_Key | WorkloadId, object]) -> tuple[str, ...]:
    return item[0]


def _put(into: dict[_Key, T], item: manifests.Manifest, made: T, wrong: _Faults = all_faults) -> bool:
    meta = _right(item, wrong).metadata
    key = (meta.namespace, meta.name)
    is_known = key in into
    into[key] = made
    return is_known


def _or_one(count: int | None) -> int:
    return 1 if count is None else count


def _at_once(job: manifests.JobSpec) -> int:
    return 0 if job.suspend else _or_one(job.parallelism)
