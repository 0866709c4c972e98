"""What an organisation's plan lets run at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NOW, pool, settings, snapshot

from remuda.pools.decide import decide
from remuda.pools.decide.concurrency import beyond_concurrency
from remuda.pools.decide.model import Memory, Policy


def rules(plan: int, **pools: int) -> Policy:
    """Pools of one organisation with their priorities, and one of nobody."""
    mine = {name: settings(name, organisation="org", priority=priority) for name, priority in pools.items()}
    return Policy({**mine, "other": settings("other")}, concurrency={"org": plan})


@pytest.mark.parametrize(
    ("plan", "needs", "beyond"),
    [
        pytest.param(10, {"a": (4, 2), "b": (1, 3)}, {"a": 0, "b": 0}, id="all may run"),
        pytest.param(8, {"a": (4, 2), "b": (0, 3)}, {"a": 1, "b": 0}, id="what runs elsewhere counts"),
        pytest.param(
            4, {"a": (4, 2), "b": (4, 3)}, {"a": 4, "b": 4}, id="more runs than it lets: nothing is added"
        ),
        pytest.param(6, {"a": (4, 0), "b": (4, 0)}, {"a": 1, "b": 1}, id="the rest is shared fairly"),
    ],
)
def test_tasks_beyond_the_plan_are_reported(
    plan: int, needs: dict[str, tuple[int, int]], beyond: dict[str, int]
) -> None:
    seen = snapshot(
        *(pool(name, waiting=waiting, running=running) for name, (waiting, running) in needs.items()),
        pool("other", waiting=99),
    )
    assert beyond_concurrency(seen, rules(plan, a=0, b=0)) == beyond


def test_a_task_that_begins_moves_no_room_between_pools() -> None:
    before = snapshot(pool("a", waiting=3), pool("b", waiting=3))
    assert beyond_concurrency(before, rules(2, a=0, b=0)) == {"a": 2, "b": 2}
    begun = snapshot(pool("a", waiting=2, running=1), pool("b", waiting=3))
    assert beyond_concurrency(begun, rules(2, a=0, b=0)) == {"a": 2, "b": 2}


def test_a_higher_priority_is_served_first() -> None:
    seen = snapshot(pool("a", waiting=4), pool("b", waiting=4))
    assert beyond_concurrency(seen, rules(5, a=0, b=10)) == {"a": 3, "b": 0}


def test_no_machine_is_made_for_a_task_that_cannot_run() -> None:
    plan, _ = decide(snapshot(pool("a", waiting=9)), Memory(), rules(2, a=0), NOW)
    assert len(plan.actions) == 2
    assert plan.reasons[0].terms["beyond"] == 7


def test_a_source_that_never_answered_takes_nothing_of_the_plan() -> None:
    seen = snapshot(pool("a", waiting=4), pool("b", silent=True))
    assert beyond_concurrency(seen, rules(4, a=0, b=0)) == {"a": 0}


@given(
    st.integers(1, 40),
    st.dictionaries(st.sampled_from("abc"), st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1),
)
def test_what_runs_and_may_run_never_exceeds_the_plan_and_leaves_nothing_of_it(
    plan: int, needs: dict[str, tuple[int, int]]
) -> None:
    seen = snapshot(
        *(pool(name, waiting=waiting, running=running) for name, (waiting, running) in needs.items())
    )
    beyond = beyond_concurrency(seen, rules(plan, a=0, b=1, c=0))
    running = sum(running for _, running in needs.values())
    waiting = sum(waiting for waiting, _ in needs.values())
    assert all(0 <= count <= needs[name][0] for name, count in beyond.items())
    assert waiting - sum(beyond.values()) == min(waiting, max(0, plan - running))
