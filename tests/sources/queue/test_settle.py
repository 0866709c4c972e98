"""What a machine's call costs: a database across a network is paid by the statement."""

import sqlite3
from pathlib import Path

from remuda.ledger.schema import migrate
from remuda.model.jobs import Finished, JobSpec
from remuda.sources.queue import rows
from remuda.sources.queue.output import JobFiles
from remuda.sources.queue.schema import TABLES
from remuda.sources.queue.settle import CallForWork, Site, Terms, settle_and_claim

TERMS = Terms("c", None, 60_000)


def test_the_end_of_a_job_and_the_begin_of_the_next_are_six_statements(tmp_path: Path) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, "memory", (TABLES,))
    for _ in range(2):
        rows.submit(db, rows.Submission("c", JobSpec(("true",))), 1)
    first = CallForWork("m-1", TERMS, None, 0, leaving=False, identity="s1")
    _, _, claim = settle_and_claim(db, first, Site(JobFiles(tmp_path)), 2)
    assert claim is not None
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    ended = Finished(claim.job, claim.attempt, "exited", 0, store="s1")
    call = CallForWork("m-1", TERMS, ended, 1, leaving=False, identity="s1")
    done, row, following = settle_and_claim(db, call, Site(JobFiles(tmp_path)), 3)
    assert [each.state for each in done] == ["succeeded"]
    assert row == rows.WorkerRow("m-1", 2, False, 3)
    assert following is not None
    assert following.job != claim.job
    assert len(statements) == 6, statements
    assert rows.register(db, "m-1", 9) == row, "what is answered is what is kept"
