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
_HIGHEST = np.iinfo(np.int64).max


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
            cursor = np.array([begin, 0, 0, 0, 0], np.int64)  # pragma: no mutate - empty picks are dropped
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
    has_free = np.asarray(work.free.any(axis=0))
    plain = demand.profiles.plain[profile]
    if not plain.all():
        # a gang that is begun is completed where it is
        plain |= (_fit_on_one(work, has_free)[profile] >= units) & (units == demand.count[order])
    columns = (
        demand.priority[order], demand.cluster[order], profile, units, demand.interruption_penalty[order], demand.arrival[order],
        plain,
    )  # fmt: skip
    new = np.zeros(len(order), np.bool_)
    new[0] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(new)
    table = np.zeros((len(first), 7), np.int64)
    table[:, 0] = demand.priority[order[first]]
    table[:, 1] = first
    table[:, 2] = np.diff(np.append(first, len(order)))
    table[:, 3] = units[first]
    table[:, 5] = demand.interruption_penalty[order[first]]
    table[:, 6] = profile[first]
    distinct, table[:, 4] = np.unique(profile[first], return_inverse=True)
    starts, kinds, fits = [0], [], []
    for number in distinct.tolist():
        row = work.fit[number]
        eligible = np.flatnonzero(has_free & (row > 0))
        kinds.append(eligible)
        fits.append(row[eligible])
        starts.append(starts[-1] + len(eligible))
    return Groups(
        table,
        ~plain[first],
        np.array(starts, np.int64),
        np.concatenate(kinds),
        np.concatenate(fits),
    )


def _fit_on_one(work: Work, has_free: NDArray[np.bool_]) -> Ints:
    """By profile of gangs, how many units every free machine that fits has room for: a gang of no more never takes two; else −1."""
    gang = [bool(one.same) and not one.by_sum and one.is_level for one in work.demand.profiles.all]
    least = np.where(has_free & (work.fit > 0), work.fit, _HIGHEST).min(axis=1, initial=_HIGHEST)
    return np.where(gang, least, -1)


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
