"""
Needs of a fleet: a count of equal units, with what each unit requires.

A machine serves one need's units at a time. `Same` units share a domain and are a gang, all or nothing; a spread keeps
domains level; a separation bounds the units of one machine or domain.
"""

from enum import StrEnum

from msgspec import Struct

from remuda.model.labels import Requirement
from remuda.model.shapes import DOLLAR
from remuda.model.times import Instant

#: A penalty that nothing outweighs: such a need takes an interruptible machine only when there is no other.
PINNED = 10_000_000 * DOLLAR
#: The highest penalty that is still a sum of money.
HIGHEST_PENALTY = 8_388_608 * DOLLAR


class Unsatisfiable(StrEnum):
    """What to do when a spread cannot be kept, named as in Kubernetes."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class Spread(Struct, frozen=True, gc=False):
    """Keep the units of the domains of `key` within `max_skew` of the least."""

    key: str
    max_skew: int = 1
    when: Unsatisfiable = Unsatisfiable.DO_NOT_SCHEDULE


class Separation(Struct, frozen=True, gc=False):
    """At most `most` units in one domain of `key`, or on one machine where there is no key."""

    most: int
    key: str = ""


class FleetNeed(Struct, frozen=True):
    """
    What one cluster asks for, under a name that is its own.

    With a `count`, `unit` is what each unit uses. Without one, `total` is the sum and `unit` the largest there is:
    such a need is credited by the sum.
    """

    cluster: str
    name: str
    #: resource → amount
    unit: dict[str, int]
    count: int | None = 1
    total: dict[str, int] = {}
    requirements: tuple[Requirement, ...] = ()
    priority: int = 0
    #: when it was first asked for: the earlier goes first
    arrival: Instant = 0
    #: the key of the domain that all units share
    same: str = ""
    spread: Spread | None = None
    separation: Separation | None = None
    #: micro-dollars that an interruption costs, or `PINNED`
    interruption_penalty: int = 0
    #: micro-dollars that taking a machine back costs, or `PINNED`
    reclamation_penalty: int = 0
