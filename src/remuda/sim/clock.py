"""A clock for simulated worlds: it shows the virtual loop's time, and its wall can be set wrong."""

import asyncio

from remuda.model.times import SECOND, Instant

#: 2026-01-05T00:00:00Z, a Monday
MONDAY: Instant = 1_767_571_200_000


class SimClock:
    """
    Tells the time of a virtual loop. The wall showed `epoch` when the loop's time was zero.

    Satisfies `remuda.loop.clock.Clock`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, epoch: Instant = MONDAY) -> None:
        self._loop = loop
        self._epoch = epoch

    def now(self) -> Instant:
        """The wall clock in milliseconds."""
        return self._epoch + round(self._loop.time() * SECOND)

    def monotonic(self) -> float:
        """Seconds that only ever grow, whatever happens to the wall."""
        return self._loop.time()

    def jump(self, ms: int) -> None:
        """Set the wall forward, or back when negative, as NTP or a person does. No timer notices."""
        self._epoch += ms
