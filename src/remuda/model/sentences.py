"""Parts of sentences that several jobs write."""

from collections.abc import Iterable


def some(names: Iterable[str], most: int = 3) -> str:
    """A few names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
