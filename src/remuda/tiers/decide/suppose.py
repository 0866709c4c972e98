"""
What another policy, another tier of a namespace or one more workload would do, before anybody makes the change.

Both worlds, with and without the change, are judged as if policies were applied and every pod made anew by them. So what differs
is of the change, and not of what waits to be applied.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from remuda.model.findings import Finding
from remuda.rules.tiers import PLAIN_LABEL, Membership, Tier, TierPolicy, tier_of
from remuda.tiers.decide.audit import Audit, audit
from remuda.tiers.decide.context import Place, places_of
from remuda.tiers.decide.defaults import tier_item
from remuda.tiers.decide.desired import LIMITS_NAME, MANAGED_BY, POLICY_LABEL, quota_name
from remuda.tiers.decide.headroom import Tight, charge, rooms_of, tight_of
from remuda.tiers.decide.why_placing import why_unplaced
from remuda.tiers.snapshot import LimitRange, Node, Pod, PriorityClass, Quota, Snapshot, Workload


class Change(Struct, frozen=True):
    """What is supposed; nothing of it by default."""

    #: instead of those that there are
    policies: tuple[TierPolicy, ...] | None = None
    #: namespace → the tier that its label would say; one that is not there is new
    tiers: Mapping[str, str] = {}
    workloads: tuple[Workload, ...] = ()


class Moved(Struct, frozen=True):
    """A namespace whose tier the change gives, takes or changes; nothing is none."""

    namespace: str
    before: str
    after: str


class First(Struct, frozen=True):
    """Who goes first when a node runs out of memory: namespace and name, nothing where nobody is measured."""

    node: str
    before: str
    after: str


class Fit(Struct, frozen=True):
    """Whether a supposed workload would run: how many of its pods the quota admits, and why no node takes them, if none does."""

    workload: Workload
    tier: str
    tight: Tight | None
    unplaced: Finding | None


class Outcome(Struct, frozen=True):
    """What the change would do."""

    appears: tuple[Finding, ...]
    goes: tuple[Finding, ...]
    moved: tuple[Moved, ...]
    first: tuple[First, ...]
    fits: tuple[Fit, ...]


def outcome_of(snapshot: Snapshot, policies: tuple[TierPolicy, ...], change: Change) -> Outcome:
    """Judge both worlds, and tell them apart."""
    after_policies = policies if change.policies is None else change.policies
    changed = _changed(snapshot, after_policies, change)
    before = audit(applied(snapshot, policies), policies, snapshot.at)
    after = audit(applied(changed, after_policies), after_policies, snapshot.at)
    return Outcome(
        _missing(after.findings, before.findings),
        _missing(before.findings, after.findings),
        tuple(_moved(before, after)),
        tuple(_firsts(before, after)),
        tuple(_fits(after, change.workloads)),
    )


def _changed(snapshot: Snapshot, policies: tuple[TierPolicy, ...], change: Change) -> Snapshot:
    namespaces = dict(snapshot.namespaces)
    for name, tier in change.tiers.items():
        labels = namespaces.get(name, {})
        said = [key for key in (*(policy.label for policy in policies), PLAIN_LABEL) if key in labels]
        namespaces[name] = labels | dict.fromkeys(said or [PLAIN_LABEL], tier)
    return replace(snapshot, namespaces=namespaces, workloads=(*snapshot.workloads, *change.workloads))


def applied(snapshot: Snapshot, policies: tuple[TierPolicy, ...]) -> Snapshot:
    """A world after `remuda tiers apply`, with every pod made anew."""
    _, places = places_of(snapshot, policies)
    by_name = {place.name: place for place in places}
    made = {
        tier.priority_class: PriorityClass(
            tier.priority_class,
            tier.priority,
            _labels(policy),
            preemption_policy="PreemptLowerPriority" if tier.preempts else "Never",
        )
        for policy in policies
        for tier in policy.tiers.values()
    }
    return replace(
        snapshot,
        limit_ranges=(
            *(each for each in snapshot.limit_ranges if not _is_ours(each.labels)),
            *(
                LimitRange(place.name, LIMITS_NAME, _labels(place.policy), (tier_item(place.tier),))
                for place in places
                if not place.keeps_limits
            ),
        ),
        quotas=(
            *(each for each in snapshot.quotas if not _is_ours(each.labels)),
            *(_quota(place) for place in places if not place.keeps_quota),
        ),
        priority_classes=(
            *(each for each in snapshot.priority_classes if each.name not in made),
            *made.values(),
        ),
        pods=tuple(_made_anew(pod, by_name.get(pod.namespace)) for pod in snapshot.pods),
        unknown=tuple(
            each
            for each in snapshot.unknown
            if each.part not in {"limitranges", "resourcequotas", "priorityclasses"}
        ),
    )


def _made_anew(pod: Pod, place: Place | None) -> Pod:
    if place is None or pod.is_static or place.has_own_class(pod.spec.priority_class):
        return pod
    tier = place.tier_for(pod.labels)
    return replace(pod, spec=replace(pod.spec, priority_class=tier.priority_class, priority=tier.priority))


def _quota(place: Place) -> Quota:
    """What its tier gives, of which so much is taken as the controllers counted, or else as the pods ask for."""
    name, hard = quota_name(place.name), place.tier.quota
    counted: Mapping[str, int] = next(
        (each.used for each in place.quotas if each.name == name and each.enforced), {}
    )
    used = {
        resource: counted.get(
            resource,
            sum(charge(resource, batch.spec.containers) * len(batch.pods) for batch in place.batches),
        )
        for resource in hard
    }
    return Quota(place.name, name, _labels(place.policy), dict(hard), dict(hard), used)


def _labels(policy: TierPolicy) -> dict[str, str]:
    return {MANAGED_BY[0]: MANAGED_BY[1], POLICY_LABEL: policy.name}


def _is_ours(labels: Mapping[str, str]) -> bool:
    return POLICY_LABEL in labels


def _missing(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that the others do not have; the same rule about the same thing is the same, whatever its numbers."""
    known = {(each.code, each.subject, each.field) for each in others}
    return tuple(each for each in findings if (each.code, each.subject, each.field) not in known)


def _moved(before: Audit, after: Audit) -> Iterable[Moved]:
    old, new = _members(before), _members(after)
    for name in sorted({*old, *new}):
        tiers = [found.get(name, Membership()).tier for found in (old, new)]
        if tiers[0] != tiers[1]:
            yield Moved(name, *tiers)


def _members(judged: Audit) -> dict[str, Membership]:
    return {
        name: tier_of(name, labels, judged.policies) for name, labels in judged.snapshot.namespaces.items()
    }


def _firsts(before: Audit, after: Audit) -> Iterable[First]:
    for old, new in zip(before.nodes, after.nodes, strict=True):
        goes = [
            next((rank.pod.id for rank in each.order if rank.used is not None), "") for each in (old, new)
        ]
        if goes[0] != goes[1]:
            yield First(old.node.name, *goes)


def _fits(after: Audit, workloads: Iterable[Workload]) -> Iterable[Fit]:
    _, places = places_of(after.snapshot, after.policies)
    by_name = {place.name: place for place in places}
    for workload in workloads:
        place = by_name.get(workload.id.namespace)
        containers = workload.spec.containers if place is None else place.made_of(workload.spec.containers)
        tier: Tier | None = None if place is None else place.tier_for(workload.pod_labels)
        spec = replace(workload.spec, containers=containers, priority=0 if tier is None else tier.priority)
        pod = Pod(workload.id.namespace, workload.id.name, workload.id, spec, phase="Pending")
        gpu = None if place is None else place.policy.gpu
        nodes: tuple[Node, ...] = after.snapshot.nodes
        causes = list(why_unplaced(pod, after.snapshot, gpu)) if nodes else []
        yield Fit(
            workload,
            "" if tier is None else tier.name,
            None if place is None else tight_of(containers, rooms_of(place)),
            next((each for each in causes if each.rule != "pod-unplaced"), None),
        )
