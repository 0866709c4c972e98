"""`RightsizePolicy`: what a team writes about classes, minimums and prices of its workloads. Tiers are a TierPolicy's."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import UNSET, Meta, Struct, UnsetType, field

from remuda.model.quantities import Quantity
from remuda.model.times import DAY, HOUR, Duration
from remuda.objects.kinds import Complaint, Kind, Object
from remuda.objects.scalars import LabelKey, ObjectName

Tier = Annotated[int, Meta(ge=0, le=4)]
Pattern = Annotated[str, Meta(min_length=1, max_length=253)]


class Price(float):
    """Money per hour."""

    json_schema: ClassVar[dict[str, object]] = {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "minimum": 0,
    }
    example: ClassVar[str] = "0.031"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a number of at least 0."""
        try:
            made = cls(text) if isinstance(text, (int, float, str)) and not isinstance(text, bool) else None
        except ValueError:
            made = None
        if made is None or not 0 <= made < 1_000_000:
            raise ValueError(f"{text!r:.60} is no price: write money per hour, like {cls.example}")
        return made


class TierName(ObjectName):
    """A tier by its name, or a built-in one by the digit that its name begins with."""

    __slots__ = ()
    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "integer", "minimum": 0, "maximum": 4}, ObjectName.json_schema]
    }
    example: ClassVar[str] = "2-gpu"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a digit from 0 to 4, or a name."""
        if isinstance(text, int) and not isinstance(text, bool):
            if not 0 <= text <= 4:
                raise ValueError(
                    f"{text} is no tier: write a digit from 0 to 4, or a name like {cls.example}"
                )
            return cls(text)
        return super().parse(text)


class TierSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Bounds of what a container of a tier may ask for."""

    tier: Annotated[Tier, Meta(description="0, the most important, to 4.")]
    min_cpu: Annotated[Quantity | None, Meta(description="The least CPU request.")] = None
    max_cpu: Annotated[Quantity | None, Meta(description="The most CPU request.")] = None
    min_memory: Annotated[Quantity | None, Meta(description="The least memory, request and limit.")] = None
    max_memory: Annotated[Quantity | None, Meta(description="The most memory, request and limit.")] = None


class WorkloadSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is known of some workloads. Names may have * and ?; of several that match, the first says it."""

    namespace: Annotated[Pattern, Meta(description="Of these namespaces. Every one by default.")] = "*"
    kind: Annotated[Pattern, Meta(description="Of this kind, as in Deployment. Every one by default.")] = "*"
    name: Annotated[Pattern, Meta(description="Of these names. Every one by default.")] = "*"
    class_: Annotated[
        Literal["stable", "volatile", "gpu"] | None,
        Meta(description="How even its use of memory is. By its daily peaks by default."),
    ] = field(default=None, name="class")
    tier: Annotated[
        TierName | None,
        Meta(description="Its tier, by name or by a digit from 0 to 4. By its label by default."),
    ] = None
    container: Annotated[
        Pattern, Meta(description="The containers that minCpu and minMemory are of. Every one by default.")
    ] = "*"
    min_cpu: Annotated[
        Quantity | None,
        Meta(description="The least CPU of such a container, instead of its share of minimums."),
    ] = None
    min_memory: Annotated[
        Quantity | None,
        Meta(description="The least memory of such a container, instead of its share of minimums."),
    ] = None


class MinimumsSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What no estimate is below, as flags of the Vertical Pod Autoscaler's recommender say it; its containers share what is a pod's."""

    pod_cpu: Annotated[
        Quantity, Meta(description="Of all containers of a pod: --pod-recommendation-min-cpu-millicores.")
    ] = Quantity.parse("25m")
    pod_memory: Annotated[
        Quantity, Meta(description="Of all containers of a pod: --pod-recommendation-min-memory-mb.")
    ] = Quantity.parse("250Mi")
    container_cpu: Annotated[Quantity | None, Meta(description="Of each container, instead of a share.")] = (
        None
    )
    container_memory: Annotated[
        Quantity | None, Meta(description="Of each container, instead of a share.")
    ] = None


class PricesSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What requests cost."""

    cpu: Annotated[Price, Meta(description="Of a core for an hour.")]
    memory: Annotated[Price, Meta(description="Of a GiB for an hour.")]
    currency: Annotated[str, Meta(max_length=8, description="What it is in.")] = "USD"


class RightsizePolicySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How the sizes of workloads are judged: classes, minimums, prices, and how often they are reviewed; tiers are a TierPolicy's."""

    review_every: Annotated[
        Duration, Meta(description="Until the next review: what leaks must not reach its limit before it.")
    ] = Duration(90 * DAY)
    history: Annotated[Duration, Meta(description="How far back use is looked at.")] = Duration(8 * DAY)
    tier_label: Annotated[
        LabelKey | UnsetType,
        Meta(
            description="Write a TierPolicy instead. The label of a workload or its namespace that begins with its tier, as"
            " 0-core does."
        ),
    ] = UNSET
    class_label: Annotated[
        LabelKey, Meta(description="The label of a workload that says stable, volatile or gpu.")
    ] = LabelKey("remuda.dev/usage")
    default_tier: Annotated[
        Tier | None, Meta(description="Write a TierPolicy instead. The tier of what has none.")
    ] = None
    tiers: Annotated[
        tuple[TierSpec, ...], Meta(description="Write a TierPolicy instead. Bounds by tier.")
    ] = ()
    workloads: Annotated[tuple[WorkloadSpec, ...], Meta(description="What is known of some workloads.")] = ()
    prices: Annotated[PricesSpec | None, Meta(description="For waste in money.")] = None
    minimums: Annotated[MinimumsSpec, Meta(description="What no estimate is below.")] = MinimumsSpec()


def check_policy(item: Object[RightsizePolicySpec]) -> Iterator[Complaint]:
    """What a policy alone gets wrong."""
    spec = item.spec
    if not HOUR <= spec.history <= 90 * DAY:
        yield "spec.history", f"is {spec.history}: from 1h to 90d can be looked at"
    if not DAY <= spec.review_every <= 3650 * DAY:
        yield "spec.reviewEvery", f"is {spec.review_every}: write from 1d to 3650d"
    seen: set[int] = set()
    for n, tier in enumerate(spec.tiers):
        path = f"spec.tiers[{n}]"
        if tier.tier in seen:
            yield f"{path}.tier", f"tier {tier.tier} is there twice"
        seen.add(tier.tier)
        for what, least, most in (
            ("Cpu", tier.min_cpu, tier.max_cpu),
            ("Memory", tier.min_memory, tier.max_memory),
        ):
            if least is not None and most is not None and least > most:
                yield f"{path}.min{what}", f"is {least}, above max{what} {most}", f"{path}.max{what}"


RIGHTSIZE_POLICY = Kind("RightsizePolicy", "rightsizepolicies", RightsizePolicySpec, ("rsp",), check_policy)
