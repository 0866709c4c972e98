"""A token bucket: so many requests a second, with a burst, in the order they came."""

import asyncio

from remuda.loop.clock import Clock


class RateLimit:
    """
    Lets `qps` requests a second pass, and `burst` at once after a pause.

    Whoever comes takes a place in time at once, so requests leave in the order they came and a cancelled one costs
    its place.
    """

    def __init__(self, clock: Clock, qps: float = 50.0, burst: int = 100) -> None:
        self._clock = clock
        self._gap = 1.0 / qps
        self._burst = burst * self._gap
        self._next = float("-inf")

    async def wait(self) -> None:
        """Return when it is this request's turn."""
        now = self._clock.monotonic()
        self._next = max(self._next + self._gap, now - self._burst + self._gap)
        delay = self._next - now
        if delay > 0:
            await asyncio.sleep(delay)
