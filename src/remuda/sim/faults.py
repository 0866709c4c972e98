"""
Faults, injected at named points by seeded chance.

Each point rolls its own dice, so what happens at one does not depend on how often the others are reached. After
`stop` nothing fails any more and a world must converge.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from remuda.errors import Unavailable


class Crash(BaseException):
    """
    The simulated process died at this point.

    Not an `Exception`, so that no error handling survives it: the world catches it, throws the process's state away
    and starts again from what was durable.
    """


class Fault(Struct, frozen=True, gc=False):
    """
    What may happen at a point, as chances from 0 to 1.

    A delay comes first and may be followed by either of the other two, which add up to 1 at most.
    """

    delay: float = 0.0
    fail: float = 0.0
    crash: float = 0.0
    #: delays are spread evenly up to this
    longest_delay_s: float = 1.0

    def __post_init__(self) -> None:
        chances = (self.delay, self.fail, self.crash)
        if (
            not all(0 <= chance <= 1 for chance in chances)
            or self.fail + self.crash > 1
            or self.longest_delay_s < 0
        ):
            raise ValueError(f"{self} cannot be: chances are from 0 to 1, fail and crash together at most 1")


class Faults:
    """The fault injector of one world. A point without a `Fault` always passes."""

    def __init__(self, seed: int, points: Mapping[str, Fault]) -> None:
        self._points = dict(points)
        self._dice = {point: random.Random(f"{seed} {point}") for point in points}
        #: how often each fault happened, by point and kind: `provider.create fail`
        self.counts: Counter[str] = Counter()

    def stop(self) -> None:
        """Let everything pass from now on; what is being delayed passes when its delay is over."""
        self._points.clear()

    async def fault_point(self, point: str) -> None:
        """Pass, wait, raise `Unavailable` or raise `Crash`, as the dice of this point fall."""
        fault = self._points.get(point)
        if fault is None:
            return
        dice = self._dice[point]
        late, length, hit = dice.random(), dice.random(), dice.random()
        if late < fault.delay:
            self.counts[f"{point} delay"] += 1
            await asyncio.sleep(length * fault.longest_delay_s)
            if point not in self._points:
                return
        if hit < fault.crash:
            self.counts[f"{point} crash"] += 1
            raise Crash(point)
        if hit < fault.crash + fault.fail:
            self.counts[f"{point} fail"] += 1
            raise Unavailable(f"{point}: not available now (an injected fault)")
