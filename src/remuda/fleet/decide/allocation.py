"""Give chosen machines to a need, or hold them back for it."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.decide.candidates import Candidates
from remuda.fleet.decide.limits import affords, bought, rooms
from remuda.fleet.decide.work import IDLE, SPECULATIVE, Work

Ints = NDArray[np.int64]


def available(work: Work, offer: Candidates) -> Ints:
    """Machines of each entry that are free now, of speculative ones no more than the limits of each kind allow."""
    free = unbounded(work, offer)
    room = rooms(work) if SPECULATIVE in offer.tiers else None
    if room is not None:
        free = np.where(offer.speculative, np.minimum(free, room[offer.kind]), free)
    return free


def unbounded(work: Work, offer: Candidates) -> Ints:
    """Machines of each entry that are free now, as if there were no limits."""
    free: Ints = work.free.reshape(-1)[offer.place]
    return free


def affordable(work: Work, offer: Candidates, taken: Ints) -> bool:
    """True when the speculative machines among these may be bought together."""
    if SPECULATIVE not in offer.tiers or rooms(work) is None:
        return True
    mine = offer.speculative & (taken > 0)
    by_kind = np.zeros(work.free.shape[1], np.int64)
    by_kind[offer.kind[mine]] = taken[mine]
    return affords(work, by_kind)


def granted(work: Work, offer: Candidates, taken: Ints, free: Ints) -> Ints:
    """What is available when the limits are spent on these, first come, first served, and nothing else."""
    left, money = work.limits.left.copy(), work.limits.money.copy()
    kinds = work.fleet.kinds
    bounded = free.copy()
    for entry in np.flatnonzero(offer.speculative).tolist():
        kind = int(offer.kind[entry])
        counted = work.limits.counts[:, kind]
        room = min([int(taken[entry]), *np.maximum(left[counted], 0).tolist()])
        provider, price = int(kinds.provider[kind]), int(kinds.price[kind])
        if money[provider] >= 0 and price > 0:
            room = min(room, int(money[provider]) // price)
            money[provider] -= room * price
        left[counted] -= room
        bounded[entry] = room
    return bounded


def give(work: Work, place_in_order: int, offer: Candidates, taken: Ints) -> None:
    """Give machines to the need at a place of the order."""
    for entry in np.flatnonzero(taken).tolist():
        kind, tier, number = int(offer.kind[entry]), int(offer.tier[entry]), int(taken[entry])
        work.picks.add(place_in_order, 1, number, kind, tier)
        work.free[tier, kind] -= number
        if tier == SPECULATIVE:
            bought(work, kind, number)


def hold_back(work: Work, offer: Candidates, taken: Ints) -> list[tuple[int, int, int]]:
    """
    Keep machines from everyone else without giving them yet: idle ones stay as they are, nothing is bought.

    Returns (tier, kind, machines) of what is kept.
    """
    kept = []
    for entry in np.flatnonzero(taken).tolist():
        kind, tier, number = int(offer.kind[entry]), int(offer.tier[entry]), int(taken[entry])
        work.free[tier, kind] -= number
        if tier == IDLE:
            work.held_back[kind] += number
        kept.append((tier, kind, number))
    return kept
