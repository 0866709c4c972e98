"""
Serving in order where more contend than every way is looked at for: gangs on one machine or several, and exchanges.

Racks with a single small machine, which no gang here can use, keep the search for the best way out of it.
"""

import pytest
from tests.fleet.builders import RACK, machines, need, requirements, shape
from tests.fleet.world import LivingFleet, world_of

from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import DOLLAR, ZONE, FleetMachine, Shape
from remuda.model.units import FleetNeed, Separation, Spread

LONELY = [one for number in range(11) for one in machines(1, shape(rack=f"z{number}"))]


def given(world: LivingFleet, plan: Plan, *ops: Op) -> dict[str, list[str]]:
    """The racks, or zones where there are none, of what each need is given."""
    found: dict[str, list[str]] = {}
    for block in plan.blocks:
        if block.op in ops:
            for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True):
                where = world.shape(row)
                found.setdefault(world.needs[code].name, []).append(where.labels.get(RACK, where.zone))
    return {name: sorted(places) for name, places in sorted(found.items())}


def test_a_gang_starts_on_idle_machines_of_a_rack_before_one_large_one_is_bought() -> None:
    large = machines(1, shape(rack="x", units=2, dollars=1), State.SPECULATIVE)
    world = world_of([*large, *machines(2, shape(rack="y")), *LONELY], [need("gang", 2, same=RACK)])
    plan = world.decide()
    assert given(world, plan, Op.ASSIGN, Op.CREATE) == {"gang": ["y", "y"]}
    assert plan.count(Op.CREATE) == 0


@pytest.mark.parametrize(("dollars", "racks"), [(3, ["y", "y"]), (1, ["x"])])
def test_a_gang_takes_several_small_machines_where_one_large_is_dearer(
    dollars: int, racks: list[str]
) -> None:
    large = machines(1, shape(rack="x", units=2, dollars=dollars))
    world = world_of([*large, *machines(2, shape(rack="y", dollars=1)), *LONELY], [need("g", 2, same=RACK)])
    assert given(world, world.decide(), Op.ASSIGN) == {"g": racks}


def test_equal_gangs_are_served_on_one_machine_and_on_several() -> None:
    large = machines(1, shape(rack="x", units=2))
    needs = [need("one", 2, same=RACK), need("two", 2, same=RACK)]
    world = world_of([*large, *machines(2, shape(rack="y")), *LONELY], needs)
    plan = world.decide()
    assert plan.missing == 0
    assert sorted(given(world, plan, Op.ASSIGN).values()) == [["x"], ["y", "y"]]


def test_gangs_that_any_machine_holds_take_one_each() -> None:
    there = [one for rack in "abcdefghijklm" for one in machines(1, shape(rack=rack, units=3))]
    world = world_of(there, [need(f"g{number}", 3, same=RACK) for number in range(14)])
    plan = world.decide()
    assert (plan.count(Op.ASSIGN), plan.missing) == (13, 3)
    assert all(len(racks) == 1 for racks in given(world, plan, Op.ASSIGN).values())


def test_a_gang_that_lost_a_member_is_not_completed_on_a_machine_elsewhere() -> None:
    member = machines(1, shape(rack="x"), State.CONFIGURED, cluster="c", need="gang")
    world = world_of([*member, *LONELY], [need("gang", 2, same=RACK)])
    plan = world.decide()
    assert (len(plan), plan.missing) == (0, 1)


def picky(name: str, units: int = 1, **more: object) -> FleetNeed:
    """A need that can use machines of zone a alone."""
    zone = requirements("topology.kubernetes.io/zone=a")
    return need(name, units, cluster="d", requirements=zone, arrival=1, **more)


def zones(cheap: int, dear: int, state: State = State.IDLE, provider: str = "") -> list[FleetMachine]:
    """Cheap machines of zone a, which are given away first, and dear ones of zone b."""
    return [
        *machines(cheap, shape("a")),
        *machines(dear, shape("b", dollars=1, provider=provider), state),
    ]


@pytest.mark.parametrize(("alike", "units", "wants"), [(1, 4, 3), (2, 2, 2), (4, 1, 4), (2, 2, 1)])
def test_needs_give_up_what_another_alone_can_use_and_get_as_much_elsewhere(
    alike: int, units: int, wants: int
) -> None:
    world = world_of(zones(4, 12), [*(need(f"n{n}", units) for n in range(alike)), picky("picky", wants)])
    plan = world.decide()
    found = given(world, plan, Op.ASSIGN)
    assert plan.missing == 0
    assert found["picky"] == ["a"] * wants
    assert [len(found[f"n{number}"]) for number in range(alike)] == [units] * alike
    assert sum(places.count("a") for places in found.values()) == 4


def test_what_is_exchanged_goes_to_the_higher_priority_before_a_lower_one_takes_it() -> None:
    """The last free machine lets two needs of the higher priority be served, not one of the lower."""
    needs = [need("any", 11, priority=9), picky("picky", priority=9), need("low", 2)]
    world = world_of(zones(11, 1), needs)
    plan = world.decide()
    found = given(world, plan, Op.ASSIGN)
    assert (found["any"], found["picky"]) == (["a"] * 10 + ["b"], ["a"])
    assert plan.missing == 2


@pytest.mark.parametrize(("most", "bought"), [(0, 0), (2, 2), (5, 3)])
def test_exchanges_buy_no_more_than_a_quota_leaves(most: int, bought: int) -> None:
    """Three needs want what others have; for each a machine elsewhere must be bought for the one that gives way."""
    policy = Policy(rails=Rails(quotas=(Quota("p", most),)))
    needs = [need("any", 11), *(picky(f"picky{number}") for number in range(3))]
    world = world_of(zones(11, 4, State.SPECULATIVE, "p"), needs, policy)
    plan = world.decide()
    assert (plan.count(Op.CREATE), plan.missing) == (bought, 3 - bought)
    held = [reason.subject for reason in plan.rails if reason.code == "rail.quota"]
    assert held == ([] if bought == 3 else ["quota/p"])


@pytest.mark.parametrize("beside", [False, True])
def test_what_an_exchange_makes_superfluous_is_given_back(beside: bool) -> None:
    """
    Who gives up one of twelve small machines gets one that is as large as all of them, and keeps none of the small.

    Whether a need that is spread, and two that are served together, are beside it does not matter.
    """
    there = [*machines(12, shape("a")), *machines(1, shape("b", units=12, dollars=99))]
    asked = [need("any", 12), picky("picky")]
    expected = {"any": ["b"], "picky": ["a"]}
    if beside:
        there += machines(1, shape("s", units=1, dollars=100))
        zone = requirements("topology.kubernetes.io/zone=s")
        asked.append(need("spread", 1, cluster="cc", requirements=zone, spread=Spread(ZONE, 1)))
        there += machines(2, shape("t", dollars=100))
        zone = requirements("topology.kubernetes.io/zone=t")
        asked += [need(f"twin{number}", 1, cluster="cd", requirements=zone) for number in range(2)]
        expected |= {"spread": ["s"], "twin0": ["t"], "twin1": ["t"]}
    world = world_of(there, asked)
    assert given(world, world.decide(), Op.ASSIGN) == expected


def test_what_is_given_back_is_not_counted_against_a_quota() -> None:
    quota = Policy(rails=Rails(quotas=(Quota("p", 13),)))
    there = [
        *machines(12, shape("a", provider="p"), State.SPECULATIVE),
        *machines(1, shape("b", units=12, dollars=99, provider="p"), State.SPECULATIVE),
    ]
    world = world_of(there, [need("any", 12), picky("picky")], quota)
    plan = world.decide()
    assert (plan.count(Op.CREATE), plan.missing) == (2, 0)


def test_equal_needs_get_what_each_asks_for_from_several_kinds_and_no_more() -> None:
    world = world_of(zones(2, 12), [need(f"n{number}") for number in range(3)])
    plan = world.decide()
    assert sorted(given(world, plan, Op.ASSIGN).values()) == [["a"], ["a"], ["b"]]


@pytest.mark.parametrize(("penalty", "zone"), [(0, "spot"), (10, "safe")])
def test_a_need_that_an_interruption_would_cost_dear_takes_the_dearer_machine(
    penalty: int, zone: str
) -> None:
    """One in five hours of ten dollars is more than the dollar that the safe one costs."""
    spot = Shape("t", zone="spot", allocatable={"cpu": 1_000}, interruption=200_000)
    world = world_of(
        [*machines(8, spot), *machines(8, shape("safe", dollars=1))],
        [need("n", 2, interruption_penalty=penalty * DOLLAR)],
    )
    assert given(world, world.decide(), Op.ASSIGN) == {"n": [zone, zone]}


def test_of_equal_cost_the_machine_that_is_used_best_is_taken_then_the_one_that_fewest_could_use() -> None:
    half = Shape("t", zone="half", allocatable={"cpu": 1_000, "gpu": 4})
    world = world_of([*machines(8, half), *machines(8, shape("full"))], [need("n", 2)])
    assert given(world, world.decide(), Op.ASSIGN) == {"n": ["full", "full"]}
    both = need("both", 1, priority=1)
    world = world_of([*machines(8, shape("a")), *machines(8, shape("b"))], [both, picky("later", 1)])
    assert given(world, world.decide(), Op.ASSIGN) == {"both": ["b"], "later": ["a"]}


def test_no_more_machines_are_taken_of_a_rack_than_count_there() -> None:
    """Of each rack three units count: of one two machines of two units, of the other one is all that five units take."""
    there = [
        *machines(6, shape(rack="x", units=2, dollars=3)),
        *machines(2, shape(rack="y", units=1, dollars=3)),
        *machines(4, shape(rack="y", units=2, dollars=3)),
    ]
    world = world_of(there, [need("n", 5, spread=Spread(ZONE, 3), separation=Separation(3, RACK))])
    plan = world.decide()
    assert (plan.count(Op.ASSIGN), plan.missing) == (3, 0)


def test_of_equal_needs_the_last_is_short_by_what_it_lacks() -> None:
    world = world_of(machines(12, shape()), [need(f"n{number}", 5) for number in range(3)])
    plan = world.decide()
    assert [(one.reason.subject, one.units) for one in plan.shortfalls] == [("need/c/n2", 3)]
