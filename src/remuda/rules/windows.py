"""
Windows of time between two cron expressions.

A window is open when it was started later than it was ended; both at once is closed, and so is one that never
started.
"""

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from remuda.model.times import MINUTE, Instant
from remuda.rules.cron import parse_cron


class Window(Struct, frozen=True, gc=False):
    """Opens when `start` fires and closes when `end` does, both cron expressions in the IANA `zone`."""

    start: str
    end: str
    zone: str


def is_open(window: Window, at: Instant) -> bool:
    """True from a firing of `start` until the next firing of `end`. Asked every cycle, so remembered by the minute."""
    return _is_open(window, at // MINUTE)


def first_open(windows: Sequence[Window], at: Instant) -> int | None:
    """The index of the first window that is open, or None."""
    return next((index for index, window in enumerate(windows) if is_open(window, at)), None)


@lru_cache(maxsize=16_384)
def _is_open(window: Window, minute: int) -> bool:
    started = parse_cron(window.start).last_fire(minute * MINUTE, window.zone)
    if started is None:
        return False
    ended = parse_cron(window.end).last_fire(minute * MINUTE, window.zone)
    return ended is None or started > ended
