"""Room kept for a full disk, on a real file system that is too small."""

import shutil
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.file_systems import small_file_system

from remuda.errors import BadInput, Unavailable
from remuda.ledger.ballast import BYTES, Ballast, is_full
from remuda.ledger.retention import make_room
from remuda.ledger.store import FILE, SqliteStore

MIB = 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB."""
    with small_file_system(tmp_path / "disk") as place:
        yield place


@pytest.fixture
def large_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB: room for the real ballast, and for history beside it."""
    with small_file_system(tmp_path / "disk", "64m") as place:
        yield place


def fill(disk: Path) -> None:
    """Leave no byte free."""
    with (disk / "other").open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


async def keep_more(store: SqliteStore, count: int) -> None:
    """Settings of 10 kB each, which nothing may forget."""
    for n in range(count):
        row = (f"kept/{n}", bytes(10_000))
        await store.write(partial(_insert, row=row))


def _insert(db: sqlite3.Connection, row: tuple[str, bytes]) -> None:
    db.execute("INSERT INTO settings VALUES (?, ?, 0)", row)


async def remember(store: SqliteStore, cycles: int) -> None:
    rows = [("pools", n, n, 1, bytes(20_000), b"", b"", b"") for n in range(cycles)]
    await store.write(
        lambda db: db.executemany(
            "INSERT INTO cycles (loop, first_at, last_at, count, snapshot, memory, policy, plan)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    )


@pytest.mark.slow
async def test_on_a_full_disk_history_gives_way_and_its_room_goes_back_to_the_disk(disk: Path) -> None:
    ballast = Ballast(disk / "ballast", 4 * MIB)
    assert ballast.keep()
    store = SqliteStore(disk / FILE, make_room=make_room, ballast=ballast)
    for _ in range(5):
        await remember(store, 60)
    fill(disk)
    await keep_more(store, 300)
    size = (disk / FILE).stat().st_size
    assert size < 5 * MIB, "300 settings of 10 kB, and no history"
    assert store.read(lambda db: db.execute("SELECT count(*) FROM cycles").fetchone())[0] < 300
    assert store.read(lambda db: db.execute("SELECT count(*) FROM settings").fetchone())[0] >= 300
    assert (disk / "ballast").exists(), "laid out again, in the room of history"
    store.close()


@pytest.mark.slow
async def test_a_disk_that_is_full_again_and_again_takes_history_each_time(large_disk: Path) -> None:
    disk, ballast = large_disk, Ballast(large_disk / "ballast")
    assert ballast.keep()
    store = SqliteStore(disk / FILE, make_room=some_room, ballast=ballast)
    for _ in range(35):
        await remember(store, 60)
    for time in range(3):
        fill(disk)
        before = cycles_in(store)
        for n in range(1_000):
            await store.write(partial(_insert, row=(f"{time}/{n}", bytes(10_000))))
            if cycles_in(store) < before:
                break
        assert 0 < cycles_in(store) < before
        assert (disk / "ballast").exists(), "it is there for the next time"
    store.close()


def cycles_in(store: SqliteStore) -> int:
    found: int = store.read(lambda db: db.execute("SELECT count(*) FROM cycles").fetchone())[0]
    return found


def some_room(db: sqlite3.Connection) -> int:
    """A slice of history that is much less than what the ballast takes."""
    return db.execute("DELETE FROM cycles WHERE id IN (SELECT id FROM cycles ORDER BY id LIMIT 10)").rowcount


@pytest.mark.slow
async def test_what_a_write_left_behind_that_was_too_large_is_room_for_others(disk: Path) -> None:
    store = SqliteStore(disk / FILE, make_room=make_room, ballast=Ballast(disk / "ballast", 2 * MIB))
    await keep_more(store, 200)
    too_much = partial(_insert, row=("too much", bytes(40 * MIB)))
    with pytest.raises(Unavailable, match="its disk or quota is full"):
        await store.write(too_much)
    await store.write(partial(_insert, row=("small", bytes(100_000))))
    store.close()


@pytest.mark.slow
async def test_without_ballast_a_full_disk_cannot_even_forget(disk: Path) -> None:
    """The assumption behind it: should this pass one day, the ballast may go."""
    store = SqliteStore(disk / FILE, make_room=make_room)
    await remember(store, 300)
    fill(disk)
    with pytest.raises(Exception, match="its disk or quota is full"):
        await keep_more(store, 1_500)
    (disk / "other").unlink()
    store.close()


def test_starting_on_a_full_disk_names_the_disk(disk: Path) -> None:
    fill(disk)
    assert is_full(disk / FILE)
    with pytest.raises(BadInput, match="its disk is full; free some space"):
        SqliteStore(disk / FILE)


def test_there_is_as_much_of_it_as_the_manual_says_and_what_is_there_is_kept(tmp_path: Path) -> None:
    assert BYTES == 8 * MIB
    ballast = Ballast(tmp_path / "ballast", MIB)
    assert ballast.keep()
    assert ballast.keep(), "it is there"
    assert (tmp_path / "ballast").stat().st_size == MIB
    assert ballast.drop()
    assert not ballast.drop()


@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (65536, False)])
def test_it_is_laid_out_where_there_is_room_for_it_twice(disk: Path, more: int, is_kept: bool) -> None:
    size = shutil.disk_usage(disk).free // 2
    assert Ballast(disk / "ballast", size + more).keep() is is_kept
    assert [each.name for each in disk.iterdir()] == (["ballast"] if is_kept else [])


@pytest.mark.parametrize(("pages", "full"), [(32, False), (31, True)])
def test_a_disk_is_full_with_less_than_128_kib(disk: Path, pages: int, full: bool) -> None:
    fill(disk)
    other = disk / "other"
    with other.open("r+b") as file:
        file.truncate(other.stat().st_size // 4096 * 4096 - 4096 * pages)
    assert shutil.disk_usage(disk).free == 4096 * pages
    assert is_full(disk / FILE) is full


def test_where_nothing_can_be_laid_out_there_is_none(tmp_path: Path) -> None:
    assert not Ballast(tmp_path / "nowhere" / "ballast", MIB).keep()


def test_a_disk_that_is_too_small_does_without(disk: Path) -> None:
    assert not Ballast(disk / "ballast", 16 * MIB).keep()
    assert list(disk.iterdir()) == []
