"""
What the replay of one job offers: its recorded steps through today's rules, one by one.

A step is judged by itself. A difference is not carried on to the next, because the world went on as it did.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from msgspec import Struct

from remuda.ledger.sql import Database
from remuda.model.times import Instant


class Difference(Struct, frozen=True):
    """One thing that would be decided otherwise: for programs, and in lines for people."""

    data: Any
    lines: tuple[str, ...]


class Step(Struct, frozen=True):
    """One recorded step: how many cycles it stands for, and what would be decided otherwise."""

    cycles: int
    differences: tuple[Difference, ...] = ()


class Replay(Protocol):
    """The records of one job. It is made with `(changed, now)`: changed objects, or none, and the time of asking."""

    def steps(
        self, db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]
    ) -> Iterator[Step]:
        """The steps of a span, oldest first; one that cannot be read is left out and named to `damaged`."""
        ...

    def known(self) -> dict[str, set[str]]:
        """By kind, the names of objects that the steps were judged by; complete when all steps were read."""
        ...

    def used(self) -> Iterable[tuple[str, str]]:
        """Kind and name of changed objects that matter though nothing recorded has their name."""
        ...
