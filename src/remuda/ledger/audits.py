"""Audits among kept documents: the newest of each source, one by its number, and whether this version can read it."""

from typing import TypeVar

from msgspec import Struct

from remuda.errors import BadInput, NotFound
from remuda.ledger import documents
from remuda.ledger.sql import Database
from remuda.model.sentences import some
from remuda.model.times import Instant

T = TypeVar("T")


class _Schema(Struct, frozen=True):
    schema: str = ""


def newest_of_each(db: Database, family: str, until: Instant | None = None) -> list[documents.Kept]:
    """The newest audit of every source up to a time, the newest first."""
    newest: dict[str, documents.Kept] = {}
    for item in documents.kept_of_family(db, family, until):
        newest.setdefault(item.kind, item)
    return list(newest.values())


def numbered(db: Database, family: str, number: int) -> documents.Kept:
    """The audit of a number; `NotFound` names those that there are."""
    found = documents.kept_of_family(db, family)
    item = next((each for each in found if each.id == number), None)
    if item is None:
        there = some((str(each.id) for each in found), 5)
        hint = f"; there is: {there}" if there else f": make one with remuda {family} audit"
        raise NotFound(f"no audit {number} is kept, it may have been forgotten for newer ones{hint}")
    return item


def read(data: bytes, item: documents.Kept, kind: type[T], schema: str) -> T:
    """A stored audit, or the head of it; `BadInput` says that it is damaged, or that another version wrote it."""
    found = documents.unpacked(data, item, _Schema).schema
    if found != schema:
        raise BadInput(
            f"what was kept of {item.kind} is {found[:80] or 'of no version'}, and this remuda reads {schema}: audit again"
        )
    return documents.unpacked(data, item, kind)
