"""What bounds or changes the sizes of workloads, from objects as they are written."""

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from remuda.model.amounts import amount
from remuda.model.manifests import Condition, Quantities, ScopeTerm
from remuda.model.quantities import NANO, Quantity
from remuda.model.workloads import WorkloadId
from remuda.objects.problems import child_path
from remuda.rightsize import manifests
from remuda.rightsize.estimate.estimator import Amounts, Estimate
from remuda.rightsize.observe.templates import ask, second_of
from remuda.rightsize.snapshot import Advisor, Autoscaler, LimitRange, Quota, Size

#: where autoscaling/v1 keeps the metrics that it has no field for
METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
#: what a VerticalPodAutoscaler does that does not say
DEFAULT_MODE: Final = "Recreate"
_PROVIDED: Final = "RecommendationProvided"
_OF: Final[dict[str, Literal["Container", "Pod"]]] = {"Container": "Container", "Pod": "Pod"}
_SCALED: Final[dict[str, Literal["cpu", "memory"]]] = {"cpu": "cpu", "memory": "memory"}
_ALPHA_METRICS: Final = msgspec.json.Decoder(tuple[manifests.Metric, ...])


def limit_ranges_of(item: manifests.LimitRange) -> tuple[LimitRange, ...]:
    """One for containers, one for pods, as far as it bounds them; `ValueError` for a bad amount."""
    return tuple(
        LimitRange(
            item.metadata.namespace,
            item.metadata.name,
            _OF[each.type],
            ask(each.min),
            ask(each.max),
            _ratio(each.max_limit_request_ratio.get("memory")),
            Size(ask(each.default_request), ask(each.default)),
            _ratio(each.max_limit_request_ratio.get("cpu")),
            second_of(item.metadata.creation_timestamp) or 0,
        )
        for each in item.spec.limits
        if each.type in _OF
    )


def _ratio(text: object) -> float | None:
    return None if text is None else Quantity.parse(text) / NANO


def quota_of(item: manifests.Quota) -> Quota:
    """
    The quota by what is enforced; before the controllers have looked at it that is what it should be.

    `ValueError` for a bad amount.
    """
    spec, status = item.spec, item.status
    scopes = [*spec.scopes, *(_scope(each) for each in spec.scope_selector.match_expressions)]
    hard = _counts(status.hard or spec.hard)
    return Quota(item.metadata.namespace, item.metadata.name, hard, _counts(status.used), tuple(scopes))


def _scope(term: ScopeTerm) -> str:
    return " ".join(part for part in (term.scope_name, term.operator, ", ".join(term.values)) if part)


def _counts(amounts: Quantities) -> dict[str, int]:
    return {name: amount(name.rpartition(".")[2], value) for name, value in amounts.items()}


def autoscalers_of(item: manifests.Autoscaler) -> tuple[Autoscaler, ...]:
    """
    One for each resource that pods are counted by; `ValueError` where v1 keeps no metrics but something else.

    A target of utilization is measured against requests. One of an average value is not; but then what a pod uses is what
    the autoscaler makes it use, and tells nothing of what it needs: both count.
    """
    spec = item.spec
    target = WorkloadId(item.metadata.namespace, spec.scale_target_ref.kind, spec.scale_target_ref.name)
    # in order, and each once
    found = dict.fromkeys(_scaled(item))
    return tuple(
        Autoscaler(item.metadata.name, target, _SCALED[resource], container, spec.max_replicas)
        for resource, container in found
        if resource in _SCALED
    )


def _scaled(item: manifests.Autoscaler) -> Iterator[tuple[str, str]]:
    spec, kept = item.spec, kept_metrics(item)
    if spec.target_cpu is not None or not (spec.metrics or kept):
        # without any metric Kubernetes goes by the CPU
        yield "cpu", ""
    for metric in (*spec.metrics, *kept):
        if metric.type == "Resource":
            yield metric.resource.name, ""
        elif metric.type == "ContainerResource":
            yield metric.container_resource.name, metric.container_resource.container


def kept_metrics(item: manifests.Autoscaler) -> tuple[manifests.Metric, ...]:
    """The metrics that v1 keeps in an annotation; `ValueError` for anything else in it."""
    text = item.metadata.annotations.get(METRICS)
    if text is None:
        return ()
    try:
        return _ALPHA_METRICS.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"is no list of metrics: {error}") from None


def advisor_of(item: manifests.Advisor) -> Advisor:
    """The advisor, with what it recommends; `ValueError` for a bad amount."""
    spec, status = item.spec, item.status
    target = WorkloadId(item.metadata.namespace, spec.target_ref.kind, spec.target_ref.name)
    estimates, complaints = {}, dict(_complaints(status.conditions))
    for each in status.recommendation.container_recommendations:
        missing = [name for name in _SCALED if each.target.get(name) is None]
        if missing:
            complaints[child_path("recommendation", each.container_name)] = (
                f"holds no {' and no '.join(missing)}"
            )
            continue
        estimates[each.container_name] = Estimate(
            target=_both(each.target, each.target),
            lower_bound=_both(each.lower_bound, each.target),
            upper_bound=_both(each.upper_bound, each.target),
        )
    return Advisor(
        item.metadata.name, target, spec.update_policy.update_mode or DEFAULT_MODE, estimates, complaints
    )


def _both(amounts: Quantities, instead: Quantities) -> Amounts:
    cpu, memory = (
        amount(name, instead[name] if amounts.get(name) is None else amounts[name]) for name in _SCALED
    )
    return Amounts(cpu, memory)


def _complaints(conditions: tuple[Condition, ...]) -> Iterator[tuple[str, str]]:
    """All conditions but one say what is wrong by being true."""
    for each in conditions:
        if each.status == "True" if each.type != _PROVIDED else each.status != "True":
            yield each.type, each.message or each.reason
