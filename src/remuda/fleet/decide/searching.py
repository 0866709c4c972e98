"""Search whole numbers for where a condition changes."""

from collections.abc import Callable


def greatest(limit: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to `limit` for which a condition holds that, once it fails, fails for all above; 0 always does."""
    if limit and holds(limit):
        return limit
    low, high = 0, limit - 1
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def smallest(limit: int, holds: Callable[[int], bool]) -> int:
    """The least number from 0 to `limit` for which a condition holds that, once it holds, holds for all above; else `limit`."""
    low, high = 0, limit
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
