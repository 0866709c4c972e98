"""
Drawn fleets that go through the judgement where few do: exchanges, caps, gangs that wait, sums in one domain.

Each was chosen because it reaches what no other quick test does; every plan on its way keeps all rules.
"""

from random import Random

import pytest
from tests.fleet.invariants import check_limits, check_machines, check_plan
from tests.fleet.test_long_runs import change_demand, change_machines, draw_large_world
from tests.fleet.world import STEP, draw_world

from remuda.model.times import SECOND


@pytest.mark.parametrize("seed", [78, 94, 193, 208, 243, 263, 291])
def test_safety_small_fleets_keep_every_rule_on_rare_ways(seed: int) -> None:
    keep_every_rule(seed, 12, 6)


@pytest.mark.parametrize("seed", [3, 21, 36, 87, 103, 272])
def test_safety_larger_fleets_keep_every_rule_on_rare_ways(seed: int) -> None:
    keep_every_rule(seed, 60, 20)


def keep_every_rule(seed: int, machines: int, needs: int) -> None:
    world = draw_world(seed, machines=machines, needs=needs)
    for _ in range(6):
        plan = world.decide()
        check_plan(world, plan)
        world.begin(plan)
        world.complete()
        world.now += STEP


def test_safety_a_fleet_whose_demand_and_machines_change_keeps_its_limits() -> None:
    rng = Random(68)
    world = draw_large_world(rng)
    for turn in range(10):
        plan = world.decide()
        check_machines(world, plan)
        check_limits(world, plan)
        world.begin(plan)
        world.complete([row for row in world.in_motion().tolist() if rng.random() < 0.6])
        if rng.random() < 0.5:
            change_demand(world, rng)
        change_machines(world, rng, turn)
        world.now += 10 * SECOND
