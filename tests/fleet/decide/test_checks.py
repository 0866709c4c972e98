"""What compiled kernels must not read is found before they run, and what runs as Python does what is compiled."""

from random import Random

import numpy as np
import pytest
from tests.fleet.builders import fleet_of, machines, need, shape, work_of
from tests.fleet.world import draw_world

from remuda.errors import BadInput, InvariantError
from remuda.fleet.decide import arrays, bounds, kernels
from remuda.fleet.decide.engine import choose
from remuda.fleet.decide.serve import in_order
from remuda.fleet.decide.victims import _classes

INTS = np.array([0, 1], np.int64)


def test_a_row_for_no_need_that_is_a_need_is_found() -> None:
    small = INTS.astype(np.int32)
    with pytest.raises(InvariantError, match="the row of no need is a need"):
        bounds.check_crediting(
            np.zeros(2, np.int8), small * 0, small - 1, small, small, np.ones((2, 2), np.int64)
        )


def test_a_column_that_is_too_short_is_found() -> None:
    with pytest.raises(InvariantError, match=r"kind of machines is \(1,\), not \(2,\)"):
        bounds.check_crediting(
            np.zeros(2, np.int8),
            np.zeros(1, np.int32),
            np.zeros(2, np.int32),
            np.array([-1], np.int32),
            np.zeros(1, np.int32),
            np.ones((1, 1), np.int64),
        )


def test_an_index_outside_its_table_is_found() -> None:
    with pytest.raises(InvariantError, match="place is 0 to 1, outside 0 to 0"):
        bounds.check_index("place", INTS, 1)


def test_units_of_zero_are_found() -> None:
    with pytest.raises(InvariantError, match="units is 0"):
        bounds._check_positive("units", INTS)


def test_an_engine_that_does_not_exist_is_bad_input() -> None:
    with pytest.raises(BadInput, match="there is no engine 'cuda'"):
        choose("cuda")


@pytest.mark.parametrize("seed", range(20))
def test_machines_are_credited_one_by_one_as_they_are_in_columns(seed: int) -> None:
    """The loop that is compiled, and the columns that take its place where it is not."""
    world = draw_world(seed, machines=30)
    for _ in range(2):
        world.cycle()
    fleet, demand = world.fleet, world.demand
    demand.profiles.tables()
    columns = (fleet.state, fleet.kind, fleet.need, demand.row_of(), demand.profile, demand.profiles.fit)
    found = []
    for credit in (kernels.credit, arrays.credit):
        rows, needs, units, orphans = (np.zeros(fleet.rows, np.int64) for _ in range(4))
        sums = np.zeros(len(demand), np.int64)
        held, lost = credit(*columns, rows, needs, units, orphans, sums)
        found.append(
            [part.tolist() for part in (rows[:held], needs[:held], units[:held], orphans[:lost], sums)]
        )
    assert found[0] == found[1]


def test_needs_are_in_order_however_far_apart_their_numbers_are() -> None:
    """Keys that are too wide for one number are sorted by column."""
    rng = Random(1)
    needs = [
        need(
            f"n{number}",
            rng.choice([1, 10**9]),
            priority=rng.choice([-(2**31), 0, 2**31 - 1]),
            arrival=rng.choice([0, 2**47]),
        )
        for number in range(12)
    ]
    work = work_of(fleet_of(machines(1, shape())), *needs)
    rows = np.arange(len(needs))
    wide = in_order(work.demand, rows).tolist()
    by_hand = sorted(
        rows.tolist(), key=lambda row: (-int(work.demand.priority[row]), int(work.demand.arrival[row]))
    )
    assert [needs[row].priority for row in wide] == [needs[row].priority for row in by_hand]


def test_classes_are_the_same_whether_they_are_counted_in_a_table_or_sorted() -> None:
    key = np.array([7, 3, 7, 9, 3], np.int64)
    dense, sparse = _classes(key, 10), _classes(key, 1 << 30)
    assert [part.tolist() for part in dense] == [part.tolist() for part in sparse]
