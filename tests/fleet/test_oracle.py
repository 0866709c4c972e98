"""The engine against an oracle that looks at every way to share a small fleet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest
from tests.fleet.generate import PLAIN, SPECIAL, Traits, draw_free_machines, draw_needs
from tests.fleet.oracle import Outcome, best, outcome_of
from tests.fleet.world import LivingFleet, world_of

from remuda.fleet.plan import Op
from remuda.model.labels import Operator, Requirement
from remuda.model.machines import State
from remuda.model.shapes import INSTANCE_TYPE, ZONE, FleetMachine, Shape
from remuda.model.units import FleetNeed, Separation, Spread

#: How much dearer than the oracle's way the engine's may be, in percent.
_DEARER = 5
#: With gangs, spreads and separations by domain: in how many cases of a thousand the engine may serve less than the best
#: at some priority, and how many units of a thousand less in all. Over 4,000 cases it was none: where six needs and ten
#: machines have nothing to do with others, every way is looked at. The bound is for cases that exhaust the budget of that.
_WORSE_CASES = 5
_FEWER_UNITS = 5


@dataclass(frozen=True, slots=True)
class OracleCase:
    """A small fleet drawn from a seed, with what the engine and the oracle make of it."""

    seed: int
    engine: Outcome
    oracle: Outcome


def draw_case(seed: int, traits: Traits) -> tuple[list[FleetMachine], list[FleetNeed]]:
    rng = Random(seed)
    return draw_free_machines(rng, 6), draw_needs(rng, 4, traits)


def decided(machines: Sequence[FleetMachine], needs: Sequence[FleetNeed]) -> Outcome:
    """What one decision gives to whom."""
    world = world_of(machines, needs)
    plan = world.decide()
    given: dict[int, list[int]] = {code: [] for code in world.needs}
    for block in plan.blocks:
        if block.op in {Op.ASSIGN, Op.CREATE}:
            for row, code in zip(block.rows.tolist(), block.needs.tolist(), strict=True):
                given[code].append(row)
    outcome = outcome_of(machines, needs, [given[code_of(world, need)] for need in needs])
    assert plan.missing == sum(need.count or 0 for need in needs) - sum(outcome.served)
    return outcome


def settled(machines: Sequence[FleetMachine], needs: Sequence[FleetNeed]) -> Outcome:
    """What serves whom after a few cycles: a gang waits until all it was given is there."""
    world = world_of(machines, needs)
    for _ in range(5):
        plan = world.cycle()
    assert not len(plan)
    fleet = world.fleet
    given = [[row for row in range(fleet.rows) if fleet.need[row] == code_of(world, need)] for need in needs]
    outcome = outcome_of(machines, needs, given)
    assert plan.missing == sum(need.count or 0 for need in needs) - sum(outcome.served)
    return outcome


def code_of(world: LivingFleet, need: FleetNeed) -> int:
    names = world.fleet.names
    return names.need(names.cluster(need.cluster), need.name)


@cache
def plain_case(seed: int) -> OracleCase:
    machines, needs = draw_case(seed, PLAIN)
    return OracleCase(seed, decided(machines, needs), best(machines, needs))


@cache
def special_case(seed: int) -> OracleCase:
    machines, needs = draw_case(seed, SPECIAL)
    return OracleCase(seed, settled(machines, needs), best(machines, needs))


def check_plain(seeds: range) -> None:
    """In every case the units of every priority are as many as can be, and cost hardly more than they must."""
    cases = [plain_case(seed) for seed in seeds]
    worse = [case for case in cases if case.engine.served != case.oracle.served]
    assert not worse, f"{len(worse)} of {len(cases)} serve less than is possible, as {worse[0]}"
    check_costs(cases)


def check_special(seeds: range) -> None:
    """Gangs, spreads and separations by domain are served within the stated bound of the best."""
    cases = [special_case(seed) for seed in seeds]
    assert all(case.engine.served <= case.oracle.served for case in cases), "the oracle is not the best"
    worse = [case for case in cases if case.engine.served != case.oracle.served]
    assert len(worse) * 1_000 <= len(cases) * _WORSE_CASES, (
        f"{len(worse)} of {len(cases)} serve less, as {worse[0]}"
    )
    possible = sum(sum(case.oracle.served) for case in cases)
    served = sum(sum(case.engine.served) for case in cases)
    assert (possible - served) * 1_000 <= possible * _FEWER_UNITS, f"{served} of {possible} units"
    check_costs([case for case in cases if case.engine.served == case.oracle.served])


def check_costs(cases: Sequence[OracleCase]) -> None:
    """In no case is more bought than the bound allows, nor are dearer idle machines used for as much."""
    dearer = [case for case in cases if dearer_by(case) > _DEARER]
    assert not dearer, (
        f"{len(dearer)} of {len(cases)} are more than {_DEARER} % dearer than need be, as {dearer[0]}"
    )


def dearer_by(case: OracleCase) -> float:
    """By how many percent the engine's way costs more than the oracle's: what it buys, and when that is equal, uses."""
    ours, theirs = case.engine, case.oracle
    pair = (ours.idle, theirs.idle) if ours.bought == theirs.bought else (ours.bought, theirs.bought)
    return 0.0 if pair[0] == pair[1] else 100 * pair[0] / pair[1] - 100 if pair[1] else float("inf")


def test_the_oracle_finds_what_serving_in_order_misses() -> None:
    """The first need takes the cheap machine that is all the second can use, unless someone looks ahead."""
    small = Shape("t1", allocatable={"cpu": 1_000})
    large = Shape("t2", allocatable={"cpu": 2_000}, price=5)
    machines = [FleetMachine("a", State.IDLE, small), FleetMachine("b", State.SPECULATIVE, large)]
    picky = Requirement(INSTANCE_TYPE, Operator.IN, ("t1",))
    needs = [
        FleetNeed("c", "any", {"cpu": 1_000}),
        FleetNeed("d", "picky", {"cpu": 1_000}, requirements=(picky,)),
    ]
    assert best(machines, needs) == Outcome((2,), bought=5, idle=0) == decided(machines, needs)


def test_the_oracle_gives_a_gang_all_or_nothing() -> None:
    shapes = [Shape("t", zone=zone, allocatable={"cpu": 1_000}) for zone in "aab"]
    machines = [FleetMachine(str(place), State.IDLE, shape) for place, shape in enumerate(shapes)]
    two, three = (FleetNeed("c", "gang", {"cpu": 1_000}, count, same=ZONE) for count in (2, 3))
    assert best(machines, [two]).served == (2,)
    assert best(machines, [three]).served == (0,)


def test_the_oracle_counts_what_a_spread_lets_count() -> None:
    shapes = [Shape("t", zone=zone, allocatable={"cpu": 1_000}) for zone in "aaab"]
    machines = [FleetMachine(str(place), State.IDLE, shape) for place, shape in enumerate(shapes)]
    need = FleetNeed("c", "even", {"cpu": 1_000}, 4, spread=Spread(ZONE, 1))
    assert best(machines, [need]).served == (3,)
    apart = FleetNeed("c", "apart", {"cpu": 1_000}, 4, separation=Separation(1, ZONE))
    assert best(machines, [apart]).served == (2,)


def test_a_hundred_small_fleets_are_served_as_well_as_can_be() -> None:
    check_plain(range(100))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_thousands_of_small_fleets_are_served_as_well_as_can_be(part: int) -> None:
    check_plain(range(1_000 * part, 1_000 * (part + 1)))


def test_some_small_fleets_with_gangs_and_spreads_are_served_within_the_bound() -> None:
    check_special(range(50))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_a_thousand_small_fleets_with_gangs_and_spreads_are_served_within_the_bound(part: int) -> None:
    check_special(range(500 * part, 500 * (part + 1)))
