"""Which ended jobs are forgotten, and their files with them."""

import sqlite3
from pathlib import Path

import pytest

from remuda.ledger.retention import Retention
from remuda.ledger.store import InlineStore
from remuda.model.jobs import Finished, JobSpec, Run
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.retention import forget_jobs
from remuda.sources.queue.schema import TABLES

NOW = 1_000


@pytest.fixture
def files(tmp_path: Path) -> JobFiles:
    made = JobFiles(tmp_path / "jobs")
    made.prepare()
    return made


@pytest.fixture
def store(files: JobFiles) -> InlineStore:
    """Jobs 1 to 4 ended, the last one first; 5 runs and 6 waits. All but the last have 100 bytes of output."""

    def fill(db: sqlite3.Connection) -> None:
        for _ in range(6):
            rows.submit(db, rows.Submission("c", JobSpec(("true",))), 1)
        for number in range(1, 6):
            rows.register(db, f"m-{number}", 1)
            rows.claim(db, f"m-{number}", "c", 1)
        for number in range(1, 5):
            rows.finish(db, f"m-{number}", Finished(number, 1, "exited", 0), NOW - number)

    made = InlineStore((TABLES,))
    made.read(fill)
    for number in range(1, 6):
        Path(f"{files.stem(Run('', number, 1))}.log").write_bytes(b"x" * 80)
        Path(f"{files.stem(Run('', number, 1))}.json").write_bytes(b"x" * 20)
    return made


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        pytest.param(Retention(), {1, 2, 3, 4, 5, 6}, id="neither old nor much"),
        pytest.param(Retention(age=2), {1, 2, 5, 6}, id="past their age"),
        pytest.param(Retention(output_bytes=500), {1, 2, 3, 4, 5, 6}, id="just as much as may be"),
        pytest.param(Retention(output_bytes=399), {1, 2, 3, 5, 6}, id="the one that ended first makes room"),
        pytest.param(Retention(output_bytes=150), {1, 5, 6}, id="as many as it takes"),
        pytest.param(Retention(output_bytes=0), {5, 6}, id="never one that waits or runs"),
        pytest.param(Retention(age=2, output_bytes=199), {1, 5, 6}, id="too old and too much"),
    ],
)
async def test_ended_jobs_go_by_age_and_by_the_size_of_all_output(
    keep: Retention, left: set[int], store: InlineStore, files: JobFiles
) -> None:
    await forget_jobs(store, files, keep, NOW)
    assert {job.id for job in store.read(rows.jobs)} == left
    assert files.sizes() == {Run("", number, 1): 100 for number in left - {6}}


async def test_output_that_cannot_go_costs_no_other_job_its_own(store: InlineStore, files: JobFiles) -> None:
    for stem in (files.stem(Run("", 5, 1)), files.stem(Run("", 99, 1))):
        Path(f"{stem}.log").write_bytes(b"x" * 10_000)
    await forget_jobs(store, files, Retention(output_bytes=400), NOW)
    assert {job.id for job in store.read(rows.jobs)} == {1, 2, 3, 4, 5, 6}


def test_sizes_are_of_jobs_alone_and_survive_a_place_that_is_gone(files: JobFiles) -> None:
    (files.root / "notes.txt").write_text("not of a job")
    for attempt in (1, 2):
        Path(f"{files.stem(Run('', 7, attempt))}.log").write_bytes(b"x" * 10)
    assert files.sizes() == {Run("", 7, 1): 10, Run("", 7, 2): 10}
    assert JobFiles(files.root / "nowhere").sizes() == {}
