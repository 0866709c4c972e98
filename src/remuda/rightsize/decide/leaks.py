"""
Leaks: a robust upward slope of the daily minima, which a busy day cannot bring about.

The slope is that of Theil and Sen, the median over all pairs of days; more than nine tenths of the pairs must rise. A
restart gives everything back, so that only days after the last big drop count, and not the day of the drop itself.
"""

from dataclasses import dataclass
from itertools import combinations

from remuda.rightsize.decide.days import whole_days
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Day, Evidence

LEAST_DAYS = 5
#: by chance alone all pairs of five days rise once in 120 times, and 19 of the 21 pairs of seven once in 190 times
_AGREEING = (9, 10)
#: a fall by more than a tenth is a restart
_DROP = (9, 10)


@dataclass(frozen=True, slots=True)
class Rise:
    """How the daily minima rise."""

    #: the first and the last day that were looked at
    first: Day
    last: Day
    days: int
    rising: int
    pairs: int
    bytes_a_day: int
    #: where the line through the minima is on the last day
    level: int

    def reaches(self, amount: int) -> Second:
        """When the line comes to an amount; the last day itself where it is there already."""
        return self.last.at + max(0, amount - self.level) * DAY_S // self.bytes_a_day


def rise_of(evidence: Evidence) -> Rise | None:
    """The rise that most pairs of days agree on; None when there is none, or there are too few days to tell."""
    days = since_drop(whole_days(evidence))
    if len(days) < LEAST_DAYS:
        return None
    pairs = list(combinations(days, 2))
    rising = sum(later.least > earlier.least for earlier, later in pairs)
    slope = _median(
        [(later.least - earlier.least) * DAY_S // (later.at - earlier.at) for earlier, later in pairs]
    )
    if rising * _AGREEING[1] <= len(pairs) * _AGREEING[0] or slope <= 0:
        return None
    last = days[-1]
    level = _median([day.least + slope * (last.at - day.at) // DAY_S for day in days])
    return Rise(days[0], last, len(days), rising, len(pairs), slope, level)


def since_drop(days: tuple[Day, ...]) -> tuple[Day, ...]:
    """The days after the last one that began anew far below the one before."""
    for n in range(len(days) - 1, 0, -1):
        if days[n].least * _DROP[1] < days[n - 1].least * _DROP[0]:
            return days[n + 1 :]
    return days


def _median(values: list[int]) -> int:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2
