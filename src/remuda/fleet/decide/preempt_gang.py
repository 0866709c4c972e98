"""Preempt for a gang: in one domain, what is free and what lower priorities hold must complete it, or nothing is taken."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide import gangs
from remuda.fleet.decide.domains import layout_of
from remuda.fleet.decide.limits import affords, bought, rooms
from remuda.fleet.decide.preempt_singly import members
from remuda.fleet.decide.preemptions import Preemptions
from remuda.fleet.decide.victims import Ranking
from remuda.fleet.decide.work import COMING, DRAINING, IDLE, SPECULATIVE, Work

Ints = NDArray[np.int64]
_NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class _Choice:
    """A domain, and how often each lot is taken there."""

    domain: int
    lots: list[int]
    times: list[int]
    machines: int


def preempt_for_gang(preemptions: Preemptions, row: int) -> None:
    """
    Take the victims that complete a gang, in the domain where they cost least together.

    Free machines of that domain which it needs too are set aside, and stay idle until the victims are. A gang that no
    domain can complete, or only with more victims than the rail lets go at once, takes none.
    """
    work = preemptions.work
    number = int(work.demand.profile[row])
    domain, _ = work.fleet.kinds.domains(work.demand.profiles.all[number].same)
    for_sale = work.free[SPECULATIVE]
    room = rooms(work)
    for_sale = for_sale if room is None else np.minimum(for_sale, room)
    if not for_sale.any() or not _preempt(preemptions, row, domain, for_sale):
        _preempt(preemptions, row, domain, np.zeros_like(for_sale))


def _preempt(preemptions: Preemptions, row: int, domain: Ints, for_sale: Ints) -> bool:
    """The same, when so many machines of each kind may be bought too; False when they may not be bought together."""
    work, victims = preemptions.work, preemptions.victims
    number, priority = int(work.demand.profile[row]), int(work.demand.priority[row])
    fit = np.where(domain >= 0, work.fit[number], 0)
    rest = int(work.unmet[row])
    allowed = _allowed(work, row, domain)
    there = work.free[[IDLE, COMING, DRAINING]].sum(axis=0) + preemptions.coming
    lacks = np.where(allowed, rest - _by_domain(domain, (there + for_sale) * fit, len(allowed)), _NEVER)
    if (lacks <= 0).any():
        inside = (domain == int(np.argmax(lacks <= 0))) & (fit > 0)
        if not affords(work, np.where(inside, for_sale, 0)):
            return False
        preemptions.set_aside(inside)
        work.awaited[row] = rest
        return True
    ranking = victims.ranking(work, number, priority, rest, preemptions.most)
    choice = _cheapest(preemptions, ranking, domain, fit, lacks) if ranking.order else None
    if choice is None:
        return True  # pragma: no mutate - without what is for sale there is no way either
    inside = (domain == choice.domain) & (fit > 0)
    buys = np.where(inside, for_sale, 0)
    if not affords(work, buys):
        return False
    if preemptions.most is not None and choice.machines > preemptions.most:
        preemptions.keep_back(row, choice.machines, waits=False)
        return True
    machines = work.held_by_kind(row) + there + buys
    for lot, times in zip(choice.lots, choice.times, strict=True):
        machines += times * members(victims, lot)
    usable = layout_of(work, row, inside).usable(np.where(inside, machines, 0))
    if usable < int(work.demand.count[row]):
        return True
    if choice.machines > preemptions.room:
        preemptions.keep_back(row, choice.machines)
        return True
    for lot, times in zip(choice.lots, choice.times, strict=True):
        rest -= preemptions.take(row, lot, times, ranking, rest, np.where(inside, fit, 0))
    preemptions.set_aside(inside)
    for kind in np.flatnonzero(buys).tolist():
        bought(work, kind, int(buys[kind]))
        work.free[SPECULATIVE, kind] -= buys[kind]
    work.unmet[row] = 0
    return True


def _allowed(work: Work, row: int, domain: Ints) -> NDArray[np.bool_]:
    """Which domains may complete it: all, or the one it is in already."""
    allowed = np.ones(int(domain.max()) + 1, np.bool_)
    home = gangs.home(work, row, work.held_by_kind(row))
    if home >= 0:
        allowed[:] = False
        allowed[home] = True
    return allowed


def _by_domain(domain: Ints, units: Ints, domains: int) -> Ints:
    found = np.zeros(domains, np.int64)
    inside = domain >= 0
    np.add.at(found, domain[inside], units[inside])
    return found


def _cheapest(
    preemptions: Preemptions, ranking: Ranking, domain: Ints, fit: Ints, lacking: Ints
) -> _Choice | None:
    """
    The domain whose victims cost least, with how often each lot is taken; those within the rail go before others.

    `lacking` are the units each domain lacks. Lots are taken by their rank in each domain, all domains at once.
    """
    victims, domains = preemptions.victims, len(lacking)
    order = np.array(ranking.order, np.int64)
    rank = np.full(len(victims.start), -1, np.int64)
    rank[order] = np.arange(len(order))
    where, units = domain[victims.kind], fit[victims.kind] * victims.each
    place = np.flatnonzero((rank[victims.lot] >= 0) & (units > 0))
    key, pair = np.unique(where[place] * len(order) + rank[victims.lot[place]], return_inverse=True)
    gain = np.zeros(len(key), np.int64)
    np.add.at(gain, pair, units[place])
    home, lot = key // len(order), order[key % len(order)]
    left = np.array(victims.left, np.int64)[lot]
    offered = left * gain
    before = np.cumsum(offered) - offered
    before -= before[np.searchsorted(home, home)]
    times = np.clip(-(-(lacking[home] - before) // gain), 0, left)
    enough = _by_domain(home, offered, domains) >= lacking
    if not enough.any():
        return None
    machines = _by_domain(home, times * np.array(victims.size, np.int64)[lot], domains)
    cost = _by_domain(home, times * ranking.cost[lot], domains)
    pinned = _by_domain(home, ((times > 0) & ranking.pinned[lot]).astype(np.int64), domains)
    beyond = machines > (preemptions.most if preemptions.most is not None else _NEVER)
    best = int(np.lexsort((np.arange(domains), cost, pinned > 0, beyond, ~enough))[0])
    mine = (home == best) & (times > 0)
    return _Choice(best, lot[mine].tolist(), times[mine].tolist(), int(machines[best]))
