"""A store that is lost or restored while machines, files and shims of before are still there."""

import sqlite3
from pathlib import Path

import pytest
from tests.processes import Place, eventually, pool

from remuda.ledger.store import FILE
from remuda.model.jobs import JobState

pytestmark = pytest.mark.slow


def lose_store(here: Place) -> None:
    """What the error text of a damaged store recommends."""
    for path in here.data.glob(f"{FILE}*"):
        path.rename(here.home / path.name)


def back_up(here: Place) -> Path:
    """What the documentation recommends: SQLite's own backup, while Remuda runs."""
    copy = here.home / "backup.db"
    with sqlite3.connect(here.data / FILE) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    return copy


def restore(here: Place, copy: Path) -> None:
    for path in here.data.glob(f"{FILE}*"):
        path.unlink()
    copy.rename(here.data / FILE)


def submit_until_answered(here: Place) -> int:
    """A job that works until `go` is there, and leaves `whole` behind."""
    script = f"cd {here.home}; until [ -e go ]; do sleep 0.1; done; echo whole > whole"
    return here.submit("sh", "-c", script)


def test_a_job_of_a_new_store_runs_though_an_older_one_had_its_number(here: Place) -> None:
    here.write(pool(min=1, max=1, singleTask=False))
    here.start()
    old = here.submit("sh", "-c", "echo of the old store")
    assert here.wait_end(old).state is JobState.SUCCEEDED
    here.kill()
    lose_store(here)
    here.start()
    proof = here.home / "proof"
    ran = here.cli("submit", "test/shell", "--wait", "--", "sh", "-c", f"echo RAN > {proof}; exit 7")
    assert (ran.code, ran.out) == (7, "")
    assert proof.read_text() == "RAN\n"
    (job,) = here.jobs().values()
    assert (job.id, job.state) == (old, JobState.FAILED)
    assert here.output(job.id) == b""


def test_a_result_that_an_older_store_left_behind_is_nobodys(here: Place) -> None:
    """It was written down because Remuda was away when its job ended."""
    here.write(pool(min=1, max=1, singleTask=False))
    here.start()
    copy = back_up(here)
    job = here.submit("sh", "-c", "sleep 1; echo old; exit 0")
    here.wait_running(job)
    here.kill()
    eventually(lambda: list((here.data / "jobs").glob("*.json")), "a result that is written down")
    restore(here, copy)
    here.start()
    again = here.submit("sh", "-c", f"echo $$ > {here.home}/pid; exec sleep 600")
    assert again == job
    eventually((here.home / "pid").read_text, "the start of the new job")
    assert here.job(again).state is JobState.RUNNING
    here.remuda.post(f"/v1/jobs/{again}/cancel", {}, dict)
    assert here.wait_end(again).state is JobState.CANCELLED
    assert here.output(again) == b""


def test_a_busy_machine_of_before_is_not_drained_away(here: Place) -> None:
    here.write(pool(min=1, max=1, singleTask=False))
    here.start()
    here.wait_idle(1)
    copy = back_up(here)
    job = submit_until_answered(here)
    here.wait_running(job)
    here.kill()
    restore(here, copy)
    here.start()
    assert here.jobs() == {}
    (machine,) = here.pools().machines
    assert machine.job, "a machine that works is busy, whatever the store remembers"
    assert here.cli("pools", "drain", "shell").code == 0
    eventually(lambda: here.pools().pools[0].override.draining, "the drain")
    (here.home / "go").touch()
    eventually((here.home / "whole").exists, "the end of the old job")


def test_machines_of_a_lost_store_are_kept_and_listed_until_a_person_says_otherwise(here: Place) -> None:
    here.write(pool(min=1, max=1, singleTask=False))
    here.start()
    here.wait_idle(1)
    job = submit_until_answered(here)
    here.wait_running(job)
    (before,) = here.shims()
    here.kill()
    lose_store(here)
    here.start()
    here.wait_idle(1)
    after = here.shims()
    assert before in after
    assert len(after) == 2
    assert [machine.name for machine in here.pools().machines] == list(set(after) - {before})
    listed = here.cli("store", "foreign")
    assert before in listed.out
    (here.data / "jobs" / "s0123456789ab-7-1.log").write_bytes(b"of an older one")
    refused = here.cli("store", "clean", "--yes")
    assert before in here.shims(), "it is busy"
    assert f"kept {before}: it is busy; --even-busy ends what it does" in refused.out
    assert "kept all output: what is busy may still write some" in refused.out
    (here.home / "go").touch()
    eventually((here.home / "whole").exists, "the end of the old job")
    eventually(lambda: "idle" in here.cli("store", "foreign").out, "its being idle")
    cleaned = here.cli("store", "clean", "--yes")
    assert cleaned.code == 0, cleaned
    assert before not in here.shims()
    assert "nothing" in here.cli("store", "foreign").out
