"""Needs that are alike are served together; one of them gives up its machine when another can use nothing else."""

import pytest
from tests.fleet.oracle import best
from tests.fleet.test_oracle import decided

from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import INSTANCE_TYPE, FleetMachine, Shape
from remuda.model.units import FleetNeed

SMALL = Shape("t1", allocatable={"cpu": 1_000})
LARGE = Shape("t2", allocatable={"cpu": 1_000}, price=50_000)
PICKY = (Requirement(INSTANCE_TYPE, Operator.IN, ("t1",)),)


@pytest.mark.parametrize(("alike", "units"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("picky", [1, 2])
def test_needs_that_were_served_together_give_up_what_one_alone_can_use(
    alike: int, units: int, picky: int
) -> None:
    cheap = alike * units
    machines = [FleetMachine(f"s{number}", State.IDLE, SMALL) for number in range(cheap)]
    machines += [FleetMachine(f"l{number}", State.IDLE, LARGE) for number in range(2)]
    needs = [FleetNeed("c", f"any{number}", {"cpu": 1_000}, units) for number in range(alike)]
    needs += [
        FleetNeed("d", f"picky{number}", {"cpu": 1_000}, 1, requirements=PICKY, arrival=1)
        for number in range(picky)
    ]
    outcome = decided(machines, needs)
    assert outcome.served == best(machines, needs).served
    assert sum(outcome.served) == min(cheap + 2, cheap + picky) - max(0, picky - cheap)
