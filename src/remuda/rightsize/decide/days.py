"""Which days of a history can be compared: a day that is only known in part has another peak, and another least."""

from collections.abc import Sequence

from remuda.rightsize.estimate.histogram import DAY_S, Second
from remuda.rightsize.evidence import Day, Evidence

#: so much of a day may be missing at its edges
_SLACK_S = 3_600


def whole_days(evidence: Evidence) -> tuple[Day, ...]:
    """The days that lie between the first and the last sample, in the order of time."""
    days = sorted({midnight(day.at): day for day in evidence.days}.values(), key=lambda day: day.at)
    if evidence.first is None or evidence.last is None:
        return tuple(days)
    begin, end = evidence.first - _SLACK_S, evidence.last + _SLACK_S
    return tuple(day for day in days if begin <= midnight(day.at) and midnight(day.at) + DAY_S <= end)


def peak_of_day(days: Sequence[Day], at: Second) -> int:
    """The most memory of the day of a moment, 0 when that is not known."""
    return max((day.peak for day in days if midnight(day.at) == midnight(at)), default=0)


def midnight(at: Second) -> Second:
    """When the day (UTC) of a moment began."""
    return at // DAY_S * DAY_S
