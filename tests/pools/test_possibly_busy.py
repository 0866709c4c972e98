"""Machines that must go while nobody says whether they work are powered off gently, and no others are."""

import pytest
from tests.builders import NOW, actions_of, machine, policy, pool, reason_of, settings, snapshot

from remuda.model.machines import Machine, State
from remuda.model.times import MINUTE
from remuda.output.words import sentence
from remuda.pools.decide import decide
from remuda.pools.decide.model import Delete, Memory, Override, Policy, PoolMemory, PoolPolicy, PoolSeen

DRAINING = Override(draining=True)
RULES = settings(boot_timeout=10 * MINUTE)
LONG = NOW - 10 * MINUTE
OFF = ["delete a-1 machine.powered-off"]


def vm(name: str = "a-1", state: State = State.IDLE, **facts: object) -> Machine:
    """A machine that ends its job before it goes."""
    return machine(name, state, drains=True, **facts)  # type: ignore[arg-type]


def planned(
    seen: PoolSeen, rules: PoolPolicy | None = RULES, since: int = LONG
) -> tuple[list[str], PoolMemory]:
    before = Memory({"a": PoolMemory(unsure_since=since)})
    plan, after = decide(snapshot(seen), before, policy(rules) if rules else policy(), NOW)
    return actions_of(plan), after.pools.get("a", PoolMemory())


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        pytest.param(pool("a", vm(unsure=True)), None, id="of a removed pool whose class nobody asks about"),
        pytest.param(
            pool("a", vm(), unsure_since=LONG), None, id="of a removed pool whose agents are not listed"
        ),
        pytest.param(
            pool("a", vm(), unsure_since=LONG, override=DRAINING), RULES, id="of a pool that drains"
        ),
        pytest.param(
            pool("a", vm(), unsure_since=LONG, override=DRAINING),
            settings(natural=True),
            id="that shrinks naturally",
        ),
        pytest.param(
            pool("a", vm(), stale_since=LONG, override=DRAINING), RULES, id="whose counts are stale"
        ),
        pytest.param(
            pool("a", vm(unsure=True), silent=True, override=DRAINING),
            RULES,
            id="whose source never answered",
        ),
        pytest.param(
            pool("a", vm(unsure=True, template="before"), waiting=1),
            RULES,
            id="made for a class the pool had",
        ),
    ],
)
def test_a_machine_that_must_go_is_powered_off_when_nobody_says_for_long_whether_it_works(
    seen: PoolSeen, rules: PoolPolicy | None
) -> None:
    assert planned(seen, rules)[0] == OFF
    assert planned(seen, rules, since=LONG + 1)[0] == [], "not before the time is over"
    actions, after = planned(seen, rules, since=0)
    assert (actions, after.unsure_since) == ([], NOW), "which begins when the doubt does"
    assert planned(seen, rules, since=NOW + MINUTE)[1].unsure_since == NOW, "whatever the clock did"


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        pytest.param(
            pool("a", machine("a-1", unsure=True)), None, id="that would not end its job, of a removed pool"
        ),
        pytest.param(
            pool("a", machine("a-1"), stale_since=LONG, override=DRAINING), RULES, id="nor of one that drains"
        ),
        pytest.param(pool("a", vm(job="7"), unsure_since=LONG, override=DRAINING), RULES, id="known as busy"),
        pytest.param(pool("a", vm(state=State.CREATING), unsure_since=LONG), None, id="that still boots"),
        pytest.param(pool("a", vm(), unsure_since=LONG), RULES, id="surplus on stale news alone"),
        pytest.param(pool("a", vm(unsure=True), silent=True), RULES, id="while the first answer is awaited"),
        pytest.param(
            pool("a", vm(unsure=True, template="before"), unsure_since=LONG),
            RULES,
            id="of an old template on stale news",
        ),
        pytest.param(
            pool("a", vm(unsure=True, template="before")),
            settings(natural=True),
            id="where an unused machine is never removed",
        ),
        pytest.param(
            pool("a", vm(), unsure_since=LONG, override=Override(draining=True, paused=True)),
            RULES,
            id="of a pool that is paused",
        ),
    ],
)
def test_a_machine_is_not_powered_off(seen: PoolSeen, rules: PoolPolicy | None) -> None:
    assert planned(seen, rules)[0] == []


def test_only_who_is_possibly_busy_and_of_another_class_is_powered_off() -> None:
    seen = pool("a", vm("a-1", unsure=True), vm("a-2", template="before"), waiting=2)
    assert planned(seen)[0] == ["close a-2 machine.old-template"]


def test_a_broken_pool_keeps_possibly_busy_machines() -> None:
    before = Memory({"a": PoolMemory(unsure_since=LONG)})
    plan, _ = decide(snapshot(pool("a", vm(unsure=True))), before, Policy(broken=("a",)), NOW)
    assert actions_of(plan) == []


def test_an_answer_lets_idle_machines_go_the_usual_way() -> None:
    actions, after = planned(pool("a", vm(), override=DRAINING))
    assert (actions, after.unsure_since) == (["close a-1 machine.surplus"], 0)


def test_of_a_removed_pool_each_machine_goes_as_is_known_of_it() -> None:
    actions, _ = planned(pool("a", vm("a-1"), vm("a-2", unsure=True), vm("a-3", job="7")), None)
    assert actions == ["close a-1 machine.surplus", "delete a-2 machine.powered-off"]


def test_a_gentle_removal_asks_nobody_and_ends_no_job() -> None:
    before = Memory({"a": PoolMemory(unsure_since=LONG)})
    plan, _ = decide(snapshot(pool("a", vm(unsure=True))), before, policy(), NOW)
    (action,) = plan.actions
    assert isinstance(action, Delete)
    assert (action.gently, action.even_busy) == (True, False)
    assert "a job it may have ends first" in sentence(action.reason)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        pytest.param(
            (vm(unsure=True),),
            "1 machine is left; nobody says whether 1 of them work: from ",
            id="one",
        ),
        pytest.param(
            (vm("a-1", unsure=True), vm("a-2", unsure=True)),
            "2 machines are left; nobody says whether 2 of them work: from ",
            id="two",
        ),
        pytest.param(
            (machine("a-1", unsure=True),),
            "1 machine is left; nobody says whether 1 of them work, and powered off they would lose a job: delete by hand",
            id="one that nobody but a person can remove",
        ),
        pytest.param((vm(),), "1 machine is left", id="none"),
    ],
)
def test_a_pool_says_what_becomes_of_possibly_busy_machines(members: tuple[Machine, ...], words: str) -> None:
    plan, _ = decide(snapshot(pool("a", *members)), Memory(), policy(), NOW)
    assert f"a is not configured any more: {words}" in sentence(reason_of(plan))
    drained = pool("a", *members, override=DRAINING)
    plan, _ = decide(snapshot(drained), Memory(), policy(settings()), NOW)
    assert f"a drains: {words}" in sentence(reason_of(plan))


def test_who_was_never_heard_of_is_not_reported_as_idle() -> None:
    seen = pool("a", vm("a-1", unsure=True), vm("a-2"), unsure_since=LONG)
    plan, _ = decide(snapshot(seen), Memory(), policy(settings(min=2)), NOW)
    terms = reason_of(plan).terms
    assert (terms["idle"], terms["unknown"], terms["live"]) == (1, 1, 2)
