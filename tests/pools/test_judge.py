"""What holds for every decision, whatever is seen, remembered or set."""

import copy
import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import NOW, actions_of, machine, policy, pool, reason_of, settings, snapshot
from tests.pools.worlds import instants, memories, policies, snapshots

from remuda.model.machines import Machine, State
from remuda.model.needs import Need
from remuda.model.plans import Plan, Term
from remuda.model.times import HOUR, MINUTE
from remuda.pools.decide import decide
from remuda.pools.decide.census import Census, take_census
from remuda.pools.decide.model import (
    Bounds,
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
    Snapshot,
)
from remuda.pools.decide.target import bounds_in_force
from remuda.rules.ceilings import Member, share

_REMOVED = PoolPolicy(name="", job_class="", template="", bounds=Bounds(0, 0))


def census_of(seen: PoolSeen, world: Snapshot, memory: Memory, rules: Policy, now: int) -> Census:
    mine = [operation for operation in world.operations if operation.action.pool == seen.name]
    return take_census(
        seen, rules.pools.get(seen.name, _REMOVED), memory.pools.get(seen.name, PoolMemory()), mine, now
    )


def creations(plan: Plan[PoolAction], name: str) -> int:
    return sum(isinstance(action, Create) and action.pool == name for action in plan.actions)


def destroyed(plan: Plan[PoolAction]) -> set[str]:
    return {action.target for action in plan.actions if not isinstance(action, Create)}


def without_hours(rules: Policy) -> Policy:
    return Policy({name: replace(mine, hours=()) for name, mine in rules.pools.items()}, rules.ceilings)


def members_of(world: Snapshot) -> dict[str, Machine]:
    return {each.name: each for seen in world.pools for each in seen.machines}


@given(snapshots(), memories, policies(), instants)
def test_safety_a_machine_with_a_job_goes_only_when_a_rollout_was_ordered(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    members = members_of(world)
    seen = {each.name: each for each in world.pools}
    for action in plan.actions:
        if isinstance(action, Create):
            continue
        target = members[action.target]
        if target.is_busy and target.ended is None:
            mine = rules.pools[action.pool]
            if isinstance(action, Close):
                assert mine.reused  # it ends after its job
                continue
            assert isinstance(action, Delete)
            assert action.even_busy
            override = seen[action.pool].override
            assert override.finish_rollout == mine.template != target.template
            assert target.created_at <= override.finish_rollout_at


@given(snapshots(), memories, policies(), instants)
def test_safety_machines_are_closed_only_on_fresh_news_and_busy_ones_only_when_they_are_too_many_or_old(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, after = decide(world, memory, rules, now)
    members, seen = members_of(world), {each.name: each for each in world.pools}
    for action in plan.actions:
        if isinstance(action, Close):
            need, mine = seen[action.pool].need, rules.pools.get(action.pool, _REMOVED)
            assert need is not None
            assert need.stale_since is None
            assert need.unsure_since is None
            if members[action.target].state is not State.IDLE:
                terms, is_old = reason_of(plan, action.pool).terms, members[action.target].template
                assert mine.reused
                assert members[action.target].state is not State.DRAINING
                assert number(terms["busy"]) > number(terms["target"]) or is_old != mine.template
                continue
            assert not members[action.target].unsure
            assert not mine.natural or seen[action.pool].override.draining
            if mine.idle_window:
                assert memory.pools[action.pool].idle_since[action.target] + mine.idle_window <= now
                assert after.pools[action.pool].idle_since[action.target] + mine.idle_window <= now


@given(snapshots(), memories, policies(), instants)
def test_safety_nobody_goes_unasked_but_who_must_ends_its_job_first_and_was_possibly_busy_for_long(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, after = decide(world, memory, rules, now)
    members, seen = members_of(world), {each.name: each for each in world.pools}
    for action in plan.actions:
        if isinstance(action, Delete) and action.gently and action.reason.code != "machine.unheard":
            target, need = members[action.target], seen[action.pool].need
            mine = rules.pools.get(action.pool, _REMOVED)
            assert (target.state, target.ended, target.drains) == (State.IDLE, None, True)
            assert target.unsure or need is None or need.stale_since or need.unsure_since
            is_stray = target.unsure and target.template != mine.template and not mine.natural
            assert not mine.template or seen[action.pool].override.draining or is_stray
            assert memory.pools[action.pool].unsure_since + mine.boot_timeout <= now
            assert after.pools[action.pool].unsure_since + mine.boot_timeout <= now


@given(snapshots(), memories, policies(), instants)
def test_safety_who_is_up_and_not_reported_goes_alone_ends_its_job_first_and_only_when_no_task_is_unaccounted_for(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    members, seen = members_of(world), {each.name: each for each in world.pools}
    going = [action for action in plan.actions if action.reason.code == "machine.unheard"]
    assert len({action.pool for action in going}) == len(going)
    for action in going:
        assert isinstance(action, Delete)
        target, need = members[action.target], seen[action.pool].need
        assert (target.state, target.ended, target.drains) == (State.CREATING, None, True)
        assert action.gently
        assert need is not None
        busy = [one for one in seen[action.pool].machines if one.ended is None and one.is_busy]
        working = [
            one
            for one in seen[action.pool].machines
            if one.ended is None and one.state in (State.CONFIGURED, State.CONFIGURING)
        ]
        assert need.running <= len({one.name for one in (*busy, *working)})
        known_since = memory.pools[action.pool].unheard_since[f"{target.name}@{target.created_at}"]
        assert known_since + rules.pools.get(action.pool, _REMOVED).boot_timeout <= now


@given(snapshots(), memories, policies(), instants)
def test_safety_nothing_that_would_end_a_job_it_may_have_goes_unless_ordered(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    members = members_of(world)
    for action in plan.actions:
        if not isinstance(action, Create) and members[action.target].abrupt:
            target = members[action.target]
            assert target.ended is not None or (isinstance(action, Delete) and action.even_busy)


@given(snapshots(), memories, policies(), instants)
def test_safety_no_target_is_acted_on_twice_or_while_something_is_under_way(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    targets = [action.target for action in plan.actions]
    assert len(set(targets)) == len(targets)
    assert not set(targets) & {each.action.target for each in world.operations if each.outcome is None}


@given(snapshots(), memories, policies(), instants)
def test_safety_what_is_made_stays_within_the_maximum_and_the_surge(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    for seen in world.pools:
        made = creations(plan, seen.name)
        if made:
            mine, census = rules.pools[seen.name], census_of(seen, world, memory, rules, now)
            bounds, _ = bounds_in_force(mine, seen.override, now)
            assert census.taking_room + made <= bounds.max
            assert not seen.override.paused
            if mine.max_surge is not None:
                # Who is up for longer than a boot may take, and stays, does not boot.
                since = memory.pools.get(seen.name, PoolMemory()).unheard_since
                lingering = sum(
                    one.ready_at is not None
                    and since.get(f"{one.name}@{one.created_at}", now) <= now - mine.boot_timeout
                    for one in census.creating
                )
                assert census.live + made <= census.ready + lingering + mine.max_surge


@given(snapshots(), memories, policies(), instants)
def test_safety_what_is_made_stays_under_every_ceiling(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    for name, limit in rules.ceilings.items():
        group = [
            seen
            for seen in world.pools
            if seen.name in rules.pools and rules.pools[seen.name].ceiling == name
        ]
        made = sum(creations(plan, seen.name) for seen in group)
        if made:
            used = sum(census_of(seen, world, memory, rules, now).taking_room for seen in group)
            assert used + made <= limit


@given(snapshots(), policies(), instants)
def test_safety_an_empty_memory_only_delays_what_destroys(world: Snapshot, rules: Policy, now: int) -> None:
    """What goes with nothing remembered goes also with the memory of a world that was like this for long."""
    rules = without_hours(rules)
    forgetful, memory = decide(world, Memory(), rules, now)
    for minute in range(1, 4):
        knowing, memory = decide(world, memory, rules, now + minute * MINUTE)
    assert destroyed(forgetful) <= destroyed(knowing)


@given(snapshots(), memories, policies(), instants)
def test_safety_decide_is_pure(world: Snapshot, memory: Memory, rules: Policy, now: int) -> None:
    before = copy.deepcopy((world, memory, rules))
    first = decide(world, memory, rules, now)
    again = decide(*copy.deepcopy((world, memory, rules)), now)
    assert first == again
    assert msgspec.msgpack.encode(first) == msgspec.msgpack.encode(again)
    assert (world, memory, rules) == before


@given(snapshots(), memories, policies(), instants)
def test_safety_a_plan_and_a_memory_can_be_stored_and_read_again(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, after = decide(world, memory, rules, now)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=Plan[PoolAction]) == plan
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(after), type=Memory) == after


@given(snapshots(), memories, policies(), instants)
def test_safety_every_pool_has_exactly_one_reason(
    world: Snapshot, memory: Memory, rules: Policy, now: int
) -> None:
    plan, _ = decide(world, memory, rules, now)
    assert [reason.subject for reason in plan.reasons] == [f"pool/{seen.name}" for seen in world.pools]


@given(snapshots(), policies(), instants, st.sampled_from((-HOUR, -MINUTE, MINUTE, HOUR)))
def test_safety_a_clock_that_jumps_never_makes_a_wait_longer_than_it_can_be(
    world: Snapshot, rules: Policy, now: int, jump: int
) -> None:
    _, memory = decide(world, Memory(), rules, now)
    _, after = decide(world, memory, rules, now + jump)
    for mine in after.pools.values():
        assert mine.retry_at <= now + jump + 5 * MINUTE
        assert mine.failed_at <= now + jump
        assert all(since <= now + jump for since, _ in mine.wanted)
        assert all(since <= now + jump for since in mine.idle_since.values())


@given(snapshots(), policies(), instants)
def test_safety_guarantees_are_kept_and_shares_are_fair(world: Snapshot, rules: Policy, now: int) -> None:
    """
    Grants under a ceiling are what the shared rule gives, with what each pool wants and what cannot give way.

    What a delay alone keeps is granted from what is left then.
    """
    plan, _ = decide(world, Memory(), rules, now)
    for name, limit in rules.ceilings.items():
        group = [
            seen
            for seen in world.pools
            if seen.name in rules.pools and rules.pools[seen.name].ceiling == name
        ]
        terms_of = {seen.name: reason_of(plan, seen.name).terms for seen in group}
        members, firm = [], []
        for seen in group:
            terms, mine = terms_of[seen.name], rules.pools[seen.name]
            assume(number(terms["failures"]) < 5)
            plain, _ = bounds_in_force(mine, Override(), now)
            in_force, _ = bounds_in_force(mine, seen.override, now)
            guaranteed = max(mine.guaranteed, min(plain.min, in_force.min))
            wanted, busy = number(terms["wanted"]), 0 if mine.reused else number(terms["busy"])
            members.append(Member(seen.name, wanted, busy, guaranteed, mine.priority, mine.weight))
            firm.append(replace(members[-1], wants=wanted - number(terms.get("kept", 0))))
        first = zip(members, share(limit, firm), strict=True)
        granted = share(limit, [replace(member, floor=grant) for member, grant in first])
        assert [terms_of[seen.name]["grant"] for seen in group] == list(granted)
        if sum(max(member.floor, min(member.wants, member.guaranteed)) for member in members) <= limit:
            for member, own, grant in zip(members, firm, granted, strict=True):
                assert grant >= min(member.wants, member.guaranteed) - (member.wants - own.wants)


@given(snapshots(is_quiet=True), policies())
def test_liveness_a_quiet_world_comes_to_rest(world: Snapshot, rules: Policy) -> None:
    """When nothing changes but time, plans and memories are soon equal for ever."""
    rules = without_hours(rules)
    memory, now = Memory(), NOW + 3 * HOUR
    for _ in range(12):
        plan, memory = decide(world, memory, rules, now)
        now += MINUTE
    for _ in range(3):
        again, same = decide(world, memory, rules, now)
        assert (again, same) == (plan, memory)
        now += MINUTE


@given(snapshots(is_quiet=True), policies())
def test_liveness_carrying_plans_out_leads_to_an_empty_plan(world: Snapshot, rules: Policy) -> None:
    """With machines that do as they are told, every pool comes to rest with what it aims for, if there is room."""
    rules = without_hours(rules)
    memory, now, made = Memory(), NOW + 3 * HOUR, 1_000
    for _ in range(60):
        plan, memory = decide(world, memory, rules, now)
        world, made = carried_out(world, plan, now, made)
        now += MINUTE
    assert not plan.actions
    for seen in world.pools:
        terms = reason_of(plan, seen.name).terms
        others, live, target = (number(terms[name]) for name in ("others", "live", "target"))
        is_full = terms["limit"] is not None and others + live >= number(terms["limit"])
        # What may not be asked to go keeps its room.
        has_abrupt = any(one.abrupt for one in seen.machines)
        assert live >= target or is_full or has_abrupt or seen.override.paused


def number(term: Term) -> int:
    assert isinstance(term, int)
    return term


def carried_out(world: Snapshot, plan: Plan[PoolAction], now: int, made: int) -> tuple[Snapshot, int]:
    """The world after a plan: made machines are ready, closed ones drain, deleted ones are gone."""
    members = members_of(world)
    for action in plan.actions:
        if isinstance(action, Create):
            made += 1
            name = f"{action.pool}-{made}"
            members[name] = machine(name, template=action.expects, created_at=now, since=now, ready_at=now)
        elif isinstance(action, Close):
            members[action.target] = replace(members[action.target], state=State.DRAINING)
        else:
            del members[action.target]
    pools = tuple(
        replace(
            seen,
            machines=tuple(
                booted(each, now) for each in sorted(members.values(), key=str) if each.pool == seen.name
            ),
        )
        for seen in world.pools
    )
    return Snapshot(pools), made


def booted(each: Machine, now: int) -> Machine:
    if each.state in (State.CREATING, State.CONFIGURING) and each.ended is None:
        return replace(each, state=State.IDLE, since=now, ready_at=now)
    if each.state is State.DELETING and each.ended is None:
        return replace(each, state=State.DRAINING)
    return each


def test_liveness_a_lost_memory_waits_the_whole_delay_and_then_goes_on() -> None:
    rules = policy(settings(scale_down_delay=10 * MINUTE))
    world, memory = snapshot(pool("a", machine("a-1"))), Memory()
    minutes = 0
    while not actions_of(decide(world, memory, rules, NOW + minutes * MINUTE)[0]):
        _, memory = decide(world, memory, rules, NOW + minutes * MINUTE)
        minutes += 1
    assert minutes == 10


@pytest.mark.slow
def test_decisions_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "import hashlib, msgspec; from tests.pools.test_judge import hash_world;"
        " print(hashlib.sha256(msgspec.msgpack.encode(hash_world())).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(printed) == 1


def hash_world() -> tuple[Plan[PoolAction], Memory]:
    """A decision with something of everything."""
    pools = [
        PoolSeen(
            f"p{number}",
            Need(number, 2),
            tuple(
                machine(
                    f"p{number}-{index}",
                    job=None if index % 3 else str(index),
                    template="t" if index % 2 else "o",
                )
                for index in range(number)
            ),
        )
        for number in range(9)
    ]
    rules = policy(
        *(settings(f"p{number}", ceiling=f"roof{number % 3}", idle_window=9) for number in range(8)),
        roof0=9,
        roof1=7,
        roof2=5,
    )
    return decide(snapshot(*pools), Memory(), rules, NOW)


falling = st.lists(st.integers(0, 9), min_size=2, max_size=6).map(lambda counts: sorted(counts, reverse=True))


@given(falling, falling, st.lists(st.integers(0, 12), min_size=6, max_size=6), st.none() | st.integers(1, 3))
def test_safety_a_delay_holds_what_a_pool_had_and_never_makes_more(
    first: list[int], second: list[int], roofs: list[int], max_surge: int | None
) -> None:
    """Demand only falls: what is made beyond it replaces machines that ended."""
    there: dict[str, tuple[Machine, ...]] = {"a": (), "b": ()}
    most = {"a": 0, "b": 0}
    memory, now = Memory(), NOW
    for step, roof in enumerate(roofs):
        rules = policy(
            *(settings(name, ceiling="roof", max_surge=max_surge, scale_down_delay=MINUTE) for name in there),
            roof=roof,
        )
        demand = {"a": first[min(step, len(first) - 1)], "b": second[min(step, len(second) - 1)]}
        seen = snapshot(*(pool(name, *there[name], waiting=demand[name]) for name in there))
        plan, memory = decide(seen, memory, rules, now)
        gone = {action.target for action in plan.actions if isinstance(action, Close)}
        for name, before in there.items():
            made = sum(isinstance(action, Create) and action.pool == name for action in plan.actions)
            if made:
                assert len(before) + made <= max(demand[name], most[name])
            new = tuple(machine(f"{name}-{step}{number}", created_at=now) for number in range(made))
            most[name] = max(most[name], len(before) + made)
            there[name] = (*(each for each in before if each.name not in gone), *new)
        now += 10_000
