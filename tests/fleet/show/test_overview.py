"""The fleet at a glance: every number against a count of single machines, what is chosen, and what is too much to list."""

from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.builders import NOW, demand_of, fleet_of, machines, need, shape
from tests.fleet.counting import check
from tests.fleet.test_journal import disturb
from tests.fleet.world import STEP, draw_world

from remuda.errors import BadInput, NotFound
from remuda.fleet.answers import STATES, Chosen, Moment, Overview
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.demand import Demand
from remuda.fleet.history.stored import store_plan
from remuda.fleet.journal import Journal, Record
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy, Rails
from remuda.fleet.show.overview import MOST_BLOCKS, MOST_GROUPS, MOST_NEEDS, overview
from remuda.fleet.situation import Situation, situation
from remuda.fleet.standing import CountedRecord, Standing
from remuda.jobs import JOBS
from remuda.model.machines import State

JOBS.teach()
MOMENT = Moment(NOW, NOW)


def counted(record: Record) -> CountedRecord:
    """As it is read from a store."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=CountedRecord)


def seen_of(fleet: Fleet, demand: Demand, policy: Policy | None = None) -> tuple[Situation, Plan]:
    plan, _ = decide(fleet, demand, Memory(), policy or Policy(), NOW)
    standing = Standing()
    standing.apply(counted(Journal(fleet, demand).checkpoint(is_complete=True)))
    return situation(standing, store_plan(plan), policy or Policy()), plan


def shown(
    fleet: Fleet, demand: Demand, policy: Policy | None = None, chosen: Chosen | None = None
) -> Overview:
    return overview(seen_of(fleet, demand, policy)[0], chosen or Chosen(), MOMENT)


@pytest.fixture
def some() -> tuple[Fleet, Demand]:
    fleet = fleet_of(
        machines(4, shape("a", units=2, dollars=3, provider="p"), State.CONFIGURED, cluster="c", need="web"),
        machines(3, shape("b", units=2, dollars=5, provider="q"), State.IDLE, since=NOW - 1),
        machines(2, shape("b", units=1, dollars=7, provider="q"), State.SPECULATIVE),
        machines(1, shape("", units=1, provider="p"), State.FAILED),
    )
    return fleet, demand_of(
        fleet, need("web", 8), need("db", 9, cluster="d", priority=5), need("old", 2, cluster="d")
    )


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({}, id="everything"),
        pytest.param({"state": "idle"}, id="a state"),
        pytest.param({"state": "draining"}, id="a state that no machine is in"),
        pytest.param({"zone": "b"}, id="a zone"),
        pytest.param({"type": "t1"}, id="a type"),
        pytest.param({"cluster": "c"}, id="a cluster"),
        pytest.param({"cluster": "d"}, id="a cluster that has no machine"),
        pytest.param({"zone": "b", "type": "t2", "state": "idle"}, id="several at once"),
    ],
)
def test_every_number_is_that_of_the_machines_one_by_one(
    some: tuple[Fleet, Demand], chosen: dict[str, str]
) -> None:
    seen, plan = seen_of(*some)
    check(overview(seen, Chosen(**chosen), MOMENT), *some, plan, Chosen(**chosen))


@pytest.mark.slow
@examples(60)
@given(st.integers(0, 2**32 - 1))
def test_whatever_happens_to_a_fleet_is_counted_as_it_is(seed: int) -> None:
    rng = Random(seed)
    world = draw_world(seed)
    journal, standing = Journal(world.fleet, world.demand), Standing()
    earlier: list[tuple[Situation, Overview]] = []
    for cycle in range(6):
        standing.apply(
            counted(
                journal.checkpoint(is_complete=True) if cycle in {0, 4} else journal.take(is_complete=True)
            )
        )
        plan = world.decide()
        seen = situation(standing, store_plan(plan), world.policy)
        everything = overview(seen, Chosen(), MOMENT)
        check(everything, world.fleet, world.demand, plan, Chosen())
        for chosen in choices(rng, everything):
            check(overview(seen, chosen, MOMENT), world.fleet, world.demand, plan, chosen)
        earlier.append((seen, everything))
        world.begin(plan)
        disturb(world, rng)
        world.now += STEP
    assert all(overview(seen, Chosen(), MOMENT) == before for seen, before in earlier), (
        "the past stays as it was"
    )


def choices(rng: Random, seen: Overview) -> Iterator[Chosen]:
    for _ in range(3):
        yield Chosen(
            rng.choice(["", *STATES]),
            rng.choice(["", *seen.names.zones]),
            rng.choice(["", *seen.names.types]),
            rng.choice(["", *seen.names.clusters]),
        )


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ({"state": "lazy"}, BadInput, 'state wants one of speculative, creating, .*found "lazy"'),
        ({"zone": "xyz"}, NotFound, 'has zone "xyz"; there is: a, b'),
        ({"type": "t22"}, NotFound, 'has type "t22"; did you mean t2?'),
        ({"cluster": "production"}, NotFound, 'serves no cluster "production"; there is: c, d'),
    ],
)
def test_what_is_not_there_is_named_with_what_is(
    some: tuple[Fleet, Demand], chosen: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shown(*some, chosen=Chosen(**chosen))


def test_an_empty_fleet_has_nothing_and_needs_that_nothing_serves() -> None:
    fleet = fleet_of()
    seen = shown(fleet, demand_of(fleet, need("web", 3)))
    assert (seen.machines, seen.zones, seen.blocks, seen.cost) == (0, (), (), 0)
    assert [(each.name, each.missing) for each in seen.unmet_needs] == [("c/web", "3 of 3 units")]
    assert seen.causes[0].meaning == "No machine there is could serve the need, whoever has it."


def test_what_is_too_much_to_list_is_one_row_and_every_sum_stays() -> None:
    groups = [
        machines(1 + number % 3, shape(f"z{number}", units=1 + number % 7, dollars=1), State.CONFIGURED, cluster=f"k{number}", need="n")
        for number in range(200)
    ]  # fmt: skip
    fleet = fleet_of(*groups)
    asked = [need("n", 50, cluster=f"k{number}") for number in range(200)]
    seen = shown(fleet, demand_of(fleet, *asked))
    for shown_groups in (seen.zones, seen.clusters):
        assert len(shown_groups) == MOST_GROUPS
        assert shown_groups[-1].of == 200 - MOST_GROUPS + 1
        assert sum(group.machines for group in shown_groups) == seen.machines == len(fleet)
        assert sum(group.cost for group in shown_groups) == seen.cost
    assert len(seen.blocks) == MOST_BLOCKS + 1
    assert sum(sum(block.states) for block in seen.blocks) == seen.machines
    assert (seen.unmet, len(seen.unmet_needs)) == (200, MOST_NEEDS)
    assert len(seen.names.zones) == 200


def test_spending_names_the_cap_of_a_provider_also_where_it_has_no_machine(
    some: tuple[Fleet, Demand],
) -> None:
    policy = Policy(rails=Rails(spending={"q": 40_000_000, "none": 1}))
    providers = {each.name: each for each in shown(*some, policy=policy).spending.providers}
    assert (providers["q"].cap, providers["q"].machines, providers["q"].cost) == (40_000_000, 3, 15_000_000)
    assert (providers["none"].cap, providers["none"].cost) == (1, 0)
    assert providers["p"].cap is None


def test_sums_of_money_are_exact_beyond_what_a_float_holds() -> None:
    dear = shape("a", dollars=999_999)
    odd = msgspec.structs.replace(dear, price=999_999_999_999)
    fleet = fleet_of(machines(20_001, odd, State.CONFIGURED, cluster="c", need="n"))
    assert shown(fleet, demand_of(fleet, need("n", 20_001))).zones[0].cost == 20_001 * 999_999_999_999
