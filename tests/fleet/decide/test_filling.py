"""How units are poured over domains, against every way to pour them."""

from itertools import product
from random import Random

import numpy as np
import pytest

from remuda.fleet.decide.filling import _levelled


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


def reached(level: list[int], way: tuple[int, ...] | list[int]) -> list[int]:
    return sorted(have + more for have, more in zip(level, way, strict=True))
