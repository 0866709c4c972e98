"""Keep and credit: who already has what it needs, what it has too much of, and what nobody claims any more."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import bounds
from remuda.fleet.decide.arrays import units_by_need
from remuda.fleet.decide.engine import Engine
from remuda.fleet.demand import Demand
from remuda.model.times import Instant

Ints = NDArray[np.int64]

_CAN_BE_CLAIMED = np.isin(np.arange(len(states.STATES)), (states.CREATING, states.IDLE, states.DRAINING))


@dataclass(frozen=True, slots=True)
class Kept:
    """
    What keeping found. `rows`, `need` and `fit` are the machines credited to plain needs and to special ones alike.

    `orphans` are configured or configuring machines credited to nobody.
    """

    rows: Ints
    need: Ints
    fit: Ints
    credit: Ints
    orphans: Ints


def keep(fleet: Fleet, demand: Demand, engine: Engine, lapsed: Instant) -> Kept:
    """
    Credit machines to the needs they serve or are meant for, and set apart what is too much.

    A machine that is idle since before `lapsed` is meant for nobody any more.
    """
    fit_table = demand.profiles.fit
    row_of = demand.row_of()
    state = fleet.state
    rows, need, fit, orphans = (np.empty(fleet.rows, np.int64) for _ in range(4))
    credit = np.zeros(len(demand), np.int64)
    bounds.check_crediting(state, fleet.kind, fleet.need, row_of, demand.profile, fit_table)
    held, lost = engine.credit(
        state, fleet.kind, fleet.need, row_of, demand.profile, fit_table, rows, need, fit, orphans, credit
    )
    rows, need, fit, orphans = rows[:held], need[:held], fit[:held], orphans[:lost]
    claims = np.flatnonzero(fleet.claim >= 0)
    if len(claims):
        claimant = row_of[fleet.claim[claims]]
        coming = _CAN_BE_CLAIMED[state[claims]] & (claimant >= 0)
        coming &= (state[claims] != states.IDLE) | (fleet.since[claims] > lapsed)
        claims, whom = claims[coming], claimant[coming].astype(np.int64)
        units = fit_table[demand.profile[whom], fleet.kind[claims]]
        fits = units > 0
        rows = np.concatenate([rows, claims[fits]])
        need = np.concatenate([need, whom[fits]])
        fit = np.concatenate([fit, units[fits]])
        credit += units_by_need(whom[fits], units[fits], len(demand))
    plain = demand.profiles.plain[demand.profile]
    over = np.where(plain, credit - demand.count, 0)
    if (over > 0).any():
        dropped = _surplus(fleet, rows, need, fit, over, engine)
        if len(dropped):
            gone = rows[dropped]
            held = (state[gone] == states.CONFIGURED) | (state[gone] == states.CONFIGURING)
            orphans = np.sort(np.concatenate([orphans, gone[held]]))
            credit -= units_by_need(need[dropped], fit[dropped], len(demand))
            rows, need, fit = (_without(column, dropped) for column in (rows, need, fit))
    return Kept(rows, need, fit, credit, orphans)


def _surplus(fleet: Fleet, rows: Ints, need: Ints, fit: Ints, over: Ints, engine: Engine) -> Ints:
    """
    Places of the machines their need can do without, cheapest to lose first.

    What is only meant for the need goes before what serves it, then the dearest, the least useful, the newest row.
    Machines being configured stay: there is no way back for them until they are.
    """
    places = np.flatnonzero((over > 0)[need])
    places = places[fleet.state[rows[places]] != states.CONFIGURING]
    here = rows[places]
    serves = fleet.state[here] == states.CONFIGURED
    price = fleet.kinds.price[fleet.kind[here]]
    places = places[np.lexsort((-here, fit[places], -price, serves, need[places]))]
    dropped = np.zeros(len(places), np.bool_)
    bounds.check_index("need", need, len(over))
    engine.drop_surplus(need[places], fit[places], over, dropped)
    return np.sort(places[dropped])


def _without(column: Ints, dropped: Ints) -> Ints:
    """The column without some places, which the last ones fill: what stays is not moved. It is changed in place."""
    length = len(column) - len(dropped)
    stays = np.ones(len(dropped), np.bool_)
    stays[dropped[dropped >= length] - length] = False
    column[dropped[dropped < length]] = column[length:][stays]
    return column[:length]
