"""What a compiled kernel does in one pass, as arrays do it in several: the reference for it."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states

Ints = NDArray[np.int64]


def credit(
    state: NDArray[np.int8],
    kind: NDArray[np.int32],
    need: NDArray[np.int32],
    row_of: NDArray[np.int32],
    profile: NDArray[np.int32],
    fit: Ints,
    rows: Ints,
    needs: Ints,
    units: Ints,
    orphans: Ints,
    sums: Ints,
) -> tuple[int, int]:
    """The same as `kernels.credit`."""
    serving = np.flatnonzero((state == states.CONFIGURED) | (state == states.CONFIGURING))
    place = row_of[need[serving]].astype(np.int64)
    provided = np.zeros(len(serving), np.int64)
    known = place >= 0
    provided[known] = fit[profile[place[known]], kind[serving[known]]]
    held = provided > 0
    count = int(held.sum())
    rows[:count], needs[:count], units[:count] = serving[held], place[held], provided[held]
    sums += units_by_need(needs[:count], units[:count], len(sums))
    lost = serving[~held]
    orphans[: len(lost)] = lost
    return count, len(lost)


def units_by_need(need: Ints, fit: Ints, needs: int) -> Ints:
    """Sums by need. The floats inside hold whole numbers far below 2⁵³, so they are exact."""
    if not len(need):
        return np.zeros(needs, np.int64)
    return np.bincount(need, weights=fit, minlength=needs).astype(np.int64)
