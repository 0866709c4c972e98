"""
What changes and questions may use of a database, whichever keeps the store.

`sqlite3.Connection` satisfies `Database` by shape, `remuda.ledger.postgres` has another. Statements are written once, in what
both speak: `?` for a value, `ON CONFLICT`, `RETURNING`, `CASE` for the larger of two. What they cannot say alike is in
`remuda.ledger.dialects`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class Cursor(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A transaction under way."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Run one statement with each of several rows."""
        ...
