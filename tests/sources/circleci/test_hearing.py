"""Who goes on calling, and how far apart the clocks are, from listings alone."""

import random

import pytest

from remuda.model.times import HOUR, MINUTE, SECOND
from remuda.sim.clock import MONDAY
from remuda.sources.circleci.hearing import Hearing


def test_nobody_is_heard_in_one_listing_alone() -> None:
    hearing = Hearing()
    hearing.listen({"a": MONDAY}, MONDAY, MONDAY + SECOND)
    assert (hearing.heard_at("a"), hearing.offset) == (None, None)


def test_an_agent_is_heard_when_its_last_call_moves_on_and_not_before_it_does_again() -> None:
    hearing = Hearing()
    for minute, called in enumerate([0, 1, 1, 2]):
        at = MONDAY + minute * MINUTE
        hearing.listen({"a": 7 + called * MINUTE, "b": 5}, at, at + SECOND)
        if minute == 2:
            assert hearing.heard_at("a") == MONDAY + MINUTE
    assert hearing.heard_at("a") == MONDAY + 3 * MINUTE
    assert hearing.heard_at("b") is None


def test_who_is_not_listed_any_more_is_forgotten() -> None:
    hearing = Hearing()
    for second, listed in enumerate([{"a": 1}, {"a": 2}, {}, {"a": 9}]):
        hearing.listen(listed, MONDAY + second * SECOND, MONDAY + second * SECOND)
    assert hearing.heard_at("a") is None


@pytest.mark.parametrize("skew", [0, 2, -60, 90, -900, 3600, -86_400], ids="{} s ahead".format)
@pytest.mark.parametrize("seed", range(3))
def test_the_offset_is_found_as_exactly_as_listings_come(skew: int, seed: int) -> None:
    """Agents call each second; listings come each ten to twenty seconds, and take a while."""
    dice, hearing, now = random.Random(seed), Hearing(), MONDAY
    for _ in range(5):
        took = dice.randrange(3 * SECOND)
        asked = now + dice.randrange(took + 1)
        called = {name: asked + skew * SECOND - dice.randrange(SECOND) for name in "abc"}
        hearing.listen(called | {"gone": MONDAY + skew * SECOND}, now, now + took)
        now += took + dice.randrange(10 * SECOND, 20 * SECOND)
    assert hearing.offset is not None
    assert abs(hearing.offset - skew * SECOND) <= 15 * SECOND
    assert abs(hearing.ours(MONDAY + skew * SECOND) - MONDAY) <= 15 * SECOND
    if abs(skew) < 5:
        assert hearing.offset == 0


def test_a_clock_that_is_set_right_is_believed() -> None:
    hearing, now = Hearing(), MONDAY
    for skew in (HOUR, HOUR, HOUR, 0, 0, 0):
        hearing.listen({"a": now + skew}, now, now + SECOND)
        now += 10 * SECOND
    assert hearing.offset == 0
