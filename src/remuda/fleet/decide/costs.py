"""What a machine costs a need per hour, and how much of it would lie idle."""

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
    cost: Ints = kinds.price[kind] + chance * penalty // MILLION
    return np.where((penalty >= PINNED) & (chance > 0), PINNED, cost)


def wastes(have: Ints, unit: Ints, use: Ints) -> Ints:
    """Thousandths of each machine that so many units would not use, over the resources it has."""
    there = have > 0
    idle = np.where(there, (have - use[:, None] * unit) * 1_000 // np.maximum(have, 1), 0)
    waste: Ints = idle.sum(axis=1) // np.maximum(there.sum(axis=1), 1)
    return waste
