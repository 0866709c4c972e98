"""The store of a process that runs, wherever it is."""

from collections.abc import Callable, Sequence

from remuda.ledger.address import PostgresAddress
from remuda.ledger.ballast import Ballast
from remuda.ledger.place import Home, place_of
from remuda.ledger.retention import make_room
from remuda.ledger.schema import Tables
from remuda.ledger.store import OpenStore, SqliteStore
from remuda.model.times import Instant


def open_store(
    home: Home, tables: Sequence[Tables], now: Callable[[], Instant], most_bytes: int | None, ballast: Ballast
) -> OpenStore:
    """
    Open it and bring it to this program's version. Nothing may be written before its seat is taken.

    `most_bytes` and `ballast` are for a file: a database is somebody else's to look after.
    """
    place = place_of(home)
    if isinstance(place, PostgresAddress):
        # First what says how to install what is missing.
        from remuda.ledger import postgres  # noqa: F401, PLC0415 - an extra
        from remuda.ledger.postgres_store import PostgresStore  # noqa: PLC0415

        return PostgresStore(place, now, tables=tables)
    return SqliteStore(place, tables=tables, most_bytes=most_bytes, make_room=make_room, ballast=ballast)
