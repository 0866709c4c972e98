"""The past through today's rules, over the API: bounded, and with every problem said."""

import pytest
from tests.builders import NOW, machine, policy, pool, settings, snapshot
from tests.loop.toy import virtually
from tests.web.clock import SetClock

from remuda.control.replay import LONGEST, Question, Replayed, lines_of, replay_route
from remuda.control.routes import Call
from remuda.errors import BadInput, NotFound
from remuda.jobs import JOBS
from remuda.ledger.record import Ledger
from remuda.ledger.store import InlineStore
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot
from remuda.pools.kinds import POOL_KINDS

RULES = policy(settings("a", min=1, max=3))
CHANGED = """
apiVersion: remuda.dev/v1alpha1
kind: RunnerPool
metadata: {name: NAME}
spec: {class: test/a, source: {queue: {}}, provider: {process: {}}, min: 0, max: 1}
"""


async def ask(since: int, until: int, objects: str = "") -> Replayed:
    """What the route answers about one recorded step: a pool with two busy machines and three waiting jobs."""
    store = InlineStore(tables=JOBS.tables())
    ledger: Ledger[Snapshot, Memory, Policy, PoolAction] = Ledger(store, LOOP, POOL_KINDS)
    seen = snapshot(pool("a", machine("a-1", job="1"), machine("a-2", job="2"), waiting=3, running=2))
    plan, after = decide(seen, Memory(), RULES, NOW)
    await ledger.record(seen, Memory(), RULES, NOW, plan, after, ())
    route = replay_route(JOBS, store, SetClock(NOW + 1))
    assert route.handler is not None
    answer = await route.handler(Call({}, {}, Question(since, until, objects)))
    assert isinstance(answer, Replayed)
    store.close()
    return answer


@virtually
async def test_the_same_rules_decide_the_same() -> None:
    found = await ask(NOW - 1_000, NOW + 1_000)
    assert (found.steps, found.cycles, found.differences) == (1, 1, ())
    assert lines_of(found) == ["1 recorded steps (1 cycles), 0 decided differently"]


@virtually
async def test_a_changed_object_decides_otherwise() -> None:
    found = await ask(NOW - 1_000, NOW + 1_000, CHANGED.replace("NAME", "a"))
    (difference,) = found.differences
    assert (difference.data.target_then, difference.data.target_now) == (3, 1)
    assert "One step each" in lines_of(found)[-1]


@virtually
async def test_an_object_that_nothing_recorded_is_called_is_named() -> None:
    with pytest.raises(NotFound, match="nothing recorded is called RunnerPool z; there is: a"):
        await ask(NOW - 1_000, NOW + 1_000, CHANGED.replace("NAME", "z"))
    both = CHANGED.replace("NAME", "a") + "---" + CHANGED.replace("NAME", "z").replace("test/a", "test/z")
    assert "RunnerPool z" in (await ask(NOW - 1_000, NOW + 1_000, both)).strangers


@pytest.mark.parametrize(
    ("since", "until", "objects", "says"),
    [
        pytest.param(NOW, NOW, "", "until must come after since", id="no time"),
        pytest.param(-1, NOW, "", "until must come after since", id="before all time"),
        pytest.param(NOW, NOW + LONGEST + 1, "", "more than an hour", id="too long"),
        pytest.param(NOW - 9, NOW - 1, "", "nothing is recorded in that time", id="nothing there"),
        pytest.param(NOW - 9, NOW + 9, "kind: Cat", "the changed objects", id="no object"),
        pytest.param(NOW - 9, NOW + 9, "a: [", "the changed objects", id="no YAML"),
    ],
)
def test_what_is_wrong_is_said(since: int, until: int, objects: str, says: str) -> None:
    @virtually
    async def refused() -> None:
        with pytest.raises(BadInput, match=says):
            await ask(since, until, objects)

    refused()
