"""
Leaks: memory that one replica gathers day by day, and does not stop to.

Each replica is judged by itself, by the least of each of its days, which a busy day cannot bring about: what is larger from
version to version, and even within each, is no leak. A restart gives everything back, so that only days between two big
drops are compared, and not the day of a drop itself. The slope is that of Theil and Sen, the median over all pairs of days.
What rises more and more slowly fills a cache: it comes to rest, and where is seen from how fast it slows down.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import factorial
from typing import NamedTuple

from remuda.rightsize.decide.cycles import rise_between_kills
from remuda.rightsize.decide.days import midnight
from remuda.rightsize.decide.rises import Rise, median
from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Evidence, Floor, OomKill

LEAST_DAYS = 5
#: of all pairs of days more must rise
_AGREEING = (9, 10)
#: that so many of a run of equal days rise by chance, in any of the replicas, is at most so likely
_CHANCE = Fraction(1, 100)
#: a fall by more than a tenth is a restart
_DROP = (9, 10)
#: with less than so much of the slope before, it is slowing down
_SLOWING = (3, 4)
#: so much of a day may be missing at its edges, the first hour of a replica among it
_SLACK_S = 7_200


class Least(NamedTuple):
    """The least memory of a day of one replica."""

    at: Second
    amount: int


def rise_of(
    evidence: Evidence, kills: Iterable[OomKill] = (), limit: int | None = None, *, is_job: bool = False
) -> Rise | None:
    """The fastest rise of any replica, from kill to kill or day by day; None when there is none, or too few days to tell."""
    between = rise_between_kills(evidence, tuple(kills), limit, is_job=is_job)
    if between is not None:
        return between
    replicas = max(1, evidence.replicas if len(evidence.floors) > 1 else 1)
    rises = [rise for floor in evidence.floors if (rise := _rise(daily(floor), replicas)) is not None]
    return max(rises, key=lambda rise: (rise.bytes_a_day, rise.last), default=None)


def daily(floor: Floor) -> tuple[Least, ...]:
    """The least of each day that the replica was there for, in the order of time."""
    found: dict[Second, list[int]] = {}
    for n, least in enumerate(floor.least):
        if least is not None:
            found.setdefault(midnight(floor.begin + n * floor.step), []).append(least)
    return tuple(
        Least(at, min(amounts))
        for at, amounts in found.items()
        if floor.begin <= at + _SLACK_S
        and at + DAY_S - _SLACK_S <= floor.end
        and 2 * len(amounts) * floor.step >= DAY_S
    )


def runs_of(days: Sequence[Least]) -> list[tuple[Least, ...]]:
    """The days from one drop to the next, without those of the drops; between drops of two days in a row there are none."""
    drops = [n for n in range(1, len(days)) if days[n].amount * _DROP[1] < days[n - 1].amount * _DROP[0]]
    return [tuple(days[begin + 1 : end]) for begin, end in pairwise([-1, *drops, len(days)])]


def _rise(days: Sequence[Least], replicas: int) -> Rise | None:
    runs = runs_of(days)
    if len(runs[-1]) >= LEAST_DAYS:
        return _rising([runs[-1]], replicas)
    return _rise_before_drop(days, runs, replicas)


def _rise_before_drop(days: Sequence[Least], runs: Sequence[tuple[Least, ...]], replicas: int) -> Rise | None:
    """Of the last run that is long enough, if the drop gave back what it gathered, and later runs rise as well."""
    long = [n for n, run in enumerate(runs) if len(run) >= LEAST_DAYS]
    if not long:
        return None
    some = [run for run in runs[long[-1] :] if run]
    drop = next(day for day in days if day.at > some[0][-1].at)
    if drop.amount * _DROP[0] > some[0][0].amount * _DROP[1]:
        return None
    rise = _rising(some, replicas)
    if rise is None or rise.ceiling is not None:
        return None
    return Rise(
        rise.first,
        days[-1].at,
        rise.days,
        rise.rising,
        rise.pairs,
        rise.bytes_a_day,
        days[-1].amount,
        restarts=len(runs) - 1 - long[-1],
    )


def _rising(runs: Sequence[tuple[Least, ...]], replicas: int) -> Rise | None:
    """Whether the first of these runs rises, to its last days, and the others with it."""
    days = runs[0]
    pairs = [pair for run in runs for pair in combinations(run, 2)]
    rising = sum(later.amount > earlier.amount for earlier, later in pairs)
    if rising * _AGREEING[1] <= len(pairs) * _AGREEING[0] or _chance(days) * replicas > _CHANCE:
        return None
    recent = days[-max(3, (len(days) + 1) // 2) :]
    early = days[: len(days) - len(recent) + 1]
    slope, before = _slope(recent), _slope(early)
    if slope <= 0:
        return None
    last = days[-1]
    level = median([day.amount + slope * (last.at - day.at) // DAY_S for day in recent])
    ceiling = None
    if slope * _SLOWING[1] < before * _SLOWING[0]:
        # As in a geometric series: each span of so many days adds `slope ÷ before` of what the one before it added.
        apart = _middle(recent) - _middle(early)
        ceiling = level + slope * slope * apart // ((before - slope) * DAY_S)
    return Rise(days[0].at, last.at, sum(map(len, runs)), rising, len(pairs), slope, level, ceiling=ceiling)


def _slope(days: Sequence[Least]) -> int:
    """Bytes a day, in the median of all pairs."""
    return median(
        [
            (later.amount - earlier.amount) * DAY_S // (later.at - earlier.at)
            for earlier, later in combinations(days, 2)
        ]
    )


def _middle(days: Sequence[Least]) -> Second:
    return (days[0].at + days[-1].at) // 2


def _chance(days: Sequence[Least]) -> Fraction:
    """How likely it is that no fewer pairs rise of as many days in an order by chance."""
    falling = sum(later.amount <= earlier.amount for earlier, later in combinations(days, 2))
    return Fraction(_orders(len(days), falling), factorial(len(days)))


@cache
def _orders(count: int, falling: int) -> int:
    """How many orders of so many things have at most so many pairs that fall."""
    orders = [1]
    for size in range(2, count + 1):
        most = len(orders) + size - 1
        orders = [sum(orders[max(0, n - size + 1) : n + 1]) for n in range(most)]
    return sum(orders[: falling + 1])
