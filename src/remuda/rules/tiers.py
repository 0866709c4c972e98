"""
Tiers: the classes of service of namespaces, and which one a namespace has.

`TierPolicy` here is a policy as plain numbers, with the built-in tiers filled in; `remuda.objects.tiers` makes it of what a
person wrote. Several jobs go by it: tiers keeps namespaces to it, right-sizing takes its bounds from it.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct

#: understood on namespaces and workloads whatever label a policy names
PLAIN_LABEL = "tier"
CpuLimits: TypeAlias = Literal["warn", "deny", "strip"]


class Tier(Struct, frozen=True):
    """One class of service: processor shares in millicores, memory in bytes."""

    name: str
    #: what a container gets that does not say
    default_cpu: int
    default_memory: int
    #: the most that a container may request of CPU, and may have of memory
    max_cpu: int
    max_memory: int
    #: what the pods of a namespace may request together: `requests.cpu`, `requests.memory` and `pods`
    quota: dict[str, int]
    priority: int
    #: whether pods of this tier push others out when there is no room
    preempts: bool = True
    #: whether a memory request may be below its limit; a container that does not say gets the maximum as its limit then
    burst: bool = False
    #: the least that a container may be advised, where that is said
    min_cpu: int | None = None
    min_memory: int | None = None

    @property
    def priority_class(self) -> str:
        """The PriorityClass of its pods."""
        return f"tier-{self.name}"

    @property
    def default_limit(self) -> int:
        """The memory limit of a container that does not say."""
        return self.max_memory if self.burst else self.default_memory


class Sidecar(Struct, frozen=True):
    """What a helper container gets that does not say: names with `*` and `?`, millicores and bytes."""

    names: tuple[str, ...]
    cpu: int
    memory: int
    memory_limit: int


class Gpu(Struct, frozen=True):
    """How nodes with GPUs are known, marked and asked for."""

    #: label and value by which feature discovery marks a node that carries such a card
    device_label: str
    device_value: str
    #: label and value that pods select
    feature_label: str
    feature_value: str
    #: key, value and effect
    taint: tuple[str, str, str]
    resource: str


class Workload(Struct, frozen=True):
    """Workloads that want a Guaranteed pod: their CPU limits are meant."""

    namespace: str
    kind: str
    name: str


class TierPolicy(Struct, frozen=True):
    """A policy with nothing left out."""

    name: str
    #: by name, the most important first
    tiers: dict[str, Tier]
    label: str
    namespaces: tuple[str, ...] = ("*",)
    excluded: tuple[str, ...] = ()
    default_tier: str | None = None
    cpu_limits: CpuLimits = "warn"
    sidecars: tuple[Sidecar, ...] = ()
    gpu: Gpu | None = None
    #: labels of a namespace that, when `true`, keep its quota or its limits out of this policy's hands
    quota_opt_out: str = ""
    limits_opt_out: str = ""
    guaranteed: tuple[Workload, ...] = ()

    def governs(self, namespace: str) -> bool:
        """Whether a namespace is of this policy, by its name."""
        return _matches(namespace, self.namespaces) and not _matches(namespace, self.excluded)


#: why a namespace has no tier, or one that should be looked at
Problem: TypeAlias = Literal["", "two-policies", "unknown-tier", "labels-disagree", "prefix-disagrees"]
#: what says which tier it is
Origin: TypeAlias = Literal["", "label", "prefix", "default"]


class Membership(Struct, frozen=True):
    """The tier of a namespace: by whom, by what, and what is wrong with that. Without a tier it is left alone."""

    policy: str = ""
    tier: str = ""
    origin: Origin = ""
    problem: Problem = ""
    #: the label that was read, or that is wrong, and its value
    label: str = ""
    value: str = ""
    #: what disagrees with it: another label's value, the tier of its prefix, or the names of two policies
    other: str = ""


def tier_of(name: str, labels: Mapping[str, str], policies: Iterable[TierPolicy]) -> Membership:
    """
    The tier of a namespace: by its label, by how its name begins, by the default of its policy; else none.

    A label says it before a name does. What is in doubt, two policies or a tier that does not exist, is no tier.
    """
    governing = [policy for policy in policies if policy.governs(name)]
    if not governing:
        return Membership()
    if len(governing) > 1:
        return Membership(
            problem="two-policies", other=", ".join(sorted(policy.name for policy in governing))
        )
    return _in_policy(name, labels, governing[0])


def _in_policy(name: str, labels: Mapping[str, str], policy: TierPolicy) -> Membership:
    prefix = tier_of_name(name, policy)
    said = [(key, labels[key]) for key in dict.fromkeys((policy.label, PLAIN_LABEL)) if key in labels]
    if not said:
        if prefix:
            return Membership(policy.name, prefix, "prefix")
        default = policy.default_tier or ""
        return Membership(policy.name, default, "default" if default else "")
    label, value = said[0]
    if value not in policy.tiers:
        return Membership(policy.name, problem="unknown-tier", label=label, value=value)
    problem: Problem = ""
    other = ""
    if len(said) > 1 and said[1][1] != value:
        problem, other = "labels-disagree", said[1][1]
    elif prefix and prefix != value:
        problem, other = "prefix-disagrees", prefix
    return Membership(policy.name, value, "label", problem, label, value, other)


def tier_of_name(name: str, policy: TierPolicy) -> str:
    """The tier that a namespace's name begins with, as `0-core-dns` does; nothing where none does."""
    found = [tier for tier in policy.tiers if name == tier or name.startswith(f"{tier}-")]
    return max(found, key=len, default="")


def tier_of_workload(labels: Mapping[str, str], namespace: str, policy: TierPolicy) -> str:
    """The tier that a workload's own label says, for its sizing and priority alone; else that of its namespace."""
    for key in dict.fromkeys((policy.label, PLAIN_LABEL)):
        if labels.get(key) in policy.tiers:
            return labels[key]
    return namespace


def sidecar_of(container: str, policy: TierPolicy) -> Sidecar | None:
    """What the policy gives a container by its name, if it is a known helper."""
    return next((each for each in policy.sidecars if _matches(container, each.names)), None)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_guaranteed(namespace: str, kind: str, name: str, policy: TierPolicy) -> bool:
    """Whether a workload is one of those whose CPU limits are meant."""
    return any(
        fnmatchcase(namespace, each.namespace)
        and fnmatchcase(kind, each.kind)
        and fnmatchcase(name, each.name)
        for each in policy.guaranteed
    )
