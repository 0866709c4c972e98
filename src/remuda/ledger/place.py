"""Where a store is, a file or a database, and how a command asks it while nothing runs."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from remuda.ledger import read_only, store
from remuda.ledger.address import PostgresAddress
from remuda.ledger.schema import Tables
from remuda.ledger.sql import Database

if TYPE_CHECKING:
    from remuda.ledger.postgres import ReadOnlyPostgres

#: a file or a database
Place: TypeAlias = Path | PostgresAddress
#: a data directory or a database
Home: TypeAlias = Path | PostgresAddress


def place_of(home: Home) -> Place:
    """The store of a data directory, or the database itself."""
    return home / store.FILE if isinstance(home, Path) else home


def may_be_there(place: Place) -> bool:
    """False when there surely is no store; that of a server is known when it is asked."""
    return not isinstance(place, Path) or place.exists()


@contextlib.contextmanager
def reading(place: Place, tables: Sequence[Tables] = ()) -> Iterator[Database]:
    """Questions to a store that may or may not be in use, as of one moment; `BadInput` when there is none."""
    if isinstance(place, Path):
        with read_only.reading(place, tables) as file, store.explained(place):
            yield file
        return
    from remuda.ledger import postgres  # noqa: PLC0415 - an extra

    with postgres.reading(place, tables) as db, postgres.row_explained(place):
        yield db


def open_read_only(
    place: Place, tables: Sequence[Tables] = ()
) -> "read_only.ReadOnlyStore | ReadOnlyPostgres":
    """A store that someone else may be writing, for many questions; `BadInput` when there is none."""
    if isinstance(place, Path):
        return read_only.ReadOnlyStore(place, tables)
    from remuda.ledger.postgres import ReadOnlyPostgres  # noqa: PLC0415 - an extra

    return ReadOnlyPostgres(place, tables)


@contextlib.contextmanager
def writing(place: Place) -> Iterator[Database]:
    """
    One transaction of a process that is not the one that runs, on what no loop writes; committed at the end.

    A file is made where there is none. `BadInput` says why it cannot be written, `Unavailable` that it cannot be now.
    """
    if isinstance(place, Path):
        with store.writing(place) as file:
            yield file
        return
    from remuda.ledger import postgres  # noqa: PLC0415 - an extra

    with postgres.writing(place) as db:
        yield db
