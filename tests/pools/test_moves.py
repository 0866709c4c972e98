"""Which machines come and go."""

import pytest
from msgspec import structs
from tests.builders import (
    NOW,
    actions_of,
    closing,
    creation,
    deletion,
    machine,
    machines,
    policy,
    pool,
    reason_of,
    settings,
    snapshot,
)

from remuda.model.machines import Machine, State
from remuda.model.plans import Operation, Plan
from remuda.pools.decide import decide
from remuda.pools.decide.model import (
    Close,
    Create,
    Delete,
    Memory,
    Override,
    Policy,
    PoolAction,
    PoolMemory,
    PoolPolicy,
    PoolSeen,
)

ROLLOUT = Override(finish_rollout="t", finish_rollout_at=NOW - 100_000)


def planned(
    seen: PoolSeen,
    rules: PoolPolicy | None = None,
    *operations: Operation[PoolAction],
    memory: PoolMemory | None = None,
) -> Plan[PoolAction]:
    before = Memory({"a": memory}) if memory else Memory()
    return decide(snapshot(seen, operations=operations), before, policy(rules or settings()), NOW)[0]


def old(name: str, state: State = State.IDLE, job: str | None = None) -> Machine:
    return machine(name, state, template="before", job=job)


@pytest.mark.parametrize(
    ("member", "code"),
    [
        pytest.param(
            machine("a-1", State.DRAINING, ended="finished"), "machine.finished", id="it did its work"
        ),
        pytest.param(machine("a-1", State.FAILED, ended="crashed"), "machine.crashed", id="it crashed"),
        pytest.param(
            machine("a-1", State.FAILED, job="7", ended="lost"), "machine.lost", id="it died at work"
        ),
        pytest.param(machine("a-1", State.FAILED), "machine.failed", id="it failed"),
        pytest.param(
            machine("a-1", State.DRAINING), "machine.drained", id="it was told to end and has no work"
        ),
        pytest.param(
            machine("a-1", State.DRAINING, uses=1),
            "machine.finished",
            id="it had its only job and is about to end",
        ),
        pytest.param(
            machine("a-1", State.CREATING, created_at=NOW - 600_000),
            "machine.boot-timeout",
            id="it did not boot",
        ),
        pytest.param(
            machine("a-1", State.CREATING, created_at=NOW - 600_000, trouble="no node has room"),
            "machine.boot-trouble",
            id="it did not boot, and why",
        ),
    ],
)
def test_what_is_over_is_removed(member: Machine, code: str) -> None:
    assert actions_of(planned(pool("a", member))) == [f"delete a-1 {code}"]


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(deletion(9, "a-1"), id="its deletion is under way"),
        pytest.param(deletion(9, "a-1", "failed"), id="its deletion failed just now"),
        pytest.param(creation(1), id="its creation is under way and may be repeated"),
    ],
)
@pytest.mark.parametrize(
    "member",
    [
        pytest.param(machine("a-1", State.FAILED, ended="crashed"), id="crashed"),
        pytest.param(machine("a-1", State.DRAINING), id="draining"),
        pytest.param(machine("a-1", State.CREATING, created_at=NOW - 600_000), id="overdue"),
        pytest.param(machine("a-1"), id="surplus"),
        pytest.param(old("a-1"), id="old and to go now"),
    ],
)
def test_a_machine_with_an_operation_is_left_alone(member: Machine, operation: Operation[PoolAction]) -> None:
    assert actions_of(planned(pool("a", member, override=ROLLOUT), None, operation)) == []


@pytest.mark.parametrize(
    ("seen", "rules", "actions"),
    [
        pytest.param(pool("a", *machines(idle=3), waiting=3), settings(), [], id="what is wanted stays"),
        pytest.param(
            pool(
                "a",
                machine("a-1", since=NOW - 5),
                machine("a-2", since=NOW - 9),
                machine("a-3", since=NOW - 9),
            ),
            settings(min=1),
            ["close a-2 machine.surplus", "close a-3 machine.surplus"],
            id="who waited longest goes first, then by name",
        ),
        pytest.param(
            pool("a", machine("a-1", since=NOW - 9), old("a-2")),
            settings(min=1),
            ["close a-2 machine.surplus"],
            id="old templates go first of all",
        ),
        pytest.param(pool("a", *machines(busy=3), running=1), settings(), [], id="a busy machine never goes"),
        pytest.param(
            pool("a", *machines(idle=1, busy=3), running=3, waiting=0),
            settings(max=2),
            ["close a-1 machine.surplus"],
            id="only the idle ones of too many",
        ),
        pytest.param(pool("a", *machines(creating=3)), settings(), [], id="a booting machine is let finish"),
        pytest.param(
            pool("a", *machines(idle=3)),
            settings(natural=True),
            [],
            id="a natural pool never removes an unused one",
        ),
        pytest.param(
            pool("a", old("a-1")), settings(natural=True, min=1), [], id="not even one of an old template"
        ),
        pytest.param(
            pool("a", *machines(idle=1), override=Override(draining=True)),
            settings(natural=True),
            ["close a-1 machine.surplus"],
            id="except when an operator drains it",
        ),
        pytest.param(
            pool("a", *machines(idle=3), silent=True),
            settings(),
            [],
            id="nothing goes while the source is silent",
        ),
        pytest.param(
            pool("a", *machines(idle=3), stale_since=NOW, override=Override(draining=True)),
            settings(),
            [],
            id="nor on stale news, not even to drain",
        ),
    ],
)
def test_surplus_machines_are_told_to_take_no_more_work(
    seen: PoolSeen, rules: PoolPolicy, actions: list[str]
) -> None:
    assert actions_of(planned(seen, rules)) == actions


@pytest.mark.parametrize(
    ("idle_since", "actions"),
    [
        pytest.param({}, [], id="the first reading is not enough"),
        pytest.param({"a-1": NOW - 59_999}, [], id="nor are two that are close"),
        pytest.param(
            {"a-1": NOW - 60_000}, ["close a-1 machine.surplus"], id="two readings a window apart are"
        ),
        pytest.param({"a-1": NOW + 60_000}, [], id="a reading from the future counts as now"),
    ],
)
def test_a_machine_goes_only_when_two_readings_a_window_apart_found_it_idle(
    idle_since: dict[str, int], actions: list[str]
) -> None:
    rules, memory = settings(idle_window=60_000), PoolMemory(idle_since=idle_since)
    plan = planned(pool("a", machine("a-1")), rules, memory=memory)
    assert actions_of(plan) == actions
    assert reason_of(plan).code == ("pool.shrinking" if actions else "pool.surplus-unconfirmed")


def test_a_reading_of_an_earlier_machine_of_that_name_does_not_count() -> None:
    rules, memory = settings(idle_window=60_000), PoolMemory(idle_since={"a-1": NOW - 60_000})
    anew = machine("a-1", created_at=NOW - 59_999)
    assert actions_of(planned(pool("a", anew), rules, memory=memory)) == []


def test_nobody_is_taken_for_idle_while_the_source_cannot_say_who_is() -> None:
    assert actions_of(planned(pool("a", machine("a-1"), unsure_since=NOW - 1), settings())) == []
    assert actions_of(planned(pool("a", machine("a-1")), settings())) == ["close a-1 machine.surplus"]


def test_a_machine_that_was_busy_in_between_is_read_anew() -> None:
    rules = policy(settings(idle_window=60_000))
    memory = Memory({"a": PoolMemory(idle_since={"a-1": NOW - 60_000})})
    _, memory = decide(snapshot(pool("a", machine("a-1", job="7"), running=1)), memory, rules, NOW)
    assert actions_of(decide(snapshot(pool("a", machine("a-1"))), memory, rules, NOW + 1)[0]) == []


@pytest.mark.parametrize(
    ("members", "rules", "actions"),
    [
        pytest.param(
            (old("a-1"), old("a-2"), old("a-3")),
            settings(min=3),
            ["close a-1 machine.old-template"],
            id="one at a time in a small pool",
        ),
        pytest.param(
            tuple(old(f"a-{number:02}") for number in range(30)),
            settings(min=30, max=30),
            [f"close a-{number:02} machine.old-template" for number in range(3)],
            id="a tenth at a time in a large one",
        ),
        pytest.param(
            (old("a-1"), old("a-2"), machine("a-3", State.CREATING)),
            settings(min=3),
            [],
            id="not while one boots",
        ),
        pytest.param(
            (old("a-1"), old("a-2"), machine("a-3", State.DRAINING)),
            settings(min=2),
            ["delete a-3 machine.drained"],
            id="not while one is on its way out",
        ),
        pytest.param(
            (old("a-1"), old("a-2"), old("a-3")),
            settings(min=2),
            ["close a-1 machine.surplus"],
            id="surplus that goes is a part of the batch",
        ),
        pytest.param((old("a-1", job="7"),), settings(min=1), [], id="a busy one finishes"),
        pytest.param((machine("a-1"),), settings(min=1), [], id="a new one stays"),
    ],
)
def test_a_rollout_replaces_idle_machines_in_small_batches(
    members: tuple[Machine, ...], rules: PoolPolicy, actions: list[str]
) -> None:
    assert actions_of(planned(pool("a", *members), rules)) == actions


def test_a_template_that_cannot_boot_costs_one_batch_and_not_the_pool() -> None:
    failing = PoolMemory(failures=3, failed_at=NOW, retry_at=NOW + 9_000)
    assert actions_of(planned(pool("a", old("a-1"), old("a-2")), settings(min=3), memory=failing)) == []


@pytest.mark.parametrize(
    ("member", "actions"),
    [
        pytest.param(old("a-1"), ["delete a-1 machine.rollout-now"], id="idle"),
        pytest.param(old("a-1", job="7"), ["delete a-1 machine.rollout-now"], id="busy"),
        pytest.param(old("a-1", State.CREATING), ["delete a-1 machine.rollout-now"], id="booting"),
        pytest.param(old("a-1", State.DRAINING), ["delete a-1 machine.drained"], id="already told to end"),
        pytest.param(machine("a-1"), [], id="not one of the new template"),
    ],
)
def test_a_rollout_ordered_at_once_ends_every_old_machine_once(member: Machine, actions: list[str]) -> None:
    plan = planned(pool("a", member, running=int(member.is_busy), override=ROLLOUT), settings(min=1, max=1))
    assert actions_of(plan) == actions
    assert [action.even_busy for action in plan.actions if isinstance(action, Delete)] == [
        action.reason.code == "machine.rollout-now" for action in plan.actions
    ]


def test_a_rollout_ordered_for_another_template_is_over() -> None:
    seen = pool(
        "a", old("a-1", job="7"), running=1, override=Override(finish_rollout="before", finish_rollout_at=NOW)
    )
    assert actions_of(planned(seen)) == []


def test_a_rollout_ordered_at_once_never_touches_a_machine_made_later() -> None:
    later = machine("a-1", template="before", job="7", created_at=NOW - 99_999)
    seen = pool("a", later, old("a-2", job="8"), running=2, override=ROLLOUT)
    assert actions_of(planned(seen)) == ["delete a-2 machine.rollout-now"]


@pytest.mark.parametrize(
    ("seen", "rules", "actions"),
    [
        pytest.param(
            pool("a", *machines(busy=3), running=3, waiting=9, override=Override(draining=True)),
            settings(reused=True, natural=True),
            ["close a-1 machine.retires", "close a-2 machine.retires", "close a-3 machine.retires"],
            id="all of a pool that drains",
        ),
        pytest.param(
            pool("a", *machines(busy=3), running=3, waiting=9, override=Override(max=2)),
            settings(reused=True),
            ["close a-1 machine.retires"],
            id="those above a maximum that was lowered",
        ),
        pytest.param(
            pool("a", *machines(busy=3, creating=2), running=3, waiting=9),
            settings(reused=True, max=3),
            [],
            id="not those that can stay when what boots goes",
        ),
        pytest.param(
            pool("a", *machines(busy=3), running=3, waiting=9, override=Override(max=2, paused=True)),
            settings(reused=True),
            [],
            id="nobody of a paused pool",
        ),
        pytest.param(
            pool("a", machine("a-1", job="1"), old("a-2", job="2"), old("a-3", job="3"), running=3),
            settings(reused=True),
            ["close a-2 machine.old-template"],
            id="a batch of an old template",
        ),
        pytest.param(
            pool(
                "a",
                *(machine(f"a-{number}", job="1") for number in range(10, 29)),
                *(old(f"a-{number}", job="2") for number in range(30, 36)),
                running=20,
                waiting=4,
            ),
            settings(reused=True, max=24),
            ["close a-30 machine.retires", "close a-31 machine.old-template"],
            id="what is above the maximum is a part of the batch",
        ),
        pytest.param(
            pool("a", old("a-1", State.DRAINING, job="1"), old("a-2", job="2"), running=2),
            settings(reused=True),
            [],
            id="not a second batch while one still works",
        ),
        pytest.param(
            pool("a", old("a-1"), old("a-2", job="2"), running=1, waiting=1),
            settings(reused=True),
            ["close a-1 machine.old-template"],
            id="not while an idle one can be replaced",
        ),
        pytest.param(
            pool("a", machine("a-1", State.CREATING), old("a-2", job="2"), running=1, waiting=1),
            settings(reused=True),
            [],
            id="not while one boots",
        ),
        pytest.param(
            pool("a", old("a-2", job="2"), running=1, waiting=1),
            settings(reused=True, max=1, natural=True),
            [],
            id="not of a pool that shrinks by itself alone",
        ),
        pytest.param(
            pool("a", machine("a-1", State.DRAINING), old("a-2", job="2"), running=1),
            settings(reused=True),
            ["delete a-1 machine.drained"],
            id="not while one is on its way out",
        ),
        pytest.param(
            pool("a", machine("a-1"), old("a-2", job="2"), running=1),
            settings(reused=True),
            ["close a-1 machine.surplus"],
            id="not while surplus goes",
        ),
        pytest.param(
            pool(
                "a",
                machine("a-1", template="before", unsure=True),
                machine("a-2"),
                old("a-3", job="3"),
                running=1,
                waiting=2,
            ),
            settings(reused=True),
            [],
            id="not while an idle one is left that cannot be replaced yet",
        ),
    ],
)
def test_busy_machines_that_are_reused_end_after_their_job(
    seen: PoolSeen, rules: PoolPolicy, actions: list[str]
) -> None:
    plan = planned(seen, rules)
    assert actions_of(plan) == actions
    assert {action.expects for action in plan.actions if "retires" in action.reason.code} <= {"configured"}


def test_a_rollout_counts_machines_that_are_on_the_move_as_part_of_its_batch() -> None:
    members = (old("a-1"), old("a-2"), old("a-3"))
    seen = pool("a", *members, waiting=2)
    assert actions_of(planned(seen, None, closing(9, "a-1"))) == []
    leaving = pool("a", *members[1:], machine("a-1", State.DELETING), waiting=2)
    assert actions_of(planned(leaving)) == []
    assert actions_of(planned(pool("a", *members[1:], waiting=2))) == ["close a-2 machine.old-template"]


def test_a_rollout_of_busy_machines_waits_for_one_that_is_on_the_move() -> None:
    seen = pool("a", machine("a-1"), old("a-2", job="2"), running=1)
    assert actions_of(planned(seen, settings(reused=True), closing(9, "a-1"))) == []


def test_surplus_goes_on_when_the_last_old_machine_is_on_its_way() -> None:
    seen = pool("a", old("a-1"), machine("a-2"), override=ROLLOUT)
    assert actions_of(planned(seen, None, deletion(9, "a-1"))) == ["close a-2 machine.surplus"]


def test_machines_that_are_lacking_are_made_in_free_slots() -> None:
    plan = planned(pool("a", waiting=3), None, creation(9, slot=2))
    assert actions_of(plan) == ["create a/new-1", "create a/new-3"]
    assert plan.actions[0] == Create(target="a/new-1", expects="t", reason=plan.actions[0].reason, pool="a")


@pytest.mark.parametrize(
    "members",
    [
        pytest.param((machine("a-1", State.DRAINING),), id="one told to end"),
        pytest.param((machine("a-1", State.CREATING, created_at=0),), id="one that did not boot"),
        pytest.param((machine("a-1", State.DELETING),), id="one that is being removed"),
    ],
)
def test_the_maximum_counts_every_machine_that_still_exists(members: tuple[Machine, ...]) -> None:
    plan = planned(pool("a", *members, waiting=1), settings(max=1))
    assert not any(isinstance(action, Create) for action in plan.actions)
    assert reason_of(plan).code in ("pool.waiting-for-room", "pool.backing-off")


def test_a_finished_machine_is_replaced_at_once() -> None:
    plan = planned(pool("a", machine("a-1", State.DRAINING, ended="finished"), waiting=1), settings(max=1))
    assert actions_of(plan) == ["delete a-1 machine.finished", "create a/new-1"]


def test_a_paused_pool_does_nothing_at_all() -> None:
    members = (
        machine("a-1", State.FAILED, ended="crashed"),
        machine("a-2", State.DRAINING),
        *machines(idle=1),
    )
    plan = planned(pool("a", *members, waiting=9, override=Override(paused=True)))
    assert (actions_of(plan), reason_of(plan).code) == ([], "pool.paused")


def test_what_was_deleted_by_hand_goes_from_a_paused_and_from_a_broken_pool_and_is_not_replaced() -> None:
    members = (machine("a-1", State.DRAINING, ended="closed"), machine("a-2", State.FAILED, ended="crashed"))
    plan = planned(pool("a", *members, waiting=9, override=Override(paused=True)))
    assert (actions_of(plan), reason_of(plan).code) == (["delete a-1 machine.closed"], "pool.paused")
    plan, _ = decide(snapshot(pool("a", *members)), Memory(), Policy(broken=("a",)), NOW)
    assert (actions_of(plan), reason_of(plan, "a").code) == (["delete a-1 machine.closed"], "pool.broken")


def test_nothing_goes_while_its_provider_says_nothing() -> None:
    gone = machine("a-1", State.DRAINING, ended="closed")
    assert actions_of(planned(structs.replace(pool("a", gone), blind="no answer"))) == []


def test_a_pool_nobody_configures_any_more_drains_away() -> None:
    members = machines("gone", idle=1, busy=1)
    seen = snapshot(pool("gone", *members, running=1, override=Override(min=5, paused=True)))
    plan, _ = decide(seen, Memory(), policy(), NOW)
    assert actions_of(plan) == ["close gone-1 machine.surplus"]
    assert reason_of(plan, "gone").code == "pool.removed"


def test_a_pool_whose_object_has_a_problem_is_left_alone() -> None:
    members = (machine("gone-1"), machine("gone-2", State.FAILED, ended="crashed"))
    rules = Policy(broken=("gone",))
    plan, _ = decide(snapshot(pool("gone", *members)), Memory(), rules, NOW)
    assert plan.actions == ()
    assert reason_of(plan, "gone").code == "pool.broken"


def test_actions_say_what_they_expect_to_find() -> None:
    seen = pool("a", machine("a-1"), machine("a-2", State.DRAINING, ended="finished"))
    close, delete = sorted(planned(seen).actions, key=lambda action: action.target)
    assert isinstance(close, Close)
    assert close.expects == "idle"
    assert isinstance(delete, Delete)
    assert (delete.expects, delete.even_busy) == (str(NOW - 100_000), False)


def test_closed_machines_do_not_count_as_surplus_again() -> None:
    seen = pool("a", *machines(idle=3))
    assert actions_of(planned(seen, settings(min=2), closing(9, "a-1"))) == []


def test_nothing_is_made_under_a_ceiling_while_some_of_its_machines_were_never_seen() -> None:
    rules = policy(settings("a", ceiling="roof"), settings("b", ceiling="roof"), settings("c"), roof=6)
    seen = [pool(name, waiting=3) for name in "abc"]
    assert len(decide(snapshot(*seen), Memory(), rules, NOW)[0].actions) == 9
    seen[0] = structs.replace(seen[0], blind="no answer", unseen=True)
    assert {action.pool for action in decide(snapshot(*seen), Memory(), rules, NOW)[0].actions} == {"c"}


def test_a_reused_machine_that_was_told_to_end_drains_whatever_it_did_before() -> None:
    seen = pool("a", machine("a-1", State.DRAINING, uses=3))
    assert actions_of(planned(seen, settings(reused=True))) == ["delete a-1 machine.drained"]


def unheard(name: str, *, drains: bool = True) -> Machine:
    """A machine that is up, and of which its source has never told."""
    made = machine(name, State.CREATING, created_at=NOW - 900_000, drains=drains)
    return structs.replace(made, ready_at=NOW - 800_000)


def never_reported(*names: str) -> PoolMemory:
    ages = {name: NOW - 700_000 - index for index, name in enumerate(names)}
    return PoolMemory(unheard_since={f"{name}@{NOW - 900_000}": since for name, since in ages.items()})


@pytest.mark.parametrize(
    ("members", "operations", "actions"),
    [
        pytest.param(
            (unheard("a-1"), unheard("a-2")),
            (),
            ["delete a-2 machine.unheard"],
            id="who was silent longest goes alone",
        ),
        pytest.param(
            (unheard("a-1"), unheard("a-2", drains=False)),
            (),
            ["delete a-1 machine.unheard"],
            id="not one that would lose a job",
        ),
        pytest.param((unheard("a-1", drains=False),), (), [], id="nobody, when all would"),
        pytest.param(
            (unheard("a-1"), machine("a-3", State.DELETING)),
            (),
            [],
            id="nobody while another is on its way out",
        ),
        pytest.param(
            (unheard("a-1"), unheard("a-2")),
            (deletion(9, "a-2", "failed"),),
            [],
            id="nobody right after one could not be removed",
        ),
    ],
)
def test_of_machines_that_no_source_reported_one_at_a_time_is_powered_off(
    members: tuple[Machine, ...], operations: tuple[Operation[PoolAction], ...], actions: list[str]
) -> None:
    plan = planned(pool("a", *members), settings(max=3), *operations, memory=never_reported("a-1", "a-2"))
    assert [line for line in actions_of(plan) if "unheard" in line] == actions
    assert all(action.gently for action in plan.actions if isinstance(action, Delete))


@pytest.mark.parametrize("failures", [0, 5], ids=["none failed", "all failed lately"])
def test_who_is_up_for_long_and_may_have_a_job_nobody_knows_of_keeps_no_other_from_booting(
    failures: int,
) -> None:
    """One task runs, on no machine that is known to have it: `a-1` stays, and is not the one that may boot."""
    memory = structs.replace(never_reported("a-1"), failures=failures)
    seen, rules = pool("a", unheard("a-1"), waiting=4, running=1), settings(max=4, max_surge=1)
    assert actions_of(planned(seen, rules, memory=memory)) == ["create a/new-1"]
    assert not actions_of(planned(seen, rules, memory=PoolMemory(failures=failures))), "it may still boot"
    assert not actions_of(planned(seen, settings(max=1, max_surge=1), memory=memory)), "it takes room"
