"""From kinds to machines: which rows the picks of a decision mean, lowest rows first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.columns import Fleet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """One row per machine that is given: which machine, to which place of the order, by which pick."""

    rows: Ints
    place: Ints
    pick: Ints


def select_rows(fleet: Fleet, candidates: Ints, picks: Ints) -> SelectedRows:
    """
    Machines for picks (first place, needs, each, kind, tier), which may be of one tier only.

    `candidates` are the rows there are of that tier, ascending. Picks of a kind take its rows one after another.
    """
    if not len(picks):
        none = np.zeros(0, np.int64)
        return SelectedRows(none, none, none)
    total = picks[:, 1] * picks[:, 2]
    kinds = len(fleet.kinds)
    needed = np.bincount(picks[:, 3], weights=total, minlength=kinds).astype(np.int64)
    kind = fleet.kind[candidates]
    use = needed[kind] > 0
    here, kind = candidates[use], kind[use].astype(np.int64)
    width = int(fleet.rows).bit_length()
    packed = (kind << width) | here
    packed.sort()
    here, kind = packed & ((1 << width) - 1), packed >> width
    starts = np.searchsorted(kind, np.arange(kinds))
    rank = np.arange(len(here)) - starts[kind]
    rows = here[rank < needed[kind]]
    by_kind = np.argsort(picks[:, 3], kind="stable")
    pick = np.repeat(by_kind, total[by_kind])
    begins = np.cumsum(total[by_kind]) - total[by_kind]
    offset = np.arange(len(pick)) - np.repeat(begins, total[by_kind])
    place = picks[pick, 0] + offset // picks[pick, 2]
    turn = np.argsort(pick, kind="stable")
    return SelectedRows(rows[turn], place[turn], pick[turn])
