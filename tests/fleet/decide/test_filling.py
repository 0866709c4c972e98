"""How machines are chosen for domains that must reach a level, and how units are poured over them."""

from itertools import product
from random import Random

import numpy as np
import pytest
from tests.fleet.builders import fleet_of, machines, need, shape, work_of

from remuda.fleet.decide.allocation import available
from remuda.fleet.decide.candidates import candidates
from remuda.fleet.decide.filling import _levelled, fill
from remuda.model.shapes import ZONE


@pytest.mark.parametrize("seed", range(40))
def test_the_lowest_domains_rise_first(seed: int) -> None:
    """Of all ways to pour, the levels sorted from the lowest are the highest."""
    rng = Random(seed)
    size = rng.randint(1, 4)
    level = [rng.randint(0, 4) for _ in range(size)]
    room = [rng.randint(0, 3) for _ in range(size)]
    amount = rng.randint(0, 8)
    poured = _levelled(np.array(level), np.array(room), amount).tolist()
    possible = min(amount, sum(room))
    ways = [way for way in product(*(range(most + 1) for most in room)) if sum(way) == possible]
    assert tuple(poured) in ways
    assert reached(level, poured) == max(reached(level, way) for way in ways)


def filled(*kinds: tuple[str, int, int], low: int, high: int, want: int) -> list[int]:
    """How many machines of each entry are taken, from kinds (zone, units, dollars) with one machine each."""
    there = [machines(1, shape(zone, units=units, dollars=dollars)) for zone, units, dollars in kinds]
    work = work_of(fleet_of(*there), need(count=want))
    offer = candidates(work, 0, ZONE)
    have = np.zeros(len(offer.domains), np.int64)
    return [int(number) for number in fill(offer, available(work, offer), have, low, high, want)]


def test_a_domain_below_its_level_takes_nothing_from_what_may_lie_above() -> None:
    """Both domains must have two, one of them the fifth unit: machine by machine."""
    both = [(zone, 1, dollars) for zone in "ab" for dollars in range(3)]
    assert sum(filled(*both, low=2, high=3, want=5)) == 5


def test_what_is_left_of_a_machine_larger_than_what_is_wanted_is_taken_once() -> None:
    assert sum(filled(("a", 2, 1), ("b", 2, 1), low=0, high=9, want=1)) == 1
    assert sum(filled(("a", 2, 1), ("b", 2, 1), ("b", 2, 2), low=1, high=9, want=4)) == 2


def reached(level: list[int], way: tuple[int, ...] | list[int]) -> list[int]:
    return sorted(have + more for have, more in zip(level, way, strict=True))
