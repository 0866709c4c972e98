"""
Cron expressions of five fields, and when they fired last.

Fields are minute, hour, day of month, month and day of week; lists, ranges, steps and English names; 7 is Sunday
too. As in Vixie cron, a day matches when either day field does, unless one of them begins with `*`: then both must.
Local times that a clock skips fire at the moment of the jump; repeated ones fire once, the first time. Macros such
as `@daily` are refused: they say less than the five fields they stand for.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from remuda.model.times import Instant

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DAY: Final = timedelta(days=1)
_HORIZON: Final = timedelta(days=5 * 366)
_LONGEST_TEXT: Final = 500  # every value of every field listed takes less
_LEAP_YEAR: Final = 2_000
_ITEM: Final = re.compile(r"(?:\*|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:/([0-9]+))?")


class Cron(Struct, frozen=True):
    """A parsed expression; made by `parse_cron`."""

    #: latest first, as the search goes back in time
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    #: 0 is Sunday
    weekdays: frozenset[int]
    #: true when one of the two day fields is enough
    either_day: bool

    def last_fire(self, at: Instant, zone: str) -> Instant | None:
        """The latest firing at or before `at` in an IANA zone; None when there is none in five years."""
        place = ZoneInfo(zone)
        wall = (_EPOCH + at * _MILLISECOND).astimezone(place)
        latest = wall.replace(tzinfo=None)
        if wall.fold:  # all of the repeated hour has fired already, the part still ahead on the wall included
            latest += _offset(wall.replace(fold=0)) - _offset(wall)
        for local in self._back_from(latest):
            fired = _instant(local, place)
            if fired <= at:
                return fired
        return None

    def _back_from(self, latest: datetime) -> Iterator[datetime]:
        day, last = latest.date(), (latest.hour, latest.minute)
        oldest = day - _HORIZON
        while day >= oldest:
            if day.month not in self.months:
                day = day.replace(day=1) - _DAY
                continue
            if self._falls_on(day):
                for hour, minute in self._times(last):
                    yield datetime(day.year, day.month, day.day, hour, minute)  # noqa: DTZ001 - local on purpose
            day, last = day - _DAY, (23, 59)

    def _times(self, last: tuple[int, int]) -> Iterator[tuple[int, int]]:
        for hour in self.hours:
            if hour <= last[0]:
                for minute in self.minutes:
                    if hour < last[0] or minute <= last[1]:
                        yield hour, minute

    def _falls_on(self, day: date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week


@lru_cache(maxsize=4_096)
def parse_cron(text: str) -> Cron:
    """Read an expression; raise `ValueError` with one sentence that names the field and what would be right."""
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"a cron expression of {len(text)} characters is too long: at most {_LONGEST_TEXT}")
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"{text!r} is not a cron expression: write five fields, minute, hour, day of month, month and day of week,"
            " like '0 8 * * MON-FRI'"
        )
    minutes, hours, days, months, weekdays = (
        frozenset().union(*(field.read(item) for item in part.split(",")))
        for field, part in zip(_FIELDS, parts, strict=True)
    )
    either_day = not parts[2].startswith("*") and not parts[4].startswith("*")
    if not either_day and min(days) > max(monthrange(_LEAP_YEAR, month)[1] for month in months):
        raise ValueError(
            f"day of month {parts[2]!r} never comes in month {parts[3]!r}, so {text!r} would never fire"
        )
    return Cron(
        minutes=tuple(sorted(minutes, reverse=True)),
        hours=tuple(sorted(hours, reverse=True)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=either_day,
    )


class _Field(Struct, frozen=True):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def read(self, item: str) -> range:
        """The values of one item of a list: `*`, `*/15`, `9`, `9-17` or `9-17/2`, with names for numbers."""
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(
                f"{self.name} {item!r} is not understood: write *, a number, a range like"
                f" {self.low}-{self.high}, a step like */2, or several with commas between"
            )
        start, end, step = match.groups()
        first, last = self.low, self.high
        if start is not None:
            first = last = self._value(start)
        if end is not None:
            last = self._value(end)
            if last < first and end.upper() == "SUN":
                last = 7
        if last < first:
            raise ValueError(
                f"{self.name} {item!r} runs backwards: write the smaller value first, or two ranges"
            )
        if step is not None and start is not None and end is None:
            raise ValueError(
                f"{self.name} {item!r} steps from a single value: write {start}-{self.high}/{step}"
            )
        if step is not None and not 1 <= int(step) <= self.high:
            raise ValueError(f"{self.name} {item!r} has a step out of range: use 1 to {self.high}")
        return range(first, last + 1, int(step or 1))

    def _value(self, text: str) -> int:
        if text.upper() in self.names:
            return self.names.index(text.upper()) + self.low
        named = f", or {self.names[0]} to {self.names[-1]}" if self.names else ""
        if not text.isdecimal():
            raise ValueError(f"{self.name} {text!r} is not a number: use {self.low} to {self.high}{named}")
        if not self.low <= int(text) <= self.high:
            raise ValueError(f"{self.name} {text} is out of range: use {self.low} to {self.high}{named}")
        return int(text)


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field(
        "month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
    ),
    _Field("day of week", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
)


def _instant(local: datetime, place: ZoneInfo) -> Instant:
    """When a local time comes: the first time if it comes twice, the moment of the jump if it is skipped."""
    aware = local.replace(tzinfo=place)
    before, after = _offset(aware), _offset(aware.replace(fold=1))
    utc = local.replace(tzinfo=UTC)
    if after <= before:
        return (utc - before - _EPOCH) // _MILLISECOND
    # The jump is somewhere after (local - after) and not after (local - before), and offsets grow there.
    start = utc - after
    seconds = range(int((after - before).total_seconds()))
    passed = bisect_left(
        seconds, after, key=lambda s: _offset((start + timedelta(seconds=s)).astimezone(place))
    )
    return (start + timedelta(seconds=passed) - _EPOCH) // _MILLISECOND


def _offset(moment: datetime) -> timedelta:
    offset = moment.utcoffset()
    assert offset is not None
    return offset
