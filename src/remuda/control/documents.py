"""The route to documents that commands keep: which there are, and one as it is."""

import re
from typing import Any

from msgspec import Struct

from remuda.control.routes import Call, Route
from remuda.errors import BadInput, NotFound
from remuda.ledger import documents
from remuda.ledger.sql import Database
from remuda.model.times import Instant

_FAMILY = re.compile(r"[a-z-]{1,40}")


class Kept(Struct, frozen=True):
    """A document that is kept: its number, of what it is, and the time it speaks of."""

    id: int
    kind: str
    at: Instant


def kept_documents(db: Database, call: Call) -> list[Kept]:
    """Those of a family, the newest first."""
    family = call.query.get("family", "")
    if not _FAMILY.fullmatch(family):
        raise BadInput(f"family wants a word like rightsize, found {family[:40]!r}")
    return [Kept(item.id, item.kind, item.at) for item in documents.kept_of_family(db, family)]


def one_document(db: Database, call: Call) -> Any:
    """A document as plain data."""
    number = call.number("document")
    row = db.execute("SELECT kind, at FROM documents WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise NotFound(f"there is no document {number}: it may have been forgotten for newer ones")
    return documents.read(db, documents.Kept(number, *row), Any)


VIEWS: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/documents",
        "Documents that commands kept, the newest first.",
        list[Kept],
        view=kept_documents,
        query={"family": "Of what: rightsize are reviews."},
    ),
    Route("GET", "/v1/documents/{document}", "One document that a command kept.", Any, view=one_document),
)
