"""Reclaim what no need claims, and release what has been idle for longer than it is held, both within their rails."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide import rails
from remuda.fleet.decide.preempt import reclaimable
from remuda.fleet.decide.work import Work
from remuda.fleet.kinds import CAPACITY_TYPES
from remuda.fleet.memory import Window, recent, total
from remuda.fleet.plan import Block, Op
from remuda.model.plans import Reason

Ints = NDArray[np.int64]
_FOR_EVER = np.iinfo(np.int64).max


def reclaim(work: Work) -> None:
    """
    Take back configured machines that serve nobody's need, cheapest to lose first, and give up those idle too long.

    Nothing is taken back from a cluster that has not been heard since the start or whose roll-up is held, and from any
    other only so many in a minute.
    """
    windows = {cluster: recent(window, work.now) for cluster, window in work.memory.reclaimed.items()}
    work.reclaimed = {cluster: window for cluster, window in windows.items() if window}
    _reclaim(work, dict(work.reclaimed))
    _release(work)


def _reclaim(work: Work, windows: dict[int, Window]) -> None:
    fleet, demand = work.fleet, work.demand
    rows = work.surplus[fleet.state[work.surplus] == states.CONFIGURED]
    rows = _without_unsettled(work, rows) if len(rows) else rows
    late = fleet.not_before[rows] > work.now
    if late.any():
        work.due.append(int(fleet.not_before[rows[late]].min()))
    rows = rows[~late]
    cluster = fleet.cluster[rows].astype(np.int64)
    may = reclaimable(work)[cluster]
    _report_distrust(work, cluster[~may])
    rows, cluster = rows[may], cluster[may]
    if not len(rows):
        return
    known = demand.row_of()[fleet.need[rows]]
    penalty = (
        np.where(known >= 0, demand.reclamation_penalty[known], 0)
        if len(demand)
        else np.zeros(len(rows), np.int64)
    )
    price = fleet.kinds.price[fleet.kind[rows]]
    order = np.lexsort((rows, -price, penalty, cluster))
    rows, cluster, penalty, price = rows[order], cluster[order], penalty[order], price[order]
    go = np.ones(len(rows), np.bool_)
    percent = work.policy.rails.reclaim_percent
    clusters, starts, counts = np.unique(cluster, return_index=True, return_counts=True)
    configured = fleet.census.by_cluster_and_state(len(fleet.names.clusters))[:, states.CONFIGURED]
    for number, start, count in zip(clusters.tolist(), starts.tolist(), counts.tolist(), strict=True):
        window = windows.get(number, ())
        machines = int(configured[number]) + total(window)
        room = rails.left(percent, machines, window)
        taken = count if room is None else min(count, room)
        go[start + taken : start + count] = False
        after = rails.counted(window, work.now, taken)
        if not work.policy.rails.paused and after:
            work.reclaimed[number] = after
        if taken < count and percent is not None:
            terms = {
                "percent": percent,
                "machines": machines,
                "most": rails.most(percent, machines),
                "recent": total(window),
                "now": taken,
                "held_back": count - taken,
            }
            work.rails.append(Reason("rail.reclaims", f"cluster/{fleet.names.clusters[number]}", dict(terms)))
            work.due.append(rails.frees_at(after, work.now))
    rows, penalty, price = rows[go], penalty[go], price[go]
    work.blocks.append(
        Block(
            Op.RECLAIM,
            "fleet.reclaimed",
            rows,
            np.full(len(rows), -1, np.int32),
            np.arange(len(rows), dtype=np.int32),
            {"price": price, "penalty": penalty, "need": fleet.need[rows].astype(np.int64)},
            np.full(len(rows), work.policy.grace, np.int64),
        )
    )


def _without_unsettled(work: Work, rows: Ints) -> Ints:
    """
    Surplus without that of needs that this plan takes from or, where domains or sums count, gives to.

    What such a need has too much of may be what it misses once others are gone, or of use once others have come.
    """
    fleet, demand = work.fleet, work.demand
    own = fleet.need[rows]
    stays = np.zeros(len(rows), np.bool_)
    for block in work.blocks:
        if block.op is Op.PREEMPT:
            stays |= np.isin(rows, block.rows) | np.isin(own, fleet.need[block.rows])
    place = demand.row_of()[own]
    special = (place >= 0) & ~demand.profiles.plain[demand.profile[place]] if len(demand) else stays
    if special.any():
        served = [block.needs for block in work.blocks if block.op in {Op.ASSIGN, Op.CREATE, Op.PREEMPT}]
        stays |= special & np.isin(own, np.concatenate([*served, np.zeros(0, np.int32)]))
    return rows[~stays]


def _report_distrust(work: Work, cluster: Ints) -> None:
    """Say whose machines stay because what their cluster asks for is not known, or not believed."""
    names = work.fleet.names.clusters
    kept = dict(zip(*(column.tolist() for column in np.unique(cluster, return_counts=True)), strict=True))
    for number in sorted({*kept, *work.demand.held}):
        held = work.demand.held.get(number)
        if number < 0:
            continue
        if held is None:
            terms = {"held_back": kept[number]}
            work.rails.append(Reason("rail.unheard", f"cluster/{names[number]}", dict(terms)))
            continue
        terms = {
            "percent": work.policy.rails.rollup_percent or 0,
            "rows": held.size.rows,
            "accepted": held.accepted.rows,
            "agreeing": held.agreeing,
            "needed": work.policy.rails.rollup_agreeing,
            "held_back": kept.get(number, 0),
        }
        work.rails.append(Reason("rail.rollup", f"cluster/{names[number]}", dict(terms)))


def _release(work: Work) -> None:
    fleet, kinds = work.fleet, work.fleet.kinds
    holds = [work.policy.holds.get(capacity) for capacity in CAPACITY_TYPES]
    by_kind = np.array([_FOR_EVER if hold is None else hold for hold in holds], np.int64)[kinds.capacity]
    idle = fleet.census.by_kind_and_state(len(kinds))[:, states.IDLE]
    if not (idle[by_kind < _FOR_EVER] > 0).any():
        return
    rows = np.flatnonzero(fleet.state == states.IDLE)
    used = np.zeros(fleet.rows, np.bool_)
    used[work.taken] = True
    rows = rows[~used[rows]]
    rows = _without(rows, fleet.kind[rows].astype(np.int64), work.held_back)
    hold = by_kind[fleet.kind[rows]]
    rows, hold = rows[hold < _FOR_EVER], hold[hold < _FOR_EVER]
    due = np.maximum(fleet.since[rows] + hold, fleet.not_before[rows])
    later = due > work.now
    if later.any():
        work.due.append(int(due[later].min()))
    rows, hold = rows[~later], hold[~later]
    if not len(rows):
        return
    work.blocks.append(
        Block(
            Op.RELEASE,
            "fleet.released",
            rows,
            np.full(len(rows), -1, np.int32),
            np.arange(len(rows), dtype=np.int32),
            {"idle_for": work.now - fleet.since[rows], "hold": hold, "price": kinds.price[fleet.kind[rows]]},
            np.zeros(len(rows), np.int64),
        )
    )


def _without(rows: Ints, kind: Ints, held_back: Ints) -> Ints:
    """The rows without so many of each kind, the lowest of them, as must stay."""
    if not held_back.any():
        return rows
    order = np.argsort(kind, kind="stable")
    sorted_kind = kind[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_kind, sorted_kind)
    return np.sort(rows[order[rank >= held_back[sorted_kind]]])
