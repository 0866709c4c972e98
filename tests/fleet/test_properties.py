"""What holds of every decision about every fleet: no oscillation, nothing twice, nothing too much, nothing in part."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.generate import ALL, PLAIN, Traits
from tests.fleet.invariants import check_plan, check_rest
from tests.fleet.world import STEP, LivingFleet, draw_world

from remuda.fleet import states
from remuda.fleet.plan import Op, Plan
from remuda.model.shapes import CapacityType
from remuda.model.times import MINUTE

SEEDS = st.integers(0, 2**32 - 1)
#: Cycles in which a world must stay at rest once it is.
_LONG = 200


def patience(world: LivingFleet) -> int:
    """How long until every hold, rail and back-off has expired: one machine a minute goes by the narrowest rail."""
    hold = max(world.policy.holds[capacity] or 0 for capacity in CapacityType)
    return hold + world.policy.gang_patience + 5 * MINUTE + world.fleet.rows * MINUTE


def come_to_rest(world: LivingFleet) -> None:
    """Let a world go on until it must be at rest, checking every plan on the way, and check that it stays there."""
    end = world.now + patience(world) + 10 * STEP
    while world.now < end:
        plan = world.decide()
        check_plan(world, plan)
        world.begin(plan)
        world.complete()
        world.now += STEP
    for cycle in range(_LONG):
        plan = world.decide()
        assert not len(plan), f"{plan.blocks} although nothing has changed for long"
        if cycle % 50 == 0:
            world.memory = replace(world.memory, settled=None)
            assert world.decide().digest() == plan.digest(), "what was settled is not what is decided anew"
        world.now += 30 * STEP
    check_rest(world, plan)


def needs_of(plan: Plan) -> set[int]:
    """The needs for which machines are given, bought or taken from others."""
    moves = (Op.ASSIGN, Op.CREATE, Op.PREEMPT)
    return {code for block in plan.blocks if block.op in moves for code in block.needs.tolist()}


@pytest.mark.parametrize("traits", [PLAIN, ALL])
@pytest.mark.parametrize("seed", range(3))
def test_a_small_fleet_comes_to_rest(seed: int, traits: Traits) -> None:
    come_to_rest(draw_world(seed, traits, machines=6, needs=3))


@pytest.mark.slow
@examples(150)
@given(SEEDS)
def test_at_constant_demand_and_supply_the_engine_comes_to_rest_and_stays_there(seed: int) -> None:
    come_to_rest(draw_world(seed))


@pytest.mark.slow
@examples(30)
@given(SEEDS)
def test_a_larger_fleet_comes_to_rest_too(seed: int) -> None:
    come_to_rest(draw_world(seed, machines=40, needs=14))


@pytest.mark.slow
@examples(150)
@given(SEEDS)
def test_a_need_is_given_nothing_more_while_what_it_was_given_is_on_its_way(seed: int) -> None:
    world = draw_world(seed)
    for _ in range(6):
        plan = world.decide()
        world.begin(plan)
        # A gang gets its machines in steps, who lost one to another need in the same plan may ask for one again, and what
        # was adopted can be preempted only now.
        lost = set(world.fleet.need[plan.rows(Op.PREEMPT)].tolist())
        served = {code for code in needs_of(plan) - lost if not world.needs[code].same}
        adopted = plan.rows(Op.ADOPT)
        again = world.decide()
        blocks = [block for block in again.blocks if not np.isin(block.rows, adopted).all()]
        assert not needs_of(replace(again, blocks=tuple(blocks))) & served, f"{blocks} although {served} wait"
        world.complete()
        world.now += STEP


@pytest.mark.slow
@examples(40)
@given(SEEDS)
def test_every_plan_is_right_however_late_and_in_whatever_order_operations_end(seed: int) -> None:
    world, rng = draw_world(seed), Random(seed)
    for _ in range(60):
        plan = world.decide()
        check_plan(world, plan)
        world.begin(plan)
        moving = world.in_motion().tolist()
        world.complete([row for row in moving if rng.random() < 0.3])
        failing = [row for row in world.in_motion().tolist() if rng.random() < 0.03]
        world.fail(failing)
        world.now += rng.randint(1, 60_000)
    come_to_rest(world)


@pytest.mark.slow
@examples(100)
@given(SEEDS)
def test_a_need_that_is_given_machines_keeps_them_until_they_serve(seed: int) -> None:
    world = draw_world(seed)
    for _ in range(4):
        plan = world.decide()
        bought = {
            row: code
            for block in plan.blocks
            if block.op is Op.CREATE
            for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True)
        }
        world.begin(plan)
        assert all(world.fleet.claim[row] == code for row, code in bought.items())
        world.complete()
        world.now += STEP
        given = {
            row: code
            for block in world.decide().blocks
            if block.op is Op.ASSIGN
            for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True)
        }
        for row, code in bought.items():
            need = world.needs[code]
            assert need.same or given.get(row) == code, f"what was bought for {need.name} went elsewhere"
        assert all(world.fleet.state[row] == states.IDLE for row in given)
