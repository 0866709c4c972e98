"""The store in a file: group commit, kill -9, a full disk, and files that are not what they should be."""

import asyncio
import contextlib
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.errors import BadInput, Unavailable
from remuda.ledger.read_only import ReadOnlyStore, reading
from remuda.ledger.record import pack
from remuda.ledger.retention import make_room
from remuda.ledger.schema import APPLICATION_ID, VERSIONS, Tables, is_behind, migrate
from remuda.ledger.store import InlineStore, SqliteStore, explained, writing
from remuda.model.plans import Plan

OPEN: dict[str, Callable[[Path], object]] = {
    "to write": lambda path: SqliteStore(path).close(),
    "to read": lambda path: contextlib.ExitStack().enter_context(reading(path)),
    "for a dry run": lambda path: ReadOnlyStore(path).close(),
    "beside another": lambda path: contextlib.ExitStack().enter_context(writing(path)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "remuda.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


def put(name: str, size: int = 10) -> Callable[[sqlite3.Connection], str]:
    def change(db: sqlite3.Connection) -> str:
        db.execute("INSERT INTO settings VALUES (?, ?, 1)", (name, b"x" * size))
        return name

    return change


def names(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM settings").fetchall()}


async def hold(store: SqliteStore) -> tuple[Awaitable[None], threading.Event]:
    """Keep the writer busy until the event is set; what is asked meanwhile becomes one batch."""
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def change(db: sqlite3.Connection) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert go.wait(30)

    held = asyncio.ensure_future(store.write(change, durable=False))
    await begun.wait()
    return held, go


async def all_at_once(
    store: SqliteStore, *changes: Callable[[sqlite3.Connection], object], durable: bool = True
) -> list[object]:
    """The answers to changes that are committed together; an error is an answer too."""
    held, go = await hold(store)
    tasks = [asyncio.ensure_future(store.write(change, durable=durable)) for change in changes]
    await asyncio.sleep(0)
    go.set()
    await held
    return list(await asyncio.gather(*tasks, return_exceptions=True))


async def test_a_write_returns_what_its_change_returns_and_can_be_read(store: SqliteStore) -> None:
    assert await store.write(put("a")) == "a"
    assert store.read(names) == {"a"}


async def test_many_writes_at_once_take_few_commits(store: SqliteStore) -> None:
    commits = []
    store._connection.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    answers = await all_at_once(store, *[put(str(number)) for number in range(1_000)])
    assert answers == [str(number) for number in range(1_000)]
    assert len(store.read(names)) == 1_000
    assert len(commits) <= 4  # the held one, 1,000 by 512


async def test_changes_of_a_batch_are_made_in_the_order_they_were_asked_for(store: SqliteStore) -> None:
    order: list[int] = []
    await all_at_once(store, *[lambda _, number=number: order.append(number) for number in range(50)])
    assert order == list(range(50))


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        pytest.param(
            lambda db: db.execute("INSERT INTO settings VALUES (NULL, NULL, NULL)"),
            sqlite3.IntegrityError,
            id="the database refuses it",
        ),
        pytest.param(lambda db: db.execute("no such words"), sqlite3.OperationalError, id="no SQL"),
        pytest.param(lambda _: 1 / 0, ZeroDivisionError, id="its own bug"),
    ],
)
async def test_a_write_that_fails_does_not_harm_its_neighbours(
    store: SqliteStore, bad: Callable[[sqlite3.Connection], object], kind: type[Exception]
) -> None:
    def half(db: sqlite3.Connection) -> None:
        put("half")(db)
        bad(db)

    answers = await all_at_once(store, put("before"), half, put("after"))
    assert answers[0] == "before"
    assert isinstance(answers[1], kind)
    assert answers[2] == "after"
    assert store.read(names) == {"before", "after"}


async def test_only_batches_with_a_durable_write_are_flushed(store: SqliteStore) -> None:
    modes = []

    def look(db: sqlite3.Connection) -> None:
        modes.append(db.execute("PRAGMA synchronous").fetchone()[0])

    await store.write(look, durable=False)
    await store.write(look)
    await all_at_once(store, look, durable=False)
    held, go = await hold(store)
    mixed = [asyncio.ensure_future(store.write(look, durable=durable)) for durable in (False, True, False)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(held, *mixed)
    normal, full = 1, 2
    assert modes == [normal, full, normal, full, full, full]


async def test_a_caller_that_goes_away_neither_undoes_its_write_nor_stops_the_writer(
    store: SqliteStore,
) -> None:
    held, go = await hold(store)
    gone = asyncio.ensure_future(store.write(put("gone")))
    held_too = asyncio.ensure_future(held)
    await asyncio.sleep(0)
    gone.cancel()
    held_too.cancel()
    await asyncio.wait([gone, held_too])
    go.set()
    assert await store.write(put("next")) == "next"
    assert store.read(names) == {"gone", "next"}


async def test_a_file_that_was_removed_or_replaced_takes_no_more_writes(
    store: SqliteStore, path: Path
) -> None:
    await store.write(lambda db: db.execute("SELECT 1").fetchone())
    kept = path.rename(path.with_suffix(".kept"))
    for look in ("removed", "replaced"):
        if look == "replaced":
            path.touch()
        with pytest.raises(Unavailable, match="was removed or replaced while remuda runs"):
            store.read(names)
        with pytest.raises(Unavailable, match="was removed or replaced while remuda runs"):
            await store.write(lambda db: db.execute("SELECT 1").fetchone())
    kept.rename(path)
    assert await store.write(lambda db: db.execute("SELECT 1").fetchone()) == (1,), "it was put back"


async def test_close_commits_what_was_asked_for_and_refuses_the_rest(path: Path) -> None:
    store = SqliteStore(path)
    held, go = await hold(store)
    late = [asyncio.ensure_future(store.write(put(str(number)))) for number in range(20)]
    await asyncio.sleep(0)
    go.set()
    store.close()
    await asyncio.gather(held, *late)
    with pytest.raises(Unavailable, match="closed"):
        await store.write(put("too late"))
    with reading(path) as db:
        assert len(names(db)) == 20


async def test_several_questions_of_one_reading_see_the_same_moment(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)

    def twice(db: sqlite3.Connection) -> tuple[set[str], set[str]]:
        before = names(db)
        put("in between")(other)
        return before, names(db)

    assert store.read(twice) == (set(), set())
    assert store.read(names) == {"in between"}
    with reading(path) as db:
        assert names(db) == {"in between"}
        put("again")(other)
        assert names(db) == {"in between"}
    other.close()


def test_a_store_that_is_closed_closes_what_it_was_read_with(path: Path) -> None:
    store = SqliteStore(path)
    reader = store.read(lambda db: db)
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        reader.execute("SELECT 1")


async def test_readers_do_not_wait_for_the_writer(store: SqliteStore) -> None:
    await store.write(put("a"))
    held, go = await hold(store)
    assert store.read(names) == {"a"}
    assert await asyncio.to_thread(store.read, names) == {"a"}
    go.set()
    await held


def test_a_store_waits_ten_seconds_for_another_process_that_writes(store: SqliteStore) -> None:
    assert store.read(lambda db: db.execute("PRAGMA busy_timeout").fetchone()) == (10_000,)


def test_only_its_owner_may_read_the_files(store: SqliteStore, path: Path) -> None:
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in path.parent.iterdir()}
    assert modes == {"remuda.db": 0o600, "remuda.db-wal": 0o600, "remuda.db-shm": 0o600}


def test_a_store_that_others_could_read_is_closed_to_them(path: Path) -> None:
    SqliteStore(path).close()
    path.chmod(0o644)
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_relative_path_and_one_with_odd_characters_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "a b?c#d%20é"
    odd.mkdir()
    monkeypatch.chdir(odd)
    SqliteStore(Path("remuda.db")).close()
    with reading(Path("remuda.db")) as db:
        assert names(db) == set()
    assert [item.name for item in odd.iterdir() if item.suffix == ".db"] == ["remuda.db"]


# A full disk.


async def fill(store: SqliteStore) -> int:
    """Write until nothing more fits; how many writes did."""
    for number in range(10_000):
        try:
            await store.write(put(f"fill-{number}", 20_000))
        except Unavailable:
            return number
    raise AssertionError("the quota does not hold")


async def test_a_full_disk_is_reported_with_what_to_do_and_loses_nothing(path: Path) -> None:
    store = SqliteStore(path, most_bytes=1_000_000)
    fitted = await fill(store)
    with pytest.raises(
        Unavailable, match=r"remuda\.db cannot grow: its disk or quota is full; free some space"
    ):
        await store.write(put("more", 20_000))
    assert len(store.read(names)) == fitted
    store.close()


async def test_the_store_works_again_once_there_is_space(path: Path) -> None:
    store = SqliteStore(path, most_bytes=1_000_000)
    await fill(store)
    await store.write(lambda db: db.execute("DELETE FROM settings WHERE name = 'fill-0'"))
    assert await store.write(put("more", 20_000)) == "more"
    store.close()


async def test_a_change_that_finds_the_disk_full_leaves_no_transaction_open(store: SqliteStore) -> None:
    def finds_it_full(db: sqlite3.Connection) -> None:
        put("half")(db)
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    with pytest.raises(Unavailable, match="its disk or quota is full"):
        await store.write(finds_it_full)
    assert await store.write(put("whole")) == "whole"
    assert store.read(names) == {"whole"}


async def test_what_is_too_large_does_not_keep_out_what_fits(path: Path) -> None:
    store = SqliteStore(path, most_bytes=1_000_000)
    answers = await all_at_once(store, put("a"), put("huge", 2_000_000), put("b"))
    assert answers[0] == "a"
    assert isinstance(answers[1], Unavailable)
    assert answers[2] == "b"
    assert store.read(names) == {"a", "b"}
    store.close()


def add_cycles(count: int) -> Callable[[sqlite3.Connection], None]:
    def change(db: sqlite3.Connection) -> None:
        db.execute("INSERT OR IGNORE INTO policies VALUES (x'00', x'00')")
        db.executemany(
            "INSERT INTO cycles (loop, first_at, last_at, count, snapshot, memory, policy, plan)"
            " VALUES ('toy', ?, ?, 1, ?, x'00', x'00', ?)",
            [(number, number, b"x" * 900, EMPTY_PLAN) for number in range(count)],
        )

    return change


EMPTY_PLAN = pack(Plan())


async def test_history_gives_way_to_jobs_as_often_as_it_takes(path: Path) -> None:
    store = SqliteStore(path, most_bytes=3_000_000, make_room=make_room)
    await store.write(add_cycles(2_000))
    jobs = [put(f"job-{number}", 1_000_000) for number in range(2)]
    assert await asyncio.gather(*(store.write(job) for job in jobs)) == ["job-0", "job-1"]
    left = store.read(lambda db: db.execute("SELECT count(*), max(last_at) FROM cycles").fetchone())
    assert left[0] < 1_500
    assert left[1] == 1_999, "the newest cycle stays"
    store.close()


async def test_when_no_history_is_left_the_disk_is_full(path: Path) -> None:
    store = SqliteStore(path, most_bytes=1_000_000, make_room=make_room)
    await store.write(add_cycles(100))
    await fill(store)
    assert store.read(lambda db: db.execute("SELECT count(*) FROM cycles").fetchone()) == (1,)
    store.close()


# kill -9.


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged_and_tears_nothing(path: Path) -> None:
    dice = random.Random(5)
    confirmed: set[str] = set()
    for life in range(6):
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("writer.py")), str(path), str(life)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        confirmed.add(process.stdout.readline().strip())
        time.sleep(dice.uniform(0, 0.15))
        process.kill()
        confirmed |= {
            line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")
        }
        process.wait()
        process.stdout.close()
        with reading(path) as db:
            check_whole(db, confirmed)
        SqliteStore(path).close()
        with reading(path) as db:
            check_whole(db, confirmed)
    assert len(confirmed) > 50


def check_whole(db: sqlite3.Connection, confirmed: set[str]) -> None:
    found = names(db)
    halves = {name[:-2] for name in found}
    assert confirmed <= halves
    assert found == {f"{name}/{half}" for name in halves for half in "ab"}
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("SELECT count(*) FROM settings WHERE length(data) < 50").fetchone() == (0,)


# Files that are not what they should be.


def make_foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (a)")
    db.commit()
    db.close()


def make_newer(path: Path) -> None:
    SqliteStore(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(VERSIONS) + 1}")
    db.close()


def make_truncated(path: Path) -> None:
    SqliteStore(path).close()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 + 100])


def make_torn(path: Path) -> None:
    SqliteStore(path).close()
    data = bytearray(path.read_bytes())
    for page in range(4_096, len(data), 4_096):
        data[page : page + 64] = os.urandom(64)
    path.write_bytes(data)


@pytest.mark.parametrize("opened", OPEN)
@pytest.mark.parametrize(
    ("make", "confirmed"),
    [
        pytest.param(lambda path: path.write_bytes(b"garbage " * 999), "is damaged", id="garbage"),
        pytest.param(make_foreign, "is a database of another program; choose another", id="foreign"),
        pytest.param(
            make_newer,
            f"version {len(VERSIONS) + 1} and this remuda knows up to {len(VERSIONS)}: install the newer",
            id="newer",
        ),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_not_changed(
    path: Path, make: Callable[[Path], object], confirmed: str, opened: str
) -> None:
    make(path)
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(BadInput, match=confirmed):
        OPEN[opened](path)
    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("make", [make_truncated, make_torn])
def test_a_damaged_store_is_not_written_and_the_message_says_what_to_do(
    path: Path, make: Callable[[Path], None]
) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(
        BadInput,
        match=r"is damaged .* Nothing was changed. `remuda store salvage` .* To start afresh move it away",
    ):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_damage_that_only_a_question_finds_is_reported_too(path: Path) -> None:
    make_torn(path)
    with pytest.raises(BadInput, match="is damaged"), reading(path) as db, explained(path):
        names(db)


@pytest.mark.parametrize("opened", ["to write", "for a dry run"])
def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path, opened: str) -> None:
    with pytest.raises(BadInput, match="cannot be opened"):
        OPEN[opened](tmp_path / "no such directory" / "remuda.db")
    (tmp_path / "directory").mkdir()
    with pytest.raises(BadInput, match="cannot be opened"):
        OPEN[opened](tmp_path / "directory")


def test_where_nothing_has_run_there_is_nothing_to_read(path: Path) -> None:
    with pytest.raises(BadInput, match="nothing has run with this data directory yet"), reading(path):
        pass
    assert not path.exists()


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    SqliteStore(path).close()
    with reading(path) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_a_migration_that_fails_leaves_the_version_before_it(path: Path) -> None:
    SqliteStore(path).close()
    half = (
        "CREATE TABLE fresh (a); INSERT INTO settings VALUES ('x', x'', 1); INSERT INTO nowhere VALUES (1);"
    )
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection,
        pytest.raises(sqlite3.OperationalError, match="nowhere"),
    ):
        migrate(connection, str(path), versions=(*VERSIONS, half))
    with reading(path) as db:
        assert names(db) == set()
        assert db.execute("PRAGMA user_version").fetchone() == (len(VERSIONS),)


def test_a_store_whose_upgrade_fails_is_not_opened_and_says_why(path: Path) -> None:
    half = Tables("notes", ("CREATE TABLE notes (a); INSERT INTO nowhere VALUES (1);",))
    SqliteStore(path).close()
    with pytest.raises(BadInput, match="cannot be opened: no such table: nowhere"):
        SqliteStore(path, tables=(half,))
    SqliteStore(path, tables=(Tables("notes", ("CREATE TABLE notes (a)",)),)).close()


def test_a_migration_that_fails_leaves_no_transaction_open(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, str(path), (Tables("toy", ("INSERT INTO nowhere VALUES (1)",)),))
    assert not connection.in_transaction, "or nobody else could write"
    connection.close()


def test_a_store_is_brought_from_version_to_version(path: Path) -> None:
    SqliteStore(path).close()
    later = ("CREATE TABLE second (a);", "CREATE TABLE third (a); INSERT INTO third SELECT 3;")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for _ in range(2):
            migrate(db, str(path), versions=(*VERSIONS, *later))
        assert db.execute("SELECT * FROM third").fetchall() == [(3,)]
        assert db.execute("PRAGMA user_version").fetchone() == (len(VERSIONS) + 2,)
    with pytest.raises(
        BadInput, match=f"store version {len(VERSIONS) + 2} and this remuda knows up to {len(VERSIONS)}"
    ):
        SqliteStore(path)


def test_whoever_brings_it_to_a_version_second_finds_it_done(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)

    class Late(sqlite3.Connection):
        """Has looked at the version already when the other one changes it."""

        is_late = True

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "BEGIN IMMEDIATE" and self.is_late:
                self.is_late = False
                migrate(other, str(path))
            return super().execute(sql, *values)

    late = sqlite3.connect(path, isolation_level=None, factory=Late)
    migrate(late, str(path))
    assert not late.is_late
    assert late.execute("PRAGMA user_version").fetchone() == (len(VERSIONS),)
    late.close()
    other.close()


# The other stores.


async def test_the_store_in_memory_undoes_a_change_that_fails() -> None:
    store = InlineStore()

    def half(db: sqlite3.Connection) -> None:
        put("half")(db)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(half)
    assert await store.write(put("whole")) == "whole"
    assert store.read(names) == {"whole"}
    store.close()


async def test_stores_in_memory_begin_empty_each_with_the_tables_it_asked_for() -> None:
    toys = (Tables("toy", ("CREATE TABLE toys (name TEXT) STRICT",)),)
    first, second, other = InlineStore(), InlineStore(), InlineStore(toys)
    await first.write(put("first"))
    assert InlineStore().read(names) == second.read(names) == set()
    assert not is_behind(other.read(lambda db: db), toys)
    assert is_behind(first.read(lambda db: db), toys)
    for store in (first, second, other):
        store.close()
    assert InlineStore(toys).read(names) == set()


async def test_a_dry_run_reads_what_another_process_commits_and_writes_nothing(
    store: SqliteStore, path: Path
) -> None:
    dry = ReadOnlyStore(path)
    await store.write(put("a"))
    assert dry.read(names) == {"a"}
    with pytest.raises(Unavailable, match="nothing is written in a dry run"):
        await dry.write(put("b"))
    dry.close()


def test_who_reads_a_store_that_is_behind_sees_what_is_committed_meanwhile_and_when_it_is_of_today(
    path: Path,
) -> None:
    toys = (Tables("toys", ("CREATE TABLE toys (name)",)),)
    with writing(path) as db:
        put("a")(db)
    behind = ReadOnlyStore(path, toys)
    assert behind.read(names) == {"a"}
    with writing(path) as db:
        put("b")(db)
    assert behind.read(names) == {"a", "b"}
    SqliteStore(path, tables=toys).close()
    with writing(path) as db:
        put("c")(db)
    assert behind.read(names) == {"a", "b", "c"}
    assert behind.read(lambda db: db.execute("PRAGMA database_list").fetchone()[2]) == str(path)
    behind.close()


@pytest.mark.parametrize(
    ("behind", "tables"),
    [
        pytest.param(False, (Tables("notes", ("CREATE TABLE notes (a)",)),), id="all of today"),
        pytest.param(
            True, (Tables("notes", ("CREATE TABLE notes (a)", "SELECT 1")),), id="a part has a newer version"
        ),
        pytest.param(True, (Tables("other", ("CREATE TABLE other (a)",)),), id="a part is new"),
        pytest.param(False, (), id="whatever parts are not asked about"),
    ],
)
def test_a_store_is_behind_when_it_lacks_a_version_of_a_part(
    path: Path, behind: bool, tables: tuple[Tables, ...]
) -> None:
    SqliteStore(path, tables=(Tables("notes", ("CREATE TABLE notes (a)",)),)).close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert is_behind(db, tables) is behind


def test_migrate_does_nothing_to_a_store_of_today(path: Path) -> None:
    SqliteStore(path).close()
    before = path.read_bytes()
    db = sqlite3.connect(path)
    migrate(db, "here")
    db.close()
    assert path.read_bytes() == before
