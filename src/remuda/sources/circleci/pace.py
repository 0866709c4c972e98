"""
When which class is asked next. Pure: it is told the time in monotonic seconds.

Every class is asked each second while all calls to a host together stay under the rate, and beyond that all wait longer
by the same factor, whatever token they are asked with. A class that had nothing to do for long, or that only fails, is asked less often. Classes are spread over
the interval, and calls that could not be made in time are not made up for: no pause ends in a burst.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

#: calls a second that CircleCI is asked for at most
RATE = 20.0
INTERVAL_S = 1.0
#: for a class without tasks for `LONG_S`, and for one that keeps failing
SLOW_S = 5.0
LONG_S = 600.0
#: how often agents are listed when nothing else is a reason to, and how soon again when something is
LISTING_S = 10.0
LISTING_SOON_S = 2.0
_COUNTS = 2
#: without a word from CircleCI on how long to leave it alone
_LONGEST_HOLD_S = 60.0
_LONGEST_WAIT_S = 60.0
_STRETCH_S = 0.1
#: who is late by more was not asked because nobody was: all begin anew
_STALL_PERIODS = 3
#: sleepers wake by the clock of the event loop, which may be that much off
_TICK_S = 1e-6


class Turn(Struct, frozen=True):
    """A class to ask now: for its two counts, and for its agents if it `lists`."""

    job_class: str
    lists: bool

    @property
    def calls(self) -> int:
        """How many calls this is."""
        return _COUNTS + self.lists


@dataclass(slots=True)
class _Rhythm:
    due: float
    zero_since: float | None = None
    failures: int = 0
    is_asked: bool = False
    interval_before: float = INTERVAL_S
    listed_at: float = -math.inf
    wants_listing: bool = True

    def interval(self, now: float) -> float:
        """Seconds between two turns while there is room."""
        if self.failures:
            return min(INTERVAL_S * 2.0 ** min(self.failures, 10), SLOW_S)
        if self.zero_since is not None and now - self.zero_since >= LONG_S:
            return SLOW_S
        return INTERVAL_S


class Host:
    """One host, and how many calls a second all who ask it make together."""

    def __init__(self, rate: float = RATE) -> None:
        self._rate = rate
        self._gap = 1 / rate
        #: by whoever asks, the calls a second that it would like to make
        self._loads: dict[object, float] = {}
        #: when the next call may be made
        self.free_at = -math.inf

    def reserve(self, now: float, calls: int) -> float:
        """Take a place for calls; the seconds to wait before they are made."""
        at = max(now, self.free_at)
        self.free_at = at + calls * self._gap
        return at - now

    def stretch(self, who: object, load: float) -> float:
        """By how much all must wait longer for the rate to hold, now that one of them has such a load."""
        if load:
            self._loads[who] = load
        else:
            self._loads.pop(who, None)
        return max(1.0, sum(self._loads.values()) / self._rate)


class Pace:
    """The rhythm of the classes that are asked with one token."""

    def __init__(self, host: Host, rng: random.Random) -> None:
        self._host = host
        self._rng = rng
        self._classes: dict[str, _Rhythm] = {}
        self._held_until = -math.inf
        self._refusals = 0
        self._stretched_at = -math.inf
        self._last_stretch = 1.0

    def serve(self, classes: Iterable[str], now: float) -> None:
        """Ask these classes from now on, and no others. New ones come in turn, the first one at once."""
        named = set(classes)
        fresh = sorted(named - set(self._classes))
        self._classes = {name: known for name, known in self._classes.items() if name in named}
        self._classes.update((name, _Rhythm(now)) for name in fresh)
        self._stretched_at = -math.inf
        self._stretch(now)
        self._spread(fresh, now)

    def next(self, now: float) -> Turn | float:
        """Who is to be asked now, or the seconds until that may be known."""
        wait = max(self._host.free_at, self._held_until) - now
        if wait > _TICK_S:
            return wait
        due, name = min(
            ((known.due, name) for name, known in self._classes.items() if not known.is_asked),
            default=(math.inf, ""),
        )
        if due - now > _TICK_S:
            return min(due - now, _LONGEST_WAIT_S)
        known, stretch = self._classes[name], self._stretch(now)
        interval = known.interval(now)
        period = interval * stretch
        if now - due > _STALL_PERIODS * period:
            self._spread(sorted(self._classes, key=lambda name: (self._classes[name].due, name)), now)
        since = now - known.listed_at
        turn = Turn(
            name, since >= LISTING_S * stretch or (known.wants_listing and since >= LISTING_SOON_S * stretch)
        )
        if interval > known.interval_before:
            # Classes that slow down together would come together for ever.
            known.due = now + period * (1 + self._rng.random()) / 2
        else:
            known.due = (known.due if now - known.due < period / 2 else now) + period
        known.interval_before = interval
        known.is_asked = True
        if turn.lists:
            is_first = known.listed_at == -math.inf
            # Classes that came together would all list together for ever.
            known.listed_at = now - (self._rng.random() * LISTING_S * stretch if is_first else 0.0)
            known.wants_listing = False
        self.reserve(now, turn.calls)
        return turn

    def reserve(self, now: float, calls: int = 1) -> float:
        """Take a place for calls that were not planned; the seconds to wait before they are made."""
        return self._host.reserve(now, calls)

    def answered(self, job_class: str, now: float, *, is_zero: bool, is_new: bool) -> None:
        """A turn ended well; `is_new` numbers are a reason to look who works."""
        known = self._classes.get(job_class)
        self._refusals = 0
        if known is None:
            return
        known.is_asked, known.failures = False, 0
        known.wants_listing = known.wants_listing or is_new
        known.zero_since = (now if known.zero_since is None else known.zero_since) if is_zero else None
        known.due = min(known.due, now + known.interval(now) * self._stretch(now))

    def failed(self, job_class: str) -> None:
        """A turn ended without an answer."""
        known = self._classes.get(job_class)
        if known is not None:
            known.is_asked = False
            known.failures += 1

    def hold(self, now: float, after: float | None) -> None:
        """The host wants this token to rest: nobody is asked for `after` seconds, or ever longer if it does not say."""
        if after is None:
            self._refusals += self.held(now) <= 0
            after = min(2.0 ** min(self._refusals, 10), _LONGEST_HOLD_S) * (0.5 + self._rng.random() / 2)
        self._held_until = max(self._held_until, now + after * (1 + self._rng.random() / 10))

    def held(self, now: float) -> float:
        """Seconds that the host is still to be left alone."""
        return max(0.0, self._held_until - now)

    def period(self, job_class: str, now: float) -> float:
        """Seconds between two turns of a class as things are."""
        known = self._classes.get(job_class)
        return (known.interval(now) if known else SLOW_S) * self._stretch(now)

    def listing_period(self, now: float) -> float:
        """Seconds between two listings as things are."""
        return LISTING_S * self._stretch(now)

    def _stretch(self, now: float) -> float:
        """By how much all must wait longer for the rate to hold; not counted anew for each of many classes."""
        if now - self._stretched_at >= _STRETCH_S:
            load = 0.0
            for known in self._classes.values():
                interval = known.interval(now)
                load += _COUNTS / interval + 1 / max(interval, LISTING_S)
            self._stretched_at, self._last_stretch = now, self._host.stretch(self, load)
        return self._last_stretch

    def _spread(self, names: list[str], now: float) -> None:
        stretch = self._stretch(now)
        for place, name in enumerate(names):
            known = self._classes[name]
            known.due = now + known.interval(now) * stretch * place / len(names)
