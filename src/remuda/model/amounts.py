"""How much of something a node has and a pod asks for."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from remuda.model.quantities import Quantity

#: amounts of resources: processor shares in thousandths, everything else in whole units
Amounts: TypeAlias = dict[str, int]

KVM = "devices.kubevirt.io/kvm"


class Resources(Protocol):
    """Requests and limits as they are written."""

    @property
    def requests(self) -> Mapping[str, object]: ...  # noqa: D102 - as the class says
    @property
    def limits(self) -> Mapping[str, object]: ...  # noqa: D102


class Container(Protocol):
    """A container; a first container that is always restarted runs beside the others."""

    @property
    def resources(self) -> Resources: ...  # noqa: D102 - what it takes
    @property
    def restart_policy(self) -> str: ...  # noqa: D102 - of first containers alone


class Containers(Protocol):
    """What a pod is made of, in whichever projection it was read."""

    @property
    def containers(self) -> Sequence[Container]: ...  # noqa: D102 - all run together
    @property
    def init_containers(self) -> Sequence[Container]: ...  # noqa: D102 - one after the other, before
    @property
    def overhead(self) -> Mapping[str, object]: ...  # noqa: D102 - what the runtime takes beside them
    @property
    def resources(self) -> Resources | None: ...  # noqa: D102 - of the pod as a whole


def amount(name: str, written: object) -> int:
    """A quantity in millicores for `cpu`, else in whole units. `ValueError` says what is wrong with it."""
    if type(written) is str:
        return _milli(written) if name == "cpu" else _whole(written)
    read = Quantity.parse(written)
    return read.milli if name == "cpu" else read.bytes


@lru_cache(maxsize=65_536)
def _milli(text: str) -> int:
    return Quantity.parse(text).milli


@lru_cache(maxsize=65_536)
def _whole(text: str) -> int:
    return Quantity.parse(text).bytes


def strict_amounts(written: Mapping[str, object]) -> Amounts:
    """Quantities as whole numbers; `ValueError` for the first that is none."""
    return {name: amount(name, value) for name, value in written.items()}


def amounts(written: Mapping[str, object]) -> Amounts:
    """Quantities as whole numbers; what is no quantity is left out."""
    made: Amounts = {}
    for name, value in written.items():
        try:
            made[name] = amount(name, value)
        except ValueError:
            continue
    return made


def already_read(known: Mapping[str, Any]) -> Amounts:
    """Amounts that are whole numbers already, as a copy."""
    return dict(known)


_Read: TypeAlias = Callable[[Mapping[str, object]], Amounts]


def pod_sizes(spec: Containers, read: _Read = strict_amounts) -> tuple[Amounts, Amounts]:
    """
    What a pod requests and what limits it, as the scheduler and quotas count them.

    Containers run together, and with them first containers that never end. Other first containers run one by one before,
    beside those of the never-ending that began earlier. A limit without a request is the request, too.
    """
    requests: Amounts = {}
    limits: Amounts = {}
    for container in spec.containers:
        asked, limited = _sizes(container.resources, read)
        _add(requests, asked)
        _add(limits, limited)
    if spec.init_containers:
        _first_containers(spec.init_containers, requests, limits, read)
    if spec.resources is not None:
        limited = read(spec.resources.limits)
        requests = limited | requests | read(spec.resources.requests)
        limits |= limited
    if spec.overhead:
        extra = read(spec.overhead)
        _add(requests, extra)
        # Overhead raises a limit and is none by itself.
        _add(limits, {name: value for name, value in extra.items() if name in limits})
    return requests, limits


def as_written(spec: Containers) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Requests and limits of a pod as they are written, where one container has them all; else none."""
    if len(spec.containers) != 1 or spec.init_containers or spec.overhead or spec.resources is not None:
        return {}, {}
    resources = spec.containers[0].resources
    return {**resources.limits, **resources.requests}, resources.limits


def asks_of(spec: Containers) -> Amounts:
    """What a pod takes of a node: its requests, without those that are no quantities, and its place among the pods."""
    requests, _ = pod_sizes(spec, amounts)
    return {"pods": 1, **requests}


def _first_containers(
    containers: Sequence[Container], requests: Amounts, limits: Amounts, read: _Read
) -> None:
    lasting: tuple[Amounts, Amounts] = ({}, {})
    peaks: list[tuple[Amounts, Amounts]] = []
    for container in containers:
        sizes = _sizes(container.resources, read)
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


def _sizes(resources: Resources, read: _Read) -> tuple[Amounts, Amounts]:
    limits = read(resources.limits)
    return limits | read(resources.requests), limits


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value
