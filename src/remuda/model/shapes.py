"""
Shapes: what a machine of a fleet offers, in whole numbers.

Processors are millicores, memory and storage bytes, everything else counts; prices are micro-dollars per hour and
chances of interruption parts per million per hour. Decisions compare these integers and nothing else, so that every
processor gives the same answer.
"""

from enum import StrEnum

from msgspec import Struct

from remuda.model.machines import State
from remuda.model.quantities import NANO
from remuda.model.times import Instant

#: Keys under which a requirement or a spread names what a shape says outside its labels.
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
CAPACITY_TYPE = "remuda.dev/capacity-type"

DOLLAR = 1_000_000
MILLION = 1_000_000
#: No price per hour may be above a million dollars, so that costs and their multiples fit in 64 bits.
HIGHEST_PRICE = 1_000_000 * DOLLAR
#: No amount of a resource may be above this (2⁵⁰: a pebibyte), for the same reason.
HIGHEST_AMOUNT = 1 << 50


class CapacityType(StrEnum):
    """How a machine is paid for, which says how long it is worth keeping without use."""

    BARE_METAL = "bare-metal"
    RESERVED = "reserved"
    ON_DEMAND = "on-demand"
    SPOT = "spot"


class Shape(Struct, frozen=True):
    """What a machine offers. Two machines of equal shape are the same to any need."""

    instance_type: str
    zone: str = ""
    region: str = ""
    provider: str = ""
    capacity_type: CapacityType = CapacityType.BARE_METAL
    #: resource → amount a need may use
    allocatable: dict[str, int] = {}
    labels: dict[str, str] = {}
    #: micro-dollars per hour
    price: int = 0
    #: parts per million per hour
    interruption: int = 0

    def key(self) -> tuple[object, ...]:
        """What is equal for equal shapes, however their maps are ordered."""
        return (
            self.instance_type, self.zone, self.region, self.provider, self.capacity_type,
            tuple(sorted(self.allocatable.items())), tuple(sorted(self.labels.items())), self.price, self.interruption,
        )  # fmt: skip

    def all_labels(self) -> dict[str, str]:
        """Its labels, and what it says outside them under the well-known keys."""
        known = {
            INSTANCE_TYPE: self.instance_type,
            ZONE: self.zone,
            REGION: self.region,
            CAPACITY_TYPE: self.capacity_type.value,
        }
        return {**self.labels, **{key: value for key, value in known.items() if value}}


class FleetMachine(Struct, frozen=True):
    """A machine as a provider lists it, with what was noted on it when it was given to a need."""

    id: str
    state: State
    shape: Shape
    #: whom it serves, while it is configuring, configured or draining
    cluster: str = ""
    #: the need it was given to
    need: str = ""
    #: that need's priority then
    priority: int = 0
    #: when it entered its state
    since: Instant = 0


def amount(resource: str, nano: int, *, up: bool) -> int:
    """A quantity's nano-units as the whole number a fleet compares: millicores, else units; needs round up, supply down."""
    step = NANO // 1_000 if resource == "cpu" else NANO
    return -(-nano // step) if up else nano // step
