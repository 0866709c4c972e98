"""The store on a real PostgreSQL: one writes at a time, nothing that was confirmed is lost, nothing is done twice."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.contracts.stores import now, postgres_store
from tests.servers.cut import CutLine
from tests.servers.fixtures import NewPostgres
from tests.servers.postgres import PASSWORD, PostgresServer

from remuda.errors import BadInput, Unavailable
from remuda.ledger.address import read_address
from remuda.ledger.postgres import connect, reading
from remuda.ledger.postgres_store import PostgresStore
from remuda.ledger.schema import VERSIONS, Tables
from remuda.ledger.seat import Claimant, Fenced
from remuda.ledger.sql import Database
from remuda.ledger.store import InlineStore, Write
from remuda.sources.queue.schema import TABLES

pytestmark = pytest.mark.slow

#: of two replicas of one election
FIRST, SECOND = Claimant("first", "lease", is_elected=True), Claimant("second", "lease", is_elected=True)
DEADLINE_S = 60.0


def put(name: str) -> Write[str]:
    """Adds a row and counts it: a count that is not the number of rows tells of half a write, or of one done twice."""

    def change(db: Database) -> str:
        db.execute(
            "INSERT INTO documents (kind, at, data) VALUES ('count', 1, ?) RETURNING id", (name.encode(),)
        )
        db.execute(
            "INSERT INTO settings VALUES ('count', ?, 1) ON CONFLICT (name) DO UPDATE SET set_at = settings.set_at + 1",
            (b"",),
        )
        return name

    return change


def rows(server: PostgresServer, schema: str) -> list[str]:
    """What psql finds, which knows nothing of us."""
    found = server.psql(f"SELECT convert_from(data, 'UTF8') FROM {schema}.documents ORDER BY id").split()
    counted = server.psql(f"SELECT set_at FROM {schema}.settings WHERE name = 'count'") or "0"
    assert int(counted) == len(found)
    return found


async def more(kept: list[str], count: int) -> None:
    """Wait until so many more writes are confirmed."""
    target, deadline = len(kept) + count, time.monotonic() + DEADLINE_S
    while len(kept) < target:
        assert time.monotonic() < deadline, "it does not go on by itself"
        await asyncio.sleep(0.01)


@contextlib.contextmanager
def two(server: PostgresServer, schema: str) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    with contextlib.ExitStack() as stack:
        made = [PostgresStore(read_address(server.url(schema), "--store"), now) for _ in range(2)]
        for store in made:
            stack.callback(store.close)
        yield made[0], made[1]


async def test_who_lost_the_seat_cannot_write_any_more(postgres: PostgresServer, schema: str) -> None:
    with two(postgres, schema) as (first, second):
        first.take_seat(FIRST)
        await first.write(put("a"))
        second.take_seat(SECOND)
        await second.write(put("b"))
        with pytest.raises(Fenced, match=r"written by another Remuda now \(second, since 20"):
            await first.write(put("c"))
        assert not first.is_writer
        assert second.is_writer
        assert rows(postgres, schema) == ["a", "b"]
        first.take_seat(FIRST)
        await first.write(put("d"))
        assert rows(postgres, schema) == ["a", "b", "d"]


async def test_a_take_over_amid_writes_leaves_whole_what_was_confirmed_and_nothing_after(
    postgres: PostgresServer, schema: str
) -> None:
    with two(postgres, schema) as (first, second):
        first.take_seat(FIRST)
        kept: list[str] = []

        async def write_on(number: int) -> None:
            with contextlib.suppress(Unavailable):
                for step in itertools.count():
                    name = await first.write(put(f"{number}-{step}"))
                    kept.append(name)

        writers = [asyncio.create_task(write_on(number)) for number in range(5)]
        await more(kept, 20)
        await asyncio.to_thread(second.take_seat, SECOND)
        await second.write(put("second"))
        await asyncio.gather(*writers)
        found = rows(postgres, schema)
        assert found[-1] == "second"
        assert sorted(found[:-1]) == sorted(kept)


async def test_one_that_freezes_in_the_middle_of_a_write_does_not_keep_the_next_from_the_seat(
    postgres: PostgresServer, schema: str
) -> None:
    with two(postgres, schema) as (first, second):
        first.take_seat(FIRST)
        frozen, thaw = threading.Event(), threading.Event()

        def freeze(db: Database) -> None:
            put("half")(db)
            if not frozen.is_set():
                frozen.set()
                thaw.wait(DEADLINE_S)

        write = asyncio.create_task(first.write(freeze))
        await asyncio.to_thread(frozen.wait, DEADLINE_S)
        await asyncio.to_thread(second.take_seat, SECOND)
        await second.write(put("second"))
        thaw.set()
        with pytest.raises(Fenced):
            await write
        assert rows(postgres, schema) == ["second"]


async def test_a_second_one_on_a_host_is_refused_and_told_who_has_it(
    postgres: PostgresServer, schema: str
) -> None:
    with two(postgres, schema) as (first, second):
        first.take_seat(Claimant("oak, pid 7", "host"))
        for who in (Claimant("elm, pid 8", "host"), SECOND):
            with pytest.raises(
                BadInput, match=r"in use by another Remuda \(oak, pid 7, since 20.*schema=NAME"
            ):
                await asyncio.to_thread(second.take_seat, who)
        await first.write(put("a"))
        first.close()
        second.take_seat(Claimant("elm, pid 8", "host"))
        await second.write(put("b"))
        assert rows(postgres, schema) == ["a", "b"]


async def test_without_a_seat_nothing_is_written_and_everything_read(
    postgres: PostgresServer, schema: str
) -> None:
    with two(postgres, schema) as (first, second):
        first.take_seat(FIRST)
        await first.write(put("a"))
        with pytest.raises(Unavailable, match="stands by"):
            await second.write(put("b"))
        assert second.read(lambda db: db.execute("SELECT data FROM documents").fetchall()) == [(b"a",)]
        first.leave_seat()
        with pytest.raises(Unavailable, match="stands by"):
            await first.write(put("c"))
        assert rows(postgres, schema) == ["a"]


@pytest.mark.parametrize("is_heard", [pytest.param(True, id="done"), pytest.param(False, id="not done")])
async def test_a_line_that_is_cut_during_commit_does_nothing_twice_and_loses_nothing(
    postgres: PostgresServer, schema: str, is_heard: bool
) -> None:
    with CutLine(postgres.port) as line:
        store = postgres_store(postgres.url(schema).replace(f":{postgres.port}/", f":{line.port}/"))
        try:
            for number in range(6):
                line.cut_at(b"COMMIT", is_heard=is_heard)
                names = [f"{number}-{place}" for place in range(3)]
                assert await asyncio.gather(*(store.write(put(name)) for name in names)) == names
            assert line.cuts == 6
        finally:
            store.close()
    assert rows(postgres, schema) == [f"{number}-{place}" for number in range(6) for place in range(3)]


async def test_a_server_that_is_killed_under_load_loses_nothing_that_it_confirmed(
    new_postgres: NewPostgres, schema: str
) -> None:
    server = new_postgres()
    store = postgres_store(server.url(schema))
    kept: list[str] = []
    failed: list[str] = []
    stop = False

    async def write_on(number: int) -> None:
        step = 0
        while not stop:
            step += 1
            name = f"{number}-{step}"
            try:
                kept.append(await store.write(put(name)))
            except Unavailable as error:
                failed.append(str(error))
                await asyncio.sleep(0.05)

    try:
        writers = [asyncio.create_task(write_on(number)) for number in range(8)]
        for _ in range(3):
            await more(kept, 30)
            await asyncio.to_thread(server.kill)
            await asyncio.sleep(0.2)
            await asyncio.to_thread(server.start)
        await more(kept, 30)
        stop = True
        await asyncio.gather(*writers)
        assert failed
        assert all("cannot be reached" in text or "does not answer" in text for text in failed)
        assert not any(PASSWORD in text for text in failed)
        # Also what failed: a write that fails has changed nothing.
        assert sorted(rows(server, schema)) == sorted(kept)
    finally:
        store.close()


async def test_a_store_that_went_back_behind_what_it_confirmed_is_not_written_on(
    new_postgres: NewPostgres, schema: str
) -> None:
    server = new_postgres()
    store = postgres_store(server.url(schema))
    try:
        await store.write(put("a"))
        await store.write(put("b"))
        # As a standby that was behind, or a backup, would be.
        server.psql(f"UPDATE {schema}.writers SET commits = commits - 1")
        server.kill()
        server.start()
        with pytest.raises(Fenced, match=r"has lost what it had confirmed.*start Remuda again"):
            await store.write(put("c"))
        assert not store.is_writer
        assert rows(server, schema) == ["a", "b"]
    finally:
        store.close()


async def test_reads_go_on_by_themselves_after_the_server_was_away(
    new_postgres: NewPostgres, schema: str
) -> None:
    server = new_postgres()
    store = postgres_store(server.url(schema))

    def count() -> int:
        found: int = store.read(lambda db: db.execute("SELECT count(*) FROM documents").fetchone()[0])
        return found

    try:
        await store.write(put("a"))
        assert count() == 1
        server.kill()
        with pytest.raises(Unavailable, match=r"\*\*\*@127.0.0.1.* cannot be reached: "):
            count()
        server.start()
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                assert count() == 1
            except Unavailable:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.1)
            else:
                break
    finally:
        store.close()


@pytest.mark.parametrize("options", ["", "&target_session_attrs=read-write"])
async def test_a_database_that_is_set_to_read_only_answers_and_says_why_it_keeps_nothing(
    new_postgres: NewPostgres, schema: str, options: str
) -> None:
    server = new_postgres()
    url = server.url(schema) + options
    store = postgres_store(url)

    def count(db: Database) -> int:
        found: int = db.execute("SELECT count(*) FROM documents").fetchone()[0]
        return found

    try:
        await store.write(put("a"))
        server.psql("ALTER SYSTEM SET default_transaction_read_only TO on")
        server.kill()
        server.start()
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                assert store.read(count) == 1
            except Unavailable:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.1)
            else:
                break
        with pytest.raises(Unavailable, match="set to read only"):
            await store.write(put("b"))
        with reading(read_address(url, "--store")) as db:
            assert count(db) == 1, "a command that asks while nothing runs is answered, too"
        server.psql("ALTER SYSTEM RESET default_transaction_read_only")
        server.psql("SELECT pg_reload_conf()")
        await store.write(put("b"))
        assert rows(server, schema) == ["a", "b"]
    finally:
        store.close()


def test_processes_that_start_at_once_make_the_tables_once(postgres: PostgresServer, schema: str) -> None:
    address = read_address(postgres.url(schema), "--store")
    with ThreadPoolExecutor(6) as threads:
        made = [*threads.map(lambda _: PostgresStore(address, now, tables=(TABLES,)), range(6))]
    for store in made:
        store.close()
    assert postgres.psql(f"SELECT version FROM {schema}.store") == str(len(VERSIONS))
    assert postgres.psql(f"SELECT name, version FROM {schema}.components") == f"queue|{len(TABLES.versions)}"


def test_the_tables_are_those_of_a_file(postgres: PostgresServer, schema: str) -> None:
    PostgresStore(read_address(postgres.url(schema), "--store"), now, tables=(TABLES,)).close()
    file = InlineStore((TABLES,))
    kinds = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}
    tables = [
        name
        for (name,) in file.read(
            lambda db: db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        )
        if not name.startswith("sqlite_")
    ]
    for table in tables:
        listed = f"PRAGMA table_info({table})"
        ours = {
            (name, kinds[kind])
            for _, name, kind, *_ in file.read(
                partial(lambda db, asked: db.execute(asked).fetchall(), asked=listed)
            )
        }
        theirs = postgres.psql(
            "SELECT column_name, data_type FROM information_schema.columns"
            f" WHERE table_schema = '{schema}' AND table_name = '{table}'"
        )
        assert {tuple(line.split("|")) for line in theirs.splitlines()} == ours, table
    count = file.read(
        lambda db: db.execute("SELECT count(*) FROM sqlite_master WHERE sql LIKE 'CREATE%INDEX%'").fetchone()[
            0
        ]
    )
    made = postgres.psql(
        f"SELECT count(*) FROM pg_indexes WHERE schemaname = '{schema}' AND indexname NOT LIKE '%_pkey'"
        " AND indexname NOT LIKE '%_key'"
    )
    assert int(made) == count
    file.close()


def test_an_upgrade_that_fails_changes_nothing_and_says_why(postgres: PostgresServer, schema: str) -> None:
    address = read_address(postgres.url(schema), "--store")
    PostgresStore(address, now).close()
    broken = Tables(
        "bells", ("CREATE TABLE bells (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT; SELECT nothing",)
    )
    with pytest.raises(Unavailable, match="nothing"):
        PostgresStore(address, now, tables=(broken,))
    assert (
        postgres.psql(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}' AND tablename = 'bells'")
        == "0"
    )
    PostgresStore(address, now, tables=(TABLES,)).close()


def test_a_newer_store_and_another_programs_are_refused_and_left_alone(
    postgres: PostgresServer, schema: str
) -> None:
    address = read_address(postgres.url(schema), "--store")
    postgres.psql(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.store (apples int)")
    with pytest.raises(
        BadInput, match=rf"schema {schema} has tables of another program; choose another with \?schema="
    ):
        PostgresStore(address, now)
    assert postgres.psql(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'") == "1"
    postgres.psql(f"DROP SCHEMA {schema} CASCADE")
    PostgresStore(address, now, tables=(TABLES,)).close()
    postgres.psql(f"UPDATE {schema}.components SET version = 99")
    with pytest.raises(BadInput, match=r"version 99 of the queue's tables and this remuda knows up to"):
        PostgresStore(address, now, tables=(TABLES,))
    postgres.psql(f"UPDATE {schema}.store SET version = 77")
    with pytest.raises(BadInput, match="store version 77 and this remuda knows up to"):
        PostgresStore(address, now)


def test_a_user_who_may_not_make_the_schema_is_told_what_to_grant(
    postgres: PostgresServer, schema: str
) -> None:
    postgres.psql(f"CREATE ROLE {schema} LOGIN PASSWORD 'humble'")
    url = f"postgresql://{schema}:humble@127.0.0.1:{postgres.port}/history?schema={schema}"
    with pytest.raises(
        BadInput, match=r"permission denied.*grant its user CREATE on the database"
    ) as refused:
        PostgresStore(read_address(url, "--store"), now)
    assert "humble" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_keep_every_letter_is_refused_with_how_to_make_another(
    postgres: PostgresServer, schema: str, encoding: str
) -> None:
    postgres.psql(
        f"CREATE DATABASE {schema} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    address = read_address(postgres.url(schema, database=schema), "--store")
    with pytest.raises(BadInput, match=rf"has encoding {encoding}, and Remuda needs UTF8: make another one"):
        PostgresStore(address, now)
    postgres.psql(f"DROP DATABASE {schema}")


def test_letters_are_kept_whatever_encoding_the_environment_asks_for(
    postgres: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with connect(read_address(postgres.url(schema), "--store"), "writable") as raw:
        assert raw.execute("SELECT %s::text", ("日本",)).fetchone() == ("日本",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"password": "wrongword"}, "the password is wrong", id="wrong password"),
        pytest.param(
            {"database": "nowhere"}, 'database "nowhere" does not exist; create it', id="unknown database"
        ),
    ],
)
def test_what_is_wrong_with_an_address_is_said_at_the_start(
    postgres: PostgresServer, schema: str, change: dict[str, str], words: str
) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        PostgresStore(read_address(postgres.url(schema, **change), "--store"), now)
    assert "wrongword" not in str(refused.value)
    assert PASSWORD not in str(refused.value)
