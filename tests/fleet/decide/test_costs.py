"""What a machine costs a need, and what would lie idle of it: numbers worked out by hand."""

import numpy as np
import pytest
from tests.fleet.builders import fleet_of, machines, need, work_of

from remuda.fleet.decide.costs import costs, wastes
from remuda.model.shapes import DOLLAR, Shape
from remuda.model.units import HIGHEST_PENALTY, PINNED


@pytest.mark.parametrize(
    ("have", "unit", "use", "waste"),
    [
        pytest.param([8, 32], [2, 8], 4, 0, id="all of it is used"),
        pytest.param([8, 32], [2, 8], 3, 250, id="a quarter of both"),
        pytest.param([8, 32], [1, 8], 4, 250, id="half of one of two"),
        pytest.param([8, 1], [8, 0], 1, 500, id="the only device of two resources"),
        pytest.param([8, 0], [4, 0], 1, 500, id="what it does not have is not wasted"),
        pytest.param([3, 0], [1, 0], 2, 333, id="rounded down"),
        pytest.param([0, 0], [0, 0], 1, 0, id="a machine with nothing wastes nothing"),
    ],
)
def test_waste_is_the_mean_share_of_each_resource_that_is_not_used(
    have: list[int], unit: list[int], use: int, waste: int
) -> None:
    assert wastes(np.array([have]), np.array(unit), np.array([use])).tolist() == [waste]


@pytest.mark.parametrize(
    ("chance", "penalty", "cost"),
    [
        pytest.param(0, PINNED, 2 * DOLLAR, id="what is never interrupted costs its price"),
        pytest.param(50_000, 40 * DOLLAR, 4 * DOLLAR, id="one in twenty of forty dollars, and its price"),
        pytest.param(50_000, 0, 2 * DOLLAR, id="no penalty"),
        pytest.param(1, PINNED, PINNED, id="what must not be interrupted, and might be"),
        pytest.param(1_000_000, HIGHEST_PENALTY, 2 * DOLLAR + HIGHEST_PENALTY, id="the highest there is"),
    ],
)
def test_a_machine_costs_its_price_and_the_risk_of_losing_it(chance: int, penalty: int, cost: int) -> None:
    shape = Shape("t", allocatable={"cpu": 1_000}, price=2 * DOLLAR, interruption=chance)
    work = work_of(fleet_of(machines(1, shape)), need(interruption_penalty=penalty))
    assert costs(work, np.array([0]), work.demand.interruption_penalty[:1]).tolist() == [cost]
