"""
Who a store is, so that what another one left behind is never taken for its own.

A copy of a store cannot be distinguished from the original by looking at it. So a store takes a new identity each time it is
opened to run, and keeps those it had before: what is made or handed out carries the identity of its moment. A store
that was moved away and made anew knows none of the old ones. One that was restored from a backup knows the identity
under which the backup was made, but not what was numbered after it.
"""

import random

from msgspec import Struct

from remuda.ledger.dialects import last_operation
from remuda.ledger.sql import Database
from remuda.model.times import Instant


class Lineage(Struct, frozen=True):
    """The identities that a store has had, each with the last operation that it numbered under it."""

    last_operations: dict[str, int]

    def made(self, identity: str, operation: int) -> bool:
        """True when this store numbered the operation under that identity."""
        return operation <= self.last_operations.get(identity, -1)


def new_identity(rng: random.Random, known: Lineage | None = None) -> str:
    """One that no store has had, surely not this one; a letter comes first, so that it is never taken for a number."""
    while (drawn := f"s{rng.getrandbits(48):012x}") in (known.last_operations if known else ()):
        pass
    return drawn


def renew(db: Database, identity: str, now: Instant) -> None:
    """Take a new identity; what is handed out from now on carries it."""
    db.execute("UPDATE identities SET last_operation = ? WHERE last_operation IS NULL", (last_operation(db),))
    db.execute("INSERT INTO identities (id, since) VALUES (?, ?)", (identity, now))


def lineage(db: Database) -> Lineage:
    """All identities; the last one is still in use."""
    last = last_operation(db)
    rows = db.execute("SELECT id, last_operation FROM identities").fetchall()
    return Lineage({identity: last if at is None else at for identity, at in rows})
