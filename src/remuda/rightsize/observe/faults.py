"""What is wrong with an object beyond its types."""

from collections import Counter
from collections.abc import Iterator

from remuda.model.manifests import Reference
from remuda.model.workloads import Strategy, canary, surge_of
from remuda.objects.problems import child_path
from remuda.objects.slow_path import bad_amounts
from remuda.rightsize import manifests
from remuda.rightsize.observe.bounds import METRICS, kept_metrics


def all_faults(item: manifests.Manifest) -> Iterator[tuple[str, str]]:
    """Path and words of everything that is wrong with an object, its amounts included."""
    yield from bad_amounts(item)
    yield from faults(item)


def faults(item: manifests.Manifest) -> Iterator[tuple[str, str]]:
    """Path and words of what neither types nor quantities can say."""
    if not isinstance(item, manifests.Namespace) and not item.metadata.namespace:
        yield "metadata.namespace", "is required: `kubectl get` writes it"
    match item:
        case manifests.Deployment(spec=spec):
            yield from _surge(spec.strategy, "spec.strategy")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case manifests.DaemonSet(spec=spec):
            yield from _surge(spec.update_strategy, "spec.updateStrategy")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case manifests.Rollout(spec=spec):
            yield from _surge(canary(spec.strategy), "spec.strategy", "canary")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case manifests.DeploymentConfig(spec=spec):
            yield from _surge(spec.strategy, "spec.strategy", "rollingParams")
            yield from _twice(spec.template.spec, "spec.template.spec")
        case manifests.PodSet(spec=spec):
            for n, each in enumerate(spec.pods):
                yield from _twice(each.spec, f"spec.pods[{n}].spec")
        case manifests.Replicated() | manifests.Job():
            yield from _twice(item.spec.template.spec, "spec.template.spec")
        case manifests.CronJob(spec=spec):
            yield from _twice(spec.job_template.spec.template.spec, "spec.jobTemplate.spec.template.spec")
        case manifests.Autoscaler(spec=spec):
            yield from _target(spec.scale_target_ref, "spec.scaleTargetRef")
            yield from _metrics(item)
        case manifests.Advisor(spec=spec):
            yield from _target(spec.target_ref, "spec.targetRef")


def _surge(strategy: Strategy, path: str, part: str = "rollingUpdate") -> Iterator[tuple[str, str]]:
    try:
        surge_of(strategy, 1, 0)
    except ValueError as error:
        yield f"{path}.{part}.maxSurge", str(error)


def _twice(spec: manifests.PodSpec, path: str) -> Iterator[tuple[str, str]]:
    counts = Counter(each.name for each in (*spec.containers, *spec.init_containers))
    for name, count in counts.items():
        if count > 1:
            yield child_path(path, "containers"), f"{name} is there {count} times: a name is of one container"


def _target(target: Reference, path: str) -> Iterator[tuple[str, str]]:
    for key, value in (("kind", target.kind), ("name", target.name)):
        if not value:
            yield child_path(path, key), "is required: it says what is scaled"


def _metrics(item: manifests.Autoscaler) -> Iterator[tuple[str, str]]:
    try:
        kept_metrics(item)
    except ValueError as error:
        yield child_path("metadata.annotations", METRICS), str(error)
