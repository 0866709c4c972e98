"""
Serve needs in order from what is free: the plain ones in a kernel, the special ones one by one, exchanges between.

The same code gives idle and speculative machines to all clusters, and a cluster's own orphans to its other needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide import bounds
from remuda.fleet.decide.engine import Engine
from remuda.fleet.decide.exchange import exchange
from remuda.fleet.decide.work import Work
from remuda.fleet.demand import Demand

Ints = NDArray[np.int64]
#: Serves one special need: the scratch table, its place in the order, its demand row.
PlaceSpecial = Callable[[Work, int, int], None]
#: Most needs take one pick; a table of picks that is full is doubled.
_ROOM = 16


@dataclass(frozen=True, slots=True)
class Groups:
    """Runs of equal needs in the order. `table` is what the kernel reads; `special` marks those it must not."""

    table: Ints
    special: NDArray[np.bool_]
    #: rows of eligible kinds: `starts[r]:starts[r+1]` of `kinds` and `fits`
    starts: Ints
    kinds: Ints
    fits: Ints


def in_order(demand: Demand, rows: Ints, begun: Sequence[int] = ()) -> Ints:
    """Demand rows by priority, those that are `begun` first, then by arrival, then cluster, then profile, then row."""
    if len(rows) < 2:
        return rows
    keys = (
        -demand.priority[rows].astype(np.int64),
        1 - np.isin(rows, begun) if len(begun) else np.zeros(len(rows), np.int64),
        demand.arrival[rows],
        demand.names.cluster_rank()[demand.cluster[rows]],
        demand.profile[rows].astype(np.int64),
    )
    packed = np.zeros(len(rows), np.int64)
    bits = int(rows.max()).bit_length()
    for key in keys:
        least = int(key.min())
        width = (int(key.max()) - least).bit_length()
        bits += width
        if bits > 62:
            return rows[np.lexsort((rows, *reversed(keys)))]
        packed <<= width
        packed |= key - least
    width = int(rows.max()).bit_length()
    packed <<= width
    packed |= rows
    packed.sort()
    packed &= (1 << width) - 1
    return packed


def serve(work: Work, engine: Engine, place: PlaceSpecial) -> None:
    """Give machines from `work.free` to the needs in `work.order`, of which there is one at least; what is given is in `work.picks`."""
    groups = _group(work)
    demand, kinds = work.demand, work.fleet.kinds
    served = np.zeros((len(groups.table), 2), np.int64)
    picks = np.zeros((len(work.order) + _ROOM, 5), np.int64)
    limits = work.limits
    bounds.check_serving(work, groups)
    stops = [*np.flatnonzero(groups.special).tolist(), len(groups.table)]
    at = 0
    for stop in stops:
        while at < stop:
            begin = at
            cursor = np.array([begin, 0, 0, 0, 0], np.int64)
            while not engine.serve_plain(
                stop, groups.table, groups.starts, groups.kinds, groups.fits, demand.profiles.unit,
                kinds.allocatable, kinds.price, kinds.interruption, work.contenders, work.free, kinds.provider,
                limits.counts, limits.left, limits.money, limits.quota_bites, limits.money_bites, picks, served, cursor,
            ):  # fmt: skip
                picks = np.concatenate([picks, np.zeros_like(picks)])
            at = int(cursor[0])
            work.picks.extend(picks[: int(cursor[3])])
            short = _settle(work, groups, served, begin, at)
            if len(short):
                exchange(work, groups, short, served)
                _retry_folded(work, groups, short, place)
        if stop < len(groups.table):
            first, needs = int(groups.table[stop, 1]), int(groups.table[stop, 2])
            for offset in range(needs):
                place(work, first + offset, int(work.order[first + offset]))
            at = stop + 1


def _group(work: Work) -> Groups:
    """Neighbours in the order that nothing distinguishes, and the kinds each may have."""
    demand, order = work.demand, work.order
    profile = demand.profile[order].astype(np.int64)
    units = work.unmet[order].copy()
    plain = demand.profiles.plain[profile]
    has_free = work.free.any(axis=0)
    folded = np.zeros(len(order), np.bool_)
    if not plain.all():
        best = np.where(has_free, work.fit, 0).max(axis=1, initial=0)
        gang = np.array(
            [bool(one.same) and not one.by_sum and one.is_level for one in demand.profiles.all], np.bool_
        )[profile]
        folded = gang & (best[profile] >= units) & (units == demand.count[order])
    lists = np.where(folded, units, 0)
    columns = (
        demand.priority[order], demand.cluster[order], profile, units, demand.interruption_penalty[order], demand.arrival[order],
        plain | folded,
    )  # fmt: skip
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    table = np.empty((len(first), 7), np.int64)
    table[:, 0] = demand.priority[order[first]]
    table[:, 1] = first
    table[:, 2] = np.diff(np.append(first, len(order)))
    table[:, 3] = np.where(folded[first], 1, units[first])
    table[:, 5] = demand.interruption_penalty[order[first]]
    table[:, 6] = profile[first]
    pairs = profile[first] * (int(lists.max()) + 1) + lists[first]
    distinct, table[:, 4] = np.unique(pairs, return_inverse=True)
    starts, kinds, fits = [0], [], []
    for pair in distinct.tolist():
        number, least = divmod(pair, int(lists.max()) + 1)
        row = work.fit[number]
        eligible = np.flatnonzero(has_free & (row >= max(least, 1)))
        kinds.append(eligible)
        fits.append(np.ones(len(eligible), np.int64) if least else row[eligible])
        starts.append(starts[-1] + len(eligible))
    return Groups(
        table,
        ~(plain | folded)[first],
        np.array(starts, np.int64),
        np.concatenate(kinds),
        np.concatenate(fits),
    )


def _settle(work: Work, groups: Groups, served: Ints, begin: int, end: int) -> Ints:
    """Take what was served off what is missing; the groups in which something still is."""
    table = groups.table[begin:end]
    done = served[begin:end, 0]
    full = table[:, 2] == done
    first, last = int(table[0, 1]), int(table[-1, 1] + table[-1, 2])
    places = np.arange(first, last)
    group = np.repeat(np.arange(len(table)), table[:, 2])
    met = places - table[group, 1] < done[group]
    work.unmet[work.order[first:last][met]] = 0
    short = np.flatnonzero(~full)
    if len(short):
        partial = work.order[table[short, 1] + done[short]]
        started = served[begin:end, 1][short] < table[short, 3]
        work.unmet[partial[started]] = served[begin:end, 1][short][started]
    return short + begin


def _retry_folded(work: Work, groups: Groups, short: Ints, place: PlaceSpecial) -> None:
    """Gangs that no single machine had room for may still fit on several."""
    for group in short.tolist():
        first, needs = int(groups.table[group, 1]), int(groups.table[group, 2])
        rows: Sequence[int] = work.order[first : first + needs].tolist()
        if not work.demand.profiles.plain[work.demand.profile[rows[0]]]:
            for offset, row in enumerate(rows):
                if work.unmet[row] > 0:
                    place(work, first + offset, row)
