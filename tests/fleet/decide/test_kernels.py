"""
The compiled kernels never leave their tables, whatever the shape of a fleet, and give the plans of the reference.

Run again by `test_bounds.py` with Numba checking every index.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.builders import machines, need
from tests.fleet.world import STEP, LivingFleet, draw_world, world_of

from remuda.errors import InvariantError
from remuda.fleet.decide.engine import NUMPY, Engine, choose
from remuda.fleet.policy import Policy, Quota, Rails
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.units import FleetNeed

SEEDS = st.integers(0, 2**32 - 1)


def sized(size: int, *, price: int, zone: str = "a", provider: str = "p") -> Shape:
    return Shape(f"t{size}", zone=zone, provider=provider, allocatable={"cpu": size * 1_000}, price=price)


def many_picks(needs: int, units: int, sizes: Sequence[int]) -> LivingFleet:
    """Larger machines are slightly cheaper per unit, so that each need takes one of every size."""
    there: list[FleetMachine] = []
    for size in sizes:
        there += machines(
            needs * units, sized(size, price=size * (1_000_000 - size.bit_length())), prefix=f"m{size}"
        )
    return world_of(there, [need("n", units, cluster=f"c{number}") for number in range(needs)])


def draw_stress(seed: int) -> LivingFleet:
    """Many sizes, kinds, needs and priorities; quotas and caps that end in the middle of a need; some already serve."""
    rng = Random(seed)
    sizes = [1 << power for power in range(rng.randint(1, 8))] + rng.sample(range(1, 100), rng.randint(0, 12))
    few = rng.random() < 0.5
    asked: list[FleetNeed] = [
        need(
            f"n{number}",
            rng.choice([1, 15, 63, 127, 255, rng.randint(1, 600)]),
            cluster=f"c{rng.randrange(9)}",
            priority=rng.randrange(rng.choice([1, 3])),
        )
        for number in range(rng.randint(1, 60))
    ]
    there: list[FleetMachine] = []
    for size in sizes:
        for zone in "abc"[: rng.randint(1, 3)]:
            price = size * 1_000 - rng.choice([0, size, size * size // 4])
            shape = sized(size, price=max(0, price), zone=zone, provider=rng.choice("pq"))
            number = rng.randint(1, 3) if few else rng.randint(20, 60)
            state = rng.choice([State.IDLE, State.SPECULATIVE, State.CREATING, State.CONFIGURED])
            whose = rng.choice(asked) if state is State.CONFIGURED else None
            there += machines(
                number,
                shape,
                state,
                cluster=whose.cluster if whose else "",
                need=whose.name if whose else "",
                prefix=f"{size}{zone}{state}",
            )
    rails = Rails(
        quotas=tuple(Quota(provider, rng.randint(0, 40)) for provider in "pq" if rng.random() < 0.5),
        spending={provider: rng.randint(0, 200_000) for provider in "pq" if rng.random() < 0.5},
    )
    return world_of(there, asked, Policy(rails=rails))


def digests(world: LivingFleet, engine: Engine, cycles: int = 3) -> list[str]:
    world.engine = engine
    found = []
    for _ in range(cycles):
        plan = world.decide()
        found.append(plan.digest())
        world.begin(plan)
        world.complete()
        world.now += STEP
    return found


def one_pick_at_a_time(engine: Engine) -> Engine:
    """The engine, with a table of picks that is full after every single one."""

    def serve_plain(*arguments: Any) -> bool:
        *before, picks, served, cursor = arguments
        while not engine.serve_plain(*before, picks[: cursor[3] + 1], served, cursor):
            if cursor[3] == len(picks):
                return False
        return True

    return engine._replace(serve_plain=serve_plain)


@pytest.mark.parametrize(
    ("needs", "units", "sizes"),
    [
        pytest.param(24, 15, (1, 2, 4, 8), id="24 needs of 15 units take one of each of four sizes"),
        pytest.param(
            200,
            63,
            (1, 2, 4, 8, 16, 32),
            id="200 needs of 63 units take one of each of six",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            3, 1023, tuple(1 << power for power in range(10)), id="few needs take one of each of ten"
        ),
        pytest.param(40, 1, (1, 2, 4), id="a need of one unit takes one"),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
def test_a_need_may_take_machines_of_every_size(
    engine: str, needs: int, units: int, sizes: Sequence[int]
) -> None:
    world = many_picks(needs, units, sizes)
    world.engine = choose(engine)
    plan = world.decide()
    assert plan.missing == 0
    assert len(plan) == needs * units.bit_count()


@pytest.mark.slow
@examples(200)
@given(SEEDS)
def test_safety_compiled_kernels_give_the_reference_plans_of_fleets_that_stress_their_tables(
    seed: int,
) -> None:
    assert digests(draw_stress(seed), choose("numba")) == digests(draw_stress(seed), NUMPY)


@pytest.mark.slow
@examples(100)
@given(SEEDS, st.sampled_from([draw_stress, draw_world]), st.sampled_from(["numpy", "numba"]))
def test_safety_a_full_table_of_picks_changes_no_plan(
    seed: int, draw: Callable[[int], LivingFleet], name: str
) -> None:
    engine = choose(name)
    assert digests(draw(seed), one_pick_at_a_time(engine)) == digests(draw(seed), engine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "value"), [("kind", 99), ("kind", -1), ("need", 99), ("need", -2)], ids=str
)
def test_a_column_that_points_beyond_its_table_stops_the_decision(column: str, value: int) -> None:
    world = many_picks(2, 3, (1, 2))
    getattr(world.fleet, column)[1] = value
    world.engine = choose("numba")
    with pytest.raises(InvariantError, match=f"{column} of machines is"):
        world.decide()


@pytest.mark.slow
@pytest.mark.parametrize("column", ["profile", "code"])
def test_a_demand_that_points_beyond_its_table_stops_the_decision(column: str) -> None:
    world = many_picks(2, 3, (1, 2))
    if column == "profile":
        world.demand.profile[0] = 99
    else:
        world.demand.row_of()[0] = 99
    world.engine = choose("numba")
    with pytest.raises((InvariantError, IndexError)):
        world.decide()


@pytest.mark.slow
def test_what_serves_no_need_is_found_by_both_engines() -> None:
    gone = machines(3, sized(2, price=1), State.CONFIGURED, cluster="c0", need="gone")
    for engine in (NUMPY, choose("numba")):
        world = world_of(gone, [need("n", 5, cluster="c0")])
        world.engine = engine
        assert np.array_equal(np.sort(world.decide().blocks[0].rows), [0, 1, 2])
