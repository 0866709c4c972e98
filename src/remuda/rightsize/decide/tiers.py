"""
Which tier a workload is of, and what that means for its sizes.

Where TierPolicies are given, tiers are theirs, by the rules of `remuda.rules.tiers`. Where none is, tiers are known by the
digit that a label begins with, 0 to 4, and nothing is bounded but by what a RightsizePolicy of old says of these digits.
"""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct, UnsetType

from remuda.model.findings import Finding
from remuda.rightsize.decide.context import Bounds, SizingTier
from remuda.rightsize.decide.findings import finding
from remuda.rightsize.estimate.estimator import Amounts, floors
from remuda.rightsize.objects import RightsizePolicySpec, WorkloadSpec
from remuda.rightsize.snapshot import Snapshot, Workload
from remuda.rules.tiers import (
    PLAIN_LABEL,
    Membership,
    Tier,
    TierPolicy,
    tier_of_name,
    tier_of_workload,
)
from remuda.rules.tiers import tier_of as membership_of

#: tiers below this digit request their memory in full, where no TierPolicy says it
_FIRST_BURST = 3


class SizingTiers(Struct, frozen=True):
    """The TierPolicies that sizes go by."""

    policies: tuple[TierPolicy, ...] = ()
    #: nobody wrote them: they say which tier a namespace has, and bound nothing
    are_built_in: bool = True

    @property
    def gpus(self) -> tuple[str, ...]:
        """Resources that are GPUs."""
        return tuple(policy.gpu.resource for policy in self.policies if policy.gpu is not None)


#: tiers by digits, and by nothing else
NO_POLICY = SizingTiers()


class Tiered(Struct, frozen=True):
    """A tier, None for none, and who says so."""

    tier: SizingTier | None
    why: str
    findings: tuple[Finding, ...] = ()


def tier_of(
    workload: Workload, snapshot: Snapshot, policy: RightsizePolicySpec, tiers: SizingTiers
) -> Tiered:
    """By the policy of sizes, by the workload's label, by its namespace, by a default; else none."""
    labels = snapshot.namespaces.get(workload.id.namespace, {})
    if tiers.are_built_in:
        return _by_digit(workload, labels, policy, tiers.policies)
    return _by_policies(workload, labels, policy, tiers.policies)


def _by_policies(
    workload: Workload, labels: dict[str, str], policy: RightsizePolicySpec, policies: tuple[TierPolicy, ...]
) -> Tiered:
    namespace = workload.id.namespace
    membership = membership_of(namespace, labels, policies)
    governing = next((each for each in policies if each.name == membership.policy), None)
    if governing is None:
        if not membership.problem:
            return Tiered(None, f"no TierPolicy is for namespace {namespace}")
        unclear = finding("tier-unclear", "warning", f"Namespace {namespace}", policies=membership.other)
        return Tiered(None, f"TierPolicies {membership.other} all claim namespace {namespace}", (unclear,))
    findings = tuple(_unread(workload, membership, governing))
    name, why = _named(workload, membership, governing, policy)
    return Tiered(_sizing(governing.tiers[name], governing) if name else None, why, findings)


def _named(
    workload: Workload, membership: Membership, governing: TierPolicy, policy: RightsizePolicySpec
) -> tuple[str, str]:
    """The tier by its name, none where there is none, and who says so."""
    for spec in matching(workload, policy):
        if spec.tier is not None and (said := find_tier(str(spec.tier), governing.tiers)):
            return said, f"the policy says so of {spec.kind} {spec.namespace}/{spec.name}"
    if own := tier_of_workload(workload.labels, "", governing):
        label = next(key for key in (governing.label, PLAIN_LABEL) if workload.labels.get(key) == own)
        return own, f"its label {label} is {own}"
    name = membership.tier
    match membership.origin:
        case "label":
            return name, f"its namespace's label {membership.label} is {membership.value}"
        case "prefix":
            return name, f"its namespace's name begins with {name}"
        case "default":
            return name, f"the defaultTier of TierPolicy {governing.name}"
    return "", f"no label {governing.label} or {PLAIN_LABEL}, and no default in TierPolicy {governing.name}"


def _unread(workload: Workload, membership: Membership, governing: TierPolicy) -> Iterator[Finding]:
    """Labels that should say a tier of the policy; what others mean by `tier` of a workload is theirs."""
    known = ", ".join(governing.tiers)
    places = [(str(workload.id), governing.label, workload.labels.get(governing.label))]
    if membership.problem == "unknown-tier":
        places.append((f"Namespace {workload.id.namespace}", membership.label, membership.value))
    for name, label, value in places:
        if value is not None and value not in governing.tiers:
            where = f"metadata.labels[{label}]"
            yield finding("tier-not-read", "warning", name, where, value=value, known=known)


def find_tier(said: str, names: Iterable[str]) -> str:
    """The tier that is meant by its name, or by the digit that its name begins with."""
    return next((name for name in names if name == said or name.partition("-")[0] == said), "")


def _sizing(tier: Tier, policy: TierPolicy) -> SizingTier:
    return SizingTier(
        tier.name,
        read_tier(tier.name),
        is_burst=tier.burst,
        who=f"tier {tier.name} of TierPolicy {policy.name}",
        is_named=True,
        cpu=Bounds(tier.min_cpu, tier.max_cpu),
        memory=Bounds(tier.min_memory, tier.max_memory),
    )


def _by_digit(
    workload: Workload, labels: dict[str, str], policy: RightsizePolicySpec, built_in: tuple[TierPolicy, ...]
) -> Tiered:
    for spec in matching(workload, policy):
        if spec.tier is not None and (said := read_tier(str(spec.tier))) is not None:
            who = f"the policy says so of {spec.kind} {spec.namespace}/{spec.name}"
            return Tiered(_numbered(said, policy), who)
    namespace = workload.id.namespace
    keys = tuple(_labels(policy, built_in))
    unread: list[Finding] = []
    places = (
        (str(workload.id), workload.labels, "its label"),
        (f"Namespace {namespace}", labels, "its namespace's label"),
    )
    for name, found, who in places:
        for label in keys:
            value = found.get(label)
            if value is None:
                continue
            tier = read_tier(value)
            if tier is not None:
                return Tiered(_numbered(tier, policy), f"{who} {label} is {value}", tuple(unread))
            unread.append(finding("tier-not-read", "warning", name, f"metadata.labels[{label}]", value=value))
    if not is_of_old(policy):
        for each in built_in:
            if prefix := tier_of_name(namespace, each):
                why = f"its namespace's name begins with {prefix}"
                return Tiered(_numbered(int(prefix[0]), policy), why, tuple(unread))
    if policy.default_tier is not None:
        return Tiered(_numbered(policy.default_tier, policy), "the policy's defaultTier", tuple(unread))
    return Tiered(None, f"no label {' or '.join(keys)}, and nothing in the policy", tuple(unread))


def is_of_old(policy: RightsizePolicySpec) -> bool:
    """Whether a policy of sizes says about tiers itself, as it did before there was a TierPolicy."""
    return (
        bool(policy.tiers) or policy.default_tier is not None or not isinstance(policy.tier_label, UnsetType)
    )


def _labels(policy: RightsizePolicySpec, built_in: tuple[TierPolicy, ...]) -> Iterator[str]:
    if not isinstance(policy.tier_label, UnsetType):
        yield str(policy.tier_label)
        return
    if not is_of_old(policy):
        yield from (each.label for each in built_in)
    yield PLAIN_LABEL


def read_tier(value: str) -> int | None:
    """The number that a label begins with; None where that is no tier."""
    digits = value[: len(value) - len(value.lstrip("0123456789"))]
    return int(digits) if len(digits) == 1 and digits in "01234" else None


def _numbered(tier: int, policy: RightsizePolicySpec) -> SizingTier:
    found = next((spec for spec in policy.tiers if spec.tier == tier), None)
    cpu = memory = Bounds()
    if found is not None:
        cpu = Bounds(
            None if found.min_cpu is None else found.min_cpu.milli,
            None if found.max_cpu is None else found.max_cpu.milli,
        )
        memory = Bounds(
            None if found.min_memory is None else found.min_memory.bytes,
            None if found.max_memory is None else found.max_memory.bytes,
        )
    return SizingTier(
        str(tier),
        tier,
        is_burst=tier >= _FIRST_BURST,
        who=f"the policy of tier {tier}",
        cpu=cpu,
        memory=memory,
    )


def matching(workload: Workload, policy: RightsizePolicySpec) -> Iterator[WorkloadSpec]:
    """What the policy says of a workload; the first that says a thing counts."""
    namespace, kind, name = workload.id
    for spec in policy.workloads:
        if (
            fnmatchcase(namespace, spec.namespace)
            and fnmatchcase(kind, spec.kind)
            and fnmatchcase(name, spec.name)
        ):
            yield spec


def minimum_of(workload: Workload, container: str, policy: RightsizePolicySpec) -> tuple[Amounts, str]:
    """What the estimate of a container is not below, and who says so of memory."""
    said = policy.minimums
    of_pod = floors(max(1, len(workload.containers)), Amounts(said.pod_cpu.milli, said.pod_memory.bytes))
    cpu = of_pod.cpu_millicores if said.container_cpu is None else said.container_cpu.milli
    memory = of_pod.memory_bytes if said.container_memory is None else said.container_memory.bytes
    of = [spec for spec in matching(workload, policy) if fnmatchcase(container, spec.container)]
    of_cpu = next((spec.min_cpu for spec in of if spec.min_cpu is not None), None)
    of_memory = next((spec.min_memory for spec in of if spec.min_memory is not None), None)
    who = (
        "the least that the policy says of it"
        if of_memory is not None or said.container_memory is not None
        else "this container's share of a pod's floor"
    )
    return Amounts(
        cpu if of_cpu is None else of_cpu.milli, memory if of_memory is None else of_memory.bytes
    ), who
