"""
Leaks: a robust upward slope of the daily minima, which a busy day cannot bring about.

The slope is that of Theil and Sen, the median over all pairs of days; more than nine tenths of the pairs must rise. A
restart gives everything back, so that only days between two big drops are compared, and not the day of a drop itself.
Five days in a row are enough wherever they are, if nothing after them speaks against it. Fewer may be a cache that warms
up after a restart; where it was kills that restarted it, what all the runs between them say together counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, dropwhile, pairwise

from remuda.rightsize.decide.days import midnight, whole_days
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Day, Evidence, OomKill

LEAST_DAYS = 5
#: of all runs that a kill began or ended together
LEAST_PAIRS = 4
#: by chance alone all pairs of five days rise once in 120 times, and 19 of the 21 pairs of seven once in 190 times
_AGREEING = (9, 10)
#: a fall by more than a tenth is a restart
_DROP = (9, 10)
#: what is gathered from one kill to the next is more than a tenth: so small a rise is not what filled it
_GATHERED = (11, 10)


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
    #: where the line through the minima is on the last day; of what was restarted since, where it is after a restart
    level: int
    #: how often it was restarted between the first day and the last, and how often by a kill
    restarts: int = 0
    killed: int = 0

    def reaches(self, amount: int) -> Second:
        """When the line comes to an amount; the last day itself where it is there already."""
        return self.last.at + max(0, amount - self.level) * DAY_S // self.bytes_a_day


@dataclass(frozen=True, slots=True)
class _Run:
    """Days from one drop to the next, without those of the drops."""

    days: tuple[Day, ...]
    #: the days of the drops that began and ended it
    begun: Day | None
    ended: Day | None


def rise_of(evidence: Evidence, kills: Iterable[OomKill] = ()) -> Rise | None:
    """The rise that most pairs of days agree on; None when there is none, or there are too few days to tell."""
    days = whole_days(evidence)
    latest = since_drop(days)
    if len(latest) >= LEAST_DAYS:
        return _rise_since_drop(latest)
    runs = _runs(days)
    return _rise_between_kills(runs, {midnight(kill.at) for kill in kills}) or _rise_before_drop(runs)


def since_drop(days: tuple[Day, ...]) -> tuple[Day, ...]:
    """The days after the last one that began anew far below the one before."""
    return _runs(days)[-1].days


def _runs(days: tuple[Day, ...]) -> list[_Run]:
    """All of them, in the order of time; one between drops of two days in a row has no days."""
    drops = [n for n in range(1, len(days)) if days[n].least * _DROP[1] < days[n - 1].least * _DROP[0]]
    edges = [-1, *drops, len(days)]
    return [
        _Run(
            days[begin + 1 : end],
            days[begin] if begin >= 0 else None,
            days[end] if end < len(days) else None,
        )
        for begin, end in pairwise(edges)
    ]


def _rise_since_drop(days: tuple[Day, ...]) -> Rise | None:
    rising, slopes = _compared([days])
    slope = _median(slopes)
    if rising * _AGREEING[1] <= len(slopes) * _AGREEING[0] or slope <= 0:
        return None
    last = days[-1]
    level = _median([day.least + slope * (last.at - day.at) // DAY_S for day in days])
    return Rise(days[0], last, len(days), rising, len(slopes), slope, level)


def _rise_before_drop(runs: Sequence[_Run]) -> Rise | None:
    """Of the last run that is long enough, if the drop gave back what it gathered, and later runs rise as well."""
    long = [n for n, run in enumerate(runs) if len(run.days) >= LEAST_DAYS]
    if not long:
        return None
    some = runs[long[-1] :]
    before, drop = some[0].days, some[0].ended
    rising, slopes = _compared([run.days for run in some])
    slope = _median(slopes)
    if drop is None or drop.least * _DROP[0] > before[0].least * _DROP[1]:
        return None
    if rising * _AGREEING[1] <= len(slopes) * _AGREEING[0] or slope <= 0:
        return None
    last = max((day for run in some for day in (*run.days, run.ended) if day), key=lambda day: day.at)
    count = sum(len(run.days) for run in some)
    return Rise(before[0], last, count, rising, len(slopes), slope, last.least, restarts=len(some) - 1)


def _rise_between_kills(runs: Sequence[_Run], killed: set[Second]) -> Rise | None:
    """Of all runs that a kill began or ended, each compared in itself alone."""

    def is_kill(drop: Day | None) -> bool:
        return drop is not None and not killed.isdisjoint({midnight(drop.at), midnight(drop.at) - DAY_S})

    # A run that begins with a day of a kill begins with another restart.
    some = [
        days
        for run in runs
        if (is_kill(run.begun) or is_kill(run.ended))
        and (days := tuple(dropwhile(lambda day: midnight(day.at) in killed, run.days)))
    ]
    rising, slopes = _compared(some)
    if len(slopes) < LEAST_PAIRS or rising * _AGREEING[1] < len(slopes) * _AGREEING[0]:
        return None
    slope, level = _median(slopes), _median([days[0].least for days in some])
    longest = max(days[-1].at - days[0].at for days in some)
    if slope <= 0 or (level + slope * longest // DAY_S) * _GATHERED[1] <= level * _GATHERED[0]:
        return None
    drops = [run.ended for run in runs if run.ended is not None]
    last = max(some[-1][-1], drops[-1], key=lambda day: day.at)
    return Rise(
        some[0][0],
        last,
        sum(map(len, some)),
        rising,
        len(slopes),
        slope,
        level,
        restarts=len(drops),
        killed=sum(map(is_kill, drops)),
    )


def _compared(runs: Iterable[tuple[Day, ...]]) -> tuple[int, list[int]]:
    """How many pairs of days of the same run rise, and the slopes of all, in bytes a day."""
    pairs = list(chain.from_iterable(combinations(run, 2) for run in runs))
    rising = sum(later.least > earlier.least for earlier, later in pairs)
    return rising, [
        (later.least - earlier.least) * DAY_S // (later.at - earlier.at) for earlier, later in pairs
    ]


def _median(values: list[int]) -> int:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2
