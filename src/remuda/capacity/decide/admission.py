"""
What the API server makes of a runner's pod before it is stored: LimitRanges, RuntimeClasses, PriorityClasses.

A pod that it refuses is lost: the controller waits for a quota and gives a runner up for good on any other refusal. What
webhooks and plugins do that are not on by default is not known here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from remuda.capacity import manifests
from remuda.model.amount_texts import amount_text
from remuda.model.amounts import Amounts, amount, pod_sizes, strict_amounts
from remuda.model.manifests import LimitRange, LimitRangeItem, Resources
from remuda.model.quantities import NANO, Quantity

#: PriorityClasses that every cluster has
_SYSTEM = ("system-cluster-critical", "system-node-critical")


class Admission(Struct, frozen=True):
    """What a cluster does to new pods. What was not read is None."""

    #: by namespace
    limit_ranges: Mapping[str, tuple[LimitRange, ...]] | None = None
    runtime_classes: Mapping[str, manifests.RuntimeClass] | None = None
    priority_classes: frozenset[str] | None = None


class Admitted(Struct, frozen=True):
    """A pod as it would be stored, why it would be refused instead, and what is unknown."""

    spec: manifests.PlacedSpec
    refused: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()


def admit(namespace: str, spec: manifests.PlacedSpec, rules: Admission) -> Admitted:
    """What becomes of a pod in a namespace; `ValueError` for a bad amount."""
    containers = tuple(map(_with_requests, spec.containers))
    first = tuple(map(_with_requests, spec.init_containers))
    spec = replace(spec, containers=containers, init_containers=first)
    ranges = sorted((rules.limit_ranges or {}).get(namespace, ()), key=lambda item: item.metadata.name)
    items = [
        (item.metadata.name, each)
        for item in ranges
        for each in item.spec.limits
        if each.type in {"Container", "Pod"}
    ]
    unsure = list(_contradicting([each for _, each in items]))
    if rules.limit_ranges is None and any(_is_bare(each) for each in containers):
        unsure.append("LimitRanges were not read, which may give containers what they do not ask for")
    if items and spec.resources is not None:
        unsure.append("it has resources of the pod as a whole, and there is a LimitRange")
    for _, each in items:
        if each.type == "Container":
            spec = _defaulted(spec, each)
    refused = [f"LimitRange {name} {words}" for name, each in items for words in _broken(spec, each)]
    spec, more_refused, more_unsure = _of_runtime(spec, rules.runtime_classes)
    refused += more_refused
    unsure += more_unsure
    name, known = spec.priority_class_name, rules.priority_classes
    if name and known is not None and name not in known and name not in _SYSTEM:
        refused.append(f"there is no PriorityClass {name}")
    return Admitted(spec, tuple(refused), tuple(unsure))


def _with_requests(container: manifests.RunnerContainer) -> manifests.RunnerContainer:
    """What is limited without a request is requested as much."""
    resources = container.resources
    return replace(
        container, resources=Resources({**resources.limits, **resources.requests}, resources.limits)
    )


def _is_bare(container: manifests.RunnerContainer) -> bool:
    return not {"cpu", "memory"} <= container.resources.requests.keys()


def _defaulted(spec: manifests.PlacedSpec, item: LimitRangeItem) -> manifests.PlacedSpec:
    limits = {**item.max, **item.default}
    requests = {**item.min, **limits, **item.default_request}

    def fill(container: manifests.RunnerContainer) -> manifests.RunnerContainer:
        resources = container.resources
        made = Resources({**requests, **resources.requests}, {**limits, **resources.limits})
        return replace(container, resources=made)

    return replace(
        spec,
        containers=tuple(map(fill, spec.containers)),
        init_containers=tuple(map(fill, spec.init_containers)),
    )


def _contradicting(items: Iterable[LimitRangeItem]) -> Iterator[str]:
    """Several defaults for one thing: which of them counts Kubernetes does not say."""
    seen: dict[tuple[str, str], Any] = {}
    for item in items:
        if item.type != "Container":
            continue
        limits = {**item.max, **item.default}
        for kind, added in (("request", {**item.min, **limits, **item.default_request}), ("limit", limits)):
            for name, value in added.items():
                number = amount(name, value)
                if seen.setdefault((kind, name), number) != number:
                    yield f"LimitRanges give containers several defaults for the {kind} of {name}"


def _broken(spec: manifests.PlacedSpec, item: LimitRangeItem) -> Iterator[str]:
    """What a LimitRange refuses: each container, or the pod as a whole."""
    if item.type == "Pod":
        yield from _outside("the pod", *pod_sizes(replace(spec, overhead={}, resources=None)), item)
        return
    for container in (*spec.containers, *spec.init_containers):
        resources = container.resources
        who = f"container {container.name}" if container.name else "a container"
        yield from _outside(who, strict_amounts(resources.requests), strict_amounts(resources.limits), item)


def _outside(who: str, requests: Amounts, limits: Amounts, item: LimitRangeItem) -> Iterator[str]:
    for name, least in strict_amounts(item.min).items():
        if name not in requests:
            yield f"wants at least {amount_text(name, least)} of {who}, which requests none"
        for each in (requests, limits):
            if name in each and each[name] < least:
                yield f"wants at least {amount_text(name, least)} of {who}, which has {amount_text(name, each[name])}"
                break
    for name, most in strict_amounts(item.max).items():
        if name not in limits:
            yield f"allows {who} {amount_text(name, most)}, and it has no limit"
        for each in (limits, requests):
            if name in each and each[name] > most:
                yield f"allows {who} {amount_text(name, most)}, and it has {amount_text(name, each[name])}"
                break
    for name, written_ratio in item.max_limit_request_ratio.items():
        ratio = Quantity.parse(written_ratio)
        if not requests.get(name) or name not in limits:
            yield f"wants a request and a limit of {name} of {who}"
        elif limits[name] * NANO > ratio * requests[name]:
            yield f"allows {who} a limit of {ratio} times its request of {name}, and it has {amount_text(name, limits[name])} for {amount_text(name, requests[name])}"


def _of_runtime(
    spec: manifests.PlacedSpec, known: Mapping[str, manifests.RuntimeClass] | None
) -> tuple[manifests.PlacedSpec, list[str], list[str]]:
    name = spec.runtime_class_name
    if not name:
        return spec, [], []
    if known is None:
        return spec, [], [f"RuntimeClass {name} was not read: what its runtime takes is not counted"]
    found = known.get(name)
    if found is None:
        return spec, [f"there is no RuntimeClass {name}"], []
    refused = []
    overhead = found.overhead.pod_fixed
    if spec.overhead and strict_amounts(spec.overhead) != strict_amounts(overhead):
        refused.append(f"its overhead is not that of RuntimeClass {name}")
    selector = found.scheduling.node_selector
    for key, value in selector.items():
        if spec.node_selector.get(key, value) != value:
            refused.append(
                f"it selects {key}={spec.node_selector[key]}, and RuntimeClass {name} {key}={value}"
            )
    made = replace(
        spec,
        overhead=overhead or spec.overhead,
        node_selector={**selector, **spec.node_selector},
        tolerations=tuple(dict.fromkeys((*spec.tolerations, *found.scheduling.tolerations))),
    )
    return made, refused, []
