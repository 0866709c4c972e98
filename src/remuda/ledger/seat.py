"""
Who may write a store that several processes can reach: one at a time, and never one that lost it.

Each process that begins to write gets an epoch of its own, a row of `writers`, and ends that of the one before. The row has a
random token, because a store that was restored counts the same epochs again. Every transaction raises the count of its
row first, and finds nothing to raise once that is ended: then nothing of it is done. The lock of a row makes the two wait for each other, so a write is either before a take-over or refused.

The count also tells a connection that was cut during COMMIT what became of it: it is as high as that transaction made it, or
it is not.

Beside it a session holds an advisory lock while it writes, which the server gives back when the session ends, however it
ends. Who finds it held is refused, unless an election says that its holder's time is over.
"""

from typing import Protocol

from msgspec import Struct

from remuda.errors import BadInput, Unavailable
from remuda.ledger.sql import Database
from remuda.model.times import Instant, write_instant


class Fenced(Unavailable):
    """Another process writes the store now; this one may not any more."""


class SeatTaken(Unavailable):
    """Another process writes the store, and nothing says that its time is over."""


class Claimant(Struct, frozen=True):
    """
    Who wants to write.

    `scope` is what the seat is fought over in: replicas that elect a leader have one in common, and the elected one may
    take the seat from another of them.
    """

    holder: str
    scope: str
    is_elected: bool = False


#: what a person can do where another process has the seat
WAY_OUT = "stop that one, or give this one a store of its own with ?schema=NAME"


class Seats(Protocol):
    """How one comes to write a store, and shows it: by this module where there is one seat for all."""

    WAY_OUT: str

    def check_place(self, db: Database, schema: str) -> None:
        """Raise `BadInput` where a schema is kept in another way; before anything is made in it."""

    def lock(self, db: Database, schema: str) -> bool:
        """As the function `lock`, and so the others."""

    def unlock(self, db: Database, schema: str) -> None:
        """Give the lock back."""

    def take(self, db: Database, who: Claimant, now: Instant, *, has_lock: bool) -> str:
        """Begin to write; `SeatTaken` names who has the seat."""

    def count_commit(self, db: Database, token: str) -> int | None:
        """Raise the count, first of all in a transaction; None when the seat is lost."""

    def standing(self, db: Database, token: str) -> "Standing | None":
        """How the seat stands."""

    def present_holder(self, db: Database) -> str:
        """Who has it now, in words."""


def check_place(db: Database, schema: str) -> None:
    """Raise `BadInput` where hosts share a queue in the schema: they would not know of a writer."""
    if db.execute("SELECT to_regclass(?)", (f'"{schema}".hosts',)).fetchone()[0] is not None:
        raise BadInput(
            f"schema {schema} is a job queue that hosts share: name it with --queue, and for the store another one"
            " with ?schema=NAME"
        )


def lock(db: Database, schema: str) -> bool:
    """Try to get the advisory lock for this session; it may be had several times."""
    return bool(db.execute("SELECT pg_try_advisory_lock(hashtextextended(?, 0))", (schema,)).fetchone()[0])


def unlock(db: Database, schema: str) -> None:
    """Give the lock back."""
    db.execute("SELECT pg_advisory_unlock(hashtextextended(?, 0))", (schema,))


#: epochs of which is known who had them
_REMEMBERED = 100


def take(db: Database, who: Claimant, now: Instant, *, has_lock: bool) -> str:
    """
    Begin an epoch, within a transaction of the caller, and return its token; writes of the epoch before are done or refused.

    `SeatTaken` names who has it.
    """
    # Waits for transactions that have raised a count, and keeps others waiting until this one is committed.
    db.execute("LOCK TABLE writers IN SHARE ROW EXCLUSIVE MODE")
    row = db.execute("SELECT epoch, scope, holder, since FROM writers ORDER BY epoch DESC LIMIT 1").fetchone()
    if row is not None:
        epoch, scope, holder, since = row
        if not has_lock and not (who.is_elected and scope == who.scope):
            raise SeatTaken(f"{holder}, since {write_instant(since)}")
        db.execute("UPDATE writers SET ended_at = ? WHERE epoch = ? AND ended_at IS NULL", (now, epoch))
        db.execute("DELETE FROM writers WHERE epoch <= ?", (epoch - _REMEMBERED,))
    begun: str = db.execute(
        "INSERT INTO writers (scope, holder, since) VALUES (?, ?, ?) RETURNING token",
        (who.scope, who.holder, now),
    ).fetchone()[0]
    return begun


def count_commit(db: Database, token: str) -> int | None:
    """Raise the count of an epoch, first of all in a transaction; None when the epoch is ended."""
    row = db.execute(
        "UPDATE writers SET commits = commits + 1 WHERE token = ? AND ended_at IS NULL RETURNING commits",
        (token,),
    ).fetchone()
    return None if row is None else int(row[0])


class Standing(Struct, frozen=True):
    """How an epoch stands: what was committed in it, and whether it is ended."""

    commits: int
    is_ended: bool


def standing(db: Database, token: str) -> Standing | None:
    """None when the store knows nothing of the epoch: it is older, or another one."""
    # A transaction of a connection that was cut may still be under way at the server: the lock waits for its end.
    row = db.execute("SELECT commits, ended_at FROM writers WHERE token = ? FOR UPDATE", (token,)).fetchone()
    return None if row is None else Standing(row[0], row[1] is not None)


def present_holder(db: Database) -> str:
    """Who writes now, in words."""
    row = db.execute("SELECT holder, since FROM writers ORDER BY epoch DESC LIMIT 1").fetchone()
    return "nobody" if row is None else f"{row[0]}, since {write_instant(row[1])}"
