"""`remuda store`: what another store left behind, and a store that is damaged."""

import json
import sqlite3
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.processes import Place

from remuda.datadir import DataDir
from remuda.ledger.read_only import reading
from remuda.ledger.store import FILE, SqliteStore
from remuda.model.jobs import JobSpec
from remuda.sources.queue import rows
from remuda.sources.queue.schema import TABLES


@pytest.mark.slow
def test_what_another_store_left_is_listed_and_removed_when_a_person_says_so(lively: Place, run: Run) -> None:
    planted = lively.data / "jobs" / "s0123456789ab-7-1.log"
    planted.write_bytes(b"12345")
    here = ("--data-dir", lively.data)
    listed = run("store", "foreign", *here)
    assert listed.code == 0
    first, *lines = listed.out.splitlines()
    assert first.startswith("this store is s")
    assert lines == [
        "", "machines", "nothing", "", "output of jobs", "STORE           ATTEMPTS   BYTES", "s0123456789ab   1          5",
    ]  # fmt: skip
    shown = json.loads(run("store", "foreign", "-o", "json", *here).out)
    assert shown["files"] == [{"store": "s0123456789ab", "attempts": 1, "bytes": 5}]
    asked = run("store", "clean", *here)
    assert asked.code == 2
    assert "Remove 0 machines and the output of 1 attempts of another store? Say --yes" in asked.err
    assert planted.exists()
    done = run("store", "clean", "--yes", *here)
    assert (done.code, done.out) == (0, "removed 0 machines and the output of 1 attempts\n")
    assert not planted.exists()
    assert lively.output(1) == b"it [/works]\n"
    assert run("store", "clean", *here).out == "another store left nothing here\n"


def damaged(home: Path, jobs: int = 2_000) -> Path:
    """A store of which one page of jobs cannot be read."""
    path = home / FILE
    SqliteStore(path, tables=(TABLES,)).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN")
    for number in range(jobs):
        rows.submit(db, rows.Submission("a", JobSpec(("echo", f"job-{number}"))), 1)
    db.execute("COMMIT")
    db.close()
    data = bytearray(path.read_bytes())
    at = data.index(b"job-1000") // 4_096 * 4_096
    data[at : at + 4_096] = b"\xff" * 4_096
    path.write_bytes(data)
    return path


@pytest.mark.slow
def test_a_damaged_store_is_replaced_by_what_can_be_read_of_it(tmp_path: Path, run: Run) -> None:
    tmp_path.chmod(0o700)
    path = damaged(tmp_path)
    before = path.read_bytes()
    here = ("--data-dir", tmp_path)
    asked = run("store", "salvage", *here)
    assert asked.code == 2
    assert "Make a new store of what can be read of" in asked.err
    assert path.read_bytes() == before
    done = run("store", "salvage", "--yes", *here)
    assert done.code == 0, done
    assert f"the damaged store is now {path}.damaged-1" in done.out
    assert (tmp_path / f"{FILE}.damaged-1").read_bytes() == before
    (line,) = [line for line in done.out.splitlines() if line.startswith("jobs ")]
    _, kept, *gap = line.split()
    assert gap[0] == "id"
    with reading(path, (TABLES,)) as db:
        assert db.execute("SELECT count(*) FROM jobs").fetchone() == (int(kept),)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert 1_900 < int(kept) < 2_000
    assert run("jobs", "list", "-q", "--most", "1", *here).out == "2000\n"


def test_a_store_in_use_is_not_salvaged(tmp_path: Path, run: Run) -> None:
    tmp_path.chmod(0o700)
    before = damaged(tmp_path).read_bytes()
    holder = DataDir(tmp_path)
    ran = run("store", "salvage", "--yes", "--data-dir", tmp_path)
    holder.release()
    assert ran.code == 2
    assert "is in use by another remuda" in ran.err
    assert (tmp_path / FILE).read_bytes() == before


def test_without_a_store_there_is_nothing_to_salvage(tmp_path: Path, run: Run) -> None:
    ran = run("store", "salvage", "--yes", "--data-dir", tmp_path)
    assert ran.code == 2
    assert f"there is no store at {tmp_path / FILE}" in ran.err
