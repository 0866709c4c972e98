"""Documents that commands keep: the newest of a kind, beside a running Remuda, and where nothing can be kept."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.ledger.documents import (
    MOST_BYTES,
    MOST_KINDS,
    Kept,
    documents,
    keep,
    kept,
    kept_of_family,
    put,
    read,
)
from remuda.ledger.record import pack
from remuda.ledger.schema import VERSIONS
from remuda.ledger.store import FILE, SqliteStore, writing

KIND = "toys/here"


def listed(home: Path, family: str = "toys", until: int | None = None) -> list[tuple[int, object]]:
    with documents(home) as db:
        return [(item.at, read(db, item, object)) for item in kept_of_family(db, family, until)]


def test_the_first_document_makes_the_store_and_its_directory(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    keep(home, KIND, 5, {"what": "ä"})
    assert listed(home) == [(5, {"what": "ä"})]


def test_the_newest_comes_first_and_one_can_be_read_as_of_a_time(tmp_path: Path) -> None:
    for at in (20, 10, 30):
        keep(tmp_path, KIND, at, at)
    assert listed(tmp_path) == [(30, 30), (20, 20), (10, 10)]
    assert listed(tmp_path, until=29) == [(20, 20), (10, 10)]
    assert listed(tmp_path, until=9) == []


def test_of_two_at_one_time_the_later_kept_is_the_newer(tmp_path: Path) -> None:
    keep(tmp_path, KIND, 10, "first")
    keep(tmp_path, KIND, 10, "second")
    assert [value for _, value in listed(tmp_path)] == ["second", "first"]


def test_kinds_do_not_mix_and_a_family_is_all_of_them(tmp_path: Path) -> None:
    for at, kind in enumerate(("toys/a", "toys/b", "toy", "toysx/c", "toys/a/d")):
        keep(tmp_path, kind, at, kind)
    assert [value for _, value in listed(tmp_path, "toys")] == ["toys/a/d", "toys/b", "toys/a"]
    assert [value for _, value in listed(tmp_path, "toys/a")] == ["toys/a/d"]
    assert listed(tmp_path, "%") == []
    with documents(tmp_path) as db:
        assert [item.at for item in kept(db, "toys/a")] == [0]
        assert kept(db, "toys") == []


def test_the_last_forty_of_each_kind_are_kept(tmp_path: Path) -> None:
    with writing(tmp_path / FILE) as db:
        for at in range(45):
            put(db, KIND, at, pack(at))
            put(db, "toys/there", at, pack(at))
    with documents(tmp_path) as db:
        assert [item.at for item in kept(db, KIND)] == [*range(44, 4, -1)]
    assert len(listed(tmp_path, "toys")) == 80


def test_of_a_family_the_fifty_kinds_with_the_newest_documents_are_kept(tmp_path: Path) -> None:
    with writing(tmp_path / FILE) as db:
        put(db, "games/old", 0, pack(0))
        for number in range(MOST_KINDS + 3):
            put(db, f"toys/{number}", number, pack(number))
        put(db, "toys/0", 200, pack(200))
        put(db, "toys/new", 100, pack(100))
    with documents(tmp_path) as db:
        found = {item.kind for item in kept_of_family(db, "toys")}
        assert [item.kind for item in kept_of_family(db, "games")] == ["games/old"]
    assert found == {"toys/new", "toys/0", *(f"toys/{number}" for number in range(5, MOST_KINDS + 3))}


def test_one_that_is_too_large_is_not_kept_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"it has [0-9,]+ bytes, and at most 10 are kept of one"):
        keep(tmp_path / "d", KIND, 1, "x" * 100, largest=10)
    assert not (tmp_path / "d").exists()
    size = len(pack("x" * 100))
    keep(tmp_path / "d", KIND, 1, "x" * 100, largest=size)
    assert listed(tmp_path / "d") == [(1, "x" * 100)]


def test_of_all_kinds_together_64_mebibytes_are_kept() -> None:
    assert MOST_BYTES == 64 * 2**20


def test_large_ones_are_forgotten_earlier_but_never_the_last_two(tmp_path: Path) -> None:
    with writing(tmp_path / FILE) as db:
        for at in range(10):
            put(db, "toys/old", at, b"x" * 300, 1_000)
        for at in range(10, 20):
            put(db, KIND, at, b"x" * 300, 1_000)
    with documents(tmp_path) as db:
        found = [(item.kind, item.at) for item in kept_of_family(db, "toys")]
    assert found == [(KIND, 19), (KIND, 18), (KIND, 17), ("toys/old", 9), ("toys/old", 8)]


async def test_a_document_is_kept_while_another_process_writes_the_store(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / FILE)
    for at in range(5):
        writes = [
            store.write(lambda db, n=n: db.execute("INSERT INTO settings VALUES (?, x'00', 1)", (str(n),)))  # type: ignore[misc]
            for n in range(at * 20, at * 20 + 20)
        ]
        await asyncio.gather(*writes, asyncio.to_thread(keep, tmp_path, KIND, at, at))
    assert store.read(lambda db: db.execute("SELECT count(*) FROM settings").fetchone()) == (100,)
    assert [item.at for item in store.read(lambda db: kept(db, KIND))] == [4, 3, 2, 1, 0]
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 1], ids=["no store", "an older store"])
def test_many_processes_that_come_at_once_all_keep_theirs(tmp_path: Path, before: int) -> None:
    if before:
        older = sqlite3.connect(tmp_path / FILE)
        data = Path(__file__).parents[1] / "data" / f"store-v{before}.sql"
        older.executescript(data.read_text(encoding="utf-8"))
        older.close()
    script = (
        "import sys; from pathlib import Path; from remuda.ledger.documents import keep\n"
        "sys.stdin.readline()\n"
        "for n in range(5): keep(Path(sys.argv[1]), f'toys/{sys.argv[2]}', n, n)"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert errors == [""] * 6
    assert len(listed(tmp_path)) == 30


def test_what_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    keep(tmp_path, KIND, 1, 1)
    with pytest.raises(ZeroDivisionError), writing(tmp_path / FILE) as db:
        put(db, KIND, 2, b"")
        raise ZeroDivisionError
    assert listed(tmp_path) == [(1, 1)]


def test_a_damaged_document_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    keep(tmp_path, KIND, 0, "whole")
    with writing(tmp_path / FILE) as db:
        put(db, KIND, 86_400_000, b"torn")
        put(db, KIND, 2 * 86_400_000, pack({"a": 1}))
    with documents(tmp_path) as db:
        other, torn, whole = kept(db, KIND)
        with pytest.raises(
            BadInput, match=r"kept of toys/here at 1970-01-02T00:00:00Z cannot be read: .*others are whole"
        ):
            read(db, torn, object)
        with pytest.raises(BadInput, match="1970-01-03T00:00:00Z cannot be read: Expected `str`"):
            read(db, other, str)
        with pytest.raises(BadInput, match="is gone"):
            read(db, Kept(99, KIND, 0), str)
        assert read(db, whole, str) == "whole"


def test_an_older_store_has_no_documents_and_gets_them_with_the_first(tmp_path: Path) -> None:
    older = sqlite3.connect(tmp_path / FILE)
    older.executescript((Path(__file__).parents[1] / "data" / "store-v1.sql").read_text(encoding="utf-8"))
    older.close()
    assert listed(tmp_path) == []
    keep(tmp_path, KIND, 1, 1)
    assert listed(tmp_path) == [(1, 1)]


def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    keep(tmp_path, KIND, 1, 1)
    newer = sqlite3.connect(tmp_path / FILE)
    newer.execute(f"PRAGMA user_version = {len(VERSIONS) + 1}")
    newer.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(BadInput, match="install the newer remuda"):
        keep(tmp_path, KIND, 2, 2)
    with pytest.raises(BadInput, match="install the newer remuda"):
        listed(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_without_a_store_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no store at"):
        listed(tmp_path)


@pytest.mark.parametrize("where", ["file", "file/below", "store"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "store" / FILE).mkdir(parents=True)
    with pytest.raises(BadInput, match=rf"{where}.* cannot be (used|opened)"):
        keep(tmp_path / where, KIND, 1, 1)
