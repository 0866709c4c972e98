"""What may still be bought: quotas and spending caps, counted over all that exists already."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.decide.work import SPECULATIVE, Limits, Work
from remuda.fleet.policy import Rails
from remuda.model.plans import Reason, Term

Ints = NDArray[np.int64]
#: More than there are machines.
_ANY = 1 << 60


def limits_of(fleet: Fleet, rails: Rails) -> Limits:
    """What is left of each quota and cap before anything is bought. All that is not speculative counts."""
    kinds = fleet.kinds
    shapes = kinds.shapes
    table = fleet.census.by_kind_and_state(len(kinds))
    exist = table[:, states.SPECULATIVE + 1 :].sum(axis=1)
    counts = np.array(
        [
            [
                shape.provider == quota.provider
                and quota.region in {"", shape.region}
                and quota.instance_type in {"", shape.instance_type}
                for shape in shapes
            ]
            for quota in rails.quotas
        ],
        np.bool_,
    ).reshape(len(rails.quotas), len(shapes))
    left = np.array([quota.most for quota in rails.quotas], np.int64) - counts @ exist
    money = np.full(max(1, len(kinds.providers)), -1, np.int64)
    for number, provider in enumerate(kinds.providers):
        if provider in rails.spending:
            spent = int((exist * kinds.price)[kinds.provider == number].sum())
            money[number] = max(0, rails.spending[provider] - spent)
    return Limits(counts, left, money, np.zeros(len(rails.quotas), np.bool_), np.zeros(len(money), np.bool_))


def buyable(work: Work, kind: int) -> int:
    """How many speculative machines of a kind may be bought now; a limit that leaves none is marked as biting."""
    limits = work.limits
    room = int(work.free[SPECULATIVE, kind])
    for quota in np.flatnonzero(limits.counts[:, kind]).tolist():
        before, room = room, min(room, max(0, int(limits.left[quota])))
        limits.quota_bites[quota] |= room == 0 < before
    provider = int(work.fleet.kinds.provider[kind])
    price = int(work.fleet.kinds.price[kind])
    if limits.money[provider] >= 0 and price:
        before, room = room, min(room, int(limits.money[provider]) // price)
        limits.money_bites[provider] |= room == 0 < before
    return room


def bought(work: Work, kind: int, count: int) -> None:
    """Count so many machines of a kind against what is left; `work.free` is the caller's to count down."""
    limits = work.limits
    limits.left[limits.counts[:, kind]] -= count
    provider = int(work.fleet.kinds.provider[kind])
    if limits.money[provider] >= 0:
        limits.money[provider] -= count * int(work.fleet.kinds.price[kind])


def rooms(work: Work) -> Ints | None:
    """How many speculative machines of each kind its limits allow, each kind by itself; None when there are no limits."""
    limits, kinds = work.limits, work.fleet.kinds
    if not len(limits.left) and not (limits.money >= 0).any():
        return None
    room = np.where(limits.counts, np.maximum(limits.left, 0)[:, None], _ANY).min(axis=0, initial=_ANY)
    money = limits.money[kinds.provider]
    capped = (money >= 0) & (kinds.price > 0)
    allowed: Ints = np.where(capped, np.minimum(room, money // np.maximum(kinds.price, 1)), room)
    return allowed


def affords(work: Work, by_kind: Ints) -> bool:
    """True when so many machines of each kind may be bought together."""
    limits, kinds = work.limits, work.fleet.kinds
    if (limits.counts @ by_kind > np.maximum(limits.left, 0)).any():
        return False
    spent = np.zeros(len(limits.money), np.int64)
    np.add.at(spent, kinds.provider, by_kind * kinds.price)
    return not ((limits.money >= 0) & (spent > limits.money)).any()


def bites(work: Work, kinds: Ints) -> None:
    """Mark the limits because of which not all speculative machines of these kinds could be bought."""
    limits = work.limits
    free = np.zeros(work.free.shape[1], np.int64)
    free[kinds] = work.free[SPECULATIVE, kinds]
    limits.quota_bites |= limits.counts @ free > np.maximum(limits.left, 0)
    cost = np.zeros(len(limits.money), np.int64)
    np.add.at(cost, work.fleet.kinds.provider, free * work.fleet.kinds.price)
    limits.money_bites |= (limits.money >= 0) & (cost > limits.money)


def report_limits(work: Work) -> None:
    """Say which quotas and caps kept something from being bought, and whether the kill switch is on."""
    rails, limits = work.policy.rails, work.limits
    for number in np.flatnonzero(limits.quota_bites).tolist():
        quota = rails.quotas[number]
        where = "/".join(filter(None, (quota.provider, quota.region, quota.instance_type)))
        work.rails.append(
            Reason("rail.quota", f"quota/{where}", {"most": quota.most, "left": int(limits.left[number])})
        )
    for number in np.flatnonzero(limits.money_bites).tolist():
        provider = work.fleet.kinds.providers[number]
        terms: dict[str, Term] = {"cap": rails.spending[provider], "left": int(limits.money[number])}
        work.rails.append(Reason("rail.spending", f"provider/{provider}", terms))
    if rails.paused:
        work.rails.append(Reason("rail.paused", "fleet", {"withheld": sum(map(len, work.blocks))}))
