"""
Documents that commands keep for later ones: by kind, with the time they speak of.

A kind is a path, as in `rightsize/https://cluster`; the part before the first slash is its family. Keeping one is safe
beside a running Remuda: it is one short transaction, and a reader sees it whole or not at all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from remuda.errors import BadInput
from remuda.ledger.dialects import store_version
from remuda.ledger.place import Home, place_of, reading, writing
from remuda.ledger.record import pack, unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.times import Instant, write_instant

T = TypeVar("T")

#: documents of a kind, and bytes of all kinds together, so that they do not push out the history of loops
MOST_DOCUMENTS, MOST_BYTES = 40, 64 * 1024 * 1024
#: of every kind these stay, however large: a review is compared with the one before
_ALWAYS = 2
#: kinds of a family, those with the newest documents: whoever reads files of ever new names must not fill the store
MOST_KINDS = 50
#: the first version that has documents
_VERSION = 2


class Kept(Struct, frozen=True):
    """Which document there is."""

    id: int
    kind: str
    at: Instant


def keep(home: Home, kind: str, at: Instant, value: object, largest: int | None = None) -> None:
    """
    Keep a document, and forget those that are too many; a data directory and its store are made where there are none.

    `BadInput` or `Unavailable` says why it cannot be kept, as that it has more than `largest` bytes; nothing was changed then.
    """
    made = pack(value)
    if largest is not None and len(made) > largest:
        raise BadInput(f"it has {len(made):,} bytes, and at most {largest:,} are kept of one")
    try:
        if isinstance(home, Path):
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise BadInput(
            f"the data directory {home} cannot be used: {error.strerror}; choose another with --data-dir"
        ) from error
    with writing(place_of(home)) as db:
        put(db, kind, at, made)


def put(db: Database, kind: str, at: Instant, packed: bytes, most_bytes: int = MOST_BYTES) -> None:
    """Add a document that is packed already, within a transaction of the caller, and forget what is too much."""
    db.execute("INSERT INTO documents (kind, at, data) VALUES (?, ?, ?)", (kind, at, packed))
    db.execute(
        "DELETE FROM documents WHERE id IN (SELECT id FROM ("
        "SELECT id, row_number() OVER (PARTITION BY kind ORDER BY at DESC, id DESC) AS place,"
        " sum(length(data)) OVER (ORDER BY at DESC, id DESC) AS size FROM documents"
        ") AS counted WHERE place > ? OR (size > ? AND place > ?))",
        (MOST_DOCUMENTS, most_bytes, _ALWAYS),
    )
    family = kind.partition("/")[0] + "/"
    db.execute(
        "DELETE FROM documents WHERE kind IN (SELECT kind FROM ("
        "SELECT kind, row_number() OVER (ORDER BY max(at) DESC, max(id) DESC) AS place FROM documents"
        " WHERE substr(kind, 1, ?) = ? GROUP BY kind) AS counted WHERE place > ?)",
        (len(family), family, MOST_KINDS),
    )


def kept(db: Database, kind: str, until: Instant | None = None) -> list[Kept]:
    """The documents of a kind up to a time, the newest first; none in an older store."""
    return _kept(db, "kind = ?", (kind,), until)


def kept_of_family(db: Database, family: str, until: Instant | None = None) -> list[Kept]:
    """As `kept`, of all kinds of a family."""
    return _kept(db, "substr(kind, 1, ?) = ?", (len(family) + 1, f"{family}/"), until)


def _kept(db: Database, which: str, values: tuple[object, ...], until: Instant | None) -> list[Kept]:
    if store_version(db) < _VERSION:
        return []
    rows = db.execute(
        f"SELECT id, kind, at FROM documents WHERE {which} AND at <= ? ORDER BY at DESC, id DESC",  # noqa: S608 - ours
        (*values, 2**62 if until is None else until),
    )
    return [Kept(*row) for row in rows.fetchall()]


def read(db: Database, item: Kept, kind: type[T]) -> T:
    """What a document says; `BadInput` names one that is damaged, or that another version wrote."""
    return unpacked(packed(db, item), item, kind)


def packed(db: Database, item: Kept) -> bytes:
    """A document as it is stored, for `unpacked`; `BadInput` when it is gone."""
    row = db.execute("SELECT data FROM documents WHERE id = ?", (item.id,)).fetchone()
    if row is None:
        raise BadInput(f"{_called(item)} is gone")
    found: bytes = row[0]
    return found


def fingerprint(db: Database, item: Kept) -> tuple[Kept, int, bytes]:
    """What tells a document from any other, of this store or another, without reading it; `BadInput` when it is gone."""
    # what is packed ends with the checksum of what it says
    row = db.execute(
        "SELECT length(data), substr(data, length(data) - 3) FROM documents WHERE id = ?", (item.id,)
    ).fetchone()
    if row is None:
        raise BadInput(f"{_called(item)} is gone")
    return item, row[0], bytes(row[1])


def unpacked(data: bytes, item: Kept, kind: type[T]) -> T:
    """What a stored document says; `BadInput` as `read`."""
    try:
        found: Any = unpack(data, kind, _called(item))
    except DamagedRow as error:
        raise BadInput(f"{error}; it is no use any more, the others are whole") from error
    return found  # type: ignore[no-any-return]


def _called(item: Kept) -> str:
    return f"what was kept of {item.kind} at {write_instant(item.at)}"


@contextmanager
def documents(home: Home) -> Iterator[Database]:
    """Read documents as of one moment; `BadInput` where there is no store, or a broken one."""
    with reading(place_of(home)) as db:
        yield db
