"""What each replica of a container never fell below, step by step: by this alone leaks are told from everything else."""

from itertools import pairwise

import numpy as np

from remuda.rightsize.estimate.cells import FILLING_S, Cells, Grid, whole_up
from remuda.rightsize.estimate.columns import Floats
from remuda.rightsize.evidence import Floor

#: of a container's replicas, those whose memory rose most: a leak of one shows, whatever the others do
MOST_REPLICAS = 12
#: who lived for fewer steps shows nothing
_LEAST_STEPS = 4


def floors_of(cells: Cells, containers: int, over: Grid) -> list[tuple[Floor, ...]]:
    """Of each container the replicas that rose most; samples beside the plot are left out."""
    first = over.begin // over.cell_s
    step = cells.cell - first
    is_in = (step >= 0) & (step < over.count * (over.step // over.cell_s))
    replica, owner, at = cells.replica[is_in], cells.owner[is_in], cells.first[is_in]
    step, least = step[is_in], cells.least[is_in]
    bounds = np.nonzero(np.diff(replica, prepend=-1))[0].tolist()
    found: list[list[tuple[float, Floor]]] = [[] for _ in range(containers)]
    for begin, end in pairwise([*bounds, len(replica)]):
        is_settled = at[begin:end] >= at[begin:end].min() + FILLING_S
        if int(is_settled.sum()) < _LEAST_STEPS:
            continue
        where, values = step[begin:end][is_settled], least[begin:end][is_settled]
        low = int(where.min())
        made = np.full(int(where.max()) - low + 1, np.inf)
        np.minimum.at(made, where - low, values)
        floor = Floor((first + low) * over.cell_s, over.cell_s, _numbers(made))
        found[int(owner[begin])].append((_risen(made), floor))
    return [
        tuple(floor for _, floor in sorted(some, key=lambda pair: (-pair[0], pair[1].begin))[:MOST_REPLICAS])
        for some in found
    ]


def _risen(least: Floats) -> float:
    """By how much it was ever above what it had been before."""
    there = least[np.isfinite(least)]
    return float((there - np.minimum.accumulate(there)).max())


def _numbers(values: Floats) -> tuple[int | None, ...]:
    is_there = np.isfinite(values).tolist()
    whole = whole_up(np.where(np.isfinite(values), values, 0.0)).tolist()
    return tuple(each if there else None for each, there in zip(whole, is_there, strict=True))
