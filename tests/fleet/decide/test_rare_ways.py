"""
Drawn fleets that go through the judgement where few do: exchanges, caps, gangs that wait, sums in one domain.

Each was chosen because it reaches what no other quick test does; every plan on its way keeps all rules.
"""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from tests.fleet.builders import RACK, fleet_of, machines, need, shape, work_of
from tests.fleet.generate import PLAIN, SPECIAL, Traits
from tests.fleet.invariants import check_limits, check_machines, check_plan
from tests.fleet.test_long_runs import change_demand, change_machines, draw_large_world
from tests.fleet.test_plans_stay import GANGS, SUMS, drawn, living, tight
from tests.fleet.world import STEP, LivingFleet, draw_world, world_of

from remuda.fleet.decide import gangs
from remuda.fleet.decide.victims import find_victims
from remuda.fleet.plan import Op
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import ZONE
from remuda.model.times import SECOND
from remuda.model.units import Separation


@pytest.mark.parametrize("seed", [78, 94, 193, 208, 243, 263, 291])
def test_safety_small_fleets_keep_every_rule_on_rare_ways(seed: int) -> None:
    keep_every_rule(seed, 12, 6)


@pytest.mark.parametrize("seed", [3, 21, 36, 87, 103, 272])
def test_safety_larger_fleets_keep_every_rule_on_rare_ways(seed: int) -> None:
    keep_every_rule(seed, 60, 20)


@pytest.mark.parametrize(
    ("draw", "traits", "seed", "size", "needs"),
    [
        (drawn, PLAIN, 217, 20, 8),
        (drawn, SUMS, 187, 16, 6),
        (tight, GANGS, 137, 20, 6),
        (tight, GANGS, 209, 20, 6),
        (tight, SPECIAL, 71, 24, 8),
    ],
)
def test_safety_fleets_under_rails_keep_their_limits_on_rare_ways(
    draw: Callable[[int, Traits, int, int], LivingFleet], traits: Traits, seed: int, size: int, needs: int
) -> None:
    world = draw(seed, traits, size, needs)
    plans = 0
    for plan in living(world):
        check_machines(world, plan)
        check_limits(world, plan)
        plans += len(plan) > 0
    assert plans > 0


def keep_every_rule(seed: int, size: int, needs: int) -> None:
    world = draw_world(seed, machines=size, needs=needs)
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


def test_more_small_components_than_are_searched_are_all_served() -> None:
    zones = [f"z{number:02}" for number in range(18)]
    needs = [need(zone, requirements=(Requirement(ZONE, Operator.IN, (zone,)),)) for zone in zones]
    plan = world_of([one for zone in zones for one in machines(1, shape(zone))], needs).decide()
    assert (plan.count(Op.ASSIGN), plan.missing) == (18, 0)


def test_a_search_that_would_take_too_long_ends_with_as_much_served() -> None:
    """Six needs share ten machines of as many prices in more ways than are looked at."""
    free = [one for dollars in range(10) for one in machines(1, shape(rack="x", dollars=dollars + 1))]
    needs = [need(f"n{number}", 3, separation=Separation(2, RACK)) for number in range(6)]
    plan = world_of(free, needs).decide()
    assert plan.count(Op.ASSIGN) == 10
    assert plan.missing == 18 - 10


def test_a_machine_that_serves_without_a_cluster_is_left_alone() -> None:
    """A provider may list what no file could say."""
    plan = world_of(machines(1, shape(), State.CONFIGURED), [need("n", priority=-5)]).decide()
    assert (len(plan), plan.rails) == (0, ())


def test_a_gang_that_lacks_nothing_is_given_nothing() -> None:
    work = work_of(fleet_of(machines(4, shape(rack="x"))), need(count=2, same=RACK))
    gangs.place(work, 0, 0, np.array([2]))
    assert not work.picks.kind
    assert work.unmet.tolist() == [0]


def test_only_so_many_rankings_of_victims_are_kept() -> None:
    holders = machines(3, shape(), State.CONFIGURED, cluster="c", need="low")
    work = work_of(fleet_of(holders), need("low", 3), need("high", 1, priority=1_000))
    victims = find_victims(work, np.zeros(0, np.int64))
    first = victims.ranking(work, 0, 1, 1, None).order
    for priority in range(2, 700):
        assert victims.ranking(work, 0, priority, 1, None).order == first
    assert len(victims.rankings) <= 512
