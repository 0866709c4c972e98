"""
What quotas leave: for one more pod of each workload, for its rolling update, and for what its autoscaler may want.

A rolling update first makes new pods, as many as it may surge. When the quota refuses these it goes on only if some of the
old ones may be missing meanwhile; where none may, it stands still for good. What a percentage comes to is rounded up for pods
more and down for pods fewer, so that up to three pods with the usual quarter may not miss one.
"""

from collections.abc import Iterator

from msgspec import Struct

from remuda.model.amount_texts import quantity
from remuda.model.amounts import Amounts
from remuda.model.findings import Finding
from remuda.model.workloads import WorkloadId
from remuda.tiers.decide.context import Place
from remuda.tiers.snapshot import PODS, Autoscaler, Containers, Quota, Workload

#: kinds whose pods are all wanted at a time
_STEADY = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "Rollout"})
#: kinds that are replaced by more pods first
_ROLLING = frozenset({"Deployment", "Rollout", "DaemonSet"})


class Room(Struct, frozen=True):
    """What a quota has of a resource, and what is taken; amounts as in quotas."""

    quota: str
    resource: str
    hard: int
    used: int

    @property
    def free(self) -> int:
        """What is left; below zero where more is taken than allowed."""
        return self.hard - self.used

    @property
    def unit(self) -> str:
        """The resource without what is counted of it."""
        return self.resource.removeprefix("requests.").removeprefix("limits.")

    def text(self, amount: int) -> str:
        """An amount of it."""
        return quantity(self.unit, amount)


class Tight(Struct, frozen=True):
    """How many more pods fit, and where they end."""

    fits: int
    room: Room
    #: what one more takes of it
    needs: int

    def terms(self) -> dict[str, str]:
        """For sentences."""
        room = self.room
        return {
            "quota": room.quota,
            "resource": room.resource,
            "used": room.text(room.used),
            "hard": room.text(room.hard),
            "needs": room.text(self.needs),
        }


def rooms_of(place: Place) -> tuple[Room, ...]:
    """What each quota that counts all pods has left; where the controllers have not counted, by the pods there are."""
    return tuple(_rooms(place))


def _rooms(place: Place) -> Iterator[Room]:
    for quota in place.quotas:
        if quota.scopes:
            continue
        hard = quota.enforced or quota.hard
        for name, most in sorted(hard.items()):
            used = quota.used.get(name, 0) if quota.enforced else _taken(place, name)
            if used is not None:
                yield Room(quota.name, name, most, used)


def _taken(place: Place, resource: str) -> int | None:
    if place.snapshot.is_unknown(PODS):
        return None
    return sum(charge(resource, batch.spec.containers) * len(batch.pods) for batch in place.batches)


def charge(resource: str, pod: Containers) -> int:
    """What a pod takes of a quota's resource."""
    if resource in {"pods", "count/pods"}:
        return 1
    if resource.startswith("limits."):
        return pod.limits.get(resource.removeprefix("limits."), 0)
    return pod.requests.get(resource.removeprefix("requests."), 0)


def tight_of(pod: Containers, rooms: tuple[Room, ...], beside: int = 0) -> Tight | None:
    """How many more of a pod fit after so many; None where nothing bounds them."""
    found = [
        Tight(max(room.free // needs - beside, 0), room, needs)
        for room in rooms
        if (needs := charge(room.resource, pod))
    ]
    return min(found, key=lambda each: each.fits, default=None)


def of_headroom(
    place: Place, rooms: tuple[Room, ...], autoscalers: dict[WorkloadId, Autoscaler]
) -> Iterator[Finding]:
    """What cannot be created, rolled or scaled because a quota is full."""
    if not rooms:
        return
    for workload in place.workloads:
        pod = place.made_of(workload.spec.containers)
        missing = _missing(place, workload)
        if missing:
            tight = tight_of(pod, rooms)
            if tight is not None and tight.fits < missing:
                yield place.about_workload(
                    workload.id, "replicas-refused", "error", "spec.replicas",
                    replicas=workload.replicas, missing=missing, fits=tight.fits, **tight.terms(),
                )  # fmt: skip
                continue
        yield from _rolling(place, workload, pod, rooms, missing)
        scaler = autoscalers.get(workload.id)
        more = scaler.max - workload.replicas if scaler else 0
        tight = tight_of(pod, rooms)
        if scaler is not None and tight is not None and tight.fits < more:
            yield place.about_workload(
                workload.id, "autoscaler-above-quota", "info", "spec.maxReplicas of its autoscaler",
                autoscaler=scaler.name, most=scaler.max, reached=workload.replicas + tight.fits, **tight.terms(),
            )  # fmt: skip


def _missing(place: Place, workload: Workload) -> int:
    """Pods that are wanted and not there."""
    if workload.id.kind not in _STEADY or place.snapshot.is_unknown(PODS):
        return 0
    there = sum(len(batch.pods) for batch in place.by_workload.get(workload.id, ()))
    return max(workload.replicas - there, 0)


def _rolling(
    place: Place, workload: Workload, pod: Containers, rooms: tuple[Room, ...], missing: int
) -> Iterator[Finding]:
    if workload.id.kind not in _ROLLING or not workload.surge or not workload.replicas:
        return
    tight = tight_of(pod, rooms, missing)
    if tight is None or tight.fits:
        return
    rule, severity = ("rollout-slow", "info") if workload.unavailable else ("rollout-blocked", "error")
    field = "spec.updateStrategy" if workload.id.kind == "DaemonSet" else "spec.strategy"
    yield place.about_workload(
        workload.id, rule, "info" if severity == "info" else "error", field,
        surge=workload.surge, replicas=workload.replicas, unavailable=workload.unavailable, **tight.terms(),
    )  # fmt: skip


def sum_of_quotas(quotas: tuple[Quota, ...]) -> Amounts:
    """What quotas that count all pods promise together, of requests; of several in a namespace the smallest counts."""
    least: dict[tuple[str, str], int] = {}
    for quota in quotas:
        for name, most in quota.hard.items():
            resource = name.removeprefix("requests.")
            if not quota.scopes and resource in {"cpu", "memory", "pods"}:
                key = (quota.namespace, resource)
                least[key] = min(least.get(key, most), most)
    total: Amounts = {}
    for (_, resource), most in least.items():
        total[resource] = total.get(resource, 0) + most
    return total
