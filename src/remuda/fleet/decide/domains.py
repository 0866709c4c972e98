"""
Spreads and separations: which units of a need count, where its machines are, and which machines it is given.

A machine is given only if it makes more units count in the end. Where a spread and a separation name different keys,
the separation is applied first, kind by kind.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide.allocation import affordable, available, give, unbounded
from remuda.fleet.decide.candidates import Candidates, candidates
from remuda.fleet.decide.filling import ANY, fill, pour
from remuda.fleet.decide.limits import bites
from remuda.fleet.decide.searching import greatest, smallest
from remuda.fleet.decide.work import COMING, DRAINING, SPECULATIVE, Work
from remuda.model.units import Unsatisfiable

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the units of a need may lie, by kind of machine."""

    #: units on one machine
    fit: Ints
    #: the domain of each kind, counting only those that hold a machine that fits and has not failed; −1 for none
    domain: Ints
    domains: int
    #: how far a domain may be above the least; None where domains need not be level
    skew: int | None
    #: the most that count in one domain
    most: int
    #: another key's domain of each kind, in which at most `cell_most` units count
    cell: Ints | None = None
    cell_most: int = ANY

    def caps(self, machines: Ints) -> Ints:
        """Units in each domain, from machines by kind."""
        units = machines * self.fit
        if self.cell is not None:
            units = _clipped(self.cell, units, self.cell_most)
        # the first is of the kinds in no domain
        return np.bincount(self.domain + 1, units, self.domains + 1)[1:].astype(np.int64)

    def usable(self, machines: Ints) -> int:
        """Units that count, from machines by kind."""
        caps = self.caps(machines)
        return int(np.minimum(caps, self.high(int(caps.min(initial=ANY)))).sum()) if len(caps) else 0

    def apart(self, machines: Ints) -> int:
        """Units that a separation lets count, wherever the others are."""
        return int(np.minimum(self.caps(machines), self.most).sum())

    def high(self, low: int) -> int:
        """The most that count in a domain when the least has so many."""
        return self.most if self.skew is None else min(self.most, low + self.skew)


def usable(work: Work, need_row: int, held_by_kind: Ints) -> int:
    """Units that count for a spread or separated need, from machines by kind."""
    return layout_of(work, need_row).usable(held_by_kind)


def missing(work: Work, need_row: int, held_by_kind: Ints) -> int:
    """Units a spread or separated need lacks."""
    return max(0, int(work.demand.count[need_row]) - usable(work, need_row, held_by_kind))


def spare(work: Work, need_row: int, held_by_kind: Ints) -> Ints:
    """
    Machines by kind that a need can do without, the dearest first.

    Units that only the spread keeps from counting are not spare: what runs there runs, and the missing domain may come.
    """
    layout = layout_of(work, need_row)
    count = int(work.demand.count[need_row])
    target = min(count, layout.usable(held_by_kind))
    runs = min(count, layout.apart(held_by_kind))
    cost = work.fleet.kinds.price
    left = held_by_kind.copy()
    mine = np.flatnonzero((held_by_kind > 0) & (layout.fit > 0))
    for kind in mine[np.lexsort((mine, layout.fit[mine], -cost[mine]))].tolist():

        def enough(number: int, kind: int = kind) -> bool:
            rest = left.copy()
            rest[kind] -= number
            return layout.apart(rest) >= runs and layout.usable(rest) >= target

        left[kind] -= greatest(int(left[kind]), enough)
    return held_by_kind - left


def place(work: Work, place_in_order: int, need_row: int, held_by_kind: Ints) -> None:
    """Give a spread or separated need the machines that make its units count, and note what is still missing."""
    offer = candidates(work, need_row)
    layout = layout_of(work, need_row)
    count = int(work.demand.count[need_row])
    held = held_by_kind.copy()
    reached = layout.usable(held)
    while reached < count:
        taken = _affordable_choice(work, offer, layout, held, count)
        after = held + by_kind(offer, taken, len(held))
        if layout.usable(after) <= reached:
            break
        give(work, place_in_order, offer, taken)
        held, reached = after, layout.usable(after)
    work.unmet[need_row] = max(0, count - reached)
    if reached < count and layout.usable(held + by_kind(offer, unbounded(work, offer), len(held))) > reached:
        bites(work, offer.kind[offer.speculative])


def by_kind(offer: Candidates, taken: Ints, kinds: int) -> Ints:
    """Machines of each kind."""
    return np.bincount(offer.kind, weights=taken, minlength=kinds).astype(np.int64)


def choose(offer: Candidates, layout: Layout, free: Ints, held: Ints, want: int) -> Ints:
    """The machines, from those free, with which `want` units count, or as many as can; best entries first."""
    kinds = len(held)
    offer = _grouped(offer, layout)
    free = np.where(layout.domain[offer.kind] >= 0, free, 0)
    if layout.cell is not None:
        free = _within_cells(offer, layout, layout.cell, free, held)
    have = layout.caps(held)
    full = layout.caps(held + by_kind(offer, free, kinds))
    if not len(have):
        return np.zeros(len(offer), np.int64)
    if layout.skew is None:
        taken = pour(offer, free, have, layout.most, want)
        return _thinned(offer, layout, held, taken, want)
    highest = min(int(full.min()), layout.most, -(-want // len(have)))
    lowest = min(int(have.min()), highest)

    def units_at(low: int) -> int:
        return int(np.minimum(full, layout.high(low)).sum())

    least = lowest + smallest(highest - lowest, lambda rise: units_at(lowest + rise) >= want)
    useful = least + greatest(
        highest - least,
        lambda rise: int(np.maximum(np.minimum(have, layout.high(least + rise)), least + rise).sum()) <= want,
    )
    taken = _cheapest(offer, layout, free, have, least, useful, want)
    return _thinned(offer, layout, held, taken, want)


def layout_of(work: Work, need_row: int, within: Mask | None = None) -> Layout:
    """How the units of a need may lie; inside a gang's domain, only the kinds there count."""
    number = int(work.demand.profile[need_row])
    if within is not None:
        return _layout(work, number, within)
    found = work.layouts.get(number)
    if found is None:
        found = work.layouts[number] = _layout(work, number, None)
    return found


def _layout(work: Work, number: int, within: Mask | None) -> Layout:
    profile, fit = work.demand.profiles.all[number], work.fit[number]
    if within is not None:
        fit = np.where(within, fit, 0)
    separation, spread = profile.separation, profile.spread
    if separation is not None and not separation.key:
        separation = None
    most = separation.most if separation is not None else ANY
    key = spread.key if spread is not None else separation.key if separation is not None else ""
    if not key:
        return Layout(fit, np.zeros(len(fit), np.int64), 1, None, ANY)
    codes, values = work.fleet.kinds.domains(key)
    counted = np.zeros(len(values) + 1, np.bool_)
    counted[codes[(fit > 0) & (standing(work) > 0)]] = True
    counted[-1] = False
    numbers = np.where(counted, np.cumsum(counted) - 1, -1)
    strict = spread is not None and spread.when is Unsatisfiable.DO_NOT_SCHEDULE
    skew = spread.max_skew if spread is not None and strict else None
    if separation is not None and spread is not None and separation.key != key:
        cell = work.fleet.kinds.domains(separation.key)[0]
        return Layout(fit, numbers[codes], int(counted.sum()), skew, ANY, cell, most)
    return Layout(fit, numbers[codes], int(counted.sum()), skew, most)


def standing(work: Work) -> Ints:
    """Machines of each kind that have not failed."""
    if work.standing is None:
        table = work.fleet.census.by_kind_and_state(len(work.fleet.kinds))
        work.standing = table[:, states.ABSENT + 1 : states.FAILED].sum(axis=1)
    return work.standing


def _affordable_choice(work: Work, offer: Candidates, layout: Layout, held: Ints, want: int) -> Ints:
    """
    The best choice within what may be bought together.

    Where limits bind kinds of several domains together, fewer units are tried, so that all domains get their share;
    the caller asks again, because other kinds may make up for what the limits hold back.
    """
    free = available(work, offer)
    taken = choose(offer, layout, free, held, want)
    if affordable(work, offer, taken):
        return taken
    reached = layout.usable(held)

    def may(more: int) -> bool:
        return affordable(work, offer, choose(offer, layout, free, held, reached + more))

    return choose(offer, layout, free, held, reached + greatest(want - reached, may))


def _cheapest(
    offer: Candidates, layout: Layout, free: Ints, have: Ints, least: int, useful: int, want: int
) -> Ints:
    """
    What costs least among the levels to which the lowest domain may be raised.

    A higher level lets cheap domains take more and makes dear ones take more; between the two the cost has one minimum
    where every machine is one unit.
    """

    def at(low: int) -> tuple[tuple[int, ...], Ints]:
        taken = fill(offer, free, have, low, layout.high(low), want)
        tiers = tuple(int(taken[offer.tier == tier].sum()) for tier in (DRAINING, SPECULATIVE, COMING))
        chosen = np.flatnonzero(taken)
        money = sum(n * c for n, c in zip(taken[chosen].tolist(), offer.cost[chosen].tolist(), strict=True))
        return (*tiers, money), taken

    best = at(least)
    low, high = least, useful
    while low < high:
        middle = (low + high) // 2
        here, above = at(middle), at(middle + 1)
        if here[0] <= above[0]:
            high = middle
        else:
            low, here = middle + 1, above
        if here[0] < best[0]:
            best = here
    return best[1]


def _thinned(offer: Candidates, layout: Layout, held: Ints, taken: Ints, want: int) -> Ints:
    """Without the machines, worst entries first, that make no unit count that is wanted."""
    if not taken.any() or (offer.single and layout.cell is None):
        return taken
    kinds = len(held)
    machines = held + by_kind(offer, taken, kinds)
    target = min(want, layout.usable(machines))
    taken = taken.copy()
    for entry in np.flatnonzero(taken)[::-1].tolist():
        kind = int(offer.kind[entry])

        def enough(number: int, kind: int = kind) -> bool:
            rest = machines.copy()
            rest[kind] -= number
            return layout.usable(rest) >= target

        drop = greatest(int(taken[entry]), enough)
        taken[entry] -= drop
        machines[kind] -= drop
    return taken


def _grouped(offer: Candidates, layout: Layout) -> Candidates:
    """The entries with the domains of a layout; those outside all of them are never taken."""
    group = np.maximum(layout.domain[offer.kind], 0)
    return replace(offer, group=group, domain=group)


def _within_cells(offer: Candidates, layout: Layout, cell: Ints, free: Ints, held: Ints) -> Ints:
    """No more machines than count in their cell of the other key, best entries first."""
    units = held * layout.fit
    room: dict[int, int] = {}
    for number, used in zip(cell.tolist(), units.tolist(), strict=True):
        room[number] = room.get(number, layout.cell_most) - used
    bounded = free.copy()
    for entry, kind in enumerate(offer.kind.tolist()):
        fit, number = int(offer.fit[entry]), int(cell[kind])
        bounded[entry] = min(int(free[entry]), max(0, -(-room[number] // fit)))
        room[number] -= int(bounded[entry]) * fit
    return bounded


def _clipped(cell: Ints, units: Ints, most: int) -> Ints:
    """Units by kind of which at most so many count in a cell, kinds in order."""
    order = np.argsort(cell, kind="stable")
    sorted_units, sorted_cells = units[order], cell[order]
    total = np.cumsum(sorted_units)
    before = total - sorted_units
    first = np.searchsorted(sorted_cells, sorted_cells)
    clipped = np.empty_like(units)
    clipped[order] = np.clip(most - (before - before[first]), 0, sorted_units)
    return clipped
