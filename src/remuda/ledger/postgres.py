"""
PostgreSQL: connections that take the same statements as SQLite's, and its words about trouble turned into ours.

psycopg is an extra. Nothing else imports it, and this module only once an address of PostgreSQL was given.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

from remuda.errors import BadInput, RemudaError, Unavailable
from remuda.ledger.address import PostgresAddress
from remuda.ledger.postgres_schema import check
from remuda.ledger.schema import Tables, is_behind
from remuda.ledger.store import DamagedRow, Write

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as missing:
    raise BadInput(
        f"a store on PostgreSQL needs psycopg, which cannot be imported ({missing}): pip install 'remuda[postgres]'"
    ) from None

T = TypeVar("T")
Raw = psycopg.Connection[tuple[Any, ...]]
Wanted: TypeAlias = Literal["any", "primary", "writable"]

#: what a URL does not say; a peer that is gone without a word is noticed after 25 s, here and there
_SETTINGS = {
    "application_name": "remuda",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}
_SESSION = (
    "SET client_min_messages TO warning",
    "SET default_transaction_isolation TO 'read committed'",
    "SET tcp_keepalives_idle TO 10",
    "SET tcp_keepalives_interval TO 5",
    "SET tcp_keepalives_count TO 3",
)
_OLDEST = 13
_KNOWS_PRIMARY = 140_000
_ROWS_AT_A_TIME = 50
_NOT_WRITTEN = (
    "it is a standby, or set to read only (default_transaction_read_only): nothing can be written to it"
)
#: what libpq says while it connects, and what helps; there is no code for it
_CONNECTING = (
    ("password authentication failed", "the password is wrong, or the user does not exist", True),
    ("no password supplied", "it wants a password: give it in the URL, in PGPASSWORD or by PGPASSFILE", True),
    ("no pg_hba.conf entry", "its pg_hba.conf does not let us in", True),
    ("does not exist", "create it, or name another in the URL", True),
    ("Connection refused", "is the server running there?", False),
    ("No such file or directory", "is the server running there?", False),
    ("timeout expired", "it does not answer: is the address right, and the way to it open?", False),
    ("could not translate host name", "the name of its host is not known here", False),
    ("read-only", _NOT_WRITTEN, False),
    ("hot standby", _NOT_WRITTEN, False),
)


class PostgresDatabase:
    """A connection that is asked as SQLite's is; see `remuda.ledger.sql`."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._names = itertools.count(1)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run one statement."""
        return self.raw.execute(_translated(sql), parameters)

    def executemany(
        self, sql: str, parameters: Iterable[Sequence[Any]], /
    ) -> "psycopg.Cursor[tuple[Any, ...]]":
        """Run one statement with each of several rows, all of them sent at once."""
        cursor = self.raw.cursor()
        cursor.executemany(_translated(sql), parameters)
        return cursor

    def stream(self, sql: str, parameters: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows of a question a few at a time, within the transaction under way."""
        with self.raw.cursor(f"rows_{next(self._names)}") as cursor:
            cursor.itersize = _ROWS_AT_A_TIME
            cursor.execute(_translated(sql), parameters)
            yield from cursor


@lru_cache(1024)
def _translated(sql: str) -> bytes:
    """Values are `%s` there, and `%` is written twice."""
    return sql.replace("%", "%%").replace("?", "%s").encode()


def connect(address: PostgresAddress, server: Wanted) -> Raw:
    """
    A connection without a transaction, to a server that is as `server` says.

    What was just written may be missing from a standby, which `primary` refuses, and `writable` as well as a primary that is
    set to read only.
    `BadInput` says what a person must change, `Unavailable` what may pass.
    """
    try:
        # PGCLIENTENCODING must not decide which letters can be kept.
        settings: dict[str, Any] = {**_SETTINGS, **conninfo_to_dict(address.url), "client_encoding": "UTF8"}
    except psycopg.ProgrammingError:
        # Its words may repeat a piece of the password.
        raise BadInput(f"{address} is no address that libpq reads: check its options") from None
    if server == "writable":
        settings.setdefault("target_session_attrs", "read-write")
    elif server == "primary" or settings.get("target_session_attrs") == "read-write":
        # Who reads needs nothing that can be written; an older libpq has no word for it.
        is_known = psycopg.pq.version() >= _KNOWS_PRIMARY
        settings["target_session_attrs"] = "primary" if is_known else "read-write"
    try:
        raw = psycopg.connect(make_conninfo(**settings), autocommit=True)
    except psycopg.Error as error:
        raise _not_connected(error, address) from None
    try:
        _check_age(raw.info.server_version, address)
        _check_encoding(raw.info.parameter_status("server_encoding"), address)
        control(raw, f'SET search_path TO "{address.schema}"', *_SESSION)
    except psycopg.Error as error:
        raw.close()
        raise explain(error, address) from None
    except BaseException:
        raw.close()
        raise
    return raw


def _check_age(version: int, address: PostgresAddress) -> None:
    if version < _OLDEST * 10_000:
        raise BadInput(f"{address} is PostgreSQL {version // 10_000}, and Remuda needs {_OLDEST} or newer")


def _check_encoding(encoding: str | None, address: PostgresAddress) -> None:
    """A job could not end whose last words have a letter that the database cannot keep."""
    if encoding not in (None, "UTF8"):
        raise BadInput(
            f"{address} has encoding {encoding}, and Remuda needs UTF8: make another one with"
            " createdb --encoding UTF8 --template template0 NAME"
        )


def control(raw: Raw, *statements: str) -> None:
    """Run statements without values, all in one message."""
    raw.execute("; ".join(statements).encode(), prepare=False)


def _not_connected(error: psycopg.Error, address: PostgresAddress) -> RemudaError:
    text = _one_line(error, address)
    # With several hosts there are several reasons, and the last one counts.
    for words, fix, is_wrong in _CONNECTING:
        if words in text:
            kind = BadInput if is_wrong else Unavailable
            return kind(f"{address} cannot be reached: {text}; {fix}")
    return Unavailable(f"{address} cannot be reached: {text}")


def explain(error: BaseException, address: PostgresAddress) -> RemudaError:
    """What went wrong with a statement, as an error of ours."""
    text = _one_line(error, address)
    match getattr(error, "sqlstate", None):
        case "53100":
            return Unavailable(
                f"{address} cannot grow: the disk of its server is full; free some space there"
            )
        case "42501":
            return BadInput(
                f"{address}: {text}; grant its user CREATE on the database, or make schema {address.schema} for it:"
                f" CREATE SCHEMA {address.schema} AUTHORIZATION …"
            )
        case "25006":
            return Unavailable(
                f"{address} is a standby now, or set to read only (default_transaction_read_only): nothing can be"
                " written to it"
            )
    return Unavailable(f"{address} does not answer: {text}")


def _one_line(error: BaseException, address: PostgresAddress) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    # It asks what we say ourselves.
    said = [
        line.removeprefix("connection failed: ")
        for line in lines
        if line and not line.startswith("Is the server")
    ]
    return address.without_secrets("; ".join(said) or type(error).__name__)


@contextmanager
def reading(address: PostgresAddress, tables: Sequence[Tables] = ()) -> Iterator[PostgresDatabase]:
    """Questions to a store that may or may not be in use, all as of one moment; `BadInput` when there is none."""
    raw = connect(address, "any")
    try:
        db = PostgresDatabase(raw)
        with one_moment(db):
            if not check(db, address, tables):
                raise BadInput(f"there is no store in {address}: nothing has run with it yet")
            if is_behind(db, tables):
                raise BadInput(
                    f"{address} was written by an older remuda: `remuda up` of this version upgrades it once"
                )
            yield db
    except psycopg.Error as error:
        raise explain(error, address) from None
    finally:
        raw.close()


def is_there(address: PostgresAddress) -> bool:
    """Whether a database has a store; `BadInput` when it has another program's tables there, or a newer store."""
    raw = connect(address, "any")
    try:
        return check(PostgresDatabase(raw), address)
    except psycopg.Error as error:
        raise explain(error, address) from None
    finally:
        raw.close()


class ReadOnlyPostgres:
    """A store that someone else may be writing: for dry runs."""

    is_apart = True
    is_writer = False

    def __init__(self, address: PostgresAddress, tables: Sequence[Tables] = ()) -> None:
        """`tables` are those of jobs that keep their own."""
        self._address, self._tables = address, tables
        with reading(address, tables):
            pass

    async def write(self, change: Write[T], *, durable: bool = True) -> T:
        """Refuse."""
        del change, durable
        raise Unavailable("nothing is written in a dry run")

    def read(self, question: Write[T]) -> T:
        """Answer from committed data."""
        with reading(self._address, self._tables) as db, row_explained(self._address):
            return question(db)

    def close(self) -> None:
        """Nothing is held between two questions."""


@contextmanager
def writing(address: PostgresAddress) -> Iterator[PostgresDatabase]:
    """
    One transaction of a process that is not the one that runs, on what no loop writes; committed at the end.

    The store must be there. `Unavailable` says that it cannot be written now.
    """
    with reading(address):
        pass
    raw = connect(address, "writable")
    try:
        with raw.transaction():
            yield PostgresDatabase(raw)
    except psycopg.Error as error:
        raise explain(error, address) from None
    finally:
        raw.close()


@contextmanager
def one_moment(db: PostgresDatabase) -> Iterator[None]:
    """Several questions see the same state, whatever is committed in between."""
    control(db.raw, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        yield
    finally:
        if not db.raw.closed:
            control(db.raw, "ROLLBACK")


@contextmanager
def row_explained(address: PostgresAddress) -> Iterator[None]:
    """Say whose row it is that makes no sense."""
    try:
        yield
    except DamagedRow as error:
        raise BadInput(f"{address} has a row that makes no sense: {error}") from error
