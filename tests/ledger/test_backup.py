"""The copy that is made before a store is upgraded."""

import sqlite3
import stat
from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.ledger.schema import VERSIONS, Tables
from remuda.ledger.store import FILE, SqliteStore
from remuda.sources.queue.schema import TABLES

DATA = Path(__file__).parents[1] / "data"


def older(home: Path, version: int) -> Path:
    db = sqlite3.connect(home / FILE)
    db.executescript((DATA / f"store-v{version}.sql").read_text(encoding="utf-8"))
    db.close()
    return home / FILE


def contents(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    try:
        return list(db.iterdump())
    finally:
        db.close()


@pytest.mark.parametrize("version", range(1, len(VERSIONS) + 1))
def test_before_an_upgrade_the_store_is_copied_as_it_was(tmp_path: Path, version: int) -> None:
    path = older(tmp_path, version)
    before = contents(path)
    store = SqliteStore(path, tables=(TABLES,))
    store.close()
    assert store.backup == tmp_path / f"{FILE}.v{version}.backup"
    assert contents(store.backup) == before
    assert contents(path) != before
    assert stat.S_IMODE(store.backup.stat().st_mode) == 0o600
    again = SqliteStore(path, tables=(TABLES,))
    again.close()
    assert again.backup is None
    assert {each.name for each in tmp_path.iterdir()} == {FILE, store.backup.name}


@pytest.mark.parametrize("version", range(1, len(VERSIONS)))
def test_a_store_that_is_older_is_copied_whatever_tables_it_has(tmp_path: Path, version: int) -> None:
    store = SqliteStore(older(tmp_path, version))
    store.close()
    assert store.backup == tmp_path / f"{FILE}.v{version}.backup"


def test_tables_that_are_older_are_copied_though_the_store_is_not(tmp_path: Path) -> None:
    one, two = "CREATE TABLE notes (text TEXT)", "ALTER TABLE notes ADD COLUMN at INTEGER"
    for versions, is_copied in (((one,), False), ((one, two), True), ((one, two), False)):
        store = SqliteStore(tmp_path / FILE, tables=(Tables("notes", versions),))
        store.close()
        assert (store.backup is not None) is is_copied


def test_a_new_store_and_new_tables_need_no_copy(tmp_path: Path) -> None:
    SqliteStore(tmp_path / FILE).close()
    store = SqliteStore(tmp_path / FILE, tables=(TABLES,))
    store.close()
    assert store.backup is None
    assert {each.name for each in tmp_path.iterdir()} == {FILE}


def test_without_a_copy_nothing_is_upgraded(tmp_path: Path) -> None:
    path = older(tmp_path, 2)
    before = contents(path)
    (tmp_path / f"{FILE}.v2.backup").mkdir()  # nothing can be put there
    with pytest.raises(
        BadInput,
        match=r"must be upgraded, and the copy that is made before cannot be written: .*; make 1 MiB free",
    ):
        SqliteStore(path, tables=(TABLES,))
    assert contents(path) == before
    assert {each.name for each in tmp_path.iterdir()} == {FILE, f"{FILE}.v2.backup"}
