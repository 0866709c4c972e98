"""A namespace as it is judged: its tier, what bounds it, and what runs in it, pods of one workload and make together."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term
from remuda.model.workloads import WorkloadId
from remuda.rules.tiers import Membership, Tier, TierPolicy, tier_of, tier_of_workload
from remuda.tiers.decide.cel import RUNNER_LABELS, TIER_CLASS
from remuda.tiers.decide.defaults import filled, tier_item
from remuda.tiers.decide.desired import LIMITS_NAME
from remuda.tiers.snapshot import (
    Containers,
    Defaulted,
    LimitRange,
    LimitRangeItem,
    Pod,
    PodSpec,
    PriorityClass,
    Quota,
    Snapshot,
    Workload,
)

T = TypeVar("T")
#: how classes of the system begin
_SYSTEM = "system-"
#: what a class carries that counts runners against a ceiling
_COUNTED_BY = "remuda.dev/capacity-policy"


class Batch(Struct, frozen=True):
    """Pods of one workload that are made alike and not over: `pods` are theirs, by name."""

    owner: WorkloadId
    spec: PodSpec
    defaulted: tuple[Defaulted, ...]
    pods: tuple[Pod, ...]

    @property
    def labels(self) -> Mapping[str, str]:
        """Of one of them: they are made alike."""
        return self.pods[0].labels

    @property
    def is_runner(self) -> bool:
        """Whether GitHub's controller made them: one that is refused or changed is lost for good."""
        return is_runner(self.labels)


class Place:
    """A namespace that has a tier."""

    def __init__(
        self,
        name: str,
        labels: Mapping[str, str],
        member: Membership,
        policy: TierPolicy,
        snapshot: Snapshot,
        parts: "Parts",
    ) -> None:
        self.name = name
        self.labels = labels
        self.member = member
        self.policy = policy
        self.tier: Tier = policy.tiers[member.tier]
        self.snapshot = snapshot
        self.workloads: tuple[Workload, ...] = parts.workloads.get(name, ())
        self.batches: tuple[Batch, ...] = parts.batches.get(name, ())
        self.limit_ranges: tuple[LimitRange, ...] = parts.limit_ranges.get(name, ())
        self.quotas: tuple[Quota, ...] = parts.quotas.get(name, ())
        self._classes = parts.classes

    @property
    def keeps_limits(self) -> bool:
        """Whether it keeps a LimitRange of its own, or none."""
        return self.labels.get(self.policy.limits_opt_out) == "true"

    @property
    def keeps_quota(self) -> bool:
        """Whether it keeps a quota of its own, or none."""
        return self.labels.get(self.policy.quota_opt_out) == "true"

    @cached_property
    def items(self) -> tuple[LimitRangeItem, ...]:
        """What LimitRanges say here, with that of its tier as it should be."""
        own = () if self.keeps_limits else (tier_item(self.tier),)
        others = [each for each in self.limit_ranges if self.keeps_limits or each.name != LIMITS_NAME]
        return (*own, *(item for each in others for item in each.items))

    def made_of(self, pod: Containers) -> Containers:
        """A pod of a template, as it would be stored here."""
        return filled(pod, self.items)

    def tier_for(self, labels: Mapping[str, str]) -> Tier:
        """The tier that decides the priority of a workload with these labels."""
        return self.policy.tiers[tier_of_workload(labels, self.tier.name, self.policy)]

    def has_own_class(self, name: str) -> bool:
        """Whether a PriorityClass is a pod's own: no tier's, and not what the cluster gives everybody."""
        known = self._classes.get(name)
        return bool(name) and not name.startswith(TIER_CLASS) and not (known is not None and known.is_default)

    def why_own(self, name: str) -> str:
        """Why pods have a class of their own, as far as it is known."""
        known = self._classes.get(name)
        if name.startswith(_SYSTEM):
            return " (the system's)"
        policy = known.labels.get(_COUNTED_BY, "") if known else ""
        return f" (counted by CapacityPolicy {policy})" if policy else ""

    @cached_property
    def by_workload(self) -> dict[WorkloadId, tuple[Batch, ...]]:
        """The pods of each workload."""
        found: dict[WorkloadId, list[Batch]] = {}
        for batch in self.batches:
            found.setdefault(batch.owner, []).append(batch)
        return {owner: tuple(batches) for owner, batches in found.items()}

    def about(self, rule: str, severity: Severity, field: str = "", **terms: Term) -> Finding:
        """A finding about the namespace itself."""
        return self.found(f"Namespace {self.name}", rule, severity, field, **terms)

    def about_workload(
        self, who: WorkloadId, rule: str, severity: Severity, field: str = "", **terms: Term
    ) -> Finding:
        """A finding about a workload, or about a pod of nobody."""
        return self.found(str(who), rule, severity, field, **terms)

    def found(self, subject: str, rule: str, severity: Severity, field: str = "", **terms: Term) -> Finding:
        """A finding about anything here."""
        return Finding(
            f"tiers.{rule}", severity, subject, field, {"tier": self.tier.name, **terms}, self.name
        )


class Parts(Struct, frozen=True):
    """What a snapshot holds, by namespace."""

    workloads: dict[str, tuple[Workload, ...]]
    batches: dict[str, tuple[Batch, ...]]
    limit_ranges: dict[str, tuple[LimitRange, ...]]
    quotas: dict[str, tuple[Quota, ...]]
    #: by name
    classes: dict[str, PriorityClass]


def parts_of(snapshot: Snapshot) -> Parts:
    """A snapshot by namespace."""
    return Parts(
        _by_namespace((each.id.namespace, each) for each in snapshot.workloads),
        _by_namespace((each.owner.namespace, each) for each in _batches(snapshot.pods)),
        _by_namespace((each.namespace, each) for each in snapshot.limit_ranges),
        _by_namespace((each.namespace, each) for each in snapshot.quotas),
        {each.name: each for each in snapshot.priority_classes},
    )


def _by_namespace(items: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    found: dict[str, list[T]] = {}
    for namespace, item in items:
        found.setdefault(namespace, []).append(item)
    return {namespace: tuple(some) for namespace, some in found.items()}


def _batches(pods: Iterable[Pod]) -> Iterator[Batch]:
    """Pods of one workload that are made alike, together; those of files of a node are nobody's to change."""
    alike: dict[tuple[WorkloadId, int, str, int], list[Pod]] = {}
    for pod in pods:
        if not pod.is_over and not pod.is_static:
            # equal ones are the same objects (`remuda.tiers.observe.pods`); those of a DaemonSet differ in their node alone
            spec = pod.spec
            key = (pod.owner, id(spec.containers), spec.priority_class, id(pod.defaulted))
            alike.setdefault(key, []).append(pod)
    for (owner, *_), found in alike.items():
        yield Batch(owner, found[0].spec, found[0].defaulted, tuple(found))


def places_of(
    snapshot: Snapshot, policies: Iterable[TierPolicy]
) -> tuple[dict[str, Membership], list[Place]]:
    """The membership of each namespace, and those that have a tier."""
    known = {policy.name: policy for policy in policies}
    members = {name: tier_of(name, labels, known.values()) for name, labels in snapshot.namespaces.items()}
    parts = parts_of(snapshot)
    places = [
        Place(name, snapshot.namespaces[name], member, known[member.policy], snapshot, parts)
        for name, member in members.items()
        if member.tier
    ]
    return members, places


def is_runner(labels: Mapping[str, str]) -> bool:
    """Whether a pod is made by GitHub's controller for runners."""
    return any(label in labels for label in RUNNER_LABELS)
