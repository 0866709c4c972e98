"""What an operator sets for a fleet: holds, weights, patience, and the rails that bound any mistake."""

from collections.abc import Mapping

from msgspec import Struct, field

from remuda.model.shapes import CapacityType
from remuda.model.times import MINUTE, SECOND


class Weights(Struct, frozen=True, gc=False):
    """
    What makes a victim dear, in micro-dollars per unit of each.

    The lowest sum is taken first. A gap of priority speaks for taking it, the rest against.
    """

    #: per point between the priorities
    gap: int = 1_000
    #: per second of its grace
    drain: int = 1_000
    #: parts per million of its need's interruption penalty
    interruption: int = 1_000_000
    #: parts per million of its need's reclamation penalty
    reclamation: int = 1_000_000
    #: per thousandth of it that the preemptor would not use
    waste: int = 1_000


class Quota(Struct, frozen=True, gc=False):
    """The most machines of a provider; an empty region or instance type is any."""

    provider: str
    most: int
    region: str = ""
    instance_type: str = ""


class Rails(Struct, frozen=True):
    """
    Bounds on what a mistake can cost. Each names its default; None turns a rail off.

    A spending cap is in micro-dollars per hour for all that a provider runs; none is set unless the operator does.
    """

    #: of a cluster's configured machines, reclaimed per minute; at least one
    reclaim_percent: int | None = 5
    #: of the fleet, preempted per minute; at least one
    preempt_percent: int | None = 2
    #: a roll-up with less than this share of the last one's rows or resources is held
    rollup_percent: int | None = 10
    #: until so many in a row agree
    rollup_agreeing: int = 3
    spending: dict[str, int] = {}
    quotas: tuple[Quota, ...] = ()
    #: the kill switch: everything is decided and reported, nothing is done
    paused: bool = False


class Policy(Struct, frozen=True):
    """The whole of it; the defaults are what the documentation states."""

    #: how long an idle machine that nobody needs is kept; None for ever
    holds: Mapping[CapacityType, int | None] = field(
        default_factory=lambda: {
            CapacityType.ON_DEMAND: 10 * MINUTE,
            CapacityType.SPOT: 1 * MINUTE,
            CapacityType.BARE_METAL: None,
            CapacityType.RESERVED: None,
        }
    )
    weights: Weights = Weights()
    #: (gap of priorities above, grace), the widest gap first; what is below all gets `grace`
    graces: tuple[tuple[int, int], ...] = (
        (900_000, 10 * SECOND),
        (500_000, 30 * SECOND),
        (100_000, 2 * MINUTE),
    )
    grace: int = 10 * MINUTE
    #: how long a gang that lost a member may wait to be completed where it is
    gang_patience: int = 10 * MINUTE
    rails: Rails = Rails()
