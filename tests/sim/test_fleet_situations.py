"""When a history has shown all that histories before it have, and nothing new is expected of it."""

import pytest
from tests.sim.choose import chosen

from remuda.sim.fleet_history import FleetHistory
from remuda.sim.fleet_queue import START
from remuda.sim.fleet_scenario import Request
from remuda.sim.fleet_situations import Situations


def test_minutes_that_show_nothing_new_end_it_and_something_new_begins_the_count_again() -> None:
    situations = Situations()
    assert all(situations.add({"a", "b"}) for _ in range(8))
    assert situations.add({"c"})
    assert all(situations.add({"a", "c"}) for _ in range(8))
    assert not situations.add({"a"})


def test_the_first_histories_go_on_whatever_they_show_and_others_know_what_they_showed() -> None:
    situations = Situations(wholly=2)
    for _ in range(2):
        situations.begin()
        assert all(situations.add({"a", "b"}) for _ in range(20))
        situations.end()
    situations.begin()
    assert all(situations.add({"a", "b"}) for _ in range(7))
    assert not situations.add({"a", "b"})


def test_what_came_together_is_new_though_each_came_before() -> None:
    situations = Situations()
    situations.add({"a"})
    situations.add({"b"})
    assert all(situations.add({"a"}) for _ in range(7))
    assert situations.add({"a", "b"})
    assert situations.add({"a"})


def test_a_dozen_histories_in_succession_that_show_nothing_new_are_enough() -> None:
    situations = Situations()
    shown = [{"a"}, *[set[str]()] * 11, {"b"}, *[set[str]()] * 11]
    for codes in shown:
        situations.begin()
        situations.add(codes)
        assert not situations.is_exhausted
        situations.end()
    situations.begin()
    situations.add({"a"})
    situations.end()
    assert situations.is_exhausted


@pytest.mark.slow
def test_a_history_that_shows_nothing_new_ends_its_faults_early_and_comes_to_rest() -> None:
    situations = Situations()
    lengths = []
    for _ in range(2):
        with FleetHistory(Request(3, 40, 2, 0.25), situations=situations) as history:
            history.live()
            lengths.append(history.queue.now - START)
    assert lengths[1] < lengths[0]


def test_few_histories_are_chosen_that_show_what_all_do_first_those_that_add_most() -> None:
    shown: dict[int, set[tuple[str, ...]]] = {1: {("a",), ("b",)}, 2: {("b",), ("c",)}, 4: {("d",)}}
    shown[3] = {("a",), ("b",), ("c",)}
    assert chosen(shown, {1: 1.0, 2: 1.0, 3: 1.1, 4: 0.1}) == [4, 3]
    assert chosen(shown, {1: 1.0, 2: 1.0, 3: 9.0, 4: 9.0}) == [1, 2, 4]
