"""What can be wrong with a PostgreSQL that keeps a store or a queue; pure."""

from remuda.diagnose.decide.verdicts import Seen
from remuda.model.databases import ServerCondition
from remuda.model.times import SECOND, write_duration, write_instant

#: one job is about six statements: beyond this, a second has too few round trips for many
_FAR_MS = 20.0
#: what clocks may differ by before ages and times are misleading
_SKEW = 2 * SECOND
#: what Remuda itself may need at once
_FEW_CONNECTIONS = 10
#: so many dead rows beside few live ones say that no vacuum comes through
_MANY_DEAD = 100_000
_TIMES_AS_MANY = 5


def judge_server(seen: Seen, server: ServerCondition, *, has_seat: bool) -> list[str]:
    """Add what is wrong to `seen`; return what else there is to say."""
    if server.is_standby:
        seen.add(
            "the server is a standby, and nothing can be written to it",
            "name the primary in the URL, or all of them: postgresql://USER@HOST1,HOST2/DATABASE",
        )
    if not server.may_create and not server.is_standby:
        seen.add(
            "our user may not make tables in its schema, which an upgrade does",
            "let it own the schema: ALTER SCHEMA … OWNER TO …, or GRANT CREATE ON SCHEMA … TO …",
        )
    if server.most_connections - server.connections < _FEW_CONNECTIONS:
        seen.add(
            f"{server.connections} of {server.most_connections} connections are taken, and Remuda may need"
            f" {_FEW_CONNECTIONS}",
            "raise max_connections, or see who holds them in pg_stat_activity",
        )
    if server.round_trip_ms > _FAR_MS:
        seen.add(
            f"a question and its answer take {server.round_trip_ms:.0f} ms",
            "bring the server nearer, or see what keeps it busy: each job costs several of them",
        )
    if abs(server.ahead_ms) > _SKEW:
        way = "ahead of" if server.ahead_ms > 0 else "behind"
        seen.add(
            f"its clock is {write_duration(abs(server.ahead_ms))} {way} this one",
            "see that something keeps both clocks right: timedatectl status, chronyc tracking",
        )
    if not has_seat and server.standbys and not _waits(server):
        # A store that lost something is noticed and not written on; of a queue, jobs were given out by then.
        seen.add(
            f"no commit waits for {_standbys(server)} of its server: one that takes over may lack what was confirmed, and"
            " give a job out twice",
            "set synchronous_standby_names, as in ALTER SYSTEM SET synchronous_standby_names TO 'ANY 1 (*)', and leave"
            " synchronous_commit on",
        )
    if not server.autovacuum:
        seen.add("autovacuum is off: tables only grow", "ALTER SYSTEM SET autovacuum = on")
    elif server.dead_rows > max(_MANY_DEAD, _TIMES_AS_MANY * server.live_rows):
        seen.add(
            f"{server.dead_rows:,} dead rows beside {server.live_rows:,} live ones: no vacuum comes through",
            "see in pg_stat_activity and pg_prepared_xacts what has been open for long, and end it",
        )
    taken = f"{server.connections} of {server.most_connections} connections taken"
    facts = [
        f"PostgreSQL {server.version}, {server.round_trip_ms:.1f} ms away, {taken}",
        _replication(server),
    ]
    if has_seat and server.held_since is not None:
        facts.append(f"written by {server.holder} since {write_instant(server.held_since)}")
    elif has_seat:
        facts.append("nobody writes it now")
    return facts


def _waits(server: ServerCondition) -> bool:
    return bool(server.synchronous_standbys) and server.synchronous_commit not in {"off", "local"}


def _standbys(server: ServerCondition) -> str:
    return "the standby" if server.standbys == 1 else f"any of the {server.standbys} standbys"


def _replication(server: ServerCondition) -> str:
    commit = f"synchronous_commit {server.synchronous_commit}"
    if _waits(server):
        return f"{commit}, commits wait for standbys ({server.synchronous_standbys})"
    if server.standbys:
        return (
            f"{commit}, {server.standbys} standby{'s' * (server.standbys != 1)} no commit waits for: one that takes over"
            " may lack what was confirmed (synchronous_standby_names)"
        )
    return f"{commit}, no standby is seen"
