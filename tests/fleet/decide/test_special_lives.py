"""Special needs through whole decisions: begun, broken, repaired, given up, and then at rest."""

import numpy as np
from tests.fleet.builders import RACK, machines, need, shape
from tests.fleet.world import LivingFleet, world_of

from remuda.fleet import states
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import ZONE, FleetMachine
from remuda.model.times import MINUTE
from remuda.model.units import FleetNeed, Spread


def gang(count: int, name: str = "n", priority: int = 0) -> FleetNeed:
    return need(name, count, same=RACK, priority=priority)


def rack(number: int, name: str, state: State = State.IDLE) -> list[FleetMachine]:
    return machines(number, shape(rack=name), state)


def members(number: int, name: str) -> list[FleetMachine]:
    return machines(number, shape(rack=name), State.CONFIGURED, cluster="c", need="n")


def serving(world: LivingFleet, name: str = "n") -> list[str]:
    """The racks of the machines that serve a need."""
    fleet = world.fleet
    code = fleet.names.need(fleet.names.cluster("c"), name)
    rows = np.flatnonzero((fleet.need == code) & (fleet.state == states.CONFIGURED))
    return sorted(world.shape(row).labels[RACK] for row in rows.tolist())


def rest(world: LivingFleet, cycles: int = 100) -> Plan:
    """Let time go by until nothing is done any more, and see that it stays so."""
    for _ in range(cycles):
        world.cycle()
    for _ in range(5):
        plan = world.cycle()
        assert not len(plan)
    return plan


def test_a_gang_that_must_be_bought_starts_only_when_all_of_it_is_idle() -> None:
    world = world_of([*rack(2, "x"), *rack(2, "x", State.SPECULATIVE)], [gang(4)])
    plan = world.decide()
    assert (plan.count(Op.ASSIGN), plan.count(Op.CREATE)) == (0, 2)
    world.begin(plan)
    first, second = world.in_motion().tolist()
    world.complete([first])
    plan = world.decide()
    assert not len(plan)
    world.complete([second])
    plan = world.decide()
    assert plan.count(Op.ASSIGN) == 4
    world.begin(plan)
    world.complete()
    assert serving(world) == ["x"] * 4
    rest(world)


def test_a_gang_waits_for_a_machine_that_is_being_drained_and_keeps_the_others() -> None:
    drained = machines(1, shape(rack="x"), State.DRAINING, cluster="other")
    world = world_of([*rack(3, "x"), *drained], [gang(4), need("m", 3, priority=-1)])
    assert not len(world.decide())
    world.complete()
    world.cycle()
    assert serving(world) == ["x"] * 4


def test_a_broken_gang_is_completed_where_it_is() -> None:
    world = world_of([*members(3, "x"), *rack(1, "x"), *rack(9, "y")], [gang(4)])
    rest(world)
    assert serving(world) == ["x"] * 4


def test_a_broken_gang_that_cannot_be_completed_is_given_up_and_begun_elsewhere() -> None:
    policy = Policy(gang_patience=2 * MINUTE)
    world = world_of([*members(3, "x"), *rack(9, "y")], [gang(4)], policy)
    for _ in range(12):
        assert not len(world.cycle())
        assert serving(world) == ["x"] * 3
    plan = rest(world)
    assert serving(world) == ["y"] * 4
    assert plan.shortfalls == ()


def test_a_broken_gang_that_fits_nowhere_is_given_up_once_and_then_left_alone() -> None:
    policy = Policy(gang_patience=2 * MINUTE)
    world = world_of([*members(3, "x"), *rack(3, "y")], [gang(4)], policy)
    plan = rest(world)
    assert serving(world) == []
    assert [shortfall.units for shortfall in plan.shortfalls] == [4]
    assert world.memory.broken == {}


def test_gangs_that_do_not_fit_together_do_not_churn() -> None:
    gangs = [gang(3, f"n{number}", priority=number % 2) for number in range(4)]
    world = world_of([*rack(4, "x"), *rack(4, "y"), *rack(2, "z")], gangs)
    plan = rest(world)
    assert [len(serving(world, f"n{number}")) for number in range(4)] == [0, 3, 0, 3]
    assert len(plan.shortfalls) == 2


def test_a_spread_that_a_quota_holds_down_comes_to_rest_and_says_so() -> None:
    bought = [
        machine
        for zone in "abc"
        for machine in machines(4, shape(zone, provider="p", dollars=1), State.SPECULATIVE)
    ]
    policy = Policy(rails=Rails(quotas=(Quota("p", 5),)))
    world = world_of(bought, [need(count=9, spread=Spread(ZONE, 1))], policy)
    plan = rest(world)
    assert int((world.fleet.state == states.CONFIGURED).sum()) == 5
    assert [shortfall.reason.code for shortfall in plan.shortfalls] == ["need.capped-by-quota"]
    assert [rail.code for rail in plan.rails] == ["rail.quota"]


def test_a_spread_counts_the_machines_it_adopts_before_it_is_given_others() -> None:
    """What its cluster holds for a need that is gone serves it at once, so that only the other zone is lacking."""
    kept = machines(1, shape("a"), State.CONFIGURED, cluster="c", need="gone")
    free = [*machines(2, shape("a")), *machines(2, shape("b"))]
    world = world_of([*kept, *free], [need(count=2, spread=Spread(ZONE, 1))])
    plan = world.decide()
    assert (plan.count(Op.ADOPT), plan.count(Op.ASSIGN)) == (1, 1)
    assert {world.shape(row).zone for row in plan.rows(Op.ASSIGN).tolist()} == {"b"}
    assert not plan.shortfalls


def test_two_equal_spreads_share_what_their_cluster_holds() -> None:
    kept = [
        *machines(2, shape("a"), State.CONFIGURED, cluster="c", need="gone"),
        *machines(2, shape("b"), State.CONFIGURED, cluster="c", need="gone"),
    ]
    free = [*machines(4, shape("a")), *machines(4, shape("b"))]
    needs = [need(name, 2, spread=Spread(ZONE, 1)) for name in ("n", "m")]
    plan = world_of([*kept, *free], needs).decide()
    assert (plan.count(Op.ADOPT), plan.count(Op.ASSIGN), plan.count(Op.RECLAIM)) == (4, 0, 0)


def test_a_sum_that_may_be_fragmented_is_noted_and_nothing_is_done() -> None:
    big = machines(4, shape(units=5), State.CONFIGURED, cluster="c", need="n")
    asked = FleetNeed("c", "n", {"cpu": 3_000}, None, {"cpu": 18_000})
    world = world_of([*big, *machines(4, shape(units=5))], [asked])
    plan = rest(world)
    assert [note.code for note in plan.notes] == ["need.may-be-fragmented"]
    assert plan.shortfalls == ()
