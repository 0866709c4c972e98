"""What histories have shown: a history that shows nothing another has not shown before may end."""

from collections.abc import Collection
from itertools import combinations

#: minutes without anything new after which nothing new is expected
_STALE_MINUTES = 8
#: histories in a row without anything new after which nothing new is expected of others
_STALE_HISTORIES = 12


class Situations:
    """
    What came together within a minute: faults that struck, what was decided, and why no more was.

    It is shared by histories that are lived one after the other. Each of them, but for the first `wholly`, ends its faults
    early, and comes to rest as ever, once what it shows has all been shown.
    """

    def __init__(self, wholly: int = 0) -> None:
        self._wholly = wholly
        self._begun = 0
        self._known: set[tuple[str, ...]] = set()
        self._stale = 0
        self._known_before = 0
        self._stale_histories = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether so many histories in a row showed nothing new that no more need be lived."""
        return self._stale_histories >= _STALE_HISTORIES

    def begin(self) -> None:
        """Another history begins."""
        self._begun += 1
        self._stale = 0
        self._known_before = len(self._known)

    def end(self) -> None:
        """It has come to rest."""
        is_stale = len(self._known) == self._known_before
        self._stale_histories = self._stale_histories + 1 if is_stale else 0

    def add(self, codes: Collection[str]) -> bool:
        """Note what came together in one more minute; True while something new may be expected."""
        found = {(code,) for code in codes} | set(combinations(sorted(codes), 2))
        self._stale = 0 if found - self._known else self._stale + 1
        self._known |= found
        return 0 < self._begun <= self._wholly or self._stale < _STALE_MINUTES
