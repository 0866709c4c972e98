"""Stores of every released version are read by today's program: people have them."""

import sqlite3
from pathlib import Path

import pytest

from remuda.control.client import Remuda
from remuda.ledger.documents import documents, kept, read
from remuda.ledger.history import cycles_between, oldest
from remuda.ledger.read_only import reading
from remuda.ledger.record import Ledger
from remuda.ledger.schema import VERSIONS
from remuda.ledger.store import FILE, InlineStore, SqliteStore
from remuda.model.jobs import Job, JobList
from remuda.pools.controller import LOOP
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.overrides import overrides
from remuda.pools.replay import replay
from remuda.pools.routes import VIEWS as POOL_VIEWS
from remuda.pools.views import PoolsView
from remuda.pools.why import Why
from remuda.sim.clock import MONDAY
from remuda.sources.queue import rows
from remuda.sources.queue.routes import VIEWS as QUEUE_VIEWS
from remuda.sources.queue.schema import TABLES

DATA = Path(__file__).parents[1] / "data"
FOREVER = 2**53


def test_there_is_a_store_of_every_version() -> None:
    assert sorted(path.name for path in DATA.glob("store-v*.sql")) == [
        f"store-v{number}.sql" for number in range(1, len(VERSIONS) + 1)
    ]


@pytest.fixture(params=range(1, len(VERSIONS) + 1), ids=lambda number: f"version {number}")
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data directory that an older program left behind, opened once by today's."""
    db = sqlite3.connect(tmp_path / FILE)
    db.executescript((DATA / f"store-v{request.param}.sql").read_text(encoding="utf-8"))
    db.close()
    SqliteStore(tmp_path / FILE, tables=(TABLES,)).close()
    return tmp_path


@pytest.fixture
def remuda(home: Path) -> Remuda:
    return Remuda(home, None, lambda: (*POOL_VIEWS, *QUEUE_VIEWS))


def test_it_has_todays_tables(home: Path) -> None:
    fresh = InlineStore((TABLES,))

    def tables(db: sqlite3.Connection) -> list[tuple[str, str]]:
        return db.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name").fetchall()

    with reading(home / FILE) as db:
        assert tables(db) == fresh.read(tables)
        assert db.execute("PRAGMA user_version").fetchone() == (len(VERSIONS),)


def test_every_cycle_is_read_and_goes_through_todays_rules(home: Path) -> None:
    with reading(home / FILE) as db:
        cycles = list(cycles_between(db, LOOP, 0, FOREVER, POOL_KINDS, pytest.fail))
        steps = list(replay(db, 0, FOREVER, None, pytest.fail))
        assert oldest(db, LOOP) == cycles[0].first_at == MONDAY
    assert len(steps) == len(cycles) > 20
    assert sum(step.cycles for step in steps) == sum(cycle.count for cycle in cycles)
    assert any(cycle.plan.actions for cycle in cycles)
    assert any(cycle.snapshot.operations for cycle in cycles)


def test_a_changed_policy_shows_differences(home: Path) -> None:
    with reading(home / FILE) as db:
        policy = next(cycles_between(db, LOOP, 0, FOREVER, POOL_KINDS, pytest.fail)).policy
        policy.ceilings["laptop"] = 1
        differences = [
            item
            for step in replay(db, 0, FOREVER, lambda _: policy, pytest.fail)
            for item in step.differences
        ]
    assert any(item.pool == "shell" and item.target_now < item.target_then for item in differences)


def test_why_is_answered_now_and_for_then(remuda: Remuda) -> None:
    now = remuda.get("/v1/why/pool/shell", Why)
    then = remuda.get("/v1/why/pool/shell", Why, at=MONDAY + 3_000)
    assert now.headline.startswith("shell wants ")
    assert [step.label for step in now.steps][:2] == ["demand", "bounds"]
    assert now.history
    assert then.at < now.at
    machine = remuda.get("/v1/why/machine/shell-1", Why)
    assert machine.headline == "shell-1 is gone"
    assert next(event.code for event in machine.history) == "machine.wanted"


def test_jobs_and_pools_are_listed(remuda: Remuda) -> None:
    jobs = remuda.get("/v1/jobs", JobList)
    assert set(jobs.counts) == {"waiting", "running", "succeeded", "failed", "cancelled"}
    assert len(jobs.jobs) == sum(jobs.counts.values())
    failed = next(job for job in jobs.jobs if job.state == "failed")
    assert [attempt.exit_code for attempt in remuda.get(f"/v1/jobs/{failed.id}", Job).attempts] == [3, 3]
    assert [pool.name for pool in remuda.get("/v1/pools", PoolsView).pools] == ["quick", "shell"]


def test_a_loop_goes_on_where_it_was(home: Path) -> None:
    store = SqliteStore(home / FILE, tables=(TABLES,))
    ledger = Ledger(store, LOOP, POOL_KINDS)
    assert "shell" in ledger.memory().pools
    assert any(operation.outcome is None for operation in ledger.operations())
    assert store.read(overrides)["quick"].max == 2
    assert store.read(rows.running)
    store.close()


def test_documents_are_read_where_there_are_any(home: Path, request: pytest.FixtureRequest) -> None:
    with documents(home) as db:
        found = [read(db, item, dict) for item in kept(db, "notes/example")]
    assert found == ([] if "version 1" in request.node.name else [{"told": "kept"}])
