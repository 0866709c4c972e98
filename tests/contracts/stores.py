"""The stores that contracts and tests of the ledger run over: in memory, in a file, and in a real PostgreSQL."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from tests.servers.postgres import PostgresServer

from remuda.ledger.address import read_address
from remuda.ledger.schema import Tables
from remuda.ledger.seat import Claimant
from remuda.ledger.store import InlineStore, SqliteStore

if TYPE_CHECKING:
    from remuda.ledger.postgres_store import PostgresStore

Stored: TypeAlias = "InlineStore | SqliteStore | PostgresStore"
#: those that need a server are left out of the quick tests
KINDS = ["inline", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


def now() -> int:
    return time.time_ns() // 1_000_000


def postgres_store(url: str, tables: Sequence[Tables] = (), holder: str = "test") -> "PostgresStore":
    """A store on a server, with its seat taken."""
    from remuda.ledger.postgres_store import PostgresStore

    store = PostgresStore(read_address(url, "--store"), now, tables=tables)
    try:
        store.take_seat(Claimant(holder, "host"))
    except BaseException:
        store.close()
        raise
    return store


def spoken(store: Stored, statement: str) -> str:
    """A statement with bytes as SQLite writes them, in the words of the store's database."""
    return re.sub(r"x'([0-9a-f]*)'", r"'\\x\1'::bytea", statement) if store.is_apart else statement


@contextmanager
def opened(
    kind: str, directory: Path, request: pytest.FixtureRequest, tables: Sequence[Tables] = ()
) -> Iterator[Stored]:
    """An empty store of a kind."""
    made: Stored
    if kind == "inline":
        made = InlineStore(tables)
    elif kind == "sqlite":
        made = SqliteStore(directory / "remuda.db", tables=tables)
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        made = postgres_store(server.url(request.getfixturevalue("schema")), tables)
    try:
        yield made
    finally:
        made.close()
