"""What LimitRanges make of the pods of a template, as the API server does it, before anything else looks at them."""

from collections.abc import Iterable

from msgspec.structs import replace

from remuda.model.amounts import Amounts, already_read, pod_sizes
from remuda.rules.tiers import Tier
from remuda.tiers.snapshot import Container, Containers, LimitRangeItem


def tier_item(tier: Tier) -> LimitRangeItem:
    """What a tier's own LimitRange says, as the API server keeps it."""
    return LimitRangeItem(
        "Container",
        {"memory": tier.default_limit},
        {"cpu": tier.default_cpu, "memory": tier.default_memory},
        max={"memory": tier.max_memory},
    )


def kept(item: LimitRangeItem) -> LimitRangeItem:
    """An item as the API server keeps it: what is left out of defaults comes from limits and bounds."""
    if item.type != "Container":
        return item
    default = item.max | item.default
    return replace(item, default=default, default_request=item.min | default | item.default_request)


def filled(pod: Containers, items: Iterable[LimitRangeItem]) -> Containers:
    """A pod with what LimitRanges give containers that do not say."""
    limits: Amounts = {}
    requests: Amounts = {}
    for item in map(kept, items):
        if item.type == "Container":
            limits = item.default | limits
            requests = item.default_request | requests

    def fill(container: Container) -> Container:
        return replace(container, requests=requests | container.asks, limits=limits | container.limits)

    made = replace(pod, all=tuple(map(fill, pod.all)))
    asked, limited = pod_sizes(made, already_read)
    return replace(made, requests=asked, limits=limited)
