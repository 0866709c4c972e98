"""
Special needs: gangs, spreads, separations by domain and sums, which a count of machines alone does not satisfy.

They are credited and served one by one, each by the rules of its own module.
"""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide import domains, gangs, sums
from remuda.fleet.decide.work import Holdings, Work
from remuda.model.shapes import MILLION

Ints = NDArray[np.int64]
_HIGHEST = np.iinfo(np.int64).max


def credit(work: Work) -> None:
    """Correct the credit of special needs, which keeping only summed up, and set apart what they have too much of."""
    demand = work.demand
    special = np.flatnonzero(~demand.profiles.plain[demand.profile])
    if not len(special):
        return
    index(work)
    gang = np.array(
        [bool(one.same) and not one.by_sum and one.is_level for one in demand.profiles.all], np.bool_
    )
    whole = _complete_gangs(work, special[gang[demand.profile[special]]])
    by_sum = np.array([one.by_sum for one in demand.profiles.all], np.bool_)[demand.profile[special]]
    work.unmet[special] = np.where(by_sum, MILLION, demand.count[special])
    work.unmet[whole] = 0
    dropped = [_judge(work, row, work.held_by_kind(row)) for row in work.holdings if not whole[row]]
    _drop(work, dropped)


def _judge(work: Work, row: int, held: Ints) -> Ints:
    """Note what one special need that holds machines lacks; the places in `work.held` of what it can do without."""
    demand = work.demand
    profile = demand.profiles.all[int(demand.profile[row])]
    rules = sums if profile.by_sum else gangs if profile.same else domains
    work.unmet[row] = rules.missing(work, row, held)
    places = work.holdings[row]
    spare = rules.spare(work, row, held)
    if not spare.any():
        return np.zeros(0, np.int64)
    rows = work.held.rows[places]
    state = work.fleet.state[rows]
    places = places[state != states.CONFIGURING]
    rows, state = work.held.rows[places], work.fleet.state[work.held.rows[places]]
    places = places[np.lexsort((-rows, state == states.CONFIGURED))]
    kind = work.fleet.kind[work.held.rows[places]]
    chosen = [places[kind == number][: spare[number]] for number in np.flatnonzero(spare).tolist()]
    return np.concatenate(chosen)


def _drop(work: Work, dropped: list[Ints]) -> None:
    """Take machines from the needs that can do without them; those that serve are surplus, the others free."""
    places = np.concatenate(dropped) if dropped else np.zeros(0, np.int64)
    if not len(places):
        return
    held = work.held
    rows = held.rows[places]
    work.surplus = np.union1d(work.surplus, rows[work.fleet.state[rows] == states.CONFIGURED])
    stay = np.ones(len(held.rows), np.bool_)
    stay[places] = False
    work.held = Holdings(held.rows[stay], held.need[stay], held.fit[stay])
    index(work)


def place(work: Work, at: int, row: int) -> None:
    """Serve one special need from what is free."""
    profile = work.demand.profiles.all[int(work.demand.profile[row])]
    held = work.held_by_kind(row)
    if profile.by_sum:
        sums.place(work, at, row, held)
    elif profile.same:
        gangs.place(work, at, row, held)
    else:
        domains.place(work, at, row, held)


def index(work: Work) -> None:
    """For each special need that holds machines, note the places of those in `work.held`."""
    special = ~work.demand.profiles.plain[work.demand.profile]
    places = np.flatnonzero(special[work.held.need])
    places = places[np.argsort(work.held.need[places], kind="stable")]
    needs, starts = np.unique(work.held.need[places], return_index=True)
    parts = np.split(places, starts[1:])
    work.holdings = dict(zip(needs.tolist(), parts, strict=True)) if len(needs) else {}


def _complete_gangs(work: Work, rows: Ints) -> NDArray[np.bool_]:
    """Gangs that have all their units in one domain: nothing is to be done about them."""
    demand, kinds = work.demand, work.fleet.kinds
    whole = np.zeros(len(demand), np.bool_)
    for key in sorted(
        {demand.profiles.all[number].same for number in np.unique(demand.profile[rows]).tolist()}
    ):
        codes, _ = kinds.domains(key)
        keyed = np.array([profile.same == key for profile in demand.profiles.all], np.bool_)
        mine = np.flatnonzero(keyed[demand.profile[work.held.need]])
        if not len(mine):
            continue
        need = work.held.need[mine]
        domain = codes[work.fleet.kind[work.held.rows[mine]]]
        least = np.full(len(demand), _HIGHEST)
        most = np.zeros(len(demand), np.int64)
        np.minimum.at(least, need, domain)
        np.maximum.at(most, need, domain)
        whole = whole | (least == most) & (work.credit == demand.count)
    exact = np.zeros(len(demand), np.bool_)
    exact[rows] = True  # pragma: no mutate - of what is not, `_judge` finds the same
    whole &= exact
    return whole


def begun_gangs(work: Work) -> list[int]:
    """
    Gangs that hold something: they come before their equals while they are not complete.

    What they lack was set aside for them when they were begun, and their equals may not take it from them meanwhile.
    """
    profiles, profile = work.demand.profiles.all, work.demand.profile
    return [row for row in work.holdings if profiles[int(profile[row])].same]


def waiting_gangs(work: Work) -> NDArray[np.bool_]:
    """Gangs that are not complete, or of which no member serves yet and not all are idle: what is idle waits."""
    demand = work.demand
    waits = np.zeros(len(demand), np.bool_)
    state = work.fleet.state
    for row, places in work.holdings.items():
        if not demand.profiles.all[int(demand.profile[row])].same:
            continue
        rows = work.held.rows[places]
        here = state[rows]
        started = bool(((here == states.CONFIGURED) | (here == states.CONFIGURING)).any())
        late = (here != states.IDLE) | (work.fleet.not_before[rows] > work.now)
        comes = row in work.waiting or bool(late.any())
        waits[row] = work.unmet[row] > 0 or (not started and comes)
    return waits
