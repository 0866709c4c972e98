"""How a PostgreSQL is that keeps a store or a queue, as far as its user may see. Nothing is changed."""

import time

from remuda.ledger.address import PostgresAddress
from remuda.ledger.sql import Database
from remuda.model.databases import ServerCondition

#: questions of which the quickest tells how far away the server is
_TRIPS = 5


def look_at_server(db: Database, address: PostgresAddress) -> ServerCondition:
    """Ask a server of which a store or a queue could be read."""
    trips = []
    server_now = 0
    ours = 0
    for _ in range(_TRIPS):
        began = time.monotonic()
        (server_now,) = db.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone()
        trips.append(time.monotonic() - began)
        ours = time.time_ns() // 1_000_000
    version, used, most, standby, commit, names, vacuum = db.execute(
        "SELECT current_setting('server_version'), (SELECT count(*) FROM pg_stat_activity WHERE backend_type ="
        " 'client backend'), current_setting('max_connections')::int"
        " - current_setting('superuser_reserved_connections')::int, pg_is_in_recovery(),"
        " current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),"
        " current_setting('autovacuum') = 'on'"
    ).fetchone()
    (followers,) = db.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
    live, dead, size, may_create = db.execute(
        "SELECT coalesce(sum(n_live_tup), 0)::bigint, coalesce(sum(n_dead_tup), 0)::bigint,"
        " coalesce(sum(pg_total_relation_size(relid)), 0)::bigint, has_schema_privilege(?, 'CREATE')"
        " FROM pg_stat_user_tables WHERE schemaname = ?",
        (address.schema, address.schema),
    ).fetchone()
    seat = db.execute(
        "SELECT holder, since FROM writers WHERE ended_at IS NULL AND EXISTS (SELECT 1 FROM pg_locks WHERE"
        " locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = hashtextextended(?, 0))"
        " ORDER BY epoch DESC LIMIT 1",
        (address.schema,),
    ).fetchone()
    return ServerCondition(
        version=version,
        round_trip_ms=round(min(trips) * 1000, 2),
        # Its clock was read somewhere within the last trip.
        ahead_ms=round(server_now - (ours - trips[-1] * 500)),
        connections=used,
        most_connections=most,
        is_standby=standby,
        synchronous_commit=commit,
        synchronous_standbys=names,
        standbys=followers,
        autovacuum=vacuum,
        live_rows=live,
        dead_rows=dead,
        bytes=size,
        may_create=may_create,
        holder=seat[0] if seat else "",
        held_since=seat[1] if seat else None,
    )
