"""Instants and ages for people: in their own time zone, as short as they can be."""

from datetime import datetime

from remuda.model.times import DAY, HOUR, MINUTE, SECOND, Instant


def clock_time(at: Instant, now: Instant) -> str:
    """The time of day, with the date when it is not within a day of now."""
    local = datetime.fromtimestamp(at / SECOND).astimezone()
    return local.strftime("%H:%M:%S" if abs(now - at) < DAY else "%Y-%m-%d %H:%M:%S")


def age(ms: int) -> str:
    """A length of time in at most two units: `3m40s`, `2h5m`, `4d`."""
    ms = max(0, ms)
    if ms < MINUTE:
        return f"{ms // SECOND}s"
    for size, unit, part, small in (
        (DAY, "d", HOUR, "h"),
        (HOUR, "h", MINUTE, "m"),
        (MINUTE, "m", SECOND, "s"),
    ):
        if ms >= size:
            rest = ms % size // part
            return f"{ms // size}{unit}" + (f"{rest}{small}" if rest else "")
    return "0s"
