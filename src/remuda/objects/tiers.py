"""
`TierPolicy`: what a person writes about tiers, and the plain numbers it means.

Each tier may leave out what the built-in tier of its name says already; so may the policy as a whole.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from remuda.model.quantities import Quantity
from remuda.objects.kinds import Column, Complaint, Kind, Object
from remuda.objects.scalars import Count, LabelKey, LabelValue, ObjectName
from remuda.rules.tiers import Gpu, Sidecar, Tier, TierPolicy, Workload

Pattern = Annotated[str, Meta(min_length=1, max_length=253)]
#: all patterns of a list together, in letters: rules of the API server hold no more
MOST_LETTERS: Final = 20_000
#: above this value classes are the cluster's own
MOST_PRIORITY: Final = 1_000_000_000


class QuotaSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What the pods of a namespace may request together."""

    cpu: Annotated[Quantity | UnsetType, Meta(description="requests.cpu.")] = UNSET
    memory: Annotated[Quantity | UnsetType, Meta(description="requests.memory.")] = UNSET
    pods: Annotated[Count | UnsetType, Meta(description="How many pods.")] = UNSET


class TierSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One tier. What is left out is as in the built-in tier of this name; one of a new name says it all."""

    name: Annotated[ObjectName, Meta(description="As labels and names of namespaces say it, like 4-aux.")]
    default_cpu: Annotated[
        Quantity | UnsetType, Meta(description="The CPU request of a container that does not say.")
    ] = UNSET
    max_cpu: Annotated[
        Quantity | UnsetType, Meta(description="The most CPU that a container may request.")
    ] = UNSET
    default_memory: Annotated[
        Quantity | UnsetType, Meta(description="The memory of a container that does not say.")
    ] = UNSET
    max_memory: Annotated[
        Quantity | UnsetType, Meta(description="The most memory that a container may have.")
    ] = UNSET
    min_cpu: Annotated[
        Quantity | UnsetType, Meta(description="The least CPU request that right-sizing advises.")
    ] = UNSET
    min_memory: Annotated[
        Quantity | UnsetType, Meta(description="The least memory that right-sizing advises.")
    ] = UNSET
    quota: Annotated[QuotaSpec, Meta(description="What a namespace may request in all.")] = QuotaSpec()
    priority: Annotated[
        Annotated[int, Meta(ge=-MOST_PRIORITY, le=MOST_PRIORITY)] | UnsetType,
        Meta(description="The value of its PriorityClass."),
    ] = UNSET
    preempts: Annotated[
        bool, Meta(description="Whether its pods push out pods of lower priority when there is no room.")
    ] = True
    burst: Annotated[
        bool | UnsetType,
        Meta(
            description="Whether a memory request may be below its limit. A container that does not say gets defaultMemory"
            " as request and maxMemory as limit then, else defaultMemory as both."
        ),
    ] = UNSET


class SidecarSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What helper containers get that do not say, instead of the tier's defaults."""

    names: Annotated[
        tuple[Pattern, ...], Meta(min_length=1, max_length=100, description="Their names, with * and ?.")
    ]
    cpu: Annotated[Quantity, Meta(description="The CPU request.")] = Quantity.parse("10m")
    memory: Annotated[Quantity, Meta(description="The memory request.")] = Quantity.parse("32Mi")
    memory_limit: Annotated[Quantity, Meta(description="The memory limit.")] = Quantity.parse("80Mi")


class GpuSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How nodes with GPUs are known, marked and asked for."""

    device_label: Annotated[
        LabelKey, Meta(description="The label by which feature discovery marks a node with such a card.")
    ] = LabelKey("feature.node.kubernetes.io/pci-10de.present")
    device_value: Annotated[LabelValue, Meta(description="Its value.")] = LabelValue("true")
    feature_label: Annotated[LabelKey, Meta(description="The label that pods select.")] = LabelKey(
        "nvidia.com/gpu.present"
    )
    feature_value: Annotated[LabelValue, Meta(description="Its value.")] = LabelValue("true")
    taint_key: Annotated[LabelKey, Meta(description="The key of the taint of such nodes.")] = LabelKey(
        "nvidia.com/gpu"
    )
    taint_value: Annotated[LabelValue, Meta(description="Its value.")] = LabelValue("true")
    taint_effect: Annotated[Literal["PreferNoSchedule", "NoSchedule"], Meta(description="Its effect.")] = (
        "PreferNoSchedule"
    )
    resource: Annotated[LabelKey, Meta(description="The resource that pods request.")] = LabelKey(
        "nvidia.com/gpu"
    )


class GuaranteedSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Workloads whose CPU limits are meant, since they are to be Guaranteed. Names may have * and ?."""

    namespace: Annotated[Pattern, Meta(description="Of these namespaces.")]
    kind: Annotated[Pattern, Meta(description="Of this kind, as in Deployment.")] = "*"
    name: Annotated[Pattern, Meta(description="Of these names.")] = "*"


def _tier(name: str, memory: str, most: str, cpu: str, most_cpu: str, quota: str, priority: int) -> TierSpec:
    requests_cpu, requests_memory, pods = quota.split(" / ")
    return TierSpec(
        ObjectName(name),
        default_cpu=Quantity.parse(cpu),
        max_cpu=Quantity.parse(most_cpu),
        default_memory=Quantity.parse(memory),
        max_memory=Quantity.parse(most),
        quota=QuotaSpec(Quantity.parse(requests_cpu), Quantity.parse(requests_memory), int(pods)),
        priority=priority,
        burst=name[0] in "34",
    )


#: what holds where a policy says nothing else
BUILT_IN: Final = {
    spec.name: spec
    for spec in (
        _tier("0-core", "512Mi", "8Gi", "500m", "4", "32 / 64Gi / 100", 900_000),
        _tier("1-cluster", "512Mi", "4Gi", "500m", "2", "16 / 32Gi / 30", 700_000),
        _tier("2-gpu", "2Gi", "16Gi", "1", "8", "48 / 96Gi / 40", 500_000),
        _tier("3-edge", "256Mi", "4Gi", "250m", "2", "16 / 32Gi / 30", 300_000),
        _tier("4-aux", "256Mi", "4Gi", "250m", "2", "8 / 16Gi / 20", 200_000),
    )
}
SYSTEM: Final = ("kube-*", "openshift-*", "calico-*", "tigera-operator", "metallb-system", "kyverno")
CSI_SIDECARS: Final = SidecarSpec(
    ("*driver-registrar*", "*csi-provisioner*", "*csi-attacher*", "*csi-resizer*", "*csi-snapshotter*")
)


class TierPolicySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The classes of service of namespaces: their defaults, limits, quotas and priorities."""

    tiers: Annotated[
        tuple[TierSpec, ...],
        Meta(max_length=100, description="Tiers of one's own, and what differs from the built-in ones."),
    ] = ()
    tier_label: Annotated[
        LabelKey, Meta(description="The label that says the tier of a namespace; tier is understood, too.")
    ] = LabelKey("remuda.dev/tier")
    default_tier: Annotated[
        ObjectName | UnsetType,
        Meta(description="The tier of a namespace that says none. Such a one is left alone by default."),
    ] = UNSET
    namespaces: Annotated[
        tuple[Pattern, ...],
        Meta(max_length=1_000, description="The namespaces it is for, with * and ?. All by default."),
    ] = ("*",)
    excluded: Annotated[
        tuple[Pattern, ...],
        Meta(max_length=1_000, description="Namespaces it is not for. By default those of the system."),
    ] = SYSTEM
    cpu_limits: Annotated[
        Literal["warn", "deny", "strip"],
        Meta(
            description="What happens to a pod with a CPU limit: a warning, a refusal, or it loses the limit."
        ),
    ] = "warn"
    sidecars: Annotated[
        tuple[SidecarSpec, ...],
        Meta(max_length=100, description="Helper containers with sizes of their own."),
    ] = (CSI_SIDECARS,)
    gpu: Annotated[
        GpuSpec | None, Meta(description="How GPUs are known; null where none are to be looked after.")
    ] = GpuSpec()
    quota_opt_out: Annotated[
        LabelKey, Meta(description="A namespace where this label is true keeps a quota of its own, or none.")
    ] = LabelKey("remuda.dev/own-quota")
    limits_opt_out: Annotated[
        LabelKey,
        Meta(description="A namespace where this label is true keeps a LimitRange of its own, or none."),
    ] = LabelKey("remuda.dev/own-limits")
    guaranteed: Annotated[
        tuple[GuaranteedSpec, ...],
        Meta(max_length=1_000, description="Workloads whose CPU limits are meant."),
    ] = ()


class TierPolicyStatus(Struct, frozen=True, rename="camel"):
    """What became of a policy."""

    namespaces: Annotated[int, Meta(description="Namespaces that have a tier by it.")] = 0
    settled: Annotated[int, Meta(description="Those of them that have all that their tier gives.")] = 0


def merged(spec: TierSpec) -> TierSpec:
    """A tier with what it leaves out taken from the built-in one of its name."""
    known = BUILT_IN.get(spec.name)
    if known is None:
        return spec
    made = {
        field: getattr(known, field) if getattr(spec, field) is UNSET else getattr(spec, field)
        for field in spec.__struct_fields__
        if field != "quota"
    }
    quota = {
        field: getattr(known.quota if getattr(spec.quota, field) is UNSET else spec.quota, field)
        for field in QuotaSpec.__struct_fields__
    }
    return TierSpec(**made, quota=QuotaSpec(**quota))


def _missing(spec: TierSpec) -> Iterator[str]:
    for field, name in (
        ("default_cpu", "defaultCpu"),
        ("max_cpu", "maxCpu"),
        ("default_memory", "defaultMemory"),
        ("max_memory", "maxMemory"),
        ("priority", "priority"),
    ):
        if getattr(spec, field) is UNSET:
            yield name
    yield from (
        f"quota.{field}" for field in QuotaSpec.__struct_fields__ if getattr(spec.quota, field) is UNSET
    )


def check_policy(item: Object[TierPolicySpec]) -> Iterator[Complaint]:
    """What a policy alone gets wrong."""
    seen: set[str] = set()
    for n, spec in enumerate(item.spec.tiers):
        path = f"spec.tiers[{n}]"
        if spec.name in seen:
            yield f"{path}.name", f"tier {spec.name} is there twice"
        seen.add(spec.name)
        whole = merged(spec)
        if missing := list(_missing(whole)):
            yield path, f"tier {spec.name} is not built in and must say {', '.join(missing)}"
        else:
            yield from _contradictions(path, whole)
    known = {*BUILT_IN, *seen}
    default = item.spec.default_tier
    if default is not UNSET and default not in known:
        yield "spec.defaultTier", f"there is no tier {default}: there are {', '.join(sorted(known))}"
    yield from _too_long(item.spec)
    for n, sidecar in enumerate(item.spec.sidecars):
        if sidecar.memory > sidecar.memory_limit:
            path = f"spec.sidecars[{n}].memory"
            yield path, f"is {sidecar.memory}, above memoryLimit {sidecar.memory_limit}", f"{path}Limit"


def _too_long(spec: TierPolicySpec) -> Iterator[Complaint]:
    """Lists of patterns that are longer than rules of admission can be."""
    for name, patterns in (
        ("namespaces", spec.namespaces),
        ("excluded", spec.excluded),
        ("sidecars", [name for each in spec.sidecars for name in each.names]),
        (
            "guaranteed",
            [text for each in spec.guaranteed for text in (each.namespace, each.kind, each.name)],
        ),
    ):
        if (letters := sum(map(len, patterns))) > MOST_LETTERS:
            words = f"has patterns of {letters:,} letters: rules of the API server hold {MOST_LETTERS:,}, so use * for what is alike"
            yield f"spec.{name}", words


def _contradictions(path: str, tier: Any) -> Iterator[Complaint]:
    """Amounts of a whole tier that cannot all hold."""
    for low, high in (
        ("default_memory", "max_memory"),
        ("default_cpu", "max_cpu"),
        ("min_memory", "max_memory"),
        ("min_cpu", "max_cpu"),
    ):
        less, more = getattr(tier, low), getattr(tier, high)
        if less is not UNSET and less > more:
            names = (_camel(low), _camel(high))
            yield f"{path}.{names[0]}", f"is {less}, above {names[1]} {more}", f"{path}.{names[1]}"
    for field, name, unit in (
        ("default_memory", "defaultMemory", "memory"),
        ("default_cpu", "defaultCpu", "cpu"),
    ):
        if not getattr(tier, field):
            yield f"{path}.{name}", "is 0: a container without resources would get nothing"
        quota = getattr(tier.quota, unit)
        if quota < getattr(tier, field):
            words = (
                f"is {quota}, below {name} {getattr(tier, field)}: not one pod without resources could start"
            )
            yield f"{path}.quota.{unit}", words, f"{path}.{name}"
    if not tier.quota.pods:
        yield f"{path}.quota.pods", "is 0: not one pod could start"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def policy_of(name: str, spec: TierPolicySpec) -> TierPolicy:
    """A checked policy as plain numbers."""
    written = {each.name: merged(each) for each in spec.tiers}
    tiers = [_plain(each) for each in {**BUILT_IN, **written}.values()]
    tiers.sort(key=lambda tier: (-tier.priority, tier.name))
    return TierPolicy(
        name,
        {tier.name: tier for tier in tiers},
        str(spec.tier_label),
        namespaces=spec.namespaces,
        excluded=spec.excluded,
        default_tier=None if isinstance(spec.default_tier, UnsetType) else str(spec.default_tier),
        cpu_limits=spec.cpu_limits,
        sidecars=tuple(
            Sidecar(each.names, each.cpu.milli, each.memory.bytes, each.memory_limit.bytes)
            for each in spec.sidecars
        ),
        gpu=None if spec.gpu is None else _gpu(spec.gpu),
        quota_opt_out=str(spec.quota_opt_out),
        limits_opt_out=str(spec.limits_opt_out),
        guaranteed=tuple(Workload(each.namespace, each.kind, each.name) for each in spec.guaranteed),
    )


def _plain(spec: Any) -> Tier:
    return Tier(
        str(spec.name),
        default_cpu=spec.default_cpu.milli,
        default_memory=spec.default_memory.bytes,
        max_cpu=spec.max_cpu.milli,
        max_memory=spec.max_memory.bytes,
        quota={
            "requests.cpu": spec.quota.cpu.milli,
            "requests.memory": spec.quota.memory.bytes,
            "pods": spec.quota.pods,
        },
        priority=spec.priority,
        preempts=spec.preempts,
        burst=spec.burst is True,
        min_cpu=None if spec.min_cpu is UNSET else spec.min_cpu.milli,
        min_memory=None if spec.min_memory is UNSET else spec.min_memory.bytes,
    )


def _gpu(spec: GpuSpec) -> Gpu:
    return Gpu(
        str(spec.device_label),
        str(spec.device_value),
        str(spec.feature_label),
        str(spec.feature_value),
        (str(spec.taint_key), str(spec.taint_value), spec.taint_effect),
        str(spec.resource),
    )


TIER_POLICY: Final = Kind(
    "TierPolicy",
    "tierpolicies",
    TierPolicySpec,
    ("tp",),
    check_policy,
    columns=(
        Column("Namespaces", "integer", ".status.namespaces"),
        Column("Settled", "integer", ".status.settled"),
    ),
    status=TierPolicyStatus,
)
#: what holds where nobody wrote a policy
DEFAULT_POLICY: Final = policy_of("default", TierPolicySpec())
