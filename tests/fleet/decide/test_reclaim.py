import msgspec
import numpy as np
import pytest
from tests.fleet.builders import NOW, RACK, demand_of, fleet_of, machines, need, shape

from remuda.fleet import states
from remuda.fleet.act import begin
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import NUMPY
from remuda.fleet.demand import Demand, Held, Size
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy, Rails
from remuda.model.machines import State
from remuda.model.plans import Reason, Term
from remuda.model.shapes import DOLLAR, CapacityType, FleetMachine, Shape
from remuda.model.times import MINUTE, SECOND

FREE = Policy(rails=Rails(preempt_percent=None, reclaim_percent=None))


def decided(
    fleet: Fleet, demand: Demand, policy: Policy = FREE, memory: Memory | None = None, now: int = NOW
) -> Plan:
    return decide(fleet, demand, memory or Memory(), policy, now, engine=NUMPY)[0]


def holding(number: int, of: Shape, name: str, cluster: str = "c") -> list[FleetMachine]:
    prefix = f"{cluster}-{name}-{of.instance_type}-{of.zone}-{of.labels.get(RACK, '')}"
    return machines(number, of, State.CONFIGURED, cluster=cluster, need=name, prefix=prefix)


def only(plan: Plan, op: Op) -> Block:
    (found,) = [block for block in plan.blocks if block.op is op]
    return found


def of_type(capacity: CapacityType, dollars: int = 1) -> Shape:
    return msgspec.structs.replace(shape(dollars=dollars), capacity_type=capacity)


class TestReclaims:
    def test_what_no_need_claims_goes_with_its_numbers(self) -> None:
        fleet = fleet_of(holding(3, shape(dollars=2), "gone"), holding(2, shape(), "stays"))
        demand = demand_of(fleet, need("stays", 2))
        plan = decided(fleet, demand)
        found = only(plan, Op.RECLAIM)
        assert found.rows.tolist() == [0, 1, 2]
        assert found.needs.tolist() == [-1, -1, -1]
        assert found.grace.tolist() == [10 * MINUTE] * 3
        gone = fleet.names.need(0, "gone")
        assert found.terms_at(0) == {"price": 2 * DOLLAR, "penalty": 0, "need": gone}

    def test_the_cheapest_to_lose_goes_first_then_the_dearest_to_keep(self) -> None:
        fleet = fleet_of(
            holding(2, shape(dollars=1), "a"),
            holding(2, shape(dollars=3), "b"),
            holding(2, shape(dollars=9), "c"),
        )
        demand = demand_of(
            fleet,
            need("a", 1),
            need("b", 1),
            need("c", 1, reclamation_penalty=5 * DOLLAR),
        )
        found = only(decided(fleet, demand), Op.RECLAIM)
        prices = (fleet.kinds.price[fleet.kind[found.rows]] // DOLLAR).tolist()
        assert prices == [3, 1, 9]

    def test_what_a_need_would_miss_most_goes_last_whichever_need_it_is(self) -> None:
        fleet = fleet_of(holding(2, shape(dollars=9), "a"), holding(1, shape(dollars=1), "gone"))
        demand = demand_of(fleet, need("a", 1, reclamation_penalty=5 * DOLLAR))
        assert only(decided(fleet, demand, Policy()), Op.RECLAIM).rows.tolist() == [2]

    def test_five_percent_of_a_cluster_go_in_a_minute_of_wall_clock(self) -> None:
        fleet = fleet_of(holding(60, shape(), "gone"))
        demand = demand_of(fleet, need("other", 0))
        plan, memory = decide(fleet, demand, Memory(), Policy(), NOW, engine=NUMPY)
        assert plan.count(Op.RECLAIM) == 3
        terms: dict[str, Term] = {
            "percent": 5,
            "machines": 60,
            "most": 3,
            "recent": 0,
            "now": 3,
            "held_back": 57,
        }
        assert plan.rails == (Reason("rail.reclaims", "cluster/c", terms),)
        begin(fleet, demand, plan, NOW)
        for later in (1, SECOND, MINUTE - 1):
            none, memory = decide(fleet, demand, memory, Policy(), NOW + later, engine=NUMPY)
            assert none.count(Op.RECLAIM) == 0
        assert memory.settled is not None
        assert memory.settled.until == NOW + MINUTE
        after, _ = decide(fleet, demand, memory, Policy(), NOW + MINUTE, engine=NUMPY)
        assert after.count(Op.RECLAIM) == 2

    def test_a_small_cluster_gives_one(self) -> None:
        fleet = fleet_of(holding(4, shape(), "gone"))
        assert decided(fleet, demand_of(fleet, need("other", 0)), Policy()).count(Op.RECLAIM) == 1

    def test_each_cluster_has_its_own_rail(self) -> None:
        fleet = fleet_of(holding(40, shape(), "gone"), holding(100, shape(), "gone", "d"))
        demand = demand_of(fleet, need("other", 0), need("other", 0, cluster="d"))
        memory = Memory(reclaimed={0: ((NOW - SECOND, 1),)})
        plan = decided(fleet, demand, Policy(), memory)
        clusters = fleet.cluster[plan.rows(Op.RECLAIM)]
        assert np.bincount(clusters).tolist() == [1, 5]

    def test_nothing_is_taken_from_a_cluster_that_was_not_heard(self) -> None:
        fleet = fleet_of(holding(4, shape(), "x", "quiet"), holding(4, shape(), "gone"))
        plan = decided(fleet, demand_of(fleet, need("other", 0)))
        assert fleet.cluster[plan.rows(Op.RECLAIM)].tolist() == [1] * 4
        assert plan.rails == (Reason("rail.unheard", "cluster/quiet", {"held_back": 4}),)

    def test_nothing_is_taken_from_a_cluster_whose_roll_up_is_held(self) -> None:
        fleet = fleet_of(holding(4, shape(), "n"))
        demand = demand_of(fleet, need("n", 1))
        demand.hold("c", Held((), Size(0, {}), Size(20, {}), 2))
        plan = decided(fleet, demand)
        assert plan.count(Op.RECLAIM) == 0
        terms: dict[str, Term] = {
            "percent": 10,
            "rows": 0,
            "accepted": 20,
            "agreeing": 2,
            "needed": 3,
            "held_back": 3,
        }
        assert plan.rails == (Reason("rail.rollup", "cluster/c", terms),)

    def test_a_machine_backing_off_is_tried_when_that_is_over(self) -> None:
        fleet = fleet_of(holding(1, shape(), "gone"))
        fleet.delay(np.array([0]), NOW + SECOND)
        demand = demand_of(fleet, need("other", 0))
        plan, memory = decide(fleet, demand, Memory(), FREE, NOW, engine=NUMPY)
        assert len(plan) == 0
        assert memory.settled is not None
        assert memory.settled.until == NOW + SECOND
        assert decided(fleet, demand, memory=memory, now=NOW + SECOND).count(Op.RECLAIM) == 1

    def test_the_kill_switch_spends_no_rail(self) -> None:
        fleet = fleet_of(holding(60, shape(), "gone"))
        paused = Policy(rails=Rails(paused=True))
        plan, memory = decide(fleet, demand_of(fleet, need("other", 0)), Memory(), paused, NOW, engine=NUMPY)
        assert (plan.withheld, memory.reclaimed) == (3, {})


class TestReleases:
    @pytest.mark.parametrize(
        ("capacity", "hold"),
        [
            (CapacityType.ON_DEMAND, 10 * MINUTE),
            (CapacityType.SPOT, MINUTE),
            (CapacityType.BARE_METAL, None),
            (CapacityType.RESERVED, None),
        ],
    )
    def test_an_idle_machine_goes_after_the_hold_of_its_capacity_type(
        self, capacity: CapacityType, hold: int | None
    ) -> None:
        fleet = fleet_of(machines(1, of_type(capacity)))
        demand = demand_of(fleet)
        if hold is None:
            assert len(decided(fleet, demand, now=NOW + 100_000 * MINUTE)) == 0
            return
        plan, memory = decide(fleet, demand, Memory(), FREE, NOW + hold - 1, engine=NUMPY)
        assert len(plan) == 0
        assert memory.settled is not None
        assert memory.settled.until == NOW + hold
        found = only(decided(fleet, demand, memory=memory, now=NOW + hold + 5), Op.RELEASE)
        assert found.terms_at(0) == {"idle_for": hold + 5, "hold": hold, "price": DOLLAR}

    def test_what_a_need_is_given_stays(self) -> None:
        fleet = fleet_of(machines(3, of_type(CapacityType.SPOT), since=0))
        plan = decided(fleet, demand_of(fleet, need("n", 2)))
        assert (plan.rows(Op.ASSIGN).tolist(), plan.rows(Op.RELEASE).tolist()) == ([0, 1], [2])

    def test_what_is_claimed_stays_while_its_need_is_asked_for(self) -> None:
        fleet = fleet_of(machines(1, of_type(CapacityType.SPOT), since=0))
        demand = demand_of(fleet, need("n", 1))
        fleet.change(np.array([0]), states.IDLE, 0, claim=int(demand.code[0]))
        assert decided(fleet, demand).count(Op.RELEASE) == 0
        demand.put("c", ())
        assert decided(fleet, demand).count(Op.RELEASE) == 1

    def test_holds_are_as_the_operator_sets_them(self) -> None:
        fleet = fleet_of(machines(1, of_type(CapacityType.BARE_METAL)))
        policy = msgspec.structs.replace(FREE, holds={CapacityType.BARE_METAL: SECOND})
        assert decided(fleet, demand_of(fleet), policy, now=NOW + SECOND).count(Op.RELEASE) == 1

    def test_a_clock_that_was_set_back_releases_nothing_early(self) -> None:
        fleet = fleet_of(machines(1, of_type(CapacityType.SPOT)))
        assert decided(fleet, demand_of(fleet), now=NOW - 100 * MINUTE).count(Op.RELEASE) == 0
