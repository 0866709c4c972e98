"""
The last answers of why, for the page Why and for names that are asked about without their kind.

Which pods there are only a cluster tells, and the dashboard asks none: it shows what a command was told. An answer is kept
where there is a store already; a question makes none.
"""

import contextlib
import sqlite3

from remuda.errors import NotFound, RemudaError
from remuda.ledger import documents
from remuda.ledger.place import Home, may_be_there, place_of
from remuda.ledger.sql import Database
from remuda.model.times import Instant
from remuda.objects.problems import did_you_mean, quoted
from remuda.tiers.answers import WhyAnswer

FAMILY = "tiers-why"


def keep(home: Home, answer: WhyAnswer) -> None:
    """Keep an answer, if that is possible: whoever asked has it already."""
    if may_be_there(place_of(home)):
        with contextlib.suppress(RemudaError, sqlite3.Error):
            documents.keep(home, f"{FAMILY}/{answer.subject}", answer.at, answer)


def answered(db: Database, kind: str, name: str, until: Instant) -> WhyAnswer:
    """The newest answer about something up to a time; `NotFound` names what was asked about, and how to ask."""
    found = documents.kept(db, f"{FAMILY}/{kind}/{name}", until)
    if not found:
        near = did_you_mean(name, subjects(db, kind))
        ask = f"ask with remuda why {kind} {name}, with the same data directory"
        raise NotFound(f"nobody has asked about {kind} {quoted(name, 120)} yet{near}; {ask}")
    return documents.read(db, found[0], WhyAnswer)


def subjects(db: Database, kind: str) -> list[str]:
    """What was asked about of a kind, by name."""
    found = documents.kept_of_family(db, f"{FAMILY}/{kind}")
    return sorted({item.kind.removeprefix(f"{FAMILY}/{kind}/") for item in found})


def known(home: Home, kind: str) -> list[str]:
    """The same of a data directory; none where there is no store."""
    if not may_be_there(place_of(home)):
        return []
    with documents.documents(home) as db:
        return subjects(db, kind)
