"""Rails by the minute: what they allow, when there is room again, and what a fleet shows when memory was lost."""

import pytest
from tests.fleet.builders import NOW, fleet_of, machines, shape

from remuda.fleet.decide.rails import counted, frees_at, left, most, recall
from remuda.fleet.memory import Memory
from remuda.model.machines import State
from remuda.model.times import MINUTE, SECOND


@pytest.mark.parametrize(("percent", "machines", "found"), [(5, 100, 5), (5, 19, 1), (5, 0, 1), (5, 59, 2)])
def test_a_percentage_is_rounded_down_to_one_at_least(percent: int, machines: int, found: int) -> None:
    assert most(percent, machines) == found


def test_what_went_within_the_minute_leaves_less_but_never_less_than_none() -> None:
    assert left(None, 100, ((NOW, 3),)) is None
    assert left(5, 100, ((NOW - 2, 1), (NOW, 3))) == 1
    assert left(5, 100, ((NOW, 9),)) == 0
    assert left(5, 100, ()) == 5


def test_there_is_room_again_when_the_first_that_went_is_a_minute_ago() -> None:
    assert frees_at(((NOW - 40 * SECOND, 1), (NOW - 10 * SECOND, 2)), NOW) == NOW + 20 * SECOND
    assert frees_at(((NOW - 10 * SECOND, 2), (NOW - 40 * SECOND, 1)), NOW) == NOW + 20 * SECOND
    assert frees_at((), NOW) == NOW + MINUTE
    assert counted(((NOW - 1, 1),), NOW, 0) == ((NOW - 1, 1),)
    assert counted((), NOW, 2) == ((NOW, 2),)


def test_without_a_memory_what_began_to_drain_within_the_minute_counts_for_both_rails() -> None:
    """One since 30 s and two since now of one cluster, one of another, and one that is older than a minute."""
    fleet = fleet_of(
        machines(1, shape(), State.DRAINING, cluster="a", since=NOW - 30 * SECOND, prefix="m1"),
        machines(2, shape(), State.DRAINING, cluster="a", since=NOW + 5, prefix="m2"),
        machines(1, shape(), State.DRAINING, cluster="b", since=NOW - 59 * SECOND, prefix="m3"),
        machines(1, shape(), State.DRAINING, cluster="b", since=NOW - 60 * SECOND, prefix="m4"),
        machines(3, shape(), State.CONFIGURED, cluster="b", prefix="m5"),
    )
    a, b = fleet.names.cluster("a"), fleet.names.cluster("b")
    found = recall(fleet, Memory(), NOW)
    assert {cluster: sorted(window) for cluster, window in found.reclaimed.items()} == {
        a: [(NOW - 30 * SECOND, 1), (NOW, 2)],
        b: [(NOW - 59 * SECOND, 1)],
    }
    assert sorted(found.preempted) == [(NOW - 59 * SECOND, 1), (NOW - 30 * SECOND, 1), (NOW, 2)]
    kept = Memory(written=True)
    assert recall(fleet, kept, NOW) is kept
