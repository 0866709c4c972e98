"""A fleet's columns hold what was loaded last of each machine, in rows that are used again, and counts that agree."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.names import Names
from remuda.model.shapes import Shape

IDS = [f"m{number}" for number in range(12)]
SHAPES = [Shape("small"), Shape("large"), Shape("gpu", zone="a")]


#: id → (kind, state, cluster, since)
Known = dict[str, tuple[int, int, int, int]]


def load(fleet: Fleet, ids: list[str], facts: list[tuple[int, int, int, int]]) -> np.ndarray:
    table = np.array(facts, np.int64).reshape(len(ids), 4)
    return fleet.load(
        ids,
        kind=table[:, 0].astype(np.int32),
        state=table[:, 1].astype(np.int8),
        cluster=table[:, 2].astype(np.int32),
        need=np.full(len(ids), -1, np.int32),
        priority=np.zeros(len(ids), np.int32),
        since=table[:, 3],
    )


def made(incarnation: int = 0) -> Fleet:
    names = Names()
    fleet = Fleet(names, incarnation)
    for number in range(3):
        names.cluster(f"c{number}")
    for shape in SHAPES:
        fleet.kinds.number(shape)
    return fleet


FACTS = st.tuples(
    st.integers(0, 2), st.integers(states.SPECULATIVE, states.FAILED), st.integers(-1, 2), st.integers(0, 99)
)
TOLD = st.lists(st.tuples(st.sampled_from(IDS), FACTS), max_size=15)
STEPS = st.lists(st.one_of(TOLD, st.frozensets(st.sampled_from(IDS)).map(sorted)), max_size=8)


@given(STEPS)
def test_safety_columns_and_counts_agree_with_what_was_reported(
    steps: list[list[tuple[str, tuple[int, int, int, int]]] | list[str]],
) -> None:
    fleet = made()
    known: Known = {}
    for step in steps:
        gone = [reported for reported in step if isinstance(reported, str)]
        reported = [one for one in step if not isinstance(one, str)]
        assert fleet.remove(gone) == len(set(gone) & set(known))
        for machine in gone:
            known.pop(machine, None)
        rows = load(fleet, [machine for machine, _ in reported], [facts for _, facts in reported])
        known.update(reported)
        assert [fleet.ids[row] for row in rows.tolist()] == [machine for machine, _ in reported]
        assert_holds(fleet, known)


def assert_holds(fleet: Fleet, known: Known) -> None:
    assert len(fleet) == len(known)
    assert fleet.rows <= len(IDS)
    for machine, facts in known.items():
        row = fleet.row(machine)
        assert fleet.ids[row] == machine
        assert (fleet.kind[row], fleet.state[row], fleet.cluster[row], fleet.since[row]) == facts
    columns = (fleet.state, fleet.kind, fleet.cluster, fleet.need, fleet.priority, fleet.claim, fleet.since, fleet.not_before)  # fmt: skip
    assert {len(column) for column in columns} == {fleet.rows}
    counted = fleet.census.by_kind_and_state(len(fleet.kinds))[:, 1:]
    for kind in range(len(SHAPES)):
        for state in range(states.SPECULATIVE, states.COUNT):
            here = [facts for facts in known.values() if facts[:2] == (kind, state)]
            assert counted[kind, state - 1] == len(here)
            for cluster in range(-1, 3):
                want = sum(facts[2] == cluster for facts in here)
                assert fleet.census.of(kind, state, cluster) == want


def test_a_machine_that_comes_twice_at_once_ends_as_it_came_last() -> None:
    fleet = made()
    rows = load(
        fleet, ["a", "b", "a"], [(0, states.IDLE, -1, 1), (1, states.IDLE, -1, 2), (2, states.FAILED, -1, 3)]
    )
    assert rows.tolist() == [0, 1, 0]
    assert fleet.kind.tolist() == [2, 1]
    assert len(fleet) == 2


def test_the_row_of_a_machine_that_is_gone_is_used_again() -> None:
    fleet = made()
    load(fleet, ["a", "b", "c"], [(0, states.IDLE, -1, 1)] * 3)
    fleet.claim[1] = 7
    fleet.remove(["b"])
    rows = load(fleet, ["d", "e"], [(1, states.IDLE, -1, 5)] * 2)
    assert rows.tolist() == [1, 3]
    assert fleet.ids == ["a", "d", "c", "e"]
    assert fleet.claim.tolist() == [-1] * 4


def test_a_few_machines_more_do_not_copy_those_there_are() -> None:
    fleet = made()
    load(fleet, [f"m{number}" for number in range(800)], [(0, states.IDLE, -1, 1)] * 800)
    before = fleet.state
    load(fleet, ["one-more"], [(0, states.FAILED, -1, 1)])
    assert np.shares_memory(before, fleet.state)
    assert fleet.state[-1] == states.FAILED
    load(fleet, [f"n{number}" for number in range(200)], [(0, states.IDLE, -1, 1)] * 200)
    assert fleet.rows == 1_001
    assert fleet.state[800] == states.FAILED
    assert fleet.claim[801:].tolist() == [-1] * 200
