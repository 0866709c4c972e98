"""
An audit: which tier each namespace has and how much of its quota is left, what nodes have promised, and every finding.

It reads nothing and changes nothing. Parts that could not be read lead to no finding but that they were not read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from remuda.model.findings import SEVERITIES, Finding, Severity
from remuda.model.times import Instant
from remuda.rules.tiers import Membership, TierPolicy
from remuda.tiers.decide.context import Place, places_of
from remuda.tiers.decide.findings_namespaces import of_classes, of_members, of_objects
from remuda.tiers.decide.findings_nodes import NodeAudit, nodes_of, of_nodes, of_order
from remuda.tiers.decide.findings_placing import gpu_nodes, of_placement
from remuda.tiers.decide.findings_pods import of_priorities, of_units, units_of
from remuda.tiers.decide.headroom import Room, of_headroom, rooms_of
from remuda.tiers.decide.qos import Qos, qos_of
from remuda.tiers.snapshot import NAMESPACES, Snapshot


class NamespaceAudit(Struct, frozen=True):
    """A namespace: its tier and by what, what runs there, and what its quotas leave."""

    name: str
    member: Membership
    #: pods that are not over
    pods: int
    qos: dict[Qos, int]
    rooms: tuple[Room, ...]


class Audit(Struct, frozen=True):
    """What an audit says."""

    snapshot: Snapshot
    policies: tuple[TierPolicy, ...]
    #: those of a policy, by name
    namespaces: tuple[NamespaceAudit, ...]
    nodes: tuple[NodeAudit, ...]
    #: the gravest first, those of one cause together
    findings: tuple[Finding, ...]
    now: Instant


def audit(snapshot: Snapshot, policies: Iterable[TierPolicy], now: Instant) -> Audit:
    """Judge every namespace and workload by its tier."""
    known = tuple(policies)
    members, places = places_of(snapshot, known)
    rooms = {place.name: rooms_of(place) for place in places}
    nodes = nodes_of(snapshot)
    found = [
        *_unread(snapshot),
        *of_members(members, known),
        *of_classes(places, known, snapshot),
        *_of_places(places, rooms, snapshot),
        *_never_guaranteed(places),
        *of_nodes(nodes, known, snapshot),
        *of_order(nodes, {place.name: place.tier.priority for place in places}),
    ]
    by_name = {place.name: place for place in places}
    namespaces = [
        _namespace(name, member, by_name.get(name), rooms.get(name, ()))
        for name, member in members.items()
        if member.policy or member.problem
    ]
    return Audit(snapshot, known, tuple(namespaces), nodes, _sorted(found), now)


def _of_places(
    places: Sequence[Place], rooms: dict[str, tuple[Room, ...]], snapshot: Snapshot
) -> Iterator[Finding]:
    autoscalers = {each.target: each for each in snapshot.autoscalers}
    with_gpu = {place.policy.name: place.policy for place in places}
    cards = {name: gpu_nodes(snapshot.nodes, policy.gpu) for name, policy in with_gpu.items()}
    for place in places:
        units = tuple(units_of(place))
        yield from of_objects(place)
        yield from of_units(place, units)
        yield from of_priorities(place)
        yield from of_placement(place, units, cards[place.policy.name])
        yield from of_headroom(place, rooms[place.name], autoscalers)


def _namespace(name: str, member: Membership, place: Place | None, rooms: tuple[Room, ...]) -> NamespaceAudit:
    batches = place.batches if place else ()
    qos: Counter[Qos] = Counter()
    for batch in batches:
        qos[qos_of(batch.spec.containers)] += len(batch.pods)
    return NamespaceAudit(name, member, sum(qos.values()), dict(sorted(qos.items())), rooms)


def _never_guaranteed(places: Iterable[Place]) -> Iterator[Finding]:
    """Pods whose memory is as it should be and that are Burstable all the same, for want of a CPU limit."""
    found: Counter[tuple[str, str]] = Counter()
    for place in places:
        for batch in place.batches:
            pod = batch.spec.containers
            memory = pod.requests.get("memory", 0)
            if (
                not place.tier.burst
                and memory
                and memory == pod.limits.get("memory")
                and qos_of(pod) == "Burstable"
            ):
                found[place.policy.name, place.tier.name] += len(batch.pods)
    for (policy, tier), count in sorted(found.items()):
        yield Finding(
            "tiers.burstable", "info", f"tier {tier}", "", {"tier": tier, "count": count, "policy": policy}
        )


def _unread(snapshot: Snapshot) -> Iterator[Finding]:
    for item in snapshot.unknown:
        if not item.is_quiet:
            # an audit that could not read namespaces must not say that all is well
            severity: Severity = "error" if item.part == NAMESPACES else "info"
            yield Finding("tiers.not-read", severity, item.part, "", {"message": item.why})


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first, those of one cause together, by name."""
    return tuple(
        sorted(
            findings,
            key=lambda each: (
                SEVERITIES.index(each.severity),
                each.code,
                each.subject,
                each.field,
                str(each.terms),
            ),
        )
    )
