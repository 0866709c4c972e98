"""How memory rises, and when it comes to an amount."""

from collections.abc import Sequence

from msgspec import Struct

from remuda.rightsize.estimate.histogram import DAY_S, Second


class Rise(Struct, frozen=True):
    """A line through the least memory of a replica over time, or through that of each of its lives."""

    #: the first and the last moment that were looked at
    first: Second
    last: Second
    #: how many days were compared
    days: int
    rising: int
    pairs: int
    bytes_a_day: int
    #: where the line is in the end; of what was restarted since, where it is after a restart
    level: int
    #: how often it was restarted between the first and the last, and how often by a kill
    restarts: int = 0
    killed: int = 0
    #: where it comes to rest; None where nothing shows that it does
    ceiling: int | None = None

    def reaches(self, amount: int) -> Second | None:
        """When the line comes to an amount, the last moment itself where it is there already; None is never."""
        if self.ceiling is not None and self.ceiling < amount:
            return None
        return self.last + max(0, amount - self.level) * DAY_S // self.bytes_a_day


def median(values: Sequence[int]) -> int:
    """The one in the middle, or between the two that are."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2
