"""Needs that must be in one domain, where what is for sale there may not all be bought, or is in no domain at all."""

import pytest
from tests.fleet.world import world_of

from remuda.fleet.plan import Op
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.units import FleetNeed

LOW = FleetNeed("c", "low", {"cpu": 1_000}, 1, priority=100)


def shape(name: str, provider: str = "", rack: str = "r1") -> Shape:
    labels = {"rack": rack} if rack else {}
    return Shape(name, provider=provider, allocatable={"cpu": 1_000}, labels=labels, price=10)


def gang(count: int) -> FleetNeed:
    return FleetNeed("d", "gang", {"cpu": 1_000}, count, priority=1_000, same="rack")


def for_sale(*kinds: Shape) -> list[FleetMachine]:
    return [FleetMachine(one.instance_type, State.SPECULATIVE, one) for one in kinds]


A, B = shape("a", "p"), shape("b", "p")


@pytest.mark.parametrize("count", [2, 3])
def test_nobody_is_preempted_for_a_gang_whose_rest_may_not_all_be_bought(count: int) -> None:
    """Each kind may be bought alone, both together may not, with or without the machine that another holds there."""
    held = FleetMachine("v", State.CONFIGURED, shape("v", "q"), "c", "low", 100)
    plan = world_of(
        [held, *for_sale(A, B)], [LOW, gang(count)], Policy(rails=Rails(quotas=(Quota("p", 1),)))
    ).decide()
    assert [op for op in Op if plan.count(op)] == []
    assert plan.missing == count


def test_a_gang_preempts_where_the_rest_may_all_be_bought() -> None:
    held = FleetMachine("v", State.CONFIGURED, shape("v", "q"), "c", "low", 100)
    plan = world_of(
        [held, *for_sale(A, B)], [LOW, gang(3)], Policy(rails=Rails(quotas=(Quota("p", 2),)))
    ).decide()
    assert plan.count(Op.PREEMPT) == 1
    assert plan.missing == 0


def test_machines_outside_every_domain_are_not_taken_for_a_gang() -> None:
    held = FleetMachine("v", State.CONFIGURED, shape("v", rack=""), "c", "low", 100)
    idle = FleetMachine("i", State.IDLE, shape("i"))
    plan = world_of([held, idle], [LOW, gang(2)]).decide()
    assert plan.count(Op.PREEMPT) == 0
    assert plan.missing == 2


@pytest.mark.parametrize(("most", "bought"), [(1, ["c0", "c1"]), (2, ["a", "b"])])
def test_a_sum_is_bought_in_a_domain_that_may_complete_it(most: int, bought: list[str]) -> None:
    """The cheaper rack has enough for sale, but only with a quota of two may it all be bought."""
    total = FleetNeed("d", "sum", {"cpu": 1_000}, None, total={"cpu": 2_000}, same="rack")
    dear = Shape("c", provider="q", allocatable={"cpu": 1_000}, labels={"rack": "r2"}, price=1_000)
    others = [FleetMachine(f"c{number}", State.SPECULATIVE, dear) for number in range(2)]
    world = world_of([*for_sale(A, B), *others], [total], Policy(rails=Rails(quotas=(Quota("p", most),))))
    plan = world.decide()
    assert sorted(world.fleet.ids[row] for row in plan.rows(Op.CREATE)) == bought
    assert plan.missing == 0


def test_of_domains_that_cost_the_same_the_one_with_least_to_spare_is_taken() -> None:
    total = FleetNeed("d", "sum", {"cpu": 1_000}, None, total={"cpu": 2_000}, same="rack")
    idle = [
        FleetMachine(f"{rack}-{kind}-{number}", State.IDLE, shape(kind, rack=rack))
        for rack, kinds in (("r1", "ij"), ("r2", "i"), ("r3", "ij"))
        for kind in kinds
        for number in range(2)
    ]
    world = world_of(idle, [total])
    plan = world.decide()
    assert sorted(world.fleet.ids[row] for row in plan.rows(Op.ASSIGN)) == ["r2-i-0", "r2-i-1"]
