"""How answers look: from a store that is always the same, so that a change of layout is seen."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.catalog import load
from tests.cli.conftest import Run
from tests.cli.golden import check_golden
from tests.processes import ceiling, pool

from remuda.ledger.record import Ledger
from remuda.ledger.store import FILE, SqliteStore
from remuda.model.jobs import Finished, JobSpec
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.model.plans import Outcome
from remuda.model.times import MINUTE, SECOND
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, Override, Policy, PoolAction, PoolSeen, Snapshot
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.policy import EXACT_SOURCES, compile_objects
from remuda.sources.queue import rows
from remuda.sources.queue.schema import TABLES

pytestmark = pytest.mark.slow

#: 2020-01-31 14:00:00 UTC
NOON = 1_580_479_200_000


def machine(name: str, template: str, job: str | None = None, made: int = NOON) -> Machine:
    """A machine that is idle, or busy with a job."""
    return Machine(
        name=name,
        pool=name.rpartition("-")[0],
        state=State.CONFIGURED if job else State.IDLE,
        template=template,
        created_at=made,
        since=made + 2 * SECOND,
        ready_at=made + SECOND,
        job=job,
        uses=1 if job else 0,
    )


async def write_history(store: SqliteStore, file: Path) -> None:
    """A pool that grows into its ceiling and stays there, beside one that a person steers."""
    setup = compile_objects(load([file]).objects, EXACT_SOURCES)
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    templates = {name: item.template for name, item in setup.pools.items()}
    nix = (machine("nix-1", templates["nix"], "7"), machine("nix-2", templates["nix"], "8"))
    shell = tuple(machine(f"shell-{n}", templates["shell"], str(n + 10)) for n in range(3, 7))
    steered = PoolSeen("arm", Need(3, 0), (), Override(min=0, max=0))
    others = (steered, PoolSeen("nix", Need(0, 2), nix))
    steps = [
        (NOON, (PoolSeen("arm", Need(0, 0)), PoolSeen("nix", Need(0, 0)), PoolSeen("shell", Need(0, 0)))),
        (NOON + 10 * SECOND, (*others, PoolSeen("shell", Need(1, 2), shell[:2]))),
        *((NOON + MINUTE + n * SECOND, (*others, PoolSeen("shell", Need(5, 4), shell))) for n in range(221)),
    ]
    memory = Memory()
    for now, pools in steps:
        saw = ledger.operations()
        seen = Snapshot(pools, saw)
        plan, after = decide(seen, memory, setup.policy, now)
        for operation in await ledger.record(seen, memory, setup.policy, now, plan, after, saw):
            await ledger.finish(operation, Outcome("done", now + SECOND))
        memory = after


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Path]:
    """A data directory with a fixed history. Times are told in UTC."""
    file = tmp_path / "pools.yaml"
    objects = (
        pool(min=2, max=8, headroom=1, maxSurge=5, scaleDownDelay="2m", ceiling="laptop"),
        pool("nix", min=0, max=4, ceiling="laptop"),
        pool("arm", min=0, max=3),
        ceiling("laptop", 6, members=[{"name": "shell", "guaranteed": 2}, {"name": "nix", "guaranteed": 2}]),
    )
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    store = SqliteStore(tmp_path / FILE, tables=(TABLES,))
    asyncio.run(write_history(store, file))
    store.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield tmp_path
    time.tzset()


@pytest.mark.parametrize(
    "words",
    [
        "why pool shell",
        "why pool nix",
        "why pool arm",
        "why pool shell --history",
        "why pool shell --at 2020-01-31T14:00:30Z",
        "why machine shell-3",
        "pools list",
        "pools list -o markdown",
        "pools status",
        "replay --since 2020-01-31T13:00:00Z",
    ],
)
def test_an_answer_looks_as_it_did(
    words: str, recorded: Path, run: Run, request: pytest.FixtureRequest
) -> None:
    ran = run(*words.split(), "--data-dir", recorded)
    assert ran.code == 0
    is_old = words.startswith(("pools", "why")) and "--at" not in words and "-o" not in words
    assert ran.out.startswith(f"no remuda runs with {recorded}: start one") == is_old
    name = words.replace(" --at 2020-01-31T14:00:30Z", " then").partition(" --since")[0]
    check_golden(name, ran.out.replace(str(recorded), "DIR"), request.config)


def damage(home: Path, statement: str) -> None:
    with sqlite3.connect(home / FILE) as db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("statement", "words", "what"),
    [
        pytest.param(
            "UPDATE cycles SET plan = x'00'", "pools list", "the plan of cycle ", id="the last plan"
        ),
        pytest.param(
            "UPDATE policies SET data = x'00'", "why pool shell", "the policy of cycle ", id="a policy"
        ),
        pytest.param(
            "UPDATE cycles SET snapshot = x'789c'",
            "why machine shell-3",
            "the snapshot of cycle ",
            id="a snapshot",
        ),
    ],
)
def test_damage_in_what_was_asked_for_is_reported(
    statement: str, words: str, what: str, recorded: Path, run: Run
) -> None:
    damage(recorded, statement)
    ran = run(*words.split(), "--data-dir", recorded)
    assert ran.code == 2
    assert f"remuda: {recorded / FILE} is damaged ({what}" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_replay_leaves_a_damaged_step_out_and_names_it(recorded: Path, run: Run) -> None:
    damage(recorded, "UPDATE cycles SET snapshot = x'00' WHERE id = 2")
    ran = run("replay", "--since", "2020-01-31T13:00:00Z", "--data-dir", recorded)
    assert ran.code == 0
    assert ran.err.startswith("the snapshot of cycle 2 cannot be read: ")
    assert ran.err.endswith("; it is left out\n")
    assert ran.out.startswith("3 recorded steps")


@pytest.mark.slow
def test_up_says_that_what_it_remembered_is_damaged(recorded: Path) -> None:
    damage(recorded, "UPDATE memories SET data = x'00112233'")
    command = [
        sys.executable,
        "-m",
        "remuda",
        "up",
        str(recorded / "pools.yaml"),
        "--data-dir",
        str(recorded),
    ]
    ran = subprocess.run(
        [*command, "--health-port", "0", "--live-port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2
    assert "is damaged (the memory of loop pools cannot be read: " in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("at", "shown_since"),
    [
        pytest.param("2020-01-31T14:00:30Z", "14:00:10", id="with a zone"),
        pytest.param("2020-01-31T16:00:30+02:00", "14:00:10", id="with an offset"),
        pytest.param("2020-01-31T09:00:30", "14:00:10", id="without one it is local"),
        pytest.param("2020-01-31 09:00:30", "14:00:10", id="as it is shown"),
    ],
)
def test_a_time_is_read_as_it_is_shown(
    at: str, shown_since: str, recorded: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    ran = run("why", "pool", "shell", "--at", at, "--data-dir", recorded)
    assert ran.code == 0
    local = shown_since.replace("14:", "09:")
    assert f"since 2020-01-31 {local}" in ran.out


@pytest.mark.parametrize(
    ("objects", "code", "err"),
    [
        pytest.param(
            [pool("other")],
            2,
            "remuda: nothing recorded is called RunnerPool other; there is: arm, laptop, nix, shell\n",
            id="a pool that was not there",
        ),
        pytest.param(
            [pool("arm", min=0, max=3), ceiling("moon", 3)],
            0,
            "note: nothing recorded is called Ceiling moon; there is: arm, laptop, nix, shell\n",
            id="one of two",
        ),
        pytest.param(
            [pool("arm", min=1, max=1, ceiling="moon"), ceiling("moon", 3)], 1, "", id="a new ceiling"
        ),
        pytest.param([pool("arm", min=0, max=3)], 0, "", id="one that was there"),
    ],
)
def test_changed_objects_that_change_nothing_recorded_are_named(
    objects: list[dict[str, object]], code: int, err: str, recorded: Path, run: Run
) -> None:
    file = recorded / "changed.yaml"
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    ran = run("replay", "--since", "2020-01-31T13:00:00Z", "-f", file, "--data-dir", recorded)
    assert (ran.code, ran.err) == (code, err)


@pytest.fixture
def with_job(recorded: Path) -> Path:
    """Job 1 is handed in at 14:00:00, fails on shell-3 from 14:00:10 to 14:00:20, and succeeds on shell-4."""
    store = SqliteStore(recorded / FILE, tables=(TABLES,))

    def write(db: sqlite3.Connection) -> None:
        rows.submit(db, rows.Submission("test/shell", JobSpec(("true",)), retries=1), NOON)
        for number, (name, begin, code) in enumerate((("shell-3", 10, 1), ("shell-4", 40, 0)), 1):
            ended = NOON + (begin + 10) * SECOND
            rows.claim(db, name, "test/shell", NOON + begin * SECOND)
            rows.finish(db, name, Finished(1, number, "exited", code, finished_at=ended), ended)

    asyncio.run(store.write(write))
    store.close()
    return recorded


@pytest.mark.parametrize(
    ("at", "lines"),
    [
        pytest.param(
            "14:00:05",
            ["job 1 of class test/shell waits   since 2020-01-31 14:00:00 (5s)", "submitted"],
            id="before its first try",
        ),
        pytest.param(
            "14:00:15",
            [
                "job 1 of class test/shell runs on shell-3   since 2020-01-31 14:00:10 (5s)",
                "submitted",
                "attempt 1 on shell-3 from 2020-01-31 14:00:10",
            ],
            id="while it runs",
        ),
        pytest.param(
            "14:00:30",
            [
                "job 1 of class test/shell waits   since 2020-01-31 14:00:20 (10s)",
                "submitted",
                "attempt 1 on shell-3 from 2020-01-31 14:00:10: exited 1",
            ],
            id="between its tries",
        ),
        pytest.param(
            "14:01:00",
            [
                "job 1 of class test/shell succeeded   since 2020-01-31 14:00:50 (10s)",
                "submitted",
                "attempt 1 on shell-3 from 2020-01-31 14:00:10: exited 1",
                "attempt 2 on shell-4 from 2020-01-31 14:00:40: exited 0",
            ],
            id="after its end",
        ),
    ],
)
def test_a_job_is_shown_as_it_was(at: str, lines: list[str], with_job: Path, run: Run) -> None:
    ran = run("why", "job", "1", "--at", f"2020-01-31T{at}Z", "--data-dir", with_job)
    assert ran.code == 0
    own = ran.out.partition("\n\n")[0].splitlines()
    assert own[0] == lines[0]
    assert len(own) == len(lines)
    for line, words in zip(own[1:], lines[1:], strict=True):
        assert line.strip().startswith(words)
        assert words == "submitted" or line.strip() == words


def test_a_job_was_not_there_before_it_was_submitted(with_job: Path, run: Run) -> None:
    ran = run("why", "job", "1", "--at", "2020-01-31T13:59:59Z", "--data-dir", with_job)
    assert ran.code == 2
    assert "job 1 was not submitted yet at 2020-01-31 13:59:59: that was 2020-01-31 14:00:00" in ran.err


def test_a_job_that_was_retried_shows_since_when_it_waits_again(with_job: Path, run: Run) -> None:
    def state() -> str:
        shown = run("jobs", "show", "1", "--data-dir", with_job).out
        return next(line for line in shown.splitlines() if line.startswith("state "))

    assert state().startswith("state      succeeded since 2020-01-31 14:00:50 (")
    store = SqliteStore(with_job / FILE, tables=(TABLES,))
    asyncio.run(store.write(lambda db: rows.retry(db, 1, NOON + 70 * SECOND)))
    store.close()
    assert state().startswith("state      waiting since 2020-01-31 14:01:10 (")


@pytest.mark.parametrize("words", ["jobs list", "jobs show 1", "why job 1"])
def test_a_damaged_job_is_reported_as_such(words: str, with_job: Path, run: Run) -> None:
    damage(with_job, "UPDATE jobs SET spec = x'c1'")
    ran = run(*words.split(), "--data-dir", with_job)
    assert (ran.code, ran.err) == (0, "")
    assert words == "why job 1" or "(damaged in the store)" in ran.out
