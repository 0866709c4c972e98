"""The only way to know the time: a clock that is handed in."""

import time
from typing import Protocol

from remuda.model.times import Instant


class Clock(Protocol):
    """Tells wall-clock instants, which may jump, and monotonic seconds, which never do."""

    def now(self) -> Instant:
        """Milliseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; for measuring and waiting."""
        ...


class SystemClock:
    """The clock of this computer."""

    def now(self) -> Instant:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()
