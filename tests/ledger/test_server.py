"""How a server is that keeps a store, as `remuda diagnose` asks it."""

import pytest
from tests.contracts.stores import postgres_store
from tests.servers.postgres import PASSWORD, PostgresServer

from remuda.ledger.address import read_address
from remuda.ledger.place import reading
from remuda.ledger.server import look_at_server
from remuda.model.databases import ServerCondition

pytestmark = pytest.mark.slow


def look(url: str) -> ServerCondition:
    address = read_address(url, "--store")
    with reading(address) as db:
        return look_at_server(db, address)


def test_what_a_server_says_of_itself_and_of_who_writes(postgres: PostgresServer, schema: str) -> None:
    url = postgres.url(schema)
    store = postgres_store(url, holder="build-1, pid 7")
    try:
        found = look(url)
    finally:
        store.close()
    assert found.version.split(".")[0] == postgres.psql("SHOW server_version").split(".")[0]
    assert 0 < found.round_trip_ms < 10_000
    assert abs(found.ahead_ms) < 10_000, "one host has one clock"
    assert 0 < found.connections < found.most_connections
    assert (found.is_standby, found.autovacuum, found.may_create) == (False, True, True)
    assert (found.synchronous_commit, found.synchronous_standbys, found.standbys) == ("on", "", 0)
    assert found.bytes > 0
    assert (found.holder, found.held_since is not None) == ("build-1, pid 7", True)
    after = look(url)
    assert (after.holder, after.held_since) == ("", None), "it has let go of the seat"


def test_a_user_who_may_only_read_is_told_so(postgres: PostgresServer, schema: str) -> None:
    postgres_store(postgres.url(schema)).close()
    reader = f"reader_{schema}"
    postgres.psql(f"CREATE ROLE {reader} LOGIN PASSWORD '{PASSWORD}'")
    postgres.psql(f"GRANT USAGE ON SCHEMA {schema} TO {reader}")
    postgres.psql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")
    url = postgres.url(schema).replace("//remuda:", f"//{reader}:")
    assert not look(url).may_create
