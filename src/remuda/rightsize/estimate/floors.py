"""
What each replica of a container never fell below, step by step: by this alone leaks are told from everything else.

Pods that follow each other under one name, as those of a StatefulSet do, are a replica each: what is larger from one to the
next is no leak of any of them.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from remuda.rightsize.estimate.cells import FILLING_S, Cells, Grid, whole_up
from remuda.rightsize.estimate.columns import Floats, Ints
from remuda.rightsize.evidence import Floor

#: of a container's replicas, those whose memory rose most: a leak of one shows, whatever the others do
MOST_REPLICAS = 12
#: who lived for fewer steps shows nothing
_LEAST_STEPS = 4


def floors_of(
    cells: Cells, containers: int, over: Grid, renewed: Mapping[int, Ints]
) -> list[tuple[Floor, ...]]:
    """Of each container the replicas that rose most; samples beside the plot are left out."""
    first = over.begin // over.cell_s
    step = cells.cell - first
    begun, ended = (_life(cells.replica, at, renewed) for at in (cells.first, cells.last))
    # a cell in which one pod followed another is of neither
    is_in = (step >= 0) & (step < over.count * (over.step // over.cell_s)) & (begun == ended)
    replica, owner, at, life = cells.replica[is_in], cells.owner[is_in], cells.first[is_in], begun[is_in]
    step, least = step[is_in], cells.least[is_in]
    is_other = np.diff(replica, prepend=-1) | np.diff(life, prepend=-1)
    bounds = np.nonzero(is_other)[0].tolist()
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


def _life(replica: Ints, at: Ints, renewed: Mapping[int, Ints]) -> Ints:
    """How many pods had the name of each replica before the one that had it at a moment."""
    life = np.zeros(len(replica), np.int64)
    for number, begins in renewed.items():
        rows = slice(*np.searchsorted(replica, [number, number + 1]).tolist())
        life[rows] = np.searchsorted(begins, at[rows], side="right")
    return life


def _risen(least: Floats) -> float:
    """By how much it was ever above what it had been before."""
    there = least[np.isfinite(least)]
    return float((there - np.minimum.accumulate(there)).max())


def _numbers(values: Floats) -> tuple[int | None, ...]:
    is_there = np.isfinite(values).tolist()
    whole = whole_up(np.where(np.isfinite(values), values, 0.0)).tolist()
    return tuple(each if there else None for each, there in zip(whole, is_there, strict=True))
