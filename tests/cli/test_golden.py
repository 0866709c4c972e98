"""How answers look: from a store that is always the same, so that a change of layout is seen."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.golden import check_golden
from tests.processes import ceiling, pool

from remuda.app import read_setup
from remuda.ledger.record import Ledger
from remuda.ledger.store import FILE, SqliteStore
from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.model.plans import Outcome
from remuda.model.times import MINUTE, SECOND
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.world import Memory, Override, Policy, PoolAction, PoolSeen, Snapshot
from remuda.pools.kinds import POOL_KINDS

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
    setup = read_setup((str(file),))
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
def told(tmp_path: Path) -> Iterator[Path]:
    """A data directory with a fixed history. Times are told in UTC."""
    file = tmp_path / "pools.yaml"
    objects = (
        pool(min=2, max=8, headroom=1, maxSurge=5, scaleDownDelay="2m", ceiling="laptop"),
        pool("nix", min=0, max=4, ceiling="laptop"),
        pool("arm", min=0, max=3),
        ceiling("laptop", 6, members=[{"name": "shell", "guaranteed": 2}, {"name": "nix", "guaranteed": 2}]),
    )
    file.write_text("\n---\n".join(map(json.dumps, objects)))
    store = SqliteStore(tmp_path / FILE)
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
def test_an_answer_looks_as_it_did(words: str, told: Path, run: Run, request: pytest.FixtureRequest) -> None:
    ran = run(*words.split(), "--data-dir", told)
    assert ran.code == 0
    is_old = words.startswith(("pools", "why")) and "--at" not in words and "-o" not in words
    assert ("ago: nothing was seen since" in ran.err) == is_old
    check_golden(
        words.replace(" --at 2020-01-31T14:00:30Z", " then").partition(" --since")[0], ran.out, request.config
    )
