"""The reason of each pool: a stable code and every number behind it."""

import pytest
from msgspec import structs
from tests.builders import (
    NOW,
    creation,
    machine,
    machines,
    policy,
    pool,
    reason_of,
    settings,
    snapshot,
)

from remuda.model.machines import Ended, State
from remuda.model.plans import Operation, Outcome
from remuda.output.words import sentence
from remuda.pools.arithmetic import pool_lines
from remuda.pools.decide import decide
from remuda.pools.decide.model import Memory, Override, PoolAction, PoolMemory, PoolPolicy, PoolSeen

ONE_FAILURE = PoolMemory(failures=1, failed_at=NOW, retry_at=NOW + 1)
MANY = PoolMemory(failures=5, failed_at=NOW, retry_at=NOW)
CRASHED = machine("a-9", State.FAILED, ended="crashed")


@pytest.mark.parametrize(
    ("seen", "rules", "memory", "operations", "code"),
    [
        pytest.param(pool(), settings(), None, (), "steady", id="nothing wanted and nothing there"),
        pytest.param(
            pool("a", *machines(idle=3)), settings(min=3), None, (), "steady", id="the minimum is there"
        ),
        pytest.param(pool("a", waiting=2), settings(), None, (), "growing", id="machines are being made"),
        pytest.param(
            pool("a", waiting=2),
            settings(),
            None,
            (creation(1), creation(2, slot=2)),
            "steady",
            id="they are under way",
        ),
        pytest.param(
            pool("a", *machines(idle=2)), settings(), None, (), "shrinking", id="machines are let go"
        ),
        pytest.param(
            pool("a", *machines(idle=2), waiting=2),
            settings(),
            ONE_FAILURE,
            (),
            "steady",
            id="a wait after a failure holds nobody who has all there should be",
        ),
        pytest.param(
            pool("a", *machines(idle=2)),
            settings(natural=True),
            None,
            (),
            "surplus-natural",
            id="they leave by themselves",
        ),
        pytest.param(
            pool("a", *machines(idle=2)),
            settings(idle_window=9),
            None,
            (),
            "surplus-unconfirmed",
            id="are they idle?",
        ),
        pytest.param(
            pool("a", *machines(busy=2)), settings(), None, (), "surplus-busy", id="they are at work"
        ),
        pytest.param(
            pool("a", *machines(busy=1, creating=3), running=1),
            settings(),
            None,
            (),
            "surplus-booting",
            id="they are booting",
        ),
        pytest.param(
            pool("a", *machines(busy=3, creating=1)),
            settings(max=1),
            None,
            (),
            "surplus-busy",
            id="some boot, and more are at work than wanted",
        ),
        pytest.param(
            pool("a", *machines(idle=2), unsure_since=NOW),
            settings(),
            None,
            (),
            "surplus-unconfirmed",
            id="nobody says whether they work",
        ),
        pytest.param(
            pool("a", *machines(busy=9), running=9, waiting=9),
            settings(max=9),
            None,
            (),
            "held-by-max",
            id="full",
        ),
        pytest.param(
            pool("a", *machines(creating=2), waiting=9),
            settings(max_surge=2),
            None,
            (),
            "held-by-surge",
            id="surging",
        ),
        pytest.param(
            pool("a", *machines(idle=2)),
            settings(scale_down_delay=9),
            None,
            (),
            "held-by-delay",
            id="not yet let go",
        ),
        pytest.param(
            pool("a", *machines(idle=2), stale_since=NOW),
            settings(),
            None,
            (),
            "held-by-stale",
            id="old news",
        ),
        pytest.param(
            pool("a", *machines(idle=2), silent=True), settings(), None, (), "source-silent", id="no news"
        ),
        pytest.param(
            pool("a", machine("a-1", template="before", job="7"), running=1),
            settings(min=1),
            None,
            (),
            "rolling",
            id="an old template is still about",
        ),
        pytest.param(
            pool("a", waiting=2), settings(), ONE_FAILURE, (), "backing-off", id="a failure is waited out"
        ),
        pytest.param(pool("a", waiting=2), settings(), MANY, (), "failing", id="all fail and one is tried"),
        pytest.param(
            pool("a", *machines(creating=1), waiting=1),
            settings(),
            MANY,
            (),
            "failing",
            id="the one that is tried",
        ),
        pytest.param(pool("a"), settings(), MANY, (), "steady", id="failures nobody needs to hear of"),
        pytest.param(
            pool("a", waiting=1),
            settings(),
            PoolMemory(failures=1),
            (),
            "growing",
            id="after the wait it grows",
        ),
        pytest.param(
            pool("a", CRASHED, waiting=1), settings(), None, (), "backing-off", id="it failed just now"
        ),
        pytest.param(
            pool("a", waiting=2, override=Override(paused=True)), settings(), None, (), "paused", id="paused"
        ),
        pytest.param(
            pool("a", *machines(busy=1), running=1, override=Override(draining=True)),
            settings(),
            None,
            (),
            "draining",
            id="draining",
        ),
        pytest.param(
            pool("a", override=Override(draining=True)), settings(), None, (), "drained", id="drained"
        ),
        pytest.param(
            pool("a", machine("a-1", State.DRAINING), waiting=1),
            settings(max=1),
            None,
            (),
            "waiting-for-room",
            id="its place is still taken",
        ),
    ],
)
def test_a_pool_says_what_holds_it(
    seen: PoolSeen,
    rules: PoolPolicy,
    memory: PoolMemory | None,
    operations: tuple[Operation[PoolAction], ...],
    code: str,
) -> None:
    before = Memory({"a": memory}) if memory else Memory()
    plan, _ = decide(snapshot(seen, operations=operations), before, policy(rules), NOW)
    assert reason_of(plan).code == f"pool.{code}"


def test_a_reason_names_every_term_with_its_number() -> None:
    seen = pool("a", *machines(idle=1, busy=2, creating=1), CRASHED, waiting=4, running=2)
    rules = policy(settings(min=1, headroom=1, max_surge=9, ceiling="roof"), roof=20)
    plan, _ = decide(snapshot(seen, operations=(creation(30),)), Memory(), rules, NOW)
    assert reason_of(plan).terms == {
        "unclaimed": 4,
        "running": 2,
        "headroom": 1,
        "min": 1,
        "max": 10,
        "bounds_from": "pool",
        "bounded": 7,
        "wanted": 7,
        "held_by": "demand",
        "max_surge": 9,
        "ceiling": "roof",
        "limit": 20,
        "others": 0,
        "grant": 7,
        "target": 7,
        "live": 5,
        "creating": 2,
        "idle": 1,
        "busy": 2,
        "draining": 0,
        "dead": 1,
        "old": 0,
        "created": 0,
        "closed": 0,
        "deleted": 1,
        "unconfirmed": 0,
        "failures": 1,
        "failure": "crashed",
        "retry_at": NOW + 1_000,
        "stale_since": None,
    }


@pytest.mark.parametrize(
    ("seen", "operations", "failure"),
    [
        pytest.param(
            pool("a", structs.replace(CRASHED, ended=Ended("boot", "no\n such  file")), waiting=1),
            (),
            "no such file",
            id="the machine's own word, on one line",
        ),
        pytest.param(pool("a", CRASHED, waiting=1), (), "crashed", id="its code, when it said nothing"),
        pytest.param(
            pool("a", machine("a-1", State.CREATING, created_at=0, trouble="no room"), waiting=1),
            (),
            "no room",
            id="what kept it from booting in time",
        ),
        pytest.param(
            pool("a", machine("a-1", State.CREATING, created_at=0), waiting=1),
            (),
            "not ready in time",
            id="nothing is known of why it did not boot",
        ),
        pytest.param(
            pool("a", waiting=1),
            (structs.replace(creation(1), outcome=Outcome("failed", NOW, "x" * 999)),),
            "x" * 299 + "…",
            id="it could not even be made, told at length",
        ),
    ],
)
def test_a_pool_that_fails_says_why_as_long_as_it_does(
    seen: PoolSeen, operations: tuple[Operation[PoolAction], ...], failure: str
) -> None:
    rules = policy(settings())
    plan, memory = decide(snapshot(seen, operations=operations), Memory(), rules, NOW)
    assert reason_of(plan).terms.get("failure") == failure
    plan, memory = decide(snapshot(pool("a", waiting=1)), memory, rules, NOW + 1)
    assert reason_of(plan).terms.get("failure") == failure
    proven = machine("a-2", ready_at=NOW + 1, uses=1)
    plan, memory = decide(snapshot(pool("a", proven)), memory, rules, NOW + 2)
    assert reason_of(plan).terms.get("failure") is None
    assert memory == Memory()


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        pytest.param(2, "held-by-ceiling", id="it has all that it gets"),
        pytest.param(3, "backing-off", id="it gets one more"),
    ],
)
def test_a_wait_after_a_failure_does_not_hide_a_ceiling_that_grants_no_more(limit: int, code: str) -> None:
    seen = snapshot(pool("a", *machines(idle=2), waiting=5))
    rules = policy(settings(ceiling="roof"), roof=limit)
    plan, _ = decide(seen, Memory({"a": ONE_FAILURE}), rules, NOW)
    assert reason_of(plan).code == f"pool.{code}"


@pytest.mark.parametrize(
    ("limit", "waiting", "code"),
    [
        pytest.param(2, 0, "over-ceiling", id="lowered below what is busy"),
        pytest.param(2, 9, "over-ceiling", id="and more is wanted"),
        pytest.param(4, 9, "held-by-ceiling", id="just what is busy"),
        pytest.param(4, 0, "steady", id="nothing more is wanted"),
    ],
)
def test_a_pool_with_more_at_work_than_its_ceiling_says_that_it_shrinks_as_they_finish(
    limit: int, waiting: int, code: str
) -> None:
    seen = snapshot(pool("a", *machines(busy=4), running=4, waiting=waiting), pool("b"))
    rules = policy(settings(ceiling="roof"), settings("b", ceiling="roof"), roof=limit)
    plan, _ = decide(seen, Memory(), rules, NOW)
    assert reason_of(plan).code == f"pool.{code}"
    assert reason_of(plan, "b").code == "pool.steady"
    assert not plan.actions


RARE = {
    "concurrency",
    "beyond",
    "failure",
    "blind",
    "trouble",
    "unknown",
    "doubtful",
    "undrainable",
    "powers_off_at",
}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(pool("a", *machines(idle=2)), id="it shrinks"),
        pytest.param(pool("a", *machines(idle=1, busy=1, creating=1), CRASHED, waiting=9), id="it grows"),
        pytest.param(
            structs.replace(pool("a", *machines(idle=1)), need=None, blind="dark"), id="it is blind"
        ),
    ],
)
def test_what_happens_changes_neither_which_terms_are_reported_nor_their_order(seen: PoolSeen) -> None:
    rules = policy(settings(max_surge=2, ceiling="roof"), roof=5)
    quiet, _ = decide(snapshot(pool()), Memory(), policy(settings()), NOW)
    actions_of, _ = decide(snapshot(seen), Memory(pools={"a": MANY}), rules, NOW)
    assert [name for name in reason_of(actions_of).terms if name not in RARE] == list(reason_of(quiet).terms)
    again, _ = decide(snapshot(pool()), Memory(), policy(settings()), NOW)
    assert again == quiet


@pytest.mark.parametrize("failures", [pytest.param(1, id="one failed"), pytest.param(9, id="many failed")])
def test_once_the_wait_after_failures_is_over_what_holds_the_pool_is_named(failures: int) -> None:
    memory = Memory({"a": PoolMemory(failures=failures, failed_at=NOW - 9_000, retry_at=NOW - 1)})
    rules = policy(settings("a", ceiling="roof"), settings("b", ceiling="roof"), roof=2)
    seen = snapshot(pool("a", waiting=2), pool("b", *machines("b", busy=2), running=2))
    reason = reason_of(decide(seen, memory, rules, NOW)[0])
    assert (reason.code, reason.terms["failures"], reason.terms["retry_at"]) == (
        "pool.held-by-ceiling",
        failures,
        None,
    )


def test_a_try_that_is_under_way_is_not_announced_for_a_time_that_has_passed() -> None:
    memory = Memory({"a": PoolMemory(failures=9, failed_at=NOW - 9_000, retry_at=NOW - 1)})
    plan, _ = decide(snapshot(pool("a", *machines(creating=1), waiting=1)), memory, policy(settings()), NOW)
    assert sentence(reason_of(plan)) == "a wants 1 machine and has 1: 9 failed in a row"


def test_a_rollout_says_who_cannot_be_replaced() -> None:
    """Of two idle machines and a busy one of an old template, one would lose a job that it may take as it goes."""
    idle, other, busy = (structs.replace(one, template="old") for one in machines(idle=2, busy=1))
    seen = snapshot(pool("a", structs.replace(idle, abrupt=True), other, busy, running=1))
    plan, _ = decide(seen, Memory(), policy(settings(min=3, max=3)), NOW)
    assert [action.target for action in plan.actions] == [other.name]
    assert sentence(reason_of(plan)) == (
        "a has the 3 machines it wants; 3 still have an old template; 1 has too short a grace period to end a job: "
        "an immediate rollout removes what does not end by itself"
    )


def test_what_other_hosts_of_a_queue_count_is_said_and_makes_no_machine() -> None:
    seen = pool("a", waiting=2)
    assert seen.need is not None
    shared = structs.replace(seen, need=structs.replace(seen.need, elsewhere=7))
    plan, _ = decide(snapshot(shared), Memory(), policy(settings()), NOW)
    assert len(plan.actions) == 2
    assert plan.reasons[0].terms["elsewhere"] == 7
    assert pool_lines(plan.reasons[0])[0] == (
        "demand",
        "2 = 2 unclaimed + 0 running + 0 headroom",
        "7 more wait, which other hosts of the queue count",
    )
    plan, _ = decide(snapshot(seen), Memory(), policy(settings()), NOW)
    assert "elsewhere" not in plan.reasons[0].terms
