"""`FleetPolicy`: what an operator writes about a fleet, and the plain numbers that `decide` reads."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta, Struct, field

from remuda.fleet.policy import Policy, Quota, Rails, Weights
from remuda.fleet.scalars import Factor, Money, Rate, shown
from remuda.model.shapes import MILLION, CapacityType
from remuda.model.times import MINUTE, SECOND, Duration
from remuda.objects.kinds import Complaint, Object

_NEVER = -1


class Hold(int):
    """A length of time in milliseconds, or `never`."""

    json_schema: ClassVar[dict[str, Any]] = {
        "type": "string",
        "pattern": "^(never|0|([0-9]{1,9}(ms|d|h|m|s))+)$",
    }
    example: ClassVar[str] = "10m or never"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a duration or `never`."""
        if text == "never":
            return cls(_NEVER)
        try:
            return cls(Duration.parse(text))
        except ValueError:
            raise ValueError(f"{shown(text)} is no hold: write it like {cls.example}") from None

    def __str__(self) -> str:
        return "never" if self == _NEVER else str(Duration(self))


class Percent(int):
    """A percentage of 0 to 100, or `off`."""

    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "pattern": "^(off|[0-9]{1,3}%)$"}
    example: ClassVar[str] = "5% or off"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a percentage, which is text because of its sign, or `off`."""
        if text == "off":
            return cls(_NEVER)
        number = text[:-1] if isinstance(text, str) and text.endswith("%") else ""
        if not (number.isascii() and number.isdecimal() and len(number) <= 3 and int(number) <= 100):
            raise ValueError(f"{shown(text)} is no percentage of 0% to 100%: write it like {cls.example}")
        return cls(int(number))

    def __str__(self) -> str:
        return "off" if self == _NEVER else f"{int(self)}%"


class HoldsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """How long an idle machine that nobody needs is kept, by how it is paid for."""

    on_demand: Annotated[Hold, Meta(description="Paid by the hour.")] = field(
        default=Hold(10 * MINUTE), name="on-demand"
    )
    spot: Annotated[Hold, Meta(description="Paid by the hour, and may be taken away.")] = Hold(MINUTE)
    bare_metal: Annotated[Hold, Meta(description="Owned.")] = field(default=Hold(_NEVER), name="bare-metal")
    reserved: Annotated[Hold, Meta(description="Paid whether used or not.")] = Hold(_NEVER)


class WeightsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a victim of a preemption dear; the cheapest go first."""

    gap: Annotated[Rate, Meta(description="Dollars less for each point between the priorities.")] = Rate(
        1_000
    )
    drain: Annotated[Rate, Meta(description="Dollars for each second of its grace.")] = Rate(1_000)
    interruption: Annotated[Factor, Meta(description="Times its need's interruption penalty.")] = Factor(
        MILLION
    )
    reclamation: Annotated[Factor, Meta(description="Times its need's reclamation penalty.")] = Factor(
        MILLION
    )
    waste: Annotated[
        Rate, Meta(description="Dollars for each thousandth of it that the preemptor would not use.")
    ] = Rate(1_000)


class GraceSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a victim has to end what it does, where the priorities are far apart."""

    above: Annotated[
        Annotated[int, Meta(ge=0, le=4_294_967_295)], Meta(description="Where the gap is more than this.")
    ]
    grace: Annotated[Duration, Meta(description="How long.")]


class QuotaSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The most machines of a provider, of one region or instance type where these are given."""

    provider: Annotated[str, Meta(max_length=253, description="The provider.")]
    most: Annotated[Annotated[int, Meta(ge=0, le=1_000_000_000)], Meta(description="How many.")]
    region: Annotated[str, Meta(max_length=253, description="The region. Any by default.")] = ""
    instance_type: Annotated[str, Meta(max_length=253, description="The type. Any by default.")] = ""


class RailsSpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Bounds on what a mistake can cost."""

    reclaim: Annotated[
        Percent, Meta(description="Of a cluster's configured machines, reclaimed per minute; at least one.")
    ] = Percent(5)
    preempt: Annotated[Percent, Meta(description="Of the fleet, preempted per minute; at least one.")] = (
        Percent(2)
    )
    rollup: Annotated[
        Percent,
        Meta(description="Demand that falls under this share of the last is held until several agree."),
    ] = Percent(10)
    rollup_agreeing: Annotated[
        Annotated[int, Meta(ge=1, le=1_000)], Meta(description="How many in a row must agree.")
    ] = 3
    spending: Annotated[
        dict[str, Money], Meta(description="The most dollars per hour that each provider may cost.")
    ] = {}
    quotas: Annotated[
        tuple[QuotaSpec, ...], Meta(max_length=10_000, description="The most machines of providers.")
    ] = ()
    paused: Annotated[
        bool, Meta(description="The kill switch: everything is decided and reported, nothing is done.")
    ] = False


class FleetPolicySpec(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What an operator sets for a fleet: holds, weights, graces, patience and rails."""

    holds: Annotated[HoldsSpec, Meta(description="How long unneeded idle machines are kept.")] = HoldsSpec()
    weights: Annotated[WeightsSpec, Meta(description="What makes a victim dear.")] = WeightsSpec()
    graces: Annotated[
        tuple[GraceSpec, ...],
        Meta(max_length=100, description="How long victims have, by the gap of the priorities."),
    ] = (
        GraceSpec(900_000, Duration(10 * SECOND)),
        GraceSpec(500_000, Duration(30 * SECOND)),
        GraceSpec(100_000, Duration(2 * MINUTE)),
    )
    grace: Annotated[Duration, Meta(description="How long they have at smaller gaps.")] = Duration(
        10 * MINUTE
    )
    gang_patience: Annotated[
        Duration, Meta(description="How long a gang that lost a member may wait to be completed.")
    ] = Duration(10 * MINUTE)
    rails: Annotated[RailsSpec, Meta(description="Bounds on what a mistake can cost.")] = RailsSpec()


def policy_of(spec: FleetPolicySpec) -> Policy:
    """The same as plain numbers."""
    holds, rails, weights = spec.holds, spec.rails, spec.weights
    return Policy(
        holds={
            CapacityType.ON_DEMAND: _bound(holds.on_demand),
            CapacityType.SPOT: _bound(holds.spot),
            CapacityType.BARE_METAL: _bound(holds.bare_metal),
            CapacityType.RESERVED: _bound(holds.reserved),
        },
        weights=Weights(
            *map(int, (weights.gap, weights.drain, weights.interruption, weights.reclamation, weights.waste))
        ),
        graces=tuple(sorted(((step.above, int(step.grace)) for step in spec.graces), reverse=True)),
        grace=int(spec.grace),
        gang_patience=int(spec.gang_patience),
        rails=Rails(
            reclaim_percent=_bound(rails.reclaim),
            preempt_percent=_bound(rails.preempt),
            rollup_percent=_bound(rails.rollup),
            rollup_agreeing=rails.rollup_agreeing,
            spending={str(provider): int(most) for provider, most in rails.spending.items()},
            quotas=tuple(
                Quota(quota.provider, quota.most, quota.region, quota.instance_type) for quota in rails.quotas
            ),
            paused=rails.paused,
        ),
    )


def _bound(value: int) -> int | None:
    return None if value == _NEVER else int(value)


def check_policy(policy: Object[FleetPolicySpec]) -> Iterator[Complaint]:
    """A gap and what a quota counts are there once."""
    gaps: dict[int, int] = {}
    for index, step in enumerate(policy.spec.graces):
        if gaps.setdefault(step.above, index) != index:
            first = f"spec.graces[{gaps[step.above]}].above"
            yield (
                f"spec.graces[{index}].above",
                f"{step.above} is here already, as graces[{gaps[step.above]}]",
                first,
            )
    quotas: dict[tuple[str, str, str], int] = {}
    for index, quota in enumerate(policy.spec.rails.quotas):
        counted = (quota.provider, quota.region, quota.instance_type)
        if quotas.setdefault(counted, index) != index:
            words = f"counts the same as quotas[{quotas[counted]}]: leave one out"
            yield f"spec.rails.quotas[{index}]", words, f"spec.rails.quotas[{quotas[counted]}]"
