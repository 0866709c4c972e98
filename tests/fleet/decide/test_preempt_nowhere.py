"""A gang takes nobody's machines where none of them is in a domain."""

from tests.fleet.world import world_of

from remuda.fleet.plan import Op
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.units import FleetNeed

OUTSIDE = Shape("t", allocatable={"cpu": 1_000})
INSIDE = Shape("t", allocatable={"cpu": 1_000}, labels={"rack": "r1"})


def test_machines_outside_every_domain_are_not_taken_for_a_gang() -> None:
    low = FleetNeed("c", "low", {"cpu": 1_000}, 2, priority=100)
    gang = FleetNeed("d", "gang", {"cpu": 1_000}, 2, priority=1_000, same="rack")
    held = [FleetMachine(f"m{number}", State.CONFIGURED, OUTSIDE, "c", "low", 100) for number in range(2)]
    plan = world_of([*held, FleetMachine("i", State.IDLE, INSIDE)], [low, gang]).decide()
    assert plan.count(Op.PREEMPT) == 0
    assert plan.missing == 2
