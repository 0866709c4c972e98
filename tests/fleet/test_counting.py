"""Counts by kind, state and cluster are what counting all rows anew gives, whatever was done to the fleet."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.generate import PLAIN, draw_needs, draw_shape
from tests.fleet.oracle import units_on

from remuda.fleet import census, states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.names import Names
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.units import FleetNeed

SEEDS = st.integers(0, 2**32 - 1)


def check(fleet: Fleet, known: dict[str, FleetMachine]) -> None:
    """The fleet holds exactly these machines, and counts them right."""
    assert len(fleet) == len(known)
    expected: Counter[tuple[str, int, int]] = Counter()
    for machine in known.values():
        row = fleet.row(machine.id)
        assert fleet.ids[row] == machine.id
        assert fleet.kinds.shapes[int(fleet.kind[row])].key() == machine.shape.key()
        assert fleet.state[row] == states.NUMBERS[machine.state]
        cluster = fleet.names.known_cluster(machine.cluster) if machine.cluster else -1
        assert fleet.cluster[row] == cluster
        expected[str(machine.shape.key()), states.NUMBERS[machine.state], cluster] += 1
    kinds, clusters = len(fleet.kinds), len(fleet.names.clusters)
    counted = Counter(
        {
            (str(fleet.kinds.shapes[kind].key()), state, cluster): count
            for kind in range(kinds)
            for state in range(1, states.COUNT)
            for cluster in range(-1, clusters)
            if (count := fleet.census.of(kind, state, cluster))
        }
    )
    assert counted == expected
    by_state = fleet.census.by_kind_and_state(kinds)
    assert by_state[:, 1:].sum() == len(known)
    by_cluster = fleet.census.by_cluster_and_state(clusters)
    for cluster in range(clusters):
        for state in range(1, states.COUNT):
            mine = sum(number for (_, s, c), number in expected.items() if s == state and c == cluster)
            assert by_cluster[cluster, state] == mine


def random_life(seed: int, steps: int) -> None:
    """Upserts, changes, removals and new kinds in any order, checked after each."""
    rng = Random(seed)
    fleet, known = Fleet(Names()), dict[str, FleetMachine]()
    shapes = [draw_shape(rng) for _ in range(3)]
    for _ in range(steps):
        match rng.randrange(5):
            case 0 | 1:
                if rng.random() < 0.4:
                    shapes[rng.randrange(3)] = draw_shape(rng)
                reported = [
                    drawn(rng, f"m{rng.randrange(30)}", rng.choice(shapes)) for _ in range(rng.randint(0, 8))
                ]
                fleet.upsert(reported)
                known |= {machine.id: machine for machine in reported}
            case 2:
                gone = [f"m{rng.randrange(30)}" for _ in range(rng.randint(0, 12))]
                assert fleet.remove(gone) == len({machine for machine in gone if machine in known})
                known = {name: machine for name, machine in known.items() if name not in gone}
            case 3:
                mine = [machine for machine in known.values() if rng.random() < 0.3]
                state = rng.choice(list(State))
                rows = fleet.rows_of(machine.id for machine in mine)
                fleet.change(rows, states.NUMBERS[state], 7, cluster=-1, need=-1)
                for machine in mine:
                    known[machine.id] = FleetMachine(machine.id, state, machine.shape)
            case _:
                fleet.recount()
        check(fleet, known)


def drawn(rng: Random, name: str, shape: Shape) -> FleetMachine:
    cluster = rng.choice(["", "", "c0", "c1", f"c{rng.randrange(9)}"])
    return FleetMachine(name, rng.choice(list(State)), shape, cluster, "n" if cluster else "")


@given(SEEDS)
@examples(20)
def test_counts_are_those_of_a_recount_after_any_changes(seed: int) -> None:
    random_life(seed, 12)


@pytest.mark.slow
@given(SEEDS)
@examples(150)
def test_counts_are_right_over_a_long_life(seed: int) -> None:
    random_life(seed, 60)


@pytest.mark.slow
@given(SEEDS)
@examples(60)
def test_counts_that_are_too_many_for_a_table_are_right_too(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census, "_DENSE", 64)
        random_life(seed, 40)


@pytest.mark.slow
@given(SEEDS)
@examples(100)
def test_fits_are_right_after_the_number_of_a_kind_was_used_again(seed: int) -> None:
    rng = Random(seed)
    fleet = Fleet(Names())
    demand = Demand(fleet)
    needs: list[FleetNeed] = draw_needs(rng, 4, PLAIN, ("c0",))
    demand.put("c0", needs)
    used_again = False
    for turn in range(12):
        before = len(fleet.kinds)
        fleet.upsert([FleetMachine(f"{turn}-{n}", State.IDLE, draw_shape(rng)) for n in range(4)])
        demand.profiles.tables()
        for machine in fleet.ids:
            if not machine:
                continue
            kind = int(fleet.kind[fleet.row(machine)])
            for row, need in enumerate(needs):
                place = int(np.flatnonzero(demand.code == fleet.names.need(0, need.name))[0])
                assert demand.profiles.fit[demand.profile[place], kind] == units_on(
                    need, fleet.kinds.shapes[kind]
                ), row
        used_again |= turn > 0 and len(fleet.kinds) < before + 4
        fleet.remove([machine for machine in fleet.ids if rng.random() < 0.8])
    assert used_again
