"""
The quality of service a pod really has, as the API server decides it, and what it lacks to be Guaranteed.

Without CPU limits a pod is Burstable, however its memory is given: Guaranteed wants a limit of both, equal to the request.
Where a pod has resources as a whole, these alone decide.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from remuda.model.amounts import Amounts
from remuda.tiers.snapshot import Container, Containers

Qos: TypeAlias = Literal["Guaranteed", "Burstable", "BestEffort"]
#: the resources that count
_COUNTED = ("cpu", "memory")


def qos_of(pod: Containers) -> Qos:
    """The class of a pod, or of the pods of a template: there a limit without a request is the request, too."""
    parts = _parts(pod)
    if not any(_positive(part) for each in parts for part in (each.asks, each.limits)):
        return "BestEffort"
    return "Burstable" if any(_lacks(each) for each in parts) or not _is_equal(parts) else "Guaranteed"


def _parts(pod: Containers) -> tuple[Container, ...]:
    return pod.all if pod.pod is None else (pod.pod,)


def _positive(amounts: Amounts) -> set[str]:
    return {name for name in _COUNTED if amounts.get(name)}


def _lacks(part: Container) -> bool:
    return len(_positive(part.limits)) < len(_COUNTED)


def _is_equal(parts: Iterable[Container]) -> bool:
    """Whether what all request together is what limits them together, which is how the API server compares."""
    found = list(parts)
    return all(
        sum(each.asks.get(name, 0) for each in found) == sum(each.limits.get(name, 0) for each in found)
        for name in _COUNTED
    )


def missing_for_guaranteed(pod: Containers) -> Iterator[str]:
    """What keeps a pod from being Guaranteed, part by part: `app: no cpu limit`."""
    for part in _parts(pod):
        who = part.name or "spec.resources"
        for name in _COUNTED:
            limit, asked = part.limits.get(name), part.asks.get(name)
            if not limit:
                yield f"{who}: no {name} limit"
            elif asked != limit:
                yield f"{who}: {name} request is not its limit"
