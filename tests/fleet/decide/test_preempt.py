from typing import Any

import msgspec
import numpy as np
import pytest
from tests.fleet.builders import NOW, RACK, demand_of, fleet_of, machines, need, requirements, shape, work_of

from remuda.fleet import states
from remuda.fleet.act import begin
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import NUMPY
from remuda.fleet.decide.preempt_singly import members
from remuda.fleet.decide.victims import find_victims
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy, Rails, Weights
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR, ZONE, CapacityType, FleetMachine, Shape
from remuda.model.times import MINUTE, SECOND
from remuda.model.units import PINNED, FleetNeed, Separation, Spread

FREE = Policy(rails=Rails(preempt_percent=None, reclaim_percent=None))


def decided(
    fleet: Fleet, demand: Demand, policy: Policy = FREE, memory: Memory | None = None, now: int = NOW
) -> Plan:
    return decide(fleet, demand, memory or Memory(), policy, now, engine=NUMPY)[0]


def holding(number: int, of: Shape, name: str, cluster: str = "c") -> list[FleetMachine]:
    prefix = f"{cluster}-{name}-{of.instance_type}-{of.zone}-{of.labels.get(RACK, '')}"
    return machines(number, of, State.CONFIGURED, cluster=cluster, need=name, prefix=prefix)


def block(plan: Plan) -> Block:
    (found,) = [one for one in plan.blocks if one.op is Op.PREEMPT]
    return found


def victims(plan: Plan, fleet: Fleet) -> dict[str, int]:
    """How many machines each need loses."""
    found: dict[str, int] = {}
    for row in plan.rows(Op.PREEMPT).tolist():
        name = fleet.names.needs[int(fleet.need[row])]
        found[name] = found.get(name, 0) + 1
    return found


def test_a_higher_priority_takes_as_many_machines_as_it_lacks_and_no_more() -> None:
    fleet = fleet_of(holding(10, shape(), "low"))
    demand = demand_of(fleet, need("low", 10, priority=100), need("high", 3, cluster="d", priority=200))
    plan = decided(fleet, demand)
    found = block(plan)
    assert found.rows.tolist() == [0, 1, 2]
    assert [fleet.names.needs[code] for code in found.needs.tolist()] == ["high"] * 3
    assert found.terms_at(0) == {
        "priority": 200,
        "gap": 100,
        "victim": demand.code[0],
        "units": 1,
        "score": 600 * 1_000 - 100 * 1_000,
        "grace": 10 * MINUTE,
    }
    assert plan.shortfalls == () or [fleet.names.needs[one.need] for one in plan.shortfalls] == ["low"]


@pytest.mark.parametrize("priority", [100, 99])
def test_an_equal_or_lower_priority_takes_nothing(priority: int) -> None:
    fleet = fleet_of(holding(4, shape(), "low"))
    demand = demand_of(fleet, need("low", 4, priority=100), need("other", 2, cluster="d", priority=priority))
    assert decided(fleet, demand).count(Op.PREEMPT) == 0


@pytest.mark.parametrize(
    ("gap", "grace"),
    [
        (1_000_000, 10 * SECOND),
        (900_001, 10 * SECOND),
        (900_000, 30 * SECOND),
        (500_001, 30 * SECOND),
        (500_000, 2 * MINUTE),
        (100_001, 2 * MINUTE),
        (100_000, 10 * MINUTE),
        (1, 10 * MINUTE),
    ],
)
def test_the_grace_goes_by_the_gap_of_priorities(gap: int, grace: int) -> None:
    fleet = fleet_of(holding(1, shape(), "low"))
    demand = demand_of(fleet, need("low", priority=5), need("high", cluster="d", priority=5 + gap))
    assert block(decided(fleet, demand)).grace.tolist() == [grace]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"priority": 100}, {"priority": 50}, "second"),
        ({"priority": 100, "reclamation_penalty": DOLLAR}, {"priority": 100}, "second"),
        ({"priority": 100, "interruption_penalty": DOLLAR}, {"priority": 100}, "second"),
        ({"priority": 100, "reclamation_penalty": DOLLAR}, {"priority": 600}, "second"),
        ({"priority": 100, "reclamation_penalty": DOLLAR}, {"priority": 1_600}, "first"),
        ({"priority": 100, "reclamation_penalty": PINNED}, {"priority": 900_000}, "second"),
        ({"priority": 100}, {"priority": 100}, "first"),
    ],
)
def test_the_victim_that_costs_least_is_taken(
    first: dict[str, Any], second: dict[str, Any], expected: str
) -> None:
    fleet = fleet_of(holding(2, shape(), "first"), holding(2, shape(), "second"))
    demand = demand_of(
        fleet,
        need("first", 2, **first),
        need("second", 2, **second),
        need("high", cluster="d", priority=950_000),
    )
    assert victims(decided(fleet, demand), fleet) == {expected: 1}


def test_what_would_be_wasted_counts_against_a_victim() -> None:
    fleet = fleet_of(holding(1, shape(units=4), "large"), holding(1, shape(units=1), "small"))
    demand = demand_of(fleet, need("large", 4), need("small"), need("high", cluster="d", priority=9))
    assert victims(decided(fleet, demand), fleet) == {"small": 1}


def test_the_cost_is_compared_for_each_unit_gained() -> None:
    fleet = fleet_of(holding(1, shape(units=4), "large"), holding(4, shape(units=1), "small"))
    demand = demand_of(fleet, need("large", 4), need("small", 4), need("high", 4, cluster="d", priority=9))
    assert victims(decided(fleet, demand), fleet) == {"large": 1}


def test_a_wide_gap_does_not_make_many_victims_better_than_one() -> None:
    fleet = fleet_of(holding(1, shape(units=4), "large"), holding(4, shape(units=1), "small"))
    demand = demand_of(
        fleet, need("large", 4), need("small", 4), need("high", 4, cluster="d", priority=2_000_000)
    )
    assert victims(decided(fleet, demand), fleet) == {"large": 1}


def test_weights_decide_what_counts() -> None:
    fleet = fleet_of(holding(1, shape(), "cheap"), holding(1, shape(), "dear"))
    demand = demand_of(
        fleet,
        need("cheap", priority=90, reclamation_penalty=DOLLAR),
        need("dear", priority=10, reclamation_penalty=50 * DOLLAR),
        need("high", cluster="d", priority=100),
    )
    assert victims(decided(fleet, demand), fleet) == {"cheap": 1}
    weights = Weights(gap=1_000_000)
    assert victims(decided(fleet, demand, msgspec.structs.replace(FREE, weights=weights)), fleet) == {
        "dear": 1
    }


def test_a_gang_is_taken_whole_or_not_at_all() -> None:
    gang = holding(3, shape(rack="r"), "gang")
    fleet = fleet_of(gang, holding(2, shape(rack="r"), "single"))
    demand = demand_of(
        fleet, need("gang", 3, same=RACK), need("single", 2), need("high", 1, cluster="d", priority=9)
    )
    assert victims(decided(fleet, demand), fleet) == {"single": 1}
    demand = demand_of(
        fleet,
        need("gang", 3, same=RACK),
        need("single", 2, priority=9),
        need("high", 1, cluster="d", priority=9),
    )
    assert victims(decided(fleet, demand), fleet) == {"gang": 3}


def test_members_of_a_gang_whom_its_preemptor_cannot_use_go_too() -> None:
    fleet = fleet_of(
        holding(1, shape(rack="r", units=1), "gang"), holding(1, shape(rack="r", units=4), "gang")
    )
    demand = demand_of(
        fleet,
        need("gang", 5, same=RACK),
        FleetNeed("d", "high", {"cpu": 4_000}, 1, priority=9),
    )
    found = block(decided(fleet, demand))
    assert sorted(found.rows.tolist()) == [0, 1]
    assert sorted(found.terms["units"].tolist()) == [0, 1]


def test_what_goes_with_a_gang_serves_other_preemptors_before_anyone_else_must_go() -> None:
    fleet = fleet_of(holding(3, shape(rack="r"), "gang"), holding(3, shape(), "single"))
    demand = demand_of(
        fleet,
        need("gang", 3, same=RACK),
        need("single", 3, reclamation_penalty=1_000 * DOLLAR),
        need("one", cluster="d", priority=9),
        need("two", 2, cluster="e", priority=8),
    )
    plan = decided(fleet, demand)
    assert victims(plan, fleet) == {"gang": 3}
    assert sorted(fleet.names.needs[code] for code in block(plan).needs.tolist()) == ["one", "two", "two"]


def test_a_gang_of_which_a_machine_is_on_its_way_is_left_alone() -> None:
    fleet = fleet_of(
        holding(2, shape(rack="r"), "gang"),
        machines(1, shape(rack="r"), State.CONFIGURING, cluster="c", need="gang"),
    )
    demand = demand_of(fleet, need("gang", 3, same=RACK), need("high", 1, cluster="d", priority=9))
    assert decided(fleet, demand).count(Op.PREEMPT) == 0


def test_a_gang_that_is_just_being_completed_is_left_alone() -> None:
    held, other = shape("a", rack="r"), shape("b", rack="r")
    in_a = Requirement(ZONE, Operator.IN, ("a",))
    needs = (need("gang", 3, same=RACK), need("high", 2, cluster="d", priority=9, requirements=(in_a,)))
    fleet = fleet_of(holding(2, held, "gang"), machines(1, other))
    plan = decided(fleet, demand_of(fleet, *needs))
    assert (plan.count(Op.ASSIGN), plan.count(Op.PREEMPT)) == (1, 0)
    fleet = fleet_of(holding(2, held, "gang"))
    assert decided(fleet, demand_of(fleet, *needs)).count(Op.PREEMPT) == 2


def test_what_is_being_drained_for_a_need_is_not_taken_twice() -> None:
    fleet = fleet_of(holding(10, shape(), "low"))
    demand = demand_of(fleet, need("low", 10, priority=100), need("high", 3, cluster="d", priority=200))
    plan, memory = decide(fleet, demand, Memory(), FREE, NOW, engine=NUMPY)
    begin(fleet, demand, plan, NOW)
    assert decided(fleet, demand, memory=memory, now=NOW + SECOND).count(Op.PREEMPT) == 0
    rows = plan.rows(Op.PREEMPT)
    fleet.change(rows, states.IDLE, NOW + MINUTE, cluster=-1, need=-1)
    after = decided(fleet, demand, memory=memory, now=NOW + MINUTE)
    assert (after.count(Op.PREEMPT), after.rows(Op.ASSIGN).tolist()) == (0, rows.tolist())


def test_surplus_is_waited_for_before_anyone_is_drained() -> None:
    fleet = fleet_of(holding(4, shape(), "low"), holding(2, shape(), "gone"))
    demand = demand_of(fleet, need("low", 4), need("high", 3, cluster="d", priority=9))
    plan = decided(fleet, demand)
    assert victims(plan, fleet) == {"low": 1}
    assert plan.rows(Op.RECLAIM).tolist() == [4, 5]


def test_a_machine_backing_off_is_no_victim() -> None:
    fleet = fleet_of(holding(2, shape(), "low"))
    fleet.delay(np.array([0]), NOW + MINUTE)
    demand = demand_of(fleet, need("low", 2), need("high", 2, cluster="d", priority=9))
    assert block(decided(fleet, demand)).rows.tolist() == [1]


def test_a_cluster_that_was_not_heard_keeps_its_machines_by_the_priority_they_carry() -> None:
    stamped = [
        msgspec.structs.replace(one, priority=50)
        for one in machines(2, shape(), State.CONFIGURED, cluster="quiet", need="x")
    ]
    fleet = fleet_of(stamped)
    assert decided(fleet, demand_of(fleet, need("high", cluster="d", priority=50))).count(Op.PREEMPT) == 0
    fleet = fleet_of(stamped)
    assert decided(fleet, demand_of(fleet, need("high", cluster="d", priority=51))).count(Op.PREEMPT) == 1


def test_a_need_that_asks_for_another_priority_now_is_judged_by_that() -> None:
    fleet = fleet_of(
        [
            msgspec.structs.replace(one, priority=5)
            for one in machines(2, shape(), State.CONFIGURED, cluster="c", need="low")
        ]
    )
    demand = demand_of(fleet, need("low", 2, priority=500), need("high", cluster="d", priority=50))
    assert decided(fleet, demand).count(Op.PREEMPT) == 0


def test_what_was_just_adopted_is_not_taken() -> None:
    fleet = fleet_of(holding(2, shape(), "gone"))
    demand = demand_of(fleet, need("heir", 2, priority=1), need("high", 2, cluster="d", priority=9))
    plan = decided(fleet, demand)
    assert (plan.count(Op.ADOPT), plan.count(Op.PREEMPT)) == (2, 0)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"spread": Spread(ZONE, 1)}, id="a spread"),
        pytest.param({"count": None, "total": {"cpu": 1_000}}, id="a sum"),
        pytest.param({}, id="a plain need"),
    ],
)
def test_two_wait_for_what_is_taken_back_from_others_and_a_third_preempts(asked: dict[str, Any]) -> None:
    fleet = fleet_of(holding(2, shape(), "gone"), holding(3, shape(), "low"))
    high = [need(f"high{number}", cluster="d", priority=9, **asked) for number in range(3)]
    plan = decided(fleet, demand_of(fleet, need("low", 3), *high))
    assert victims(plan, fleet) == {"low": 1}
    assert [one.reason.code for one in plan.shortfalls] == ["need.waiting"] * 2


def test_the_members_of_a_lot_are_its_own() -> None:
    fleet = fleet_of(
        holding(2, shape(rack="r"), "gang"),
        holding(1, shape("b", rack="r"), "gang"),
        holding(4, shape(), "low"),
        holding(4, shape("c"), "lower"),
    )
    asked = (need("gang", 3, same=RACK), need("low", 4), need("lower", 4, priority=-1))
    work = work_of(fleet, *asked, need("high", 9, priority=9))
    found = find_victims(work, np.zeros(0, np.int64))
    lots = sorted((found.whole[lot], members(found, lot).tolist()) for lot in range(len(found.start)))
    assert lots == [(False, [0, 0, 0, 1]), (False, [0, 0, 1, 0]), (True, [2, 1, 0, 0])]


def test_a_need_that_has_nothing_to_hope_for_takes_no_hope_from_a_lower_one() -> None:
    in_a, in_z = (requirements(f"topology.kubernetes.io/zone={zone}") for zone in "az")
    fleet = fleet_of(holding(2, shape("a"), "low"))
    demand = demand_of(
        fleet,
        need("low", 2),
        need("hopeless", cluster="d", priority=9, requirements=in_z),
        need("hopeful", cluster="e", priority=8, requirements=in_a),
    )
    plan = decided(fleet, demand)
    assert [fleet.names.needs[code] for code in block(plan).needs.tolist()] == ["hopeful"]


def test_of_what_goes_with_a_gang_others_use_no_more_than_they_lack() -> None:
    fleet = fleet_of(holding(4, shape(rack="r"), "gang"))
    high = [need(name, cluster="d", priority=9) for name in ("one", "two")]
    plan = decided(fleet, demand_of(fleet, need("gang", 4, same=RACK), *high))
    assert victims(plan, fleet) == {"gang": 4}
    assert sorted(block(plan).terms["units"].tolist()) == [0, 0, 1, 1]


def test_a_gang_of_two_kinds_serves_two_preemptors() -> None:
    """One machine of each kind goes: the first preemptor needs one of them, the second gets the other."""
    fleet = fleet_of(
        holding(1, shape("a", rack="r"), "gang"),
        holding(1, shape("b", rack="r"), "gang"),
        holding(3, shape(), "dear"),
    )
    plan = decided(
        fleet,
        demand_of(
            fleet,
            need("gang", 2, same=RACK),
            need("dear", 3, reclamation_penalty=1_000 * DOLLAR),
            need("one", cluster="d", priority=9),
            need("two", cluster="e", priority=8),
        ),
    )
    assert victims(plan, fleet) == {"gang": 2}
    assert (plan.missing, sorted(block(plan).terms["units"].tolist())) == (0, [1, 1])


class TestGangs:
    def test_what_is_for_sale_completes_one_gang_alone(self) -> None:
        """Both would need one victim and the same two machines that are for sale."""
        fleet = fleet_of(holding(2, shape(rack="r"), "low"), machines(2, shape(rack="r"), State.SPECULATIVE))
        gangs = [need(f"gang{number}", 3, cluster="d", priority=9 - number, same=RACK) for number in (0, 1)]
        plan = decided(fleet, demand_of(fleet, need("low", 2), *gangs))
        assert plan.count(Op.PREEMPT) == 1
        assert plan.missing == 3

    def test_three_small_victims_cost_more_than_one_large_that_costs_less_than_they_together(self) -> None:
        fleet = fleet_of(holding(3, shape(rack="a"), "small"), holding(1, shape(rack="b", units=3), "large"))
        demand = demand_of(
            fleet,
            need("small", 3),
            need("large", 3, reclamation_penalty=DOLLAR * 9 // 10),
            need("gang", 3, cluster="d", priority=9, same=RACK),
        )
        assert victims(decided(fleet, demand), fleet) == {"large": 1}

    def test_no_more_victims_go_than_give_it_its_units(self) -> None:
        fleet = fleet_of(holding(5, shape(rack="r", units=2), "low"))
        demand = demand_of(fleet, need("low", 10), need("gang", 4, cluster="d", priority=9, same=RACK))
        assert victims(decided(fleet, demand), fleet) == {"low": 2}

    def test_a_victim_that_must_not_go_and_is_not_taken_does_not_speak_against_its_domain(self) -> None:
        fleet = fleet_of(
            holding(1, shape(rack="a"), "cheap"),
            holding(1, shape(rack="a"), "pinned"),
            holding(1, shape(rack="b"), "dear"),
        )
        demand = demand_of(
            fleet,
            need("cheap"),
            need("pinned", reclamation_penalty=PINNED),
            need("dear", reclamation_penalty=9 * DOLLAR),
            need("gang", 1, cluster="d", priority=9, same=RACK),
        )
        assert victims(decided(fleet, demand), fleet) == {"cheap": 1}

    def test_a_gang_that_lost_a_member_takes_one_where_it_is(self) -> None:
        fleet = fleet_of(
            machines(1, shape(rack="b"), State.CONFIGURED, cluster="d", need="gang"),
            holding(2, shape(rack="a"), "cheap"),
            holding(1, shape(rack="b"), "dear"),
        )
        demand = demand_of(
            fleet,
            need("cheap", 2),
            need("dear", 1, reclamation_penalty=9 * DOLLAR),
            need("gang", 2, cluster="d", priority=9, same=RACK),
        )
        assert victims(decided(fleet, demand), fleet) == {"dear": 1}

    def test_a_gang_takes_what_completes_it_in_the_cheapest_domain(self) -> None:
        fleet = fleet_of(
            holding(3, shape(rack="a"), "dear"),
            holding(3, shape(rack="b"), "cheap"),
            machines(1, shape(rack="b")),
        )
        demand = demand_of(
            fleet,
            need("dear", 3, reclamation_penalty=9 * DOLLAR),
            need("cheap", 3),
            need("gang", 3, cluster="d", priority=9, same=RACK),
        )
        plan = decided(fleet, demand)
        assert victims(plan, fleet) == {"cheap": 2}
        assert plan.count(Op.ASSIGN) == 0

    def test_a_gang_that_no_domain_can_complete_drains_nobody(self) -> None:
        fleet = fleet_of(holding(3, shape(rack="a"), "low"), holding(3, shape(rack="b"), "low"))
        demand = demand_of(fleet, need("low", 6), need("gang", 4, cluster="d", priority=9, same=RACK))
        assert decided(fleet, demand).count(Op.PREEMPT) == 0

    def test_free_machines_it_counts_on_are_not_released(self) -> None:
        spot = msgspec.structs.replace(shape(rack="b"), capacity_type=CapacityType.SPOT)
        fleet = fleet_of(holding(2, spot, "low"), machines(2, spot, since=0))
        demand = demand_of(fleet, need("low", 2), need("gang", 3, cluster="d", priority=9, same=RACK))
        plan = decided(fleet, demand)
        assert (plan.count(Op.PREEMPT), plan.count(Op.RELEASE)) == (1, 0)
        assert decided(fleet, demand_of(fleet, need("low", 2))).count(Op.RELEASE) == 2

    def test_it_starts_when_its_victims_are_drained(self) -> None:
        fleet = fleet_of(holding(3, shape(rack="b"), "low"), machines(1, shape(rack="b")))
        demand = demand_of(fleet, need("low", 3), need("gang", 3, cluster="d", priority=9, same=RACK))
        plan, memory = decide(fleet, demand, Memory(), FREE, NOW, engine=NUMPY)
        begin(fleet, demand, plan, NOW)
        rows = plan.rows(Op.PREEMPT)
        assert len(rows) == 2
        waiting, memory = decide(fleet, demand, memory, FREE, NOW + 1, engine=NUMPY)
        assert len(waiting) == 0
        fleet.change(rows, states.IDLE, NOW + MINUTE, cluster=-1, need=-1)
        started = decided(fleet, demand, memory=memory, now=NOW + MINUTE)
        assert sorted(started.rows(Op.ASSIGN).tolist()) == [0, 1, 3]

    def test_machines_for_sale_complete_it_where_they_may_be_bought(self) -> None:
        fleet = fleet_of(holding(1, shape(rack="b"), "low"), machines(2, shape(rack="b"), State.SPECULATIVE))
        demand = demand_of(fleet, need("low"), need("gang", 3, cluster="d", priority=9, same=RACK))
        assert victims(decided(fleet, demand), fleet) == {"low": 1}

    def test_it_never_takes_more_at_once_than_the_rail_allows(self) -> None:
        fleet = fleet_of(holding(100, shape(rack="b"), "low"))
        demand = demand_of(fleet, need("low", 100), need("gang", 3, cluster="d", priority=9, same=RACK))
        plan = decided(fleet, demand, Policy())
        assert plan.count(Op.PREEMPT) == 0
        assert [one.reason.code for one in plan.shortfalls] == ["need.capped-by-rail"]
        assert [one.code for one in plan.rails] == ["rail.preemptions"]


class TestSpreads:
    def test_only_victims_that_keep_the_spread_are_taken(self) -> None:
        fleet = fleet_of(holding(4, shape("a"), "low"), holding(1, shape("b"), "low"))
        demand = demand_of(
            fleet, need("low", 5), need("level", 4, cluster="d", priority=9, spread=Spread(ZONE, 1))
        )
        plan = decided(fleet, demand)
        zones = [fleet.kinds.shapes[fleet.kind[row]].zone for row in plan.rows(Op.PREEMPT).tolist()]
        assert sorted(zones) == ["a", "a", "b"]

    def test_a_separation_by_domain_takes_no_more_of_a_domain_than_count(self) -> None:
        fleet = fleet_of(holding(4, shape("a"), "low"), holding(4, shape("b"), "low"))
        demand = demand_of(
            fleet, need("low", 8), need("apart", 6, cluster="d", priority=9, separation=Separation(2, ZONE))
        )
        plan = decided(fleet, demand)
        zones = [fleet.kinds.shapes[fleet.kind[row]].zone for row in plan.rows(Op.PREEMPT).tolist()]
        assert sorted(zones) == ["a", "a", "b", "b"]


def test_a_sum_takes_what_it_lacks_of_every_resource() -> None:
    fleet = fleet_of(holding(5, shape(units=2), "low"))
    demand = demand_of(
        fleet, need("low", 10), need("sum", None, cluster="d", priority=9, total={"cpu": 5_000})
    )
    plan = decided(fleet, demand)
    assert plan.count(Op.PREEMPT) == 3


def test_a_sum_in_one_domain_takes_all_or_nothing() -> None:
    fleet = fleet_of(holding(3, shape("a"), "low"), holding(2, shape("b"), "low"))
    total = {"cpu": 3_000}
    demand = demand_of(
        fleet, need("low", 5), need("sum", None, cluster="d", priority=9, total=total, same=ZONE)
    )
    plan = decided(fleet, demand)
    assert plan.rows(Op.PREEMPT).tolist() == [0, 1, 2]
    total = {"cpu": 4_000}
    demand = demand_of(
        fleet, need("low", 5), need("sum", None, cluster="d", priority=9, total=total, same=ZONE)
    )
    assert decided(fleet, demand).count(Op.PREEMPT) == 0


def test_a_sum_in_one_domain_takes_as_many_as_the_rail_lets_go_and_is_met() -> None:
    fleet = fleet_of(holding(3, shape("a"), "low"), machines(1, shape("a")))
    total = {"cpu": 2_000}
    demand = demand_of(
        fleet, need("low", 3), need("sum", None, cluster="d", priority=9, total=total, same=ZONE)
    )
    plan = decided(fleet, demand, Policy())
    assert (plan.count(Op.PREEMPT), plan.missing) == (1, 0)


class TestRail:
    def test_two_percent_of_the_fleet_go_in_a_minute_and_the_plan_says_so(self) -> None:
        fleet = fleet_of(holding(150, shape(), "low"))
        demand = demand_of(fleet, need("low", 150), need("high", 8, cluster="d", priority=9))
        plan, memory = decide(fleet, demand, Memory(), Policy(), NOW, engine=NUMPY)
        assert plan.count(Op.PREEMPT) == 3
        (rail,) = plan.rails
        assert rail.code == "rail.preemptions"
        assert rail.terms == {"percent": 2, "machines": 150, "most": 3, "recent": 0, "now": 3, "held_back": 5}
        begin(fleet, demand, plan, NOW)
        half, memory = decide(fleet, demand, memory, Policy(), NOW + MINUTE // 2, engine=NUMPY)
        assert half.count(Op.PREEMPT) == 0
        assert memory.settled is not None
        assert memory.settled.until == NOW + MINUTE
        after, _ = decide(fleet, demand, memory, Policy(), NOW + MINUTE, engine=NUMPY)
        assert after.count(Op.PREEMPT) == 3

    def test_a_small_fleet_gives_one(self) -> None:
        fleet = fleet_of(holding(5, shape(), "low"))
        demand = demand_of(fleet, need("low", 5), need("high", 3, cluster="d", priority=9))
        assert decided(fleet, demand, Policy()).count(Op.PREEMPT) == 1

    def test_a_gang_that_waits_for_the_rail_is_not_overtaken(self) -> None:
        fleet = fleet_of(holding(150, shape(rack="b"), "low"))
        demand = demand_of(
            fleet,
            need("low", 150),
            need("gang", 3, cluster="d", priority=9, same=RACK),
            need("other", 3, cluster="e", priority=8),
        )
        memory = Memory(preempted=((NOW - SECOND, 1),))
        plan, after = decide(fleet, demand, memory, Policy(), NOW, engine=NUMPY)
        assert plan.count(Op.PREEMPT) == 0
        plan, _ = decide(fleet, demand, after, Policy(), NOW + MINUTE, engine=NUMPY)
        assert [fleet.names.needs[code] for code in block(plan).needs.tolist()] == ["gang"] * 3

    def test_a_gang_larger_than_the_rail_is_no_victim_and_the_plan_says_why(self) -> None:
        fleet = fleet_of(holding(100, shape(rack="b"), "gang"))
        demand = demand_of(fleet, need("gang", 100, same=RACK), need("high", 1, cluster="d", priority=9))
        plan = decided(fleet, demand, Policy())
        assert plan.count(Op.PREEMPT) == 0
        (shortfall,) = plan.shortfalls
        assert (shortfall.reason.code, shortfall.reason.terms["machines"]) == ("need.capped-by-rail", 100)

    def test_of_gangs_larger_than_the_rail_the_smallest_is_named(self) -> None:
        fleet = fleet_of(
            *(holding(size, shape(rack=f"r{size}"), f"gang{size}") for size in (5, 3, 4)),
        )
        gangs = [need(f"gang{size}", size, same=RACK) for size in (5, 3, 4)]
        plan = decided(fleet, demand_of(fleet, *gangs, need("high", cluster="d", priority=9)), Policy())
        (found,) = plan.shortfalls
        assert (found.reason.code, found.reason.terms["machines"]) == ("need.capped-by-rail", 3)

    def test_what_the_kill_switch_withholds_does_not_count(self) -> None:
        fleet = fleet_of(holding(150, shape(), "low"))
        demand = demand_of(fleet, need("low", 150), need("high", 8, cluster="d", priority=9))
        paused = Policy(rails=replace_rails(paused=True))
        plan, memory = decide(fleet, demand, Memory(), paused, NOW, engine=NUMPY)
        assert (plan.withheld, memory.preempted) == (3, ())


def replace_rails(**more: object) -> Rails:
    return msgspec.structs.replace(Rails(), **more)


@pytest.mark.parametrize(
    "high",
    [
        pytest.param({"count": 2}, id="a gang"),
        pytest.param({"count": None, "total": {"cpu": 2_000}}, id="a sum in one domain"),
    ],
)
def test_what_is_about_to_be_taken_back_completes_it_without_a_victim(high: dict[str, object]) -> None:
    """Its domain has what another cluster does without, so nobody of a lower priority must go for it."""
    surplus = machines(2, shape(rack="x"), State.CONFIGURED, cluster="c", need="gone")
    fleet = fleet_of(surplus, holding(2, shape(rack="y"), "low"))
    needs = (need("low", 2), need("high", cluster="d", same=RACK, priority=10, **high))  # type: ignore[arg-type]
    plan, _ = decide(fleet, demand_of(fleet, *needs), Memory(), Policy(), NOW)
    assert plan.count(Op.PREEMPT) == 0
    assert plan.count(Op.RECLAIM) == 1
    assert [short.reason.code for short in plan.shortfalls] != []
