"""What seeds of the simulator once showed, each as the smallest fleet that shows it."""

import numpy as np
from tests.fleet.builders import NOW, demand_of, fleet_of, machines, need, shape

from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy, Rails
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import ZONE, FleetMachine, Shape
from remuda.model.units import Spread

FREE = Policy(rails=Rails(preempt_percent=None, reclaim_percent=None))


def holding(number: int, of: Shape, name: str) -> list[FleetMachine]:
    prefix = f"{name}-{of.instance_type}-{of.zone}"
    return machines(number, of, State.CONFIGURED, cluster="c", need=name, prefix=prefix)


def decided(fleet: Fleet, demand: Demand) -> Plan:
    return decide(fleet, demand, Memory(), FREE, NOW)[0]


def test_surplus_of_a_need_that_is_preempted_in_the_same_plan_stays() -> None:
    """Seed 6, 10m43s: it had one too many, lost another to a preemptor, and lacked one once both were drained."""
    fleet = fleet_of(holding(2, shape("a", dollars=9), "low"), holding(1, shape("b"), "low"))
    in_b = (Requirement(ZONE, Operator.IN, ("b",)),)
    demand = demand_of(fleet, need("low", 2), need("high", 1, cluster="d", priority=5, requirements=in_b))
    plan = decided(fleet, demand)
    assert plan.count(Op.PREEMPT) == 1
    assert plan.count(Op.RECLAIM) == 0


def test_surplus_of_a_spread_that_is_given_something_stays_until_that_counts() -> None:
    """Seed 1 of 20,000 machines, 5m10s: what a lost machine in one zone made useless in others is not taken back."""
    fleet = fleet_of(
        *(holding(2, shape(zone, units=4), "n") for zone in "abd"),
        holding(3, shape("c"), "n"),
        machines(4, shape("c"), State.SPECULATIVE),
    )
    demand = demand_of(fleet, need("n", 22, spread=Spread(ZONE, 1)))
    plan = decided(fleet, demand)
    assert plan.count(Op.CREATE) == 2
    assert plan.count(Op.RECLAIM) == 0


def test_surplus_of_a_spread_that_is_given_nothing_goes() -> None:
    fleet = fleet_of(holding(4, shape("a"), "n"), holding(3, shape("b"), "n"))
    demand = demand_of(fleet, need("n", 4, spread=Spread(ZONE, 1)))
    rows = decided(fleet, demand).rows(Op.RECLAIM)
    assert len(rows) == 3
    assert np.count_nonzero(fleet.kind[rows] == fleet.kind[0]) == 2


def test_a_stray_member_does_not_call_a_gang_away_from_where_all_of_it_waits() -> None:
    """Seed 184, 3m: a member that was given up for lost joined after the gang had been made anew in another zone."""
    fleet = fleet_of(holding(1, shape("c"), "n"), machines(3, shape("a")))
    demand = demand_of(fleet, need("n", 3, same=ZONE))
    fleet.claim[1:] = demand.code[0]
    plan = decided(fleet, demand)
    assert sorted(plan.rows(Op.ASSIGN).tolist()) == [1, 2, 3]
