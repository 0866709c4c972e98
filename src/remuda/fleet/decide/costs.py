"""What a machine costs a need per hour."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.work import Work
from remuda.model.shapes import MILLION
from remuda.model.units import PINNED

Ints = NDArray[np.int64]


def costs(work: Work, kind: Ints, penalty: Ints) -> Ints:
    """Effective cost per hour of machines of a kind to needs with an interruption penalty, in micro-dollars."""
    kinds = work.fleet.kinds
    chance = kinds.interruption[kind]
    cost: Ints = kinds.price[kind] + chance * np.minimum(penalty, PINNED - 1) // MILLION
    return np.where((penalty >= PINNED) & (chance > 0), PINNED, cost)
