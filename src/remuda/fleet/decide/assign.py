"""Assign: machines for what is unmet, first a cluster's own orphans, then what is idle, on its way or for sale."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide import specials
from remuda.fleet.decide.costs import costs
from remuda.fleet.decide.engine import Engine
from remuda.fleet.decide.exact import refine
from remuda.fleet.decide.exchange import give_back
from remuda.fleet.decide.row_selection import SelectedRows, select_rows
from remuda.fleet.decide.serve import in_order, serve
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, SPECULATIVE, TIERS, Picks, Work
from remuda.fleet.plan import Block, Op

Ints = NDArray[np.int64]


def adopt(work: Work, engine: Engine) -> None:
    """Let needs of a cluster take over its machines that no need claims: nothing has to move for that."""
    fleet, demand = work.fleet, work.demand
    orphans = work.surplus
    short = np.flatnonzero(work.unmet > 0)
    if not len(orphans) or not len(short):
        return
    left = []
    clusters = fleet.cluster[orphans]
    both = np.intersect1d(clusters, demand.cluster[short])
    left.append(orphans[~np.isin(clusters, both)])
    kinds = len(fleet.kinds)
    for cluster in both.tolist():
        mine = orphans[clusters == cluster]
        free = np.zeros((TIERS, kinds), np.int64)
        free[IDLE] = np.bincount(fleet.kind[mine], minlength=kinds)
        order = in_order(demand, short[demand.cluster[short] == cluster])
        part = replace(work, free=free, order=order, picks=Picks(), held_back=np.zeros(kinds, np.int64))
        serve(part, engine, specials.place)
        picks = part.picks.table()
        selected = select_rows(fleet, mine, picks)
        for first, needs, each, kind, _ in picks.tolist():
            for place in range(first, first + needs):
                row = int(order[place])
                if not demand.profiles.plain[demand.profile[row]]:
                    work.adopted.setdefault(row, np.zeros(kinds, np.int64))[kind] += each
        left.append(np.setdiff1d(mine, selected.rows))
        if len(selected.rows):
            work.blocks.append(_block(part, Op.ADOPT, "fleet.adopted", picks, selected))
    work.surplus = np.sort(np.concatenate(left))


def assign(work: Work, engine: Engine) -> None:
    """Serve what is unmet from what is free, in the order of needs."""
    fleet = work.fleet
    if not len(work.order):
        _give_claimed(work)
        return
    rows = free_rows(work)
    kinds = len(fleet.kinds)
    for tier, candidates in enumerate(rows):
        work.free[tier] = np.bincount(fleet.kind[candidates], minlength=kinds)
    asked = work.unmet.copy()
    serve(work, engine, specials.place)
    give_back(work, asked)
    refine(work, asked)
    _give_claimed(work)
    table = work.picks.table()
    taken = [work.taken]
    for tier, op, code in ((IDLE, Op.ASSIGN, "fleet.assigned"), (SPECULATIVE, Op.CREATE, "fleet.created")):
        picks = table[table[:, 4] == tier]
        selected = select_rows(fleet, rows[tier], picks)
        if len(selected.rows):
            work.blocks.append(_block(work, op, code, picks, selected))
            taken.append(selected.rows)
    work.taken = np.concatenate(taken)


def free_rows(work: Work) -> tuple[Ints, Ints, Ints, Ints]:
    """The machines of each tier that no need has and that may be touched now."""
    fleet = work.fleet
    idle, creating, speculative, draining = (
        np.flatnonzero(fleet.state == state)
        for state in (states.IDLE, states.CREATING, states.SPECULATIVE, states.DRAINING)
    )
    if (fleet.claim >= 0).any():
        held = np.zeros(fleet.rows, np.bool_)
        held[work.held.rows] = True
        idle, creating, draining = (rows[~held[rows]] for rows in (idle, creating, draining))
    waits = fleet.not_before > work.now
    if waits.any():
        work.due.append(int(fleet.not_before[waits].min()))
        idle, speculative = idle[~waits[idle]], speculative[~waits[speculative]]
    found = {IDLE: idle, COMING: creating, SPECULATIVE: speculative, DRAINING: draining}
    return found[0], found[1], found[2], found[3]


def _give_claimed(work: Work) -> None:
    """Give machines that became idle to the needs they were made or taken for; a gang's wait until all are there."""
    fleet, demand = work.fleet, work.demand
    if not (fleet.claim >= 0).any():
        return
    idle = fleet.state[work.held.rows] == states.IDLE
    if not idle.any():
        return
    rows, need = work.held.rows[idle], work.held.need[idle]
    work.taken = np.concatenate([work.taken, rows])
    go = ~specials.waiting_gangs(work)[need] & (fleet.not_before[rows] <= work.now)
    if not go.all():
        work.due.append(int(fleet.since[rows[~go]].min()) + work.policy.gang_patience)
    rows, need, fit = rows[go], need[go], work.held.fit[idle][go]
    if not len(rows):
        return
    kind = fleet.kind[rows]
    work.blocks.append(
        Block(
            Op.ASSIGN,
            "fleet.assigned",
            rows,
            demand.code[need],
            np.arange(len(rows), dtype=np.int32),
            {
                "kind": kind.astype(np.int64),
                "price": fleet.kinds.price[kind],
                "cost": costs(work, kind.astype(np.int64), demand.interruption_penalty[need]),
                "fit": fit,
                "claimed": np.ones(len(rows), np.int64),
            },
            np.zeros(len(rows), np.int64),
        )
    )


def _block(work: Work, op: Op, code: str, picks: Ints, selected: SelectedRows) -> Block:
    demand = work.demand
    row = work.order[picks[:, 0]]
    kind = picks[:, 3]
    return Block(
        op,
        code,
        selected.rows,
        demand.code[work.order[selected.place]],
        selected.pick.astype(np.int32),
        {
            "kind": kind,
            "price": work.fleet.kinds.price[kind],
            "cost": costs(work, kind, demand.interruption_penalty[row]),
            "fit": work.fit[demand.profile[row], kind],
            "wanted": work.contenders[kind],
        },
        np.zeros(len(selected.rows), np.int64),
    )
