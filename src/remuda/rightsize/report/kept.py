"""Reviews in the ledger, for `--since-last`, `why workload` and `patch`: by what was reviewed, so that clusters do not mix."""

import sqlite3
from collections.abc import Callable

from remuda.errors import BadInput, RemudaError
from remuda.ledger import documents
from remuda.ledger.place import Home, may_be_there, place_of
from remuda.ledger.sql import Database
from remuda.model.times import Instant
from remuda.rightsize.report.size_charts import with_few_points
from remuda.rightsize.review import SCHEMA, Review

FAMILY = "rightsize"
#: points of a chart that are kept, and of all charts of one resource together, so that a large review stays small
MOST_POINTS, MOST_TOGETHER = 200, 400_000


def keep(home: Home, review: Review, scope: str = "") -> str:
    """
    Keep a review, with few points of its charts; return why it cannot be kept, or nothing.

    One of some workloads alone has a `scope`, so that it is not compared with one of all.

    It is no error: whoever made the review has it already, and must not lose it over this.
    """
    try:
        documents.keep(home, _kind(review.source, scope), review.at, kept_form(review))
    except (RemudaError, sqlite3.Error) as error:
        return str(error)
    return ""


def kept_form(review: Review) -> Review:
    """A review as it is kept."""
    return with_few_points(review, MOST_POINTS, MOST_TOGETHER)


def last(home: Home, source: str, scope: str = "", until: Instant | None = None) -> Review | None:
    """The newest review of a source and scope that is kept, up to a time; `BadInput` when it cannot be read."""
    if not may_be_there(place_of(home)):
        return None
    with documents.documents(home) as db:
        found = documents.kept(db, _kind(source, scope), until)
        return _read(db, found[0]) if found else None


def newest_of_each(
    home: Home, until: Instant | None = None, damaged: Callable[[str], None] | None = None
) -> list[Review]:
    """
    The newest review of every source up to a time, the newest first.

    `damaged` is told of one that cannot be read, and it is left out; without it that is `BadInput`.
    """
    if not may_be_there(place_of(home)):
        return []
    found = []
    with documents.documents(home) as db:
        firsts: dict[str, documents.Kept] = {}
        for item in documents.kept_of_family(db, FAMILY, until):
            firsts.setdefault(item.kind, item)
        for item in firsts.values():
            try:
                found.append(_read(db, item))
            except BadInput as error:
                if damaged is None:
                    raise
                damaged(str(error))
    return found


def _kind(source: str, scope: str) -> str:
    return f"{FAMILY}/{source} {scope}".rstrip()


def _read(db: Database, item: documents.Kept) -> Review:
    review = documents.read(db, item, Review)
    if review.schema != SCHEMA:
        raise BadInput(
            f"what was kept of {item.kind} is {review.schema}, and this remuda reads {SCHEMA}: review again"
        )
    return review
