"""
The time that retention goes by: the wall clock, unless it has jumped ahead.

A clock that was set days ahead, by a hand or a dead battery, must not cost all history. Such a jump shows as wall time
that passed without anything being recorded and without this process having run for as long.
"""

from collections.abc import Callable
from typing import Protocol

from remuda.ledger.sql import Database
from remuda.model.times import DAY, HOUR, SECOND, Instant

#: a jump smaller than this is not worth a thought: history is kept for days
_JUMP = 12 * HOUR
#: a wall clock that stays ahead for so long is right after all: the computer was off
_TRUSTED_AFTER = DAY


class Clock(Protocol):
    """Tells the time, and how much of it goes by."""

    def now(self) -> Instant:
        """Milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...


class AgeClock:
    """Doubts a jump ahead for a day, and says so once."""

    def __init__(self, clock: Clock, newest: Instant | None, warn: Callable[[int], None]) -> None:
        """`newest` is the last moment that was recorded; `warn` hears of a jump, in milliseconds."""
        self._clock, self._warn = clock, warn
        self._at = clock.monotonic()
        self._trusted = clock.now() if newest is None else newest
        self._doubted_since: float | None = None

    def now(self) -> Instant:
        """The wall clock's time, or while that is doubted, the one it should be by what went by."""
        at, wall = self._clock.monotonic(), self._clock.now()
        expected = self._trusted + round((at - self._at) * SECOND)
        self._at = at
        if wall - expected <= _JUMP:
            self._doubted_since = None
            self._trusted = wall
        elif self._doubted_since is None:
            self._doubted_since, self._trusted = at, expected
            self._warn(wall - expected)
        elif (at - self._doubted_since) * SECOND >= _TRUSTED_AFTER:
            self._doubted_since, self._trusted = None, wall
        else:
            self._trusted = expected
        return self._trusted


def newest_record(db: Database) -> Instant | None:
    """The last moment of which a cycle was recorded."""
    at: Instant | None = db.execute("SELECT max(last_at) FROM cycles").fetchone()[0]
    return at
