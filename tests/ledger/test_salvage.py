"""What can still be read of a damaged store, in a new one."""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from remuda.errors import BadInput
from remuda.ledger.identity import lineage
from remuda.ledger.read_only import reading
from remuda.ledger.salvage import Salvaged, _by_halves, _carry_numbers, _joined, salvage
from remuda.ledger.store import FILE, SqliteStore
from remuda.model.jobs import Finished, JobSpec, JobState
from remuda.sources.queue import rows
from remuda.sources.queue.schema import TABLES

DATA = Path(__file__).parents[1] / "data"
PAGE = 4_096
JOBS = 3_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with many jobs, each with an attempt, of which the last runs."""
    path = tmp_path_factory.mktemp("whole") / FILE
    SqliteStore(path, tables=(TABLES,)).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN")
    db.execute("INSERT INTO settings VALUES ('override/shell', x'01', 1)")
    db.execute("INSERT INTO memories VALUES ('pools', x'ff')")
    for number in range(JOBS):
        rows.submit(db, rows.Submission("a", JobSpec(("echo", str(number))), idempotency=f"k{number}"), 1)
        rows.claim(db, f"shell-{number}", "a", 2, "s1")
        if number + 1 < JOBS:
            rows.finish(db, f"shell-{number}", Finished(number + 1, 1, "exited", 0, store="s1"), 3)
    db.execute("COMMIT")
    db.close()
    return path


def pages_of(path: Path, table: str) -> list[int]:
    """The numbers of the leaf pages of a table, found by what is in them."""
    found = []
    mark = {"jobs": b"echo", "attempts": b"exited"}[table]
    data = path.read_bytes()
    for number in range(1, len(data) // PAGE):
        page = data[number * PAGE : (number + 1) * PAGE]
        is_leaf = page[:1] in (b"\x0d", b"\x0a")
        if is_leaf and page.count(mark) > 5:
            found.append(number)
    return found


def broken(whole: Path, home: Path, *pages: int) -> Path:
    path = home / FILE
    shutil.copy(whole, path)
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(b"\xff" * PAGE)
    with pytest.raises(BadInput, match="`remuda store salvage` makes a new store of what can still be read"):
        SqliteStore(path, tables=(TABLES,))
    return path


def by_name(done: tuple[Salvaged, ...]) -> dict[str, Salvaged]:
    return {each.table: each for each in done}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_all_jobs_but_those_on_a_broken_page_are_carried_over(whole: Path, tmp_path: Path, seed: int) -> None:
    page = random.Random(seed).choice(pages_of(whole, "jobs")[1:-1])
    path = broken(whole, tmp_path, page)
    before = path.read_bytes()
    found = by_name(salvage(path, tmp_path / "new", (TABLES,)))
    assert path.read_bytes() == before
    (gap,) = found["jobs"].unreadable
    first, last = (int(word) for word in gap.split() if word.isdecimal())
    assert found["jobs"].kept == JOBS - (last - first + 1) > JOBS * 0.9
    assert found["settings"] == Salvaged("settings", 1)
    assert "memories" not in found
    store = SqliteStore(tmp_path / "new", tables=(TABLES,))
    numbers = {job.id for job in store.read(lambda db: rows.jobs(db, most=JOBS))}
    assert numbers == set(range(1, JOBS + 1)) - set(range(first, last + 1))
    # What belonged to a job that is gone is nobody's.
    assert {run.job for run in store.read(rows.all_runs)} <= numbers
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["first", "last"])
def test_a_page_at_either_end_may_be_broken(whole: Path, tmp_path: Path, which: str) -> None:
    pages = pages_of(whole, "jobs")
    path = broken(whole, tmp_path, pages[0] if which == "first" else pages[-1])
    found = by_name(salvage(path, tmp_path / "new", (TABLES,)))
    assert found["jobs"].kept > JOBS * 0.9
    assert found["jobs"].unreadable
    store = SqliteStore(tmp_path / "new", tables=(TABLES,))
    number, _ = store._connection.execute(
        "SELECT seq, name FROM sqlite_sequence WHERE name = 'jobs'"
    ).fetchone()
    assert number == JOBS  # no number is given twice
    store.close()


@pytest.mark.slow
def test_a_running_job_that_lost_its_attempt_ends_with_its_machine(whole: Path, tmp_path: Path) -> None:
    path = broken(whole, tmp_path, pages_of(whole, "attempts")[-1])
    salvage(path, tmp_path / "new", (TABLES,))
    store = SqliteStore(tmp_path / "new", tables=(TABLES,))
    job = store.read(lambda db: rows.job(db, JOBS))
    assert job is not None
    assert job.state is JobState.RUNNING
    run = store.read(lambda db: rows.running_on(db, f"shell-{JOBS - 1}"))
    assert run is not None
    assert (run.job, run.attempt) == (JOBS, 1)
    store.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something in every table, in few pages."""
    path = tmp_path_factory.mktemp("small") / FILE
    db = sqlite3.connect(path)
    db.executescript((DATA / "store-v3.sql").read_text(encoding="utf-8"))
    db.close()
    SqliteStore(path, tables=(TABLES,)).close()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("filling", [b"\xff", b"\x5a", b"\0"])
def test_any_page_but_those_with_the_list_of_tables_may_be_broken(
    small: Path, tmp_path: Path, filling: bytes
) -> None:
    data = small.read_bytes()
    pages = range(1, len(data) // PAGE)
    with reading(small) as db:
        roots = {name: page - 1 for name, page in db.execute("SELECT name, rootpage FROM sqlite_master")}
    assert {"jobs", "settings", "workers"} <= roots.keys()
    lists = {page for page in pages if b"CREATE TABLE" in data[page * PAGE : (page + 1) * PAGE]}
    assert len(lists) < len(pages) / 10
    for page in set(pages) - lists:
        path, new = tmp_path / FILE, tmp_path / f"new-{page}"
        path.write_bytes(data[: page * PAGE] + filling * PAGE + data[(page + 1) * PAGE :])
        found = by_name(salvage(path, new, (TABLES,)))
        if page == roots["jobs"] and filling != b"\0":
            assert found["jobs"].unreadable
        store = SqliteStore(new, tables=(TABLES,))
        store.read(lambda db: rows.jobs(db, most=JOBS))
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.3, 0.6, 0.95])
def test_what_stands_before_the_place_where_a_store_was_cut_off_is_carried_over(
    whole: Path, tmp_path: Path, part: float
) -> None:
    path = tmp_path / FILE
    data = whole.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    cut = path.read_bytes()
    found = by_name(salvage(path, tmp_path / "new", (TABLES,)))
    assert path.read_bytes() == cut
    assert 0 < found["jobs"].kept < JOBS
    assert found["jobs"].unreadable
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new", FILE]


def test_a_job_whose_state_makes_no_sense_has_failed(small: Path, tmp_path: Path) -> None:
    path = tmp_path / FILE
    shutil.copy(small, path)
    with sqlite3.connect(path) as db:
        number = db.execute("SELECT min(id) FROM jobs").fetchone()[0]
        db.execute("UPDATE jobs SET state = 'succeedee' WHERE id = ?", (number,))
    db.close()
    salvage(path, tmp_path / "new", (TABLES,))
    store = SqliteStore(tmp_path / "new", tables=(TABLES,))
    job = store.read(lambda db: rows.job(db, number))
    store.close()
    assert job is not None
    assert job.state is JobState.FAILED


def test_a_file_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"garbage " * 9_999)
    with pytest.raises(BadInput, match="nothing can be read of"):
        salvage(tmp_path / FILE, tmp_path / "new", (TABLES,))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_store_of_an_older_version_comes_out_as_one_of_today(tmp_path: Path, version: int) -> None:
    path = tmp_path / FILE
    db = sqlite3.connect(path)
    db.executescript((DATA / f"store-v{version}.sql").read_text(encoding="utf-8"))
    db.close()
    found = by_name(salvage(path, tmp_path / "new", (TABLES,)))
    assert not any(each.unreadable for each in found.values())
    SqliteStore(path, tables=(TABLES,)).close()
    with reading(path) as upgraded, reading(tmp_path / "new") as salvaged:
        for table in ("jobs", "attempts", "cycles", "stories", "operations", "settings", "identities"):
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert salvaged.execute(query).fetchall() == upgraded.execute(query).fetchall(), table
        assert lineage(salvaged) == lineage(upgraded)


def test_ranges_that_touch_are_told_as_one() -> None:
    assert list(_joined([(5, 6), (1, 2), (3, 3), (8, 8)], "id")) == ["id 1 to 3", "id 5 to 6", "id 8"]


@pytest.mark.parametrize("torn", [{1}, {7}, {16}, {3, 4, 12}])
def test_only_the_rows_that_cannot_be_read_are_lost(torn: set[int]) -> None:
    def read(number: int) -> int:
        if number in torn:
            raise ValueError
        return number

    db = sqlite3.connect(":memory:")
    db.create_function("read", 1, read)
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(1, 17)])
    gaps: list[tuple[int, int]] = []
    found = [number for (number,) in _by_halves(db, "SELECT read(id) FROM t", "id", 0, 16, gaps)]
    db.close()
    assert (found, sorted(gaps)) == (
        [number for number in range(1, 17) if number not in torn],
        [(number, number) for number in sorted(torn)],
    )


def test_numbers_go_on_where_they_were_though_nothing_was_kept() -> None:
    old, new = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    for db in (old, new):
        for name in ("a", "b"):
            db.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    old.executescript("INSERT INTO a VALUES (7); DELETE FROM a; INSERT INTO b VALUES (3)")
    new.executescript("INSERT INTO b VALUES (5)")
    _carry_numbers(old, new)
    assert [new.execute(f"INSERT INTO {name} DEFAULT VALUES").lastrowid for name in ("a", "b")] == [8, 6]
    old.close()
    new.close()
