"""Virtual time of a simulated fleet: what is to happen, in the order of whole milliseconds and then of asking."""

import asyncio
import heapq
from collections.abc import Callable
from typing import TypeAlias

from remuda.model.times import SECOND, Instant
from remuda.sim.loop import SimLoop

Happening: TypeAlias = Callable[..., None]
#: where the time of every simulated fleet begins: 2026-01-01T00:00:00Z
START: Instant = 1_767_225_600_000


class Queue:
    """Happenings yet to come, on the virtual loop that runs the shard."""

    def __init__(self, seed: int = 0) -> None:
        self.loop = _Loop(seed)
        #: how many have happened
        self.step = 0
        self._asked = 0
        self._start = START
        self._heap: list[tuple[Instant, int, Happening, tuple[object, ...]]] = []

    @property
    def now(self) -> Instant:
        """The virtual instant."""
        return self._start + round(self.loop.time() * SECOND)

    @now.setter
    def now(self, instant: Instant) -> None:
        self._start += instant - self.now

    def at(self, when: Instant, happening: Happening, *args: object) -> None:
        """Let something happen at an instant, now at the earliest."""
        self._asked += 1
        heapq.heappush(self._heap, (max(when, self.now), self._asked, happening, args))
        self.loop.call_at((when - self._start) / SECOND, self._happen)

    def after(self, wait: int, happening: Happening, *args: object) -> None:
        """Let something happen so many milliseconds from now."""
        self.at(self.now + wait, happening, *args)

    def run(self, until: Instant) -> None:
        """Let everything happen that is due up to an instant, which is now afterwards."""
        # Less than half a millisecond later, so that all that is due then comes before.
        end = (until - self._start) / SECOND + 0.000_4
        self.loop.run_until_complete(asyncio.sleep(end - self.loop.time()))

    def _happen(self) -> None:
        _, _, happening, args = heapq.heappop(self._heap)
        self.step += 1
        happening(*args)


class _Loop(SimLoop):
    """A loop that holds nothing which must be let go of."""

    def __del__(self) -> None:
        self.close()
