"""Virtual time of a simulated fleet: what is to happen, in the order of whole milliseconds and then of asking."""

import heapq
from collections.abc import Callable
from typing import TypeAlias

from remuda.model.times import Instant

Happening: TypeAlias = Callable[..., None]
#: where the time of every simulated fleet begins: 2026-01-01T00:00:00Z
START: Instant = 1_767_225_600_000


class Queue:
    """Happenings yet to come. No coroutines: a fleet has thousands of them a minute."""

    def __init__(self) -> None:
        self.now: Instant = START
        #: how many have happened
        self.step = 0
        self._asked = 0
        self._heap: list[tuple[Instant, int, Happening, tuple[object, ...]]] = []

    def at(self, when: Instant, happening: Happening, *args: object) -> None:
        """Let something happen at an instant, now at the earliest."""
        self._asked += 1
        heapq.heappush(self._heap, (max(when, self.now), self._asked, happening, args))

    def after(self, wait: int, happening: Happening, *args: object) -> None:
        """Let something happen so many milliseconds from now."""
        self.at(self.now + wait, happening, *args)

    def run(self, until: Instant) -> None:
        """Let everything happen that is due up to an instant, which is now afterwards."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, happening, args = heapq.heappop(heap)
            self.step += 1
            happening(*args)
        self.now = until
