"""How much a pod asks for and may use: quantities read strictly, and what its containers come to as Kubernetes counts them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from remuda.capacity.world import Amounts
from remuda.capacity.written import Container, PodSpec, Resources
from remuda.model.quantities import Quantity


def amount(name: str, written: object) -> int:
    """A quantity in millicores for `cpu`, else in whole units. `ValueError` says what is wrong with it."""
    if type(written) is str:
        return _milli(written) if name == "cpu" else _whole(written)
    read = Quantity.parse(written)
    return read.milli if name == "cpu" else read.bytes


def amounts(written: Mapping[str, Any]) -> Amounts:
    """All of them; `ValueError` for the first that is none."""
    return {name: amount(name, value) for name, value in written.items()}


@lru_cache(maxsize=65_536)
def _milli(text: str) -> int:
    return Quantity.parse(text).milli


@lru_cache(maxsize=65_536)
def _whole(text: str) -> int:
    return Quantity.parse(text).bytes


def pod_sizes(spec: PodSpec) -> tuple[Amounts, Amounts]:
    """
    What a pod requests and what limits it, as the scheduler and quotas count them.

    Containers run together, and with them first containers that never end. Other first containers run one by one before,
    beside those of the never-ending that began earlier. A limit without a request is the request, too.
    """
    requests: Amounts = {}
    limits: Amounts = {}
    for container in spec.containers:
        asked, limited = _sizes(container.resources)
        _add(requests, asked)
        _add(limits, limited)
    if spec.init_containers:
        _first_containers(spec.init_containers, requests, limits)
    if spec.resources is not None:
        limited = amounts(spec.resources.limits)
        requests = limited | requests | amounts(spec.resources.requests)
        limits |= limited
    if spec.overhead:
        extra = amounts(spec.overhead)
        _add(requests, extra)
        # Overhead raises a limit and is none by itself.
        _add(limits, {name: value for name, value in extra.items() if name in limits})
    return requests, limits


def _first_containers(containers: tuple[Container, ...], requests: Amounts, limits: Amounts) -> None:
    lasting: tuple[Amounts, Amounts] = ({}, {})
    peaks: list[tuple[Amounts, Amounts]] = []
    for container in containers:
        sizes = _sizes(container.resources)
        for beside, own in zip(lasting, sizes, strict=True):
            if container.restart_policy == "Always":
                _add(beside, own)
            else:
                _add(own, beside)
        peaks.append(sizes)
    for number, total in enumerate((requests, limits)):
        _add(total, lasting[number])
        for peak in peaks:
            for name, value in peak[number].items():
                total[name] = max(total.get(name, 0), value)


def _sizes(resources: Resources) -> tuple[Amounts, Amounts]:
    limits = amounts(resources.limits)
    return limits | amounts(resources.requests), limits


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value
