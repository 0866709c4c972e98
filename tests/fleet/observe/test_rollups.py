import msgspec
import pytest
from tests.fleet.builders import demand_of, fleet_of, machines, need, shape

from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.observe.rollups import offer
from remuda.fleet.policy import Policy, Rails
from remuda.model.machines import State
from remuda.model.units import FleetNeed

POLICY = Policy()


def many(rows: int, count: int = 1) -> list[FleetNeed]:
    return [need(f"n{number}", count) for number in range(rows)]


def running(number: int = 50, needs: int = 1) -> Fleet:
    return fleet_of(
        *(
            machines(number // needs, shape(), State.CONFIGURED, cluster="c", need=f"n{name}")
            for name in range(needs)
        )
    )


def asked(demand: Demand) -> int:
    return int(demand.count.sum())


@pytest.mark.parametrize(
    ("before", "after", "believed"),
    [
        (many(20), many(2), True),
        (many(20), many(1), False),
        (many(20), [], False),
        (many(10), [], False),
        (many(1, 200), many(1, 20), True),
        (many(1, 200), many(1, 19), False),
        (many(20, 10), many(20, 0), False),
        (many(20), many(40), True),
        (many(9), [], False),
        (many(1), [], False),
        (many(9), many(1), True),
        ([], many(3), True),
        ([], [], True),
    ],
)
def test_a_roll_up_is_believed_unless_it_drops_too_far(
    before: list[FleetNeed], after: list[FleetNeed], believed: bool
) -> None:
    fleet = running()
    demand = demand_of(fleet)
    demand.put("c", before)
    assert offer(demand, fleet, "c", after, POLICY) is believed
    assert len(demand) == len(after if believed else before)
    assert (0 in demand.held) is not believed


def test_any_resource_that_is_nearly_gone_is_enough_to_hold_it() -> None:
    fleet = running()
    demand = demand_of(fleet)
    both = [msgspec.structs.replace(one, unit={"cpu": 1_000, "gpu": 1}) for one in many(20, 3)]
    demand.put("c", both)
    assert not offer(demand, fleet, "c", many(20, 3), POLICY)


def test_it_is_believed_when_three_in_a_row_agree() -> None:
    fleet = running()
    demand = demand_of(fleet)
    demand.put("c", many(1, 200))
    assert [offer(demand, fleet, "c", many(1, units), POLICY) for units in (1, 3, 2)] == [False, False, True]
    assert asked(demand) == 2
    assert not demand.held


def test_one_that_is_as_large_as_before_begins_the_count_anew() -> None:
    fleet = running()
    demand = demand_of(fleet)
    demand.put("c", many(1, 200))
    answers = [offer(demand, fleet, "c", many(1, units), POLICY) for units in (1, 1, 180, 1, 1)]
    assert answers == [False, False, True, False, False]
    assert asked(demand) == 180


def test_an_operator_may_confirm_it() -> None:
    fleet = running()
    demand = demand_of(fleet)
    demand.put("c", many(1, 200))
    assert not offer(demand, fleet, "c", [], POLICY)
    assert offer(demand, fleet, "c", [], POLICY, confirmed=True)
    assert len(demand) == 0
    assert not demand.held


def test_the_rail_may_be_turned_off() -> None:
    fleet = running()
    demand = demand_of(fleet)
    demand.put("c", many(1, 200))
    assert offer(demand, fleet, "c", [], Policy(rails=Rails(rollup_percent=None)))


@pytest.mark.parametrize(
    ("fleet", "first", "believed"),
    [
        (running(50), [], False),
        (running(50), many(1, 4), False),
        (running(50), many(1, 5), True),
        (running(200, 20), many(1, 200), False),
        (running(200, 20), many(2, 100), True),
        (running(9), [], True),
        (running(10), [], False),
        (fleet_of(), [], True),
        (fleet_of(machines(50, shape())), [], True),
    ],
)
def test_the_first_since_the_start_is_compared_with_what_its_machines_serve(
    fleet: Fleet, first: list[FleetNeed], believed: bool
) -> None:
    demand = demand_of(fleet)
    assert offer(demand, fleet, "c", first, POLICY) is believed
    assert (fleet.names.known_cluster("c") in demand.heard) is believed


def test_a_resource_nobody_asks_for_does_not_hold_the_first() -> None:
    rich = msgspec.structs.replace(shape(), allocatable={"cpu": 1_000, "pods": 110})
    fleet = fleet_of(machines(50, rich, State.CONFIGURED, cluster="c", need="n0"))
    assert offer(demand_of(fleet), fleet, "c", many(1, 50), POLICY)


def test_while_it_is_held_the_cluster_counts_as_not_heard_if_it_never_was() -> None:
    fleet = running(50)
    demand = demand_of(fleet)
    offer(demand, fleet, "c", [], POLICY)
    assert demand.held[0].accepted.resources == {"cpu": 50_000}
    assert demand.heard == {}
