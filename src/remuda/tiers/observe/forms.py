"""The kinds that an audit of tiers reads: of which versions, into which projection, and who takes them."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from remuda.model.workloads import Strategy, canary, surge_of, unavailable_of
from remuda.objects.dumps import Form
from remuda.tiers import manifests
from remuda.tiers.observe.gather import Gathering

_CLUSTER_WIDE = (manifests.Namespace, manifests.Node, manifests.PriorityClass)


def faults(item: manifests.Manifest) -> Iterator[tuple[str, str]]:
    """Path and words of what neither types nor quantities can say."""
    if not isinstance(item, _CLUSTER_WIDE) and not item.metadata.namespace:
        yield "metadata.namespace", "is required: `kubectl get` writes it"
    if isinstance(item, manifests.Pod | manifests.PodMetrics):
        return  # most are
    match item:
        case manifests.Deployment(spec=spec):
            yield from _shares(spec.strategy, "spec.strategy.rollingUpdate")
        case manifests.DaemonSet(spec=spec):
            yield from _shares(spec.update_strategy, "spec.updateStrategy.rollingUpdate")
        case manifests.Rollout(spec=spec):
            yield from _shares(canary(spec.strategy), "spec.strategy.canary")
        case manifests.Autoscaler(spec=spec):
            for key in ("kind", "name"):
                if not getattr(spec.scale_target_ref, key):
                    yield f"spec.scaleTargetRef.{key}", "is required: it says what is scaled"


def _shares(strategy: Strategy, path: str) -> Iterator[tuple[str, str]]:
    try:
        surge_of(strategy, 1, 0)
    except ValueError as error:
        yield f"{path}.maxSurge", str(error)
    try:
        unavailable_of(strategy, 1, 0, 0)
    except ValueError as error:
        yield f"{path}.maxUnavailable", str(error)


def _checked(add: Callable[[Gathering, Any], bool]) -> Callable[[Gathering, Any], bool]:
    """The same, but what has a fault is a `ValueError`."""

    def take(into: Gathering, item: manifests.Manifest) -> bool:
        for path, words in faults(item):
            raise ValueError(f"{path}: {words}")
        return add(into, item)

    return take


def _form(
    kind: str, api_versions: tuple[str, ...], type_: type[Struct], add: Callable[[Gathering, Any], bool]
) -> Form[Gathering]:
    take = _checked(add)
    return Form(
        kind,
        api_versions,
        type_,
        lambda into, item, _, __: take(into, item),
        msgspec.json.Decoder(type_).decode,
        faults=faults,
    )


_CORE, _APPS, _BATCH = ("v1",), ("apps/v1",), ("batch/v1",)
_SCALING = ("autoscaling/v2", "autoscaling/v1")
#: what makes pods
MAKERS: Final = {
    form.kind: form
    for form in (
        _form("Deployment", _APPS, manifests.Deployment, Gathering.add_deployment),
        _form("StatefulSet", _APPS, manifests.Replicated, Gathering.add_stateful_set),
        _form("DaemonSet", _APPS, manifests.DaemonSet, Gathering.add_daemon_set),
        _form("ReplicaSet", _APPS, manifests.Replicated, Gathering.add_replica_set),
        _form("CronJob", _BATCH, manifests.CronJob, Gathering.add_cron_job),
        _form("Job", _BATCH, manifests.Job, Gathering.add_job),
        _form("Rollout", ("argoproj.io/v1alpha1",), manifests.Rollout, Gathering.add_rollout),
    )
}
POD: Final = _form("Pod", _CORE, manifests.Pod, Gathering.add_pod)
FORMS: Final = MAKERS | {
    form.kind: form
    for form in (
        POD,
        _form("Namespace", _CORE, manifests.Namespace, Gathering.add_namespace),
        _form("Node", _CORE, manifests.Node, Gathering.add_node),
        _form("LimitRange", _CORE, manifests.LimitRange, Gathering.add_limit_range),
        _form("ResourceQuota", _CORE, manifests.Quota, Gathering.add_quota),
        _form(
            "PriorityClass",
            ("scheduling.k8s.io/v1",),
            manifests.PriorityClass,
            Gathering.add_priority_class,
        ),
        _form("HorizontalPodAutoscaler", _SCALING, manifests.Autoscaler, Gathering.add_autoscaler),
        _form("Event", _CORE, manifests.Event, Gathering.add_event),
        _form("PodMetrics", ("metrics.k8s.io/v1beta1",), manifests.PodMetrics, Gathering.add_pod_metrics),
    )
}
#: what kubelets answer at /stats/summary
SUMMARY: Final[Form[Gathering]] = Form(
    "summary",
    (),
    manifests.Stats,
    lambda into, item, _, __: into.add_summary(item),
    msgspec.json.Decoder(manifests.Stats).decode,
    name_of=lambda item: str(item.node.node_name),
)
