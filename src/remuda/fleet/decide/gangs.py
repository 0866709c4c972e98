"""
Gangs: needs whose units must all be in one domain, and are worth nothing unless they all are.

A gang is completed where it is, or begun where it can be completed; it starts only when every machine it takes is idle.
"""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide.allocation import affordable, available, give, granted, hold_back, unbounded
from remuda.fleet.decide.candidates import Candidates, candidates
from remuda.fleet.decide.domains import by_kind, choose, layout_of
from remuda.fleet.decide.limits import bites
from remuda.fleet.decide.searching import greatest
from remuda.fleet.decide.work import IDLE, SPECULATIVE, Holdings, Work
from remuda.model.shapes import MILLION

Ints = NDArray[np.int64]


def home(work: Work, need_row: int, held_by_kind: Ints) -> int:
    """
    The number of the domain a gang is in; −1 when it holds nothing.

    It is where its members serve, else where machines are meant for it; where most units are, if that is not one. A
    stray member does not call it away from where it has, or awaits, all its units.
    """
    if not held_by_kind.any():
        return -1
    number = int(work.demand.profile[need_row])
    codes, _ = work.fleet.kinds.domains(work.demand.profiles.all[number].same)
    units = held_by_kind * work.fit[number]
    mine = np.flatnonzero((units > 0) & (codes >= 0))
    if not len(mine):  # pragma: no cover - what a gang holds fits it, and so is in a domain
        return -1
    here = np.unique(codes[mine])
    if len(here) > 1:
        rows = _members(work, need_row)
        if len(rows):
            serving = np.bincount(work.fleet.kind[rows], minlength=len(units)) * work.fit[number]
            whole = np.bincount(codes[mine], weights=units[mine]) >= int(work.demand.count[need_row])
            there = np.bincount(codes[mine], weights=serving[mine]) > 0
            if there.any() and ((whole & there).any() or not whole.any()):
                units = serving
    sums = np.bincount(codes[mine], weights=units[mine])
    return int(np.argmax(sums))


def missing(work: Work, need_row: int, held_by_kind: Ints) -> int:
    """Units a gang lacks where it is; all of them when it is nowhere."""
    domain = home(work, need_row, held_by_kind)
    count = int(work.demand.count[need_row])
    return count if domain < 0 else max(0, count - _usable(work, need_row, domain, held_by_kind))


def spare(work: Work, need_row: int, held_by_kind: Ints) -> Ints:
    """Machines by kind that a gang can do without: those outside its domain, and too many in it, the dearest first."""
    number = int(work.demand.profile[need_row])
    codes, _ = work.fleet.kinds.domains(work.demand.profiles.all[number].same)
    inside = codes == home(work, need_row, held_by_kind)
    left = np.where(inside, held_by_kind, 0)
    fit = work.fit[number]
    count = int(work.demand.count[need_row])
    over = int((left * fit).sum()) - count
    layout = layout_of(work, need_row, inside)
    mine = np.flatnonzero((left > 0) & (fit > 0))
    for kind in mine[np.lexsort((mine, fit[mine], -work.fleet.kinds.price[mine]))].tolist():

        def enough(number: int, kind: int = kind) -> bool:
            rest = left.copy()
            rest[kind] -= number
            return layout.usable(rest) >= count

        drop = greatest(min(int(left[kind]), max(0, over) // int(fit[kind])), enough)
        left[kind] -= drop
        over -= drop * int(fit[kind])
    return held_by_kind - left


def place(work: Work, place_in_order: int, need_row: int, held_by_kind: Ints) -> None:
    """
    Complete a gang in one domain, or leave everything as it is.

    Where it is already it is completed; else in the domain that has to wait for least, costs least and is left with
    least. While a machine it needs is still on its way, the others are held back for it.
    """
    offer = candidates(work, need_row, work.demand.profiles.all[int(work.demand.profile[need_row])].same)
    domain = home(work, need_row, held_by_kind)
    count = int(work.demand.count[need_row])
    lacks = missing(work, need_row, held_by_kind) if domain >= 0 else count
    work.unmet[need_row] = lacks
    if not lacks:
        return
    free = available(work, offer)
    units = free if offer.single else free * offer.fit
    if len(offer):
        enough = np.add.reduceat(units, offer.starts) >= lacks
        if domain >= 0:
            enough &= offer.domains == domain
        while enough.any():
            best = _best(offer, free, units, enough, lacks)
            here = offer.of(best)
            mine = free[offer.starts[best] : offer.ends[best]]
            taken = _completing(work, need_row, here, mine, held_by_kind, count, lacks)
            if taken is not None:
                take(work, place_in_order, need_row, here, taken)
                work.unmet[need_row] = 0
                return
            enough[best] = False
    if SPECULATIVE in offer.tiers:
        could = np.add.reduceat(unbounded(work, offer) * offer.fit, offer.starts) >= lacks
        could &= (domain < 0) | (offer.domains == domain)
        bites(work, offer.kind[offer.speculative & could[offer.group]])


def take(work: Work, place_in_order: int, need_row: int, here: Candidates, taken: Ints) -> None:
    """Give what completes a gang if all of it is idle; else hold it back, and buy when nothing else is to be waited for."""
    used = set(here.tier[taken > 0].tolist())
    if used == {IDLE} and not _is_coming(work, need_row):
        give(work, place_in_order, here, taken)
        return
    if used <= {IDLE, SPECULATIVE}:
        give(work, place_in_order, here, np.where(here.speculative, taken, 0))
        taken = np.where(here.speculative, 0, taken)
    work.waiting[need_row] = hold_back(work, here, taken)


def held_until_complete(
    work: Work, need_row: int, parts: list[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """
    Of (tier, kind, machines) that complete a gang which holds nothing, those to give it now; the others are held back.

    It is the rule of `take`: all of it if all is idle, what must be bought if nothing else is to be waited for.
    """
    tiers = {tier for tier, _, _ in parts}
    if tiers == {IDLE}:
        return parts
    now = [part for part in parts if part[0] == SPECULATIVE and tiers <= {IDLE, SPECULATIVE}]
    work.waiting[need_row] = [part for part in parts if part not in now]
    for tier, kind, number in work.waiting[need_row]:
        work.free[tier, kind] -= number
        if tier == IDLE:
            work.held_back[kind] += number
    return now


def repair(work: Work) -> None:
    """
    Note the gangs that lost a member and could not be completed where they are, and give up those that were for long.

    What a gang holds that is given up is surplus, and the gang begins elsewhere when it holds nothing any more.
    """
    demand, fleet, held = work.demand, work.fleet, work.held
    gang = np.array([bool(profile.same) for profile in demand.profiles.all], np.bool_)
    if not gang.any() or not len(held.rows):
        return
    short = (work.unmet > 0) & gang[demand.profile]
    if not short.any():
        return
    state = fleet.state[held.rows]
    serving = short[held.need] & ((state == states.CONFIGURED) | (state == states.CONFIGURING))
    given_up = np.zeros(len(demand), np.bool_)
    for row in np.unique(held.need[serving]).tolist():
        code = int(demand.code[row])
        since = min(work.memory.broken.get(code, work.now), work.now)
        work.broken[code] = since
        if work.now - since >= work.policy.gang_patience:
            given_up[row] = True
        else:
            work.due.append(since + work.policy.gang_patience)
    lost = given_up[held.need]
    if not lost.any():
        return
    rows = held.rows[lost & (state == states.CONFIGURED)]
    work.surplus = np.union1d(work.surplus, rows)
    work.held = Holdings(held.rows[~lost], held.need[~lost], held.fit[~lost])
    now_at = np.cumsum(~lost) - 1
    work.holdings = {row: now_at[places] for row, places in work.holdings.items() if not given_up[row]}
    work.credit[given_up] = 0
    by_sum = np.array([profile.by_sum for profile in demand.profiles.all], np.bool_)[demand.profile]
    work.unmet[given_up] = np.where(by_sum, MILLION, demand.count)[given_up]


def _members(work: Work, need_row: int) -> Ints:
    """The rows of the machines that serve a gang."""
    places = work.holdings.get(need_row)
    if places is None:
        return np.zeros(0, np.int64)
    rows = work.held.rows[places]
    state = work.fleet.state[rows]
    serving: Ints = rows[(state == states.CONFIGURED) | (state == states.CONFIGURING)]
    return serving


def _is_coming(work: Work, need_row: int) -> bool:
    """True while a machine that is meant for a gang is on its way, or may not be tried yet."""
    places = work.holdings.get(need_row)
    if places is None:
        return False
    rows = work.held.rows[places]
    state = work.fleet.state[rows]
    coming = (state == states.CREATING) | (state == states.DRAINING)
    coming |= (state == states.IDLE) & (work.fleet.not_before[rows] > work.now)
    return bool(coming.any())


def _usable(work: Work, need_row: int, domain: int, machines: Ints) -> int:
    """Units of a gang that count in a domain."""
    number = int(work.demand.profile[need_row])
    profile = work.demand.profiles.all[number]
    inside = work.fleet.kinds.domains(profile.same)[0] == domain
    if profile.is_level:
        return int((machines * work.fit[number])[inside].sum())
    return layout_of(work, need_row, inside).usable(np.where(inside, machines, 0))


def _best(offer: Candidates, free: Ints, units: Ints, enough: NDArray[np.bool_], lacks: int) -> int:
    """Which of the domains that have enough waits for least, buys least, costs least, and is left with least."""
    chosen = np.flatnonzero(enough)
    total = np.cumsum(units)
    first = total[offer.starts] - units[offer.starts]
    if len(chosen) > 1 and not offer.even:
        before = total - units - first[offer.group]
        machines = np.minimum(np.maximum(lacks - before, 0), units)
        if not offer.single:
            machines = -(-machines // offer.fit)
        for tier in offer.tiers:
            if tier != IDLE and len(chosen) > 1:
                of_tier = np.where(offer.tier == tier, machines, 0)
                chosen = _least(np.add.reduceat(of_tier, offer.starts), chosen)
        highest = int(offer.cost.max())
        if highest and len(chosen) > 1:
            shift = max(0, (highest * int(free.sum())).bit_length() - 62)
            chosen = _least(np.add.reduceat(machines * (offer.cost >> shift), offer.starts), chosen)
    if len(chosen) > 1:
        chosen = _least(total[offer.ends - 1] - first, chosen)
    return int(chosen[0])


def _least(values: Ints, chosen: Ints) -> Ints:
    """Those chosen whose value is least."""
    mine = values[chosen]
    kept: Ints = chosen[mine == mine.min()]
    return kept


def _completing(
    work: Work, need_row: int, here: Candidates, free: Ints, held: Ints, count: int, lacks: int
) -> Ints | None:
    """The machines of one domain that complete a gang; None when there is no way."""
    if here.single and work.demand.profiles.all[int(work.demand.profile[need_row])].is_level:
        taken: Ints = np.minimum(np.maximum(lacks - (np.cumsum(free) - free), 0), free)
        if affordable(work, here, taken):
            return taken
    domain = int(here.domains[0])
    inside = (
        work.fleet.kinds.domains(work.demand.profiles.all[int(work.demand.profile[need_row])].same)[0]
        == domain
    )
    layout = layout_of(work, need_row, inside)
    mine = np.where(inside, held, 0)

    def completes(taken: Ints) -> bool:
        return layout.usable(mine + by_kind(here, taken, len(held))) >= count and affordable(
            work, here, taken
        )

    taken = choose(here, layout, free, mine, count)
    if completes(taken):
        return taken
    taken = choose(here, layout, granted(work, here, free, free), mine, count)
    return taken if completes(taken) else None
