"""
Instants and durations as whole milliseconds.

An instant is milliseconds since 1970 in UTC, as a plain `int`: decisions compare integers only, so every machine
gives the same answer. A `Duration` is an `int` too, and knows how it is written (`90s`, `1h30m`, `500ms`).
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self, TypeAlias

Instant: TypeAlias = int

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_UNITS = {"ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_SHAPE = re.compile(r"(?:\d{1,9}(?:ms|d|h|m|s))+", re.ASCII)
_PART = re.compile(r"(\d+)(ms|d|h|m|s)", re.ASCII)
_LONGEST = 3_660 * DAY
_GO = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2})?", re.ASCII)


def read_instant(text: str) -> Instant:
    """A time as other programs write it, by RFC 3339, in UTC if it names no zone. `ValueError` when it is none."""
    read = datetime.fromisoformat(text)
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * SECOND)


def is_go_duration(text: str) -> bool:
    """Whether a program in Go would read it as a duration: it knows no days, but parts like `1.5h`."""
    return _GO.fullmatch(text) is not None


class Duration(int):
    """A length of time in milliseconds, written as in `90s`, `1h30m` or `500ms`; at most ten years."""

    json_schema: ClassVar[dict[str, Any]] = {"type": "string", "pattern": r"^(0|([0-9]{1,9}(ms|d|h|m|s))+)$"}
    example: ClassVar[str] = "90s, 10m or 1h30m"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read the written form; raise `ValueError` with the right form when it is something else."""
        if text in ("0", 0) and not isinstance(text, bool):
            return cls(0)
        if not isinstance(text, str) or not _SHAPE.fullmatch(text):
            raise ValueError(f"{text!r} is not a duration: write a number and a unit, like {cls.example}")
        length = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))
        if length > _LONGEST:
            raise ValueError(f"{text!r} is longer than ten years")
        return cls(length)

    def __str__(self) -> str:
        return write_duration(self)


def write_duration(ms: int) -> str:
    """The written form, largest unit first, exact: `write_duration(5_400_000)` is `1h30m`."""
    if ms == 0:
        return "0s"
    parts, rest = [], abs(ms)
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if ms < 0 else "") + "".join(parts)


def write_instant(at: Instant) -> str:
    """The instant in UTC as RFC 3339 with seconds, as Kubernetes writes it."""
    return datetime.fromtimestamp(at / SECOND, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_instant(
    text: str, now: Instant, in_zone: Callable[[datetime], datetime] = lambda read: read.replace(tzinfo=UTC)
) -> Instant:
    """
    Read an instant: RFC 3339, a time of day, or a duration before `now` (`10m` is ten minutes ago).

    `in_zone` gives a time without a zone the one it is meant in, UTC by default. A time of day is the last one that is
    not after `now`. Raises `ValueError` with the accepted forms.
    """
    try:
        return now - Duration.parse(text)
    except ValueError:
        pass
    try:
        if _TIME_OF_DAY.fullmatch(text):
            return _last(text, now, in_zone)
        read = datetime.fromisoformat(text)
        return int((in_zone(read) if read.tzinfo is None else read).timestamp() * SECOND)
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"{text!r} is no time: write one like 2026-01-31T14:05:00Z, 2026-01-31T14:05:00 or 14:05:00, or how long"
            f" ago, like {Duration.example}"
        ) from None


def _last(text: str, now: Instant, in_zone: Callable[[datetime], datetime]) -> Instant:
    """The last instant up to `now` at which clocks showed a time of day."""
    # Wherever it is, its day is one of these; clocks that are set may skip a time, so that a day may be without it.
    today = datetime.fromtimestamp(now / SECOND, tz=UTC).date()
    days = [today + timedelta(days=away) for away in (-2, -1, 0, 1)]
    found = [int(in_zone(datetime.fromisoformat(f"{day}T{text}")).timestamp() * SECOND) for day in days]
    return max(at for at in found if at <= now)
