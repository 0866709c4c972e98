"""
Hosts that take from one queue: who there is, who may write, and what becomes of the jobs of one that is gone.

Each host has a row, and a seat of its own in the sense of `remuda.ledger.seat`: every transaction of it raises the count of
its row first. So the count is a heartbeat, and it is the fence: once another host has ended the row, nothing of this one is
done any more. No clock is compared with another one. Who sees a count that stays the same for as long as the lease of
its host, by a clock of its own, knows that the host has confirmed nothing since; and the host counts from before it asked, so
that it has stopped its jobs by then.

A lease that was never ended goes on, however late the host comes back. One that was ended begins anew under another
name, its tenure, which the orders of machines carry: what they got under an earlier one they stop.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from remuda.errors import BadInput, NotFound
from remuda.ledger.schema import Tables, part_version
from remuda.ledger.seat import Claimant, SeatTaken, Standing
from remuda.ledger.sql import Database
from remuda.model.jobs import Finished, QueueHost, QueueHosts
from remuda.model.times import DAY, Instant, write_instant
from remuda.sources.queue import rows

#: `jobs.host` is the only one that may run a job
_V1 = """
CREATE TABLE hosts (
  host       TEXT    PRIMARY KEY,
  token      TEXT    NOT NULL UNIQUE,
  holder     TEXT    NOT NULL,
  since      INTEGER NOT NULL,
  lease_ms   INTEGER NOT NULL,
  commits    INTEGER NOT NULL DEFAULT 0,
  renewed_at INTEGER NOT NULL,
  ended_at   INTEGER,
  classes    TEXT    NOT NULL DEFAULT ''
) STRICT;
ALTER TABLE jobs ADD COLUMN host TEXT
"""

TABLES = Tables("hosts", (_V1,))
#: a host that is gone for so long is forgotten
_FORGOTTEN = 30 * DAY
#: by the clock of the server, for people: nothing is decided by it
_SERVER_NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class HostRow(Struct, frozen=True):
    """One host as the queue knows it. `silent_ms` is how long ago it wrote, all by the server's clock."""

    host: str
    token: str
    holder: str
    since: Instant
    lease_ms: int
    commits: int
    silent_ms: int
    ended_at: Instant | None
    classes: tuple[str, ...]

    @property
    def tenure(self) -> str:
        """The name of its lease."""
        return tenure_of(self.token)


def tenure_of(token: str) -> str:
    """The name of the lease in a token, which has one for each process besides."""
    return token.partition(":")[0]


class HostSeats:
    """The seat of one host; see `remuda.ledger.seat.Seats`."""

    WAY_OUT = (
        "stop that one; if this data directory is a copy of another host's, remove the file queue-host in it"
    )

    def __init__(self, host: str, lease_ms: int) -> None:
        self._host, self._lease_ms = host, lease_ms

    def check_place(self, db: Database, schema: str) -> None:
        """Raise `BadInput` where the schema is the store of one Remuda, which would not know of hosts."""
        if db.execute("SELECT to_regclass(?)", (f'"{schema}".writers',)).fetchone()[0] is None:
            return
        if db.execute(f'SELECT 1 FROM "{schema}".writers LIMIT 1').fetchone():  # noqa: S608 - a checked name
            raise BadInput(
                f"schema {schema} is the store of one Remuda: name another one for the queue with ?schema=NAME"
            )

    def lock(self, db: Database, schema: str) -> bool:
        """The session's lock of this host alone."""
        name = f"{schema}/{self._host}"
        return bool(db.execute("SELECT pg_try_advisory_lock(hashtextextended(?, 2))", (name,)).fetchone()[0])

    def unlock(self, db: Database, schema: str) -> None:
        """Give it back."""
        name = f"{schema}/{self._host}"
        db.execute("SELECT pg_advisory_unlock(hashtextextended(?, 2))", (name,))

    def take(self, db: Database, who: Claimant, now: Instant, *, has_lock: bool) -> str:
        """Go on under the lease that this host has, or begin one where it has none or it was ended."""
        row = db.execute(
            "SELECT token, ended_at, holder, since FROM hosts WHERE host = ? FOR UPDATE", (self._host,)
        ).fetchone()
        if not has_lock:
            raise SeatTaken(f"{row[2]}, since {write_instant(row[3])}" if row else "unknown")
        tenure = tenure_of(row[0]) if row is not None and row[1] is None else None
        begun: str = db.execute(
            "INSERT INTO hosts (host, token, holder, since, lease_ms, renewed_at) VALUES"  # noqa: S608 - ours
            f" (?, coalesce(?, gen_random_uuid()::text) || ':' || gen_random_uuid()::text, ?, ?, ?, {_SERVER_NOW})"
            " ON CONFLICT (host) DO UPDATE SET token = excluded.token, holder = excluded.holder,"
            " since = excluded.since, lease_ms = excluded.lease_ms, renewed_at = excluded.renewed_at,"
            " commits = hosts.commits + 1, ended_at = NULL RETURNING token",
            (self._host, tenure, who.holder, now, self._lease_ms),
        ).fetchone()[0]
        return begun

    def count_commit(self, db: Database, token: str) -> int | None:
        """Show that this host is there, and that its lease is its own; None when it was ended."""
        row = db.execute(
            f"UPDATE hosts SET commits = commits + 1, renewed_at = {_SERVER_NOW}"  # noqa: S608 - ours
            " WHERE token = ? AND ended_at IS NULL RETURNING commits",
            (token,),
        ).fetchone()
        return None if row is None else int(row[0])

    def standing(self, db: Database, token: str) -> Standing | None:
        """As `remuda.ledger.seat.standing`."""
        row = db.execute(
            "SELECT commits, ended_at FROM hosts WHERE token = ? FOR UPDATE", (token,)
        ).fetchone()
        return None if row is None else Standing(row[0], row[1] is not None)

    def present_holder(self, db: Database) -> str:
        """What became of this host's lease."""
        row = db.execute(
            "SELECT holder, ended_at FROM hosts WHERE host = ?",
            (self._host,),
        ).fetchone()
        if row is None:
            return "nobody knows this host"
        return "its lease was ended by another host" if row[1] is not None else str(row[0])


def all_hosts(db: Database) -> list[HostRow]:
    """Every host, also those that are gone, by name."""
    found = db.execute(
        f"SELECT host, token, holder, since, lease_ms, commits, {_SERVER_NOW} - renewed_at, ended_at, classes"  # noqa: S608
        " FROM hosts ORDER BY host"
    ).fetchall()
    return [_host(*row) for row in found]


def _host(*row: Any) -> HostRow:
    facts: tuple[Any, ...] = (*row[:-1], tuple(filter(None, row[-1].split("\n"))))
    return HostRow(*facts)


def shown_hosts(db: Database) -> QueueHosts:
    """Every host for people, with how many jobs run on it and wait for it; `NotFound` for a queue of one host."""
    if not part_version(db, TABLES.name):
        raise NotFound("the job queue is not shared with other hosts: remuda up --queue does that")
    running = dict(
        db.execute(
            "SELECT split_part(machine, '/', 1), count(*) FROM jobs WHERE state = 'running' GROUP BY 1"
        ).fetchall()
    )
    bound = dict(
        db.execute(
            "SELECT host, count(*) FROM jobs WHERE state = 'waiting' AND host IS NOT NULL GROUP BY 1"
        ).fetchall()
    )
    return QueueHosts(
        tuple(
            QueueHost(
                host=each.host,
                holder=each.holder,
                lease_ms=each.lease_ms,
                silent_ms=each.silent_ms,
                is_ended=each.ended_at is not None,
                running=running.get(each.host, 0),
                bound=bound.get(each.host, 0),
                classes=each.classes,
            )
            for each in all_hosts(db)
        )
    )


def serve(db: Database, host: str, classes: Iterable[str]) -> None:
    """Say what jobs a host takes."""
    db.execute("UPDATE hosts SET classes = ? WHERE host = ?", ("\n".join(sorted(classes)), host))


def leave(db: Database, host: str, now: Instant) -> None:
    """A host stops, and has no job that would have to be watched: others need not wait for it."""
    if not rows.running(db, f"{host}/"):
        db.execute("UPDATE hosts SET ended_at = ? WHERE host = ?", (now, host))


def end_lease(db: Database, gone: HostRow, now: Instant) -> list[rows.Settled]:
    """
    End the lease of a host that has confirmed nothing since it was seen so, and give up the jobs that it had.

    They are lost, and wait again or have failed by their own rule. Nothing is done when the host is there after all, or
    another host is just doing it.
    """
    found = db.execute(
        "SELECT 1 FROM hosts WHERE host = ? AND token = ? AND commits = ? AND ended_at IS NULL FOR UPDATE SKIP LOCKED",
        (gone.host, gone.token, gone.commits),
    ).fetchone()
    if found is None:
        return []
    db.execute("UPDATE hosts SET ended_at = ? WHERE host = ?", (now, gone.host))
    detail = f"host {gone.host} is gone: it showed no sign of life for as long as its lease"
    settled = [
        rows.end_attempt(db, machine, Finished(job, attempt, "lost", -1, detail, store=store), now)
        for machine, job, attempt, store in _running(db, gone.host)
    ]
    return [each for each in settled if each is not None]


def _running(db: Database, host: str) -> list[tuple[Any, ...]]:
    prefix = f"{host}/"
    return db.execute(
        "SELECT jobs.machine, jobs.id, jobs.attempt, store FROM jobs"
        " JOIN attempts ON job = jobs.id AND attempts.attempt = jobs.attempt"
        " WHERE state = 'running' AND substr(jobs.machine, 1, ?) = ? ORDER BY jobs.id",
        (len(prefix), prefix),
    ).fetchall()


def forget_hosts(db: Database, now: Instant) -> None:
    """Forget hosts that are gone for long, with what is known of their machines."""
    found = db.execute("DELETE FROM hosts WHERE ended_at < ? RETURNING host", (now - _FORGOTTEN,)).fetchall()
    for (host,) in found:
        db.execute("DELETE FROM workers WHERE substr(machine, 1, ?) = ?", (len(host) + 1, f"{host}/"))


class Lookout(Struct, frozen=True):
    """Since when, by the clock of who looks, each host was seen with the count that it has now."""

    seen: dict[str, tuple[str, int, float]] = {}


def look_out(
    before: Lookout, found: Iterable[HostRow], own: str, now: float
) -> tuple[Lookout, tuple[HostRow, ...]]:
    """Which hosts have shown no sign of life for as long as their lease; pure, `now` is in seconds of one steady clock."""
    after, gone = dict[str, tuple[str, int, float]](), list[HostRow]()
    for row in found:
        if row.host == own or row.ended_at is not None:
            continue
        token, commits, since = before.seen.get(row.host, ("", -1, now))
        if (token, commits) != (row.token, row.commits):
            since = now
        after[row.host] = (row.token, row.commits, since)
        if now - since >= row.lease_ms / 1000:
            gone.append(row)
    return Lookout(after), tuple(gone)
