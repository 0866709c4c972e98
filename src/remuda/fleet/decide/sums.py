"""
Needs expressed as a sum: met when their machines together have as much of every resource.

Each machine must have room for the largest unit. Whether the units really fit together nobody can say from a sum: that
they may not is noted, and nothing is bought for it. A sum has no units that could be spread or separated by domain.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.allocation import available, give, unbounded
from remuda.fleet.decide.candidates import Candidates, candidates
from remuda.fleet.decide.domains import by_kind
from remuda.fleet.decide.gangs import home, take
from remuda.fleet.decide.limits import bites, bought, buyable, rooms
from remuda.fleet.decide.work import COMING, DRAINING, SPECULATIVE, TIERS, Limits, Work
from remuda.model.plans import Reason
from remuda.model.shapes import MILLION

Ints = NDArray[np.int64]
_HIGHEST = np.iinfo(np.int64).max
#: Shares of a total are counted in this many parts.
_PARTS = 1_000_000_000
#: Domains that are looked at closely for a sum that must be in one.
_MOST_DOMAINS = 32


@dataclass(frozen=True, slots=True)
class Sum:
    """What a need asks for together, and how much of each resource a machine of each kind has."""

    totals: list[int]
    #: kind × resource asked for
    amounts: Ints

    def have(self, machines: Ints) -> list[int]:
        """The amounts of machines by kind together; whole numbers of any size."""
        used = np.flatnonzero(machines)
        counts = machines[used].tolist()
        columns = self.amounts[used].T.tolist()
        return [
            sum(n * amount for n, amount in zip(counts, column, strict=True))
            for column in (columns or [[]] * len(self.totals))
        ]

    def met(self, have: list[int]) -> int:
        """Parts per million of the scarcest resource; a million only when all are there."""
        return min(
            (min(MILLION, got * MILLION // total) for got, total in zip(have, self.totals, strict=True)),
            default=MILLION,
        )


def missing(work: Work, need_row: int, held_by_kind: Ints) -> int:
    """Parts per million that a need expressed as a sum lacks; when it lacks none, a note is given if units may not fit."""
    asked = sum_of(work, need_row)
    mine = _credited(work, need_row, held_by_kind)
    lacks = MILLION - asked.met(asked.have(mine))
    if not lacks:
        _note(work, need_row, mine)
    return lacks


def spare(work: Work, need_row: int, held_by_kind: Ints) -> Ints:
    """Machines by kind that a need expressed as a sum can do without, the dearest first."""
    asked = sum_of(work, need_row)
    left = _credited(work, need_row, held_by_kind).copy()
    have = asked.have(left)
    mine = np.flatnonzero(left)
    price = work.fleet.kinds.price[mine]
    for kind in mine[np.lexsort((mine, asked.amounts[mine].sum(axis=1), -price))].tolist():
        drop = _droppable(int(left[kind]), have, asked.totals, asked.amounts[kind].tolist())
        left[kind] -= drop
        have = [got - drop * amount for got, amount in zip(have, asked.amounts[kind].tolist(), strict=True)]
    return held_by_kind - left


def place(work: Work, place_in_order: int, need_row: int, held_by_kind: Ints) -> None:
    """Give a need expressed as a sum the machines it lacks; one that must be in one domain gets all of them or none."""
    asked = sum_of(work, need_row)
    same = work.demand.profiles.all[int(work.demand.profile[need_row])].same
    mine = _credited(work, need_row, held_by_kind)
    offer = candidates(work, need_row, same)
    if same:
        found = _in_one_domain(work, need_row, offer, asked, mine)
        if found is not None:
            offer, taken = found
            take(work, place_in_order, need_row, offer, taken)
            mine = mine + by_kind(offer, taken, len(mine))
    else:
        taken = choose(work, offer, available(work, offer), asked, mine)
        give(work, place_in_order, offer, taken)
        mine = mine + by_kind(offer, taken, len(mine))
    work.unmet[need_row] = MILLION - asked.met(asked.have(mine))
    if not work.unmet[need_row]:
        _note(work, need_row, mine)
    elif SPECULATIVE in offer.tiers:
        _mark(work, offer, asked, mine, same)


def _mark(work: Work, offer: Candidates, asked: Sum, held: Ints, same: str) -> None:
    """Mark the limits that kept a sum from having more."""
    free = unbounded(work, offer)
    if same:
        could = (_sufficient_tiers(offer, free, asked, held)[0] < TIERS)[offer.group]
        bites(work, offer.kind[offer.speculative & could])
    elif asked.met(asked.have(held + by_kind(offer, free, len(held)))) > asked.met(asked.have(held)):
        bites(work, offer.kind[offer.speculative])


def sum_of(work: Work, need_row: int) -> Sum:
    """What a need asks for together."""
    totals = work.demand.totals[int(work.demand.code[need_row])]
    kinds = work.fleet.kinds
    asked = {name: total for name, total in sorted(totals.items()) if total > 0}
    amounts = np.zeros((len(kinds), len(asked)), np.int64)
    for column, name in enumerate(asked):
        if name in kinds.resources:
            amounts[:, column] = kinds.allocatable[:, kinds.resources.index(name)]
    return Sum(list(asked.values()), amounts)


def choose(work: Work, offer: Candidates, free: Ints, asked: Sum, held: Ints) -> Ints:
    """Machines of each entry that add up to what is missing, or to as much as can be had; best entries first."""
    taken = np.zeros(len(offer), np.int64)
    have = asked.have(held)
    left = free.copy()
    amounts = asked.amounts[offer.kind]
    trial = _trial(work) if SPECULATIVE in offer.tiers and rooms(work) is not None else None
    shift = _shift(offer.cost)
    while True:
        lacks = [max(0, total - got) for total, got in zip(asked.totals, have, strict=True)]
        if not any(lacks):
            break
        useful = _share(asked.totals, np.minimum(amounts, _bounded(lacks)))
        open_ = np.flatnonzero((left > 0) & (useful > 0))
        if not len(open_):
            break
        waste = _waste(work, offer.kind[open_], asked, lacks)
        rank = np.lexsort((waste, (offer.cost[open_] << shift) // useful[open_], offer.tier[open_]))
        entry = int(open_[rank[0]])
        mine: list[int] = amounts[entry].tolist()
        whole = [lack // amount for lack, amount in zip(lacks, mine, strict=True) if lack and amount]
        number = max(1, min([int(left[entry]), *whole]))
        if trial is not None and offer.tier[entry] == SPECULATIVE:
            number = min(number, buyable(trial, int(offer.kind[entry])))
            if not number:
                left[entry] = 0
                continue
            bought(trial, int(offer.kind[entry]), number)
        left[entry] -= number
        taken[entry] += number
        have = [got + number * amount for got, amount in zip(have, mine, strict=True)]
    reached = asked.met(have)
    goal = [-(-total * reached // MILLION) for total in asked.totals]
    for entry in np.flatnonzero(taken)[::-1].tolist():
        mine = amounts[entry].tolist()
        drop = _droppable(int(taken[entry]), have, goal, mine)
        taken[entry] -= drop
        have = [got - drop * amount for got, amount in zip(have, mine, strict=True)]
    return taken


def _credited(work: Work, need_row: int, held_by_kind: Ints) -> Ints:
    """The machines that count: all, or those in one domain where they must be."""
    number = int(work.demand.profile[need_row])
    same = work.demand.profiles.all[number].same
    if not same:
        return held_by_kind
    inside = work.fleet.kinds.domains(same)[0] == home(work, need_row, held_by_kind)
    return np.where(inside, held_by_kind, 0)


def _in_one_domain(
    work: Work, need_row: int, offer: Candidates, asked: Sum, held: Ints
) -> tuple[Candidates, Ints] | None:
    """
    The domain that completes a sum, and the machines: the one that waits for least, buys least and costs least.

    Of domains whose cheapest machines cost the same for what they have, only the one with least to spare is looked at.
    """
    if not len(offer):
        return None
    free = available(work, offer)
    enough_at, over = _sufficient_tiers(offer, free, asked, held)
    price = _prices(offer, free, asked, enough_at)
    domain = home(work, need_row, held)
    open_ = np.flatnonzero((enough_at < TIERS) & ((domain < 0) | (offer.domains == domain)))
    best: tuple[tuple[int, ...], Candidates, Ints] | None = None
    seen: set[tuple[int, int]] = set()
    for group in open_[np.lexsort((open_, over[open_], price[open_], enough_at[open_]))][
        :_MOST_DOMAINS
    ].tolist():
        alike = (int(enough_at[group]), int(price[group]))
        if alike in seen:
            continue
        here = offer.of(group)
        taken = choose(work, here, free[offer.starts[group] : offer.ends[group]], asked, held)
        if asked.met(asked.have(held + by_kind(here, taken, len(held)))) < MILLION:
            continue
        seen.add(alike)
        used = np.flatnonzero(taken)
        total = sum(n * c for n, c in zip(taken[used].tolist(), here.cost[used].tolist(), strict=True))
        tiers_used = (int(taken[here.tier == tier].sum()) for tier in (DRAINING, SPECULATIVE, COMING))
        key = (*tiers_used, total)
        if best is None or key < best[0]:
            best = (key, here, taken)
    return None if best is None else (best[1], best[2])


def _sufficient_tiers(offer: Candidates, free: Ints, asked: Sum, held: Ints) -> tuple[Ints, Ints]:
    """
    For each domain the tier up to which its machines are enough, `TIERS` for none, and how much it has altogether.

    Shares are rounded up: a domain that reaches may still turn out not to.
    """
    amounts = asked.amounts[offer.kind]
    enough = np.ones((TIERS, len(offer.starts)), np.bool_)
    parts = np.zeros(len(offer.starts), np.int64)
    for column, (total, got) in enumerate(zip(asked.totals, asked.have(held), strict=True)):
        lack = min(total - got, 1 << 61)
        if lack <= 0:
            continue
        each = amounts[:, column]
        some = np.minimum(free, lack // np.maximum(each, 1) + 1) * each
        more = 2 * (some > 0)  # pragma: no mutate - if it is too much by billionths, who tries finds out
        part = _share([lack], np.minimum(some, lack)[:, None]) + more
        for tier in range(TIERS):
            enough[tier] &= np.add.reduceat(np.where(offer.tier <= tier, part, 0), offer.starts) >= _PARTS
        parts += np.add.reduceat(part, offer.starts)
    return np.where(enough.any(axis=0), np.argmax(enough, axis=0), TIERS), parts


def _prices(offer: Candidates, free: Ints, asked: Sum, enough_at: Ints) -> Ints:
    """For each domain what its cheapest machine, of the tiers it needs, costs for its share of the sum."""
    share = _share(asked.totals, np.minimum(asked.amounts[offer.kind], _bounded(asked.totals)))
    shift = _shift(offer.cost)
    usable = (free > 0) & (share > 0) & (offer.tier <= enough_at[offer.group])
    ratio = np.full(len(offer), _HIGHEST)
    ratio[usable] = (offer.cost[usable] << shift) // share[usable]
    least: Ints = np.minimum.reduceat(ratio, offer.starts)
    return least


def _note(work: Work, need_row: int, machines: Ints) -> None:
    """Say so when the sum is there and as many of the largest unit as it could be made of do not fit."""
    number = int(work.demand.profile[need_row])
    code = int(work.demand.code[need_row])
    totals = work.demand.totals[code]
    unit = dict(work.demand.profiles.all[number].unit)
    units = min((totals.get(name, 0) // used for name, used in unit.items() if used), default=0)
    packed = int((work.fit[number] * machines).sum())
    if packed < units:
        subject = work.demand.names.subject(code)
        work.notes.append(Reason("need.may-be-fragmented", subject, {"units": units, "packed": packed}))


def _trial(work: Work) -> Work:
    """The same scratch table with limits that may be spent on trial."""
    limits = work.limits
    spent = Limits(
        limits.counts,
        limits.left.copy(),
        limits.money.copy(),
        limits.quota_bites.copy(),
        limits.money_bites.copy(),
    )
    return replace(work, limits=spent)


def _droppable(number: int, have: list[int], goal: list[int], amounts: list[int]) -> int:
    """How many of so many machines with these amounts can go before one of the goals is missed."""
    whole = [
        max(0, got - least) // amount
        for got, least, amount in zip(have, goal, amounts, strict=True)
        if amount
    ]
    return min([number, *whole])


def _bounded(lacks: list[int]) -> Ints:
    """Amounts no machine has more of are as good as any."""
    return np.array([min(lack, 1 << 62) for lack in lacks], np.int64)


def _share(totals: list[int], amounts: Ints) -> Ints:
    """What amounts are of their totals together, in parts of each; rounded down, but never to nothing."""
    shares = np.zeros(len(amounts), np.int64)
    for column, total in enumerate(totals):
        shift = max(0, total.bit_length() - 32)
        part = (amounts[:, column] >> shift) * _PARTS // (total >> shift)
        shares += np.where(amounts[:, column] > 0, np.maximum(part, 1), 0)
    return shares


def _shift(cost: Ints) -> int:
    """By how many bits costs may be multiplied before they are divided, so that little is lost."""
    return (
        62 - int(cost.max(initial=0)).bit_length()
    )  # pragma: no mutate - a bit more or less decides nothing


def _waste(work: Work, kind: Ints, asked: Sum, lacks: list[int]) -> Ints:
    """Thousandths of a machine that would not be used, over the resources it has."""
    have = work.fleet.kinds.allocatable[kind]
    used = np.minimum(asked.amounts[kind], _bounded(lacks))
    offered = asked.amounts[kind]
    parts = np.where(offered > 0, used * 1_000 // np.maximum(offered, 1), 0).sum(axis=1)
    resources = np.maximum((have > 0).sum(axis=1), 1)
    waste: Ints = 1_000 - parts // resources
    return waste
