"""
The order in which a kubelet evicts pods when its node runs out of memory, as its own code ranks them.

First go pods that were not measured, then those that use more than they request, whatever their tier; among these the lowest
priority first, and among equal ones that which uses most above its request. Neither the class of quality of service nor
limits are looked at. Pods of files of the node, and those with a priority of the system, are never evicted.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from remuda.model.amounts import already_read, pod_sizes
from remuda.tiers.snapshot import Containers, Key, Pod, PodMemory

#: priorities from here on are the system's own
SYSTEM_PRIORITY = 2_000_000_000
#: resources of a pod as a whole that count: with any of them, containers are not asked
_OF_PODS = ("cpu", "memory")


class Rank(Struct, frozen=True, gc=False):
    """A pod's place: the lowest goes first."""

    pod: Pod
    #: bytes; None was not measured
    used: int | None
    request: int

    @property
    def above(self) -> int | None:
        """How much more it uses than it requests, below zero for less; None was not measured."""
        return None if self.used is None else self.used - self.request

    @property
    def order(self) -> tuple[bool, bool, int, int]:
        """What kubelets compare."""
        above = self.above
        return (
            above is not None,
            not (above is not None and above > 0),
            self.pod.spec.priority or 0,
            -(above or 0),
        )


def ranked(pods: Iterable[Pod], used: Mapping[Key, PodMemory]) -> list[Rank]:
    """
    Pods of one node, the first to go first; those alike by their names, of which kubelets say nothing.

    Who is never evicted is not among them.
    """
    found = [
        Rank(pod, measured.all if (measured := used.get((pod.namespace, pod.name))) else None, memory_request(pod.spec.containers))
        for pod in pods
        if pod.runs and not is_critical(pod)
    ]  # fmt: skip
    return sorted(found, key=lambda rank: (rank.order, rank.pod.id))


def is_critical(pod: Pod) -> bool:
    """Whether a kubelet never evicts it."""
    return pod.is_static or (pod.spec.priority or 0) >= SYSTEM_PRIORITY


def memory_request(pod: Containers) -> int:
    """What kubelets take for the request of a pod: overhead counts only beside something."""
    if pod.pod is None and not pod.overhead:
        return pod.requests.get("memory", 0)
    if pod.pod is not None and any(_counts(name) for name in (*pod.pod.requests, *pod.pod.limits)):
        asked = pod.pod.requests.get("memory", 0)
    else:
        bare = Containers(pod.all)
        asked = pod_sizes(bare, already_read)[0].get("memory", 0)
    return asked + pod.overhead.get("memory", 0) if asked else 0


def _counts(name: str) -> bool:
    return name in _OF_PODS or name.startswith("hugepages-")
