"""Rails, quotas and caps over long runs in which demand, machines and the clock do as they please."""

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.generate import ALL, draw_machines, draw_need, draw_needs, draw_policy
from tests.fleet.invariants import check_limits, check_machines, check_plan
from tests.fleet.test_properties import come_to_rest
from tests.fleet.world import LivingFleet, draw_world, world_of

from remuda.fleet import states
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Op, Plan
from remuda.model.shapes import FleetMachine
from remuda.model.times import MINUTE, SECOND

SEEDS = st.integers(0, 2**32 - 1)
_CLUSTERS = ("c0", "c1")


@dataclass(slots=True)
class Ledger:
    """
    Who took how much when, in time that only goes forward.

    A clock that was set back makes a minute of the engine's longer than a true one, so the rails hold for both.
    """

    reclaimed: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    preempted: list[tuple[int, int]] = field(default_factory=list)

    def note(self, world: LivingFleet, plan: Plan, at: int) -> None:
        """Note what a plan destroys at a true instant, and fail when a rail was passed in the minute before."""
        fleet, rails = world.fleet, world.policy.rails
        rows = plan.rows(Op.RECLAIM)
        for cluster in np.unique(fleet.cluster[rows]).tolist():
            taken = int((fleet.cluster[rows] == cluster).sum())
            log = self.reclaimed.setdefault(cluster, [])
            before = sum(number for when, number in log if at - when < MINUTE)
            configured = int(((fleet.cluster == cluster) & (fleet.state == states.CONFIGURED)).sum())
            assert rails.reclaim_percent is not None
            most = max(1, (configured + before) * rails.reclaim_percent // 100)
            assert before + taken <= most, f"{before} + {taken} of {configured} reclaimed in a minute"
            log.append((at, taken))
        taken = plan.count(Op.PREEMPT)
        if taken:
            before = sum(number for when, number in self.preempted if at - when < MINUTE)
            machines = int(((fleet.state > states.SPECULATIVE) & (fleet.state != states.FAILED)).sum())
            assert rails.preempt_percent is not None
            assert before + taken <= max(1, machines * rails.preempt_percent // 100)
            self.preempted.append((at, taken))


def draw_large_world(rng: Random) -> LivingFleet:
    """Machines enough that the rails let several go, of few shapes, for two clusters."""
    needs = draw_needs(rng, 8, ALL, _CLUSTERS)
    machines = draw_machines(rng, 160, needs, most_shapes=4)
    return world_of(machines, needs, draw_policy(rng))


def change_demand(world: LivingFleet, rng: Random) -> None:
    """A cluster asks for something else: other needs, other counts, or nothing."""
    cluster = rng.choice(_CLUSTERS)
    needs = [draw_need(rng, cluster, f"n{rng.randrange(12)}", ALL) for _ in range(rng.randint(0, 5))]
    needs = list({need.name: need for need in needs}.values())
    needs = [
        type(need)(
            **{
                **{f: getattr(need, f) for f in need.__struct_fields__},
                "count": need.count and need.count * 6,
            }
        )
        for need in needs
    ]
    world.demand.put(cluster, needs)
    names = world.fleet.names
    known = {code: need for code, need in world.needs.items() if need.cluster != cluster}
    world.needs = known | {names.need(names.cluster(cluster), need.name): need for need in needs}


def change_machines(world: LivingFleet, rng: Random, turn: int) -> None:
    """Some machines fail, are forgotten, or appear; those that drain are left alone."""
    fleet = world.fleet
    moving = world.in_motion()
    world.fail(
        [row for row in moving[fleet.state[moving] != states.DRAINING].tolist() if rng.random() < 0.02]
    )
    known = [
        fleet.ids[row]
        for row in np.flatnonzero((fleet.state > 0) & (fleet.state != states.DRAINING)).tolist()
    ]
    fleet.remove([machine for machine in known if rng.random() < 0.01])
    shapes = fleet.kinds.shapes
    new = [
        FleetMachine(f"new{turn}-{n}", rng.choice([*states.NUMBERS][:3:2]), rng.choice(shapes))
        for n in range(rng.randint(0, 2))
    ]
    fleet.upsert(new)
    busy = [row for row in range(fleet.rows) if rng.random() < 0.02]
    fleet.delay(np.array(busy, np.int64), world.now + rng.randint(0, 120) * SECOND)


def run(seed: int, cycles: int, *, set_back: float, forgets: float, drains: int) -> LivingFleet:
    """
    A long run; with chances per cycle that the clock is set back and that memory is lost.

    Machines take at least `drains` milliseconds to drain, and any time for everything else.
    """
    rng = Random(seed)
    world, ledger, true = draw_large_world(rng), Ledger(), 0
    for turn in range(cycles):
        plan = world.decide()
        check_machines(world, plan)
        check_limits(world, plan)
        ledger.note(world, plan, true)
        world.begin(plan)
        moving = world.in_motion()
        ready = (world.fleet.state[moving] != states.DRAINING) | (
            world.fleet.since[moving] + drains <= world.now
        )
        world.complete([row for row in moving[ready].tolist() if rng.random() < 0.6])
        if rng.random() < 0.1:
            change_demand(world, rng)
        change_machines(world, rng, turn)
        step = rng.choice([0, 1, 5, 10, 10, 10, 30, 90]) * SECOND
        true += step
        world.now += step
        if rng.random() < set_back:
            world.now -= rng.randint(1, 600) * SECOND
        if rng.random() < forgets:
            world.memory = Memory()
    return world


@pytest.mark.slow
@examples(8)
@given(SEEDS)
def test_rails_quotas_and_caps_hold_over_long_runs(seed: int) -> None:
    run(seed, 150, set_back=0, forgets=0, drains=0)


@pytest.mark.slow
@examples(8)
@given(SEEDS)
def test_rails_hold_when_the_clock_is_set_back(seed: int) -> None:
    run(seed, 150, set_back=0.1, forgets=0, drains=0)


@pytest.mark.slow
@examples(8)
@given(SEEDS)
def test_rails_hold_when_memory_is_lost_while_machines_still_drain(seed: int) -> None:
    run(seed, 150, set_back=0, forgets=0.3, drains=MINUTE)


@pytest.mark.slow
@examples(60)
@given(SEEDS)
def test_a_world_that_loses_its_memory_at_any_cycle_comes_to_rest_with_as_much_served(seed: int) -> None:
    faithful, forgetful, rng = draw_world(seed), draw_world(seed), Random(seed)
    for _ in range(30):
        plan = forgetful.decide()
        check_plan(forgetful, plan)
        forgetful.begin(plan)
        forgetful.complete()
        forgetful.now += 10 * SECOND
        if rng.random() < 0.3:
            forgetful.memory = Memory()
    come_to_rest(forgetful)
    come_to_rest(faithful)
    assert missing(forgetful) == missing(faithful)


def missing(world: LivingFleet) -> dict[int, int]:
    """What each need misses."""
    return {shortfall.need: shortfall.units for shortfall in world.decide().shortfalls}
