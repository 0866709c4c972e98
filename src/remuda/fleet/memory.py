"""What a fleet's decisions remember from one to the next. Losing it is safe: it only delays what destroys."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy
from remuda.model.times import MINUTE, Instant

#: (when, how many) of the last minute
Window: TypeAlias = tuple[tuple[Instant, int], ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision that found nothing to do, and until when it need not be made again while nothing changes."""

    incarnation: int
    fleet: int
    demand: int
    policy: Policy
    since: Instant
    until: Instant
    #: what it said of needs and rails, which still holds
    plan: Plan


@dataclass(frozen=True, slots=True)
class Memory:
    """Needs are named by their numbers, clusters too."""

    settled: Settled | None = None
    #: the numbers of unmet needs, ascending, and since when each is
    unmet: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    unmet_since: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    #: cluster → machines reclaimed from it
    reclaimed: dict[int, Window] = field(default_factory=dict)
    preempted: Window = ()
    #: gangs that lost a member, by need, and since when
    broken: dict[int, Instant] = field(default_factory=dict)
    #: False until a decision has written it: then what was destroyed of late is distinguished from what still drains
    written: bool = False


def recent(window: Window, now: Instant) -> Window:
    """What of it happened in the last minute. An instant ahead of now (the clock was set back) counts as now."""
    return tuple((min(at, now), number) for at, number in window if now - at < MINUTE)


def total(window: Window) -> int:
    """How many."""
    return sum(number for _, number in window)
