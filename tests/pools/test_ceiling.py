"""What pools that share a ceiling get of it."""

import pytest
from msgspec.structs import replace
from tests.builders import (
    NOW,
    actions_of,
    closing,
    machine,
    machines,
    policy,
    pool,
    reason_of,
    settings,
    snapshot,
)

from remuda.model.machines import Machine, State
from remuda.output.words import sentence
from remuda.pools.decide import decide
from remuda.pools.decide.model import (
    Bounds,
    Close,
    Create,
    Memory,
    Override,
    Policy,
    PoolMemory,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)


def created(seen: Snapshot, rules: Policy, memory: Memory | None = None) -> dict[str, int]:
    plan, _ = decide(seen, memory or Memory(), rules, NOW)
    made = [action.pool for action in plan.actions if isinstance(action, Create)]
    return {each.name: made.count(each.name) for each in seen.pools}


def under_roof(**pools: int) -> Policy:
    return policy(settings("a", ceiling="roof"), settings("b", ceiling="roof"), **pools)


@pytest.mark.parametrize(
    ("roof", "pools", "made"),
    [
        pytest.param(
            9,
            (pool("a", waiting=4), pool("b", waiting=5)),
            {"a": 4, "b": 5},
            id="what fits is not in the way",
        ),
        pytest.param(
            6, (pool("a", waiting=9), pool("b", waiting=9)), {"a": 3, "b": 3}, id="equals share alike"
        ),
        pytest.param(
            6, (pool("a", waiting=1), pool("b", waiting=9)), {"a": 1, "b": 5}, id="nothing is left unused"
        ),
        pytest.param(
            6,
            (pool("a", *machines("a", busy=5), running=5, waiting=2), pool("b", waiting=9)),
            {"a": 0, "b": 1},
            id="a busy machine never gives way",
        ),
        pytest.param(
            3,
            (pool("a", *machines("a", busy=5), running=5, waiting=2), pool("b", waiting=9)),
            {"a": 0, "b": 0},
            id="a ceiling lowered below what is busy makes nothing",
        ),
        pytest.param(
            0, (pool("a", waiting=9), pool("b", waiting=9)), {"a": 0, "b": 0}, id="a ceiling of nothing"
        ),
        pytest.param(
            6,
            (pool("a", machine("a-1", State.DRAINING), machine("a-2", State.DELETING)), pool("b", waiting=9)),
            {"a": 0, "b": 4},
            id="a machine on its way out takes its place until it is gone",
        ),
        pytest.param(
            6,
            (pool("a", machine("a-1", State.DRAINING, ended="finished")), pool("b", waiting=9)),
            {"a": 0, "b": 6},
            id="one that is over takes none",
        ),
        pytest.param(
            4,
            (
                pool("a", *machines("a", idle=3), waiting=0),
                pool("b", waiting=2),
            ),
            {"a": 0, "b": 1},
            id="what is still taken comes free later",
        ),
    ],
)
def test_a_ceiling_bounds_what_is_made(roof: int, pools: tuple[PoolSeen, ...], made: dict[str, int]) -> None:
    assert created(snapshot(*pools), under_roof(roof=roof)) == made


A, B = settings("a", ceiling="roof"), settings("b", ceiling="roof")


@pytest.mark.parametrize(
    ("a", "b", "made"),
    [
        pytest.param(replace(A, priority=1), B, {"a": 6, "b": 0}, id="priority is served first"),
        pytest.param(
            replace(A, priority=1), replace(B, guaranteed=2), {"a": 4, "b": 2}, id="but a guarantee before it"
        ),
        pytest.param(replace(A, weight=2), B, {"a": 4, "b": 2}, id="equals share by weight"),
        pytest.param(
            replace(A, priority=1),
            replace(B, bounds=Bounds(2, 10)),
            {"a": 4, "b": 2},
            id="a minimum is a guarantee",
        ),
    ],
)
def test_a_ceiling_is_shared_by_guarantee_then_priority_then_weight(
    a: PoolPolicy, b: PoolPolicy, made: dict[str, int]
) -> None:
    assert created(snapshot(pool("a", waiting=9), pool("b", waiting=9)), policy(a, b, roof=6)) == made


def test_a_minimum_raised_by_hand_takes_nobodys_guarantee() -> None:
    rules = policy(
        settings("a", ceiling="roof", guaranteed=3), settings("b", ceiling="roof", priority=1, max=9), roof=6
    )
    seen = snapshot(pool("a", waiting=9), pool("b", override=Override(min=9)))
    assert created(seen, rules) == {"a": 3, "b": 3}


def test_idle_machines_of_lower_priority_give_way() -> None:
    rules = policy(settings("a", ceiling="roof"), settings("b", ceiling="roof", priority=1), roof=6)
    idle_and_waiting = pool("a", *machines("a", idle=6), waiting=6)
    plan, _ = decide(snapshot(idle_and_waiting, pool("b", waiting=2)), Memory(), rules, NOW)
    assert actions_of(plan) == ["close a-1 machine.gives-way", "close a-2 machine.gives-way"]
    assert reason_of(plan, "b").code == "pool.waiting-for-room"


def test_a_paused_pool_keeps_no_place_it_does_not_have() -> None:
    seen = snapshot(pool("a", waiting=9, override=Override(paused=True)), pool("b", waiting=9))
    assert created(seen, under_roof(roof=6)) == {"a": 0, "b": 6}


@pytest.mark.parametrize(
    ("guaranteed", "made"),
    [
        pytest.param(0, {"a": 0, "b": 6}, id="what it cannot make the others may have"),
        pytest.param(2, {"a": 0, "b": 4}, id="but what it was promised stays free for it"),
    ],
)
def test_a_pool_whose_machines_all_fail_does_not_keep_its_share_from_the_others(
    guaranteed: int, made: dict[str, int]
) -> None:
    rules = policy(
        settings("a", ceiling="roof", guaranteed=guaranteed), settings("b", ceiling="roof"), roof=6
    )
    failing = Memory({"a": PoolMemory(failures=9, failed_at=NOW, retry_at=NOW + 9_000)})
    seen = snapshot(pool("a", waiting=9), pool("b", waiting=9))
    assert created(seen, rules, failing) == made
    plan, _ = decide(seen, failing, rules, NOW)
    assert reason_of(plan, "a").code == "pool.failing"


def test_the_reason_names_the_ceilings_terms() -> None:
    seen = snapshot(pool("a", waiting=9), pool("b", *machines("b", busy=4), running=4))
    plan, _ = decide(seen, Memory(), under_roof(roof=6), NOW)
    reason = reason_of(plan)
    terms = {name: reason.terms[name] for name in ("wanted", "ceiling", "limit", "others", "grant", "target")}
    assert reason.code == "pool.held-by-ceiling"
    assert terms == {"wanted": 9, "ceiling": "roof", "limit": 6, "others": 4, "grant": 2, "target": 2}


def test_pools_without_a_ceiling_and_ceilings_nobody_defined_are_left_alone() -> None:
    rules = policy(settings("a"), settings("b", ceiling="sky"))
    assert created(snapshot(pool("a", waiting=9), pool("b", waiting=9)), rules) == {"a": 9, "b": 9}


def test_two_ceilings_do_not_know_each_other() -> None:
    rules = policy(settings("a", ceiling="roof"), settings("b", ceiling="shed"), roof=2, shed=3)
    assert created(snapshot(pool("a", waiting=9), pool("b", waiting=9)), rules) == {"a": 2, "b": 3}


REUSED = settings("a", ceiling="roof", reused=True)
FIRST = settings("b", ceiling="roof", priority=1)


@pytest.mark.parametrize(
    ("seen", "rules", "actions"),
    [
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=2)),
            (REUSED, FIRST),
            ["close a-1 machine.retires", "close a-2 machine.retires"],
            id="as many as the other lacks take no further job",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=44)),
            (REUSED, FIRST),
            [f"close a-{number} machine.retires" for number in (1, 2, 3, 4)],
            id="all, when all are above its share",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=44)),
            (replace(REUSED, guaranteed=3), FIRST),
            ["close a-1 machine.retires"],
            id="but not what it was promised",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=44)),
            (replace(REUSED, natural=True), FIRST),
            [f"close a-{number} machine.retires" for number in (1, 2, 3, 4)],
            id="also where unused machines are never removed",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=44)),
            (replace(REUSED, priority=1), FIRST),
            ["close a-1 machine.retires", "close a-2 machine.retires"],
            id="equals share alike",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=44)),
            (replace(REUSED, reused=False), FIRST),
            [],
            id="a machine that takes one job need not be told",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b")),
            (REUSED, FIRST),
            [],
            id="nobody is told while nobody else wants the room",
        ),
        pytest.param(
            (
                pool(
                    "a",
                    machine("a-1", State.DRAINING, job="1"),
                    *machines("a", busy=4)[1:],
                    running=4,
                    waiting=99,
                ),
                pool("b", waiting=2),
            ),
            (REUSED, FIRST),
            ["close a-2 machine.retires"],
            id="whoever was told before counts",
        ),
        pytest.param(
            (pool("a", *machines("a", idle=1, busy=3), running=3, waiting=99), pool("b", waiting=2)),
            (REUSED, FIRST),
            ["close a-1 machine.gives-way", "close a-2 machine.retires"],
            id="idle ones give way first",
        ),
        pytest.param(
            (pool("a", *machines("a", busy=4), running=4, waiting=9, stale_since=NOW), pool("b", waiting=2)),
            (REUSED, FIRST),
            [],
            id="nobody is told on old news",
        ),
    ],
)
def test_a_reused_machine_above_its_pools_share_takes_no_further_job(
    seen: tuple[PoolSeen, ...], rules: tuple[PoolPolicy, ...], actions: list[str]
) -> None:
    plan, _ = decide(snapshot(*seen), Memory(), policy(*rules, roof=4), NOW)
    assert actions_of(plan) == actions


def test_a_machine_that_is_just_being_told_counts_as_told() -> None:
    seen = (pool("a", *machines("a", busy=4), running=4, waiting=99), pool("b", waiting=2))
    rules = policy(REUSED, FIRST, roof=4)
    plan, _ = decide(snapshot(*seen, operations=(closing(9, "a-3"),)), Memory(), rules, NOW)
    assert actions_of(plan) == ["close a-1 machine.retires"]
    assert reason_of(plan).terms["retiring"] == 2
    assert sentence(reason_of(plan)).endswith("held by ceiling roof; 2 end after their jobs")


def test_a_reused_machine_keeps_its_place_until_its_job_has_ended() -> None:
    busy = tuple(machine(f"a-{number}", State.DRAINING, job=str(number)) for number in range(4))
    seen = snapshot(pool("a", *busy, running=4, waiting=99), pool("b", waiting=9))
    rules = policy(REUSED, FIRST, roof=6)
    assert created(seen, rules) == {"a": 0, "b": 2}


DELAYED = settings("a", ceiling="roof", scale_down_delay=60_000)


def test_what_only_a_delay_keeps_gives_way_to_a_pool_that_wants() -> None:
    memory = Memory({"a": PoolMemory(wanted=((NOW - 30_000, 5), (NOW - 10_000, 1)))})
    rules = policy(DELAYED, settings("b", ceiling="roof"), roof=6)
    idle = pool("a", *machines("a", idle=5), waiting=1)
    plan, after = decide(snapshot(idle, pool("b", waiting=4)), memory, rules, NOW)
    gone = [f"close a-{number} machine.gives-way" for number in (1, 2, 3)]
    assert actions_of(plan) == [*gone, "create b/new-1"]
    assert reason_of(plan).terms["kept"] == 4
    # What gave way is not wanted back, and what is left is still held.
    assert after.pools["a"].wanted == ((NOW - 30_000, 2), (NOW - 10_000, 1))
    calm = snapshot(pool("a", *machines("a", idle=2), waiting=1), pool("b"))
    later, _ = decide(calm, after, rules, NOW + 1)
    assert actions_of(later) == []
    assert reason_of(later).code == "pool.held-by-delay"


@pytest.mark.parametrize("members", [machines("a", idle=4), machines("a", busy=4)], ids=["idle", "busy"])
def test_of_a_reused_pool_all_that_only_a_delay_keeps_gives_way(members: tuple[Machine, ...]) -> None:
    memory = Memory({"a": PoolMemory(wanted=((NOW - 30_000, 4), (NOW - 10_000, 0)))})
    rules = policy(replace(DELAYED, reused=True), settings("b", ceiling="roof"), roof=6)
    plan, _ = decide(snapshot(pool("a", *members), pool("b", waiting=6)), memory, rules, NOW)
    assert reason_of(plan, "b").terms["grant"] == 6
    assert [action.target for action in plan.actions if isinstance(action, Close)] == [
        "a-1",
        "a-2",
        "a-3",
        "a-4",
    ]


def test_a_reused_pool_asks_for_what_it_wants_and_not_for_all_that_work() -> None:
    memory = Memory({"b": PoolMemory(wanted=((NOW - 30_000, 4), (NOW - 10_000, 1)))})
    rules = policy(settings("a", ceiling="roof", reused=True), replace(DELAYED, name="b"), roof=6)
    seen = snapshot(
        pool("a", *machines("a", busy=4), running=1), pool("b", *machines("b", idle=4), waiting=1)
    )
    plan, _ = decide(seen, memory, rules, NOW)
    assert reason_of(plan, "a").terms["grant"] == 1
    assert reason_of(plan, "b").terms["grant"] == 4, "what a delay keeps needs not give way"


def test_what_only_a_delay_keeps_stays_while_there_is_room() -> None:
    memory = Memory({"a": PoolMemory(wanted=((NOW - 30_000, 5), (NOW - 10_000, 1)))})
    rules = policy(DELAYED, settings("b", ceiling="roof"), roof=6)
    idle = pool("a", *machines("a", idle=5), waiting=1)
    plan, after = decide(snapshot(idle, pool("b", waiting=1)), memory, rules, NOW)
    assert actions_of(plan) == ["create b/new-1"]
    assert after == memory


def test_delays_under_one_ceiling_give_way_by_priority_too() -> None:
    wanted = PoolMemory(wanted=((NOW - 30_000, 4), (NOW - 10_000, 0)))
    rules = policy(DELAYED, replace(DELAYED, name="b", priority=1), roof=6)
    seen = snapshot(pool("a", *machines("a", idle=4)), pool("b", *machines("b", idle=4)))
    plan, _ = decide(seen, Memory({"a": wanted, "b": wanted}), rules, NOW)
    assert actions_of(plan) == ["close a-1 machine.gives-way", "close a-2 machine.gives-way"]
