"""What is known of one class, how old it is, and what goes wrong with it."""

import asyncio
from dataclasses import dataclass, field

from remuda.model.times import Instant
from remuda.sources.circleci.agents import Listing
from remuda.sources.circleci.errors import CircleError
from remuda.sources.circleci.hearing import Hearing

#: the calls that make a need, together
COUNTS = ("unclaimed", "running")
#: an answer may be that much older than its pace before it counts as stale
_GRACE_S = 15.0
_NEVER = float("-inf")


@dataclass(slots=True)
class Trouble:
    """A call that fails; its times are monotonic."""

    error: str
    #: one word for what kind of failure it is now
    outcome: str
    since: float
    #: when each kind was last logged
    logged: dict[str, float]
    #: what CircleCI itself last refused it with; empty while it was not asked at all
    refusal: str = ""


@dataclass(slots=True)
class Known:
    """One class. Times in `_mono` are monotonic."""

    name: str
    served_at: Instant
    counts: tuple[int, int] | None = None
    good_at: Instant | None = None
    good_mono: float = _NEVER
    listing: Listing | None = None
    listed_at: Instant | None = None
    listed_mono: float = _NEVER
    #: when the last listing began, and what came of it
    tried_mono: float = _NEVER
    tried: Listing | CircleError | None = None
    #: call → what is wrong with it
    troubles: dict[str, Trouble] = field(default_factory=dict)
    #: what its gauges show, when it has any
    shown: tuple[Instant | None, bool] | None = None
    lists: asyncio.Lock = field(default_factory=asyncio.Lock)
    hearing: Hearing = field(default_factory=Hearing)

    def is_stale(self, now: float, period: float) -> bool:
        """True while the counts fail, or when they are too old for a class that is asked each `period`."""
        return any(call in self.troubles for call in COUNTS) or now - self.good_mono > _GRACE_S + 2 * period

    def is_unsure(self, now: float, period: float) -> bool:
        """True while nobody can say who works."""
        return "agents" in self.troubles or now - self.listed_mono > _GRACE_S + 2 * period
