"""What a pod template asks for, and which containers were killed."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from remuda.model.amounts import amount
from remuda.model.manifests import Quantities
from remuda.model.times import SECOND, read_instant
from remuda.rightsize import manifests
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.snapshot import Ask, Container, InitContainer, Size

_KILLED: Final = "OOMKilled"
_SIZED: Final = ("cpu", "memory")


class Killed(Struct, frozen=True, gc=False):
    """A container that ran out of memory, when, what it had requested, and its limit; None is not known."""

    container: str
    at: Second | None
    requested: int | None
    limit: int | None


def ask(amounts: Quantities) -> Ask:
    """The amounts of both resources; `ValueError` for what is none."""
    cpu, memory = (amount(name, amounts[name]) if name in amounts else None for name in _SIZED)
    return Ask(cpu, memory)


def containers_of(spec: manifests.PodSpec) -> Iterator[Container]:
    """Those that run as long as the pod does; what only comes before them is not sized by what it uses."""
    for index, each in enumerate(spec.containers):
        yield _container(each, index, is_sidecar=False)
    for index, each in enumerate(spec.init_containers):
        if each.restart_policy == "Always":
            yield _container(each, index, is_sidecar=True)


def initial_of(spec: manifests.PodSpec) -> Iterator[InitContainer]:
    """Those that end before the others start, each with the sidecars that run by then."""
    sidecars: list[str] = []
    for each in spec.init_containers:
        if each.restart_policy == "Always":
            sidecars.append(each.name)
        else:
            size = Size(ask(each.resources.requests), ask(each.resources.limits))
            yield InitContainer(each.name, size, tuple(sidecars))


def _container(item: manifests.Container, index: int, *, is_sidecar: bool) -> Container:
    asked = item.resources
    return Container(
        item.name,
        Size(ask(asked.requests), ask(asked.limits)),
        _others(asked.limits),
        is_sidecar,
        _others(asked.requests),
        index,
        {
            part: {name: str(value) for name, value in amounts.items()}
            for part, amounts in (("requests", asked.requests), ("limits", asked.limits))
            if amounts
        },
        claims=tuple(each.name for each in asked.claims),
    )


def _others(amounts: Quantities) -> dict[str, str]:
    return {name: str(value) for name, value in amounts.items() if name not in _SIZED}


def kills_of(pod: manifests.Pod) -> Iterator[Killed]:
    """
    Each container of a pod that ran out of memory: as it is now, and the one before.

    Of a container that says its limit alone, that is its request, too.
    """
    status = pod.status
    for each in (*status.container_statuses, *status.init_container_statuses):
        for state in (each.last_state, each.state):
            if state.terminated is not None and state.terminated.reason == _KILLED:
                asked = _asked(pod.spec, each.name)
                limit = asked.limits.memory_bytes
                requested = asked.requests.memory_bytes
                yield Killed(
                    each.name,
                    second_of(state.terminated.finished_at),
                    limit if requested is None else requested,
                    limit,
                )


def limited_of(spec: manifests.PodSpec) -> dict[str, bool]:
    """Each container of a pod, and whether it has a CPU limit."""
    return {each.name: "cpu" in each.resources.limits for each in (*spec.containers, *spec.init_containers)}


def _asked(spec: manifests.PodSpec, container: str) -> Size:
    for each in (*spec.containers, *spec.init_containers):
        if each.name == container:
            return Size(ask(each.resources.requests), ask(each.resources.limits))
    return Size()


def second_of(text: str | None) -> Second | None:
    """A time; what is no time, or none after 1970, as Go writes it where there is none, is None."""
    try:
        at = read_instant(text or "") // SECOND
    except (ValueError, OverflowError):
        return None
    return at if at > 0 else None


def strimzi_place(item: manifests.PodSet) -> str:
    """Where Strimzi's operator takes the sizes of a set of pods from, by the labels that it writes."""
    labels, namespace = item.metadata.labels, item.metadata.namespace
    cluster = labels.get("strimzi.io/cluster", "")
    kind, pool = labels.get("strimzi.io/kind", "Kafka"), labels.get("strimzi.io/pool-name", "")
    if pool:
        return f"spec.resources of KafkaNodePool {namespace}/{pool}"
    if kind != "Kafka":
        return f"spec.resources of {kind} {namespace}/{cluster or item.metadata.name}"
    part = "zookeeper" if item.metadata.name.endswith("-zookeeper") else "kafka"
    return (
        f"spec.{part}.resources of Kafka {namespace}/{cluster or item.metadata.name.removesuffix(f'-{part}')}"
    )
