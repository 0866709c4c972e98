"""What is wrong with an object beyond its types."""

from collections import Counter
from collections.abc import Iterator

from remuda.objects.problems import child_path
from remuda.objects.slow_path import bad_amounts
from remuda.rightsize.cluster import written
from remuda.rightsize.cluster.bounds import METRICS, kept_metrics
from remuda.rightsize.cluster.templates import surge_of


def all_faults(item: written.Whole) -> Iterator[tuple[str, str]]:
    """Path and words of everything that is wrong with an object, its amounts included."""
    yield from bad_amounts(item)
    yield from faults(item)


def faults(item: written.Whole) -> Iterator[tuple[str, str]]:
    """Path and words of what neither types nor quantities can say."""
    if not isinstance(item, written.Namespace) and not item.metadata.namespace:
        yield "metadata.namespace", "is required: `kubectl get` writes it"
    match item:
        case written.Deployment(spec=spec):
            yield from _surge(spec.strategy, "spec.strategy")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case written.DaemonSet(spec=spec):
            yield from _surge(spec.update_strategy, "spec.updateStrategy")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case written.Replicated() | written.Job():
            yield from _twice(item.spec.template.spec, "spec.template.spec")
        case written.CronJob(spec=spec):
            yield from _twice(spec.job_template.spec.template.spec, "spec.jobTemplate.spec.template.spec")
        case written.Autoscaler(spec=spec):
            yield from _target(spec.scale_target_ref, "spec.scaleTargetRef")
            yield from _metrics(item)
        case written.Advisor(spec=spec):
            yield from _target(spec.target_ref, "spec.targetRef")


def _surge(strategy: written.Strategy, path: str) -> Iterator[tuple[str, str]]:
    try:
        surge_of(strategy, 1, 0)
    except ValueError as error:
        yield f"{path}.rollingUpdate.maxSurge", str(error)


def _twice(spec: written.PodSpec, path: str) -> Iterator[tuple[str, str]]:
    counts = Counter(each.name for each in (*spec.containers, *spec.init_containers))
    for name, count in counts.items():
        if count > 1:
            yield child_path(path, "containers"), f"{name} is there {count} times: a name is of one container"


def _target(target: written.Reference, path: str) -> Iterator[tuple[str, str]]:
    for key, value in (("kind", target.kind), ("name", target.name)):
        if not value:
            yield child_path(path, key), "is required: it says what is scaled"


def _metrics(item: written.Autoscaler) -> Iterator[tuple[str, str]]:
    try:
        kept_metrics(item)
    except ValueError as error:
        yield child_path("metadata.annotations", METRICS), str(error)
