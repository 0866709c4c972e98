"""Preempt: for what is still unmet, take machines from strictly lower priorities, the least loss first."""

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide import rails
from remuda.fleet.decide.preempt_gang import preempt_for_gang
from remuda.fleet.decide.preempt_singly import Allotted, members, preempt_one_by_one
from remuda.fleet.decide.preemptions import Preemptions
from remuda.fleet.decide.victims import Victims, find_victims
from remuda.fleet.decide.work import Work
from remuda.fleet.memory import recent, total
from remuda.model.plans import Reason

Ints = NDArray[np.int64]
_HIGHEST = np.iinfo(np.int64).max
#: More than there are machines.
_UNBOUNDED = 1 << 40  # pragma: no mutate - any number that no fleet has
#: States in which a machine counts for the rail.
_COUNTED = [states.CREATING, states.IDLE, states.CONFIGURING, states.CONFIGURED, states.DRAINING]


def preempt(work: Work) -> None:
    """
    Take machines of lower priorities for the needs that still miss something, in their order.

    What is about to be reclaimed and fits is waited for first. Nothing is drained that does not serve at least one unit
    more, for a gang all of it; how many go in a minute is bounded by a rail, which holds back the rest.
    """
    window = recent(work.memory.preempted, work.now)
    work.preempted = window
    rows = work.order[work.unmet[work.order] > 0]
    if not len(rows):
        return
    surplus = work.surplus[reclaimable(work)[work.fleet.cluster[work.surplus]]]
    coming = np.bincount(work.fleet.kind[surplus], minlength=len(work.fleet.kinds))
    if not len(work.surplus) and not _anyone_is_lower(work, rows):
        return
    victims = find_victims(work, surplus)
    rows = rows[_could_gain(work, rows, victims, coming)]
    if not len(rows):
        return
    percent = work.policy.rails.preempt_percent
    machines = int(work.fleet.census.by_kind_and_state(len(work.fleet.kinds))[:, _COUNTED].sum())
    room = rails.left(percent, machines, window)
    most = None if percent is None else rails.most(percent, machines)
    preemptions = Preemptions(work, victims, most, _UNBOUNDED if room is None else room, coming)
    _serve(preemptions, rows)
    number = preemptions.taken()
    if number:
        work.blocks.append(preemptions.block())
        if not work.policy.rails.paused:
            work.preempted = rails.counted(window, work.now, number)
    if preemptions.held_back and percent is not None:
        terms = {
            "percent": percent,
            "machines": machines,
            "most": most,
            "recent": total(window),
            "now": number,
            "held_back": preemptions.held_back,
        }
        work.rails.append(Reason("rail.preemptions", "fleet", dict(terms)))
        if work.preempted:
            work.due.append(rails.frees_at(work.preempted, work.now))


def reclaimable(work: Work) -> NDArray[np.bool_]:
    """By cluster (the last entry for none): whether its surplus may be taken back, as far as the rails by minute let it."""
    known = np.zeros(len(work.fleet.names.clusters) + 1, np.bool_)
    known[list(work.demand.heard)] = True
    known[list(work.demand.held)] = False
    return known


def _anyone_is_lower(work: Work, rows: Ints) -> bool:
    """Whether any need that has something is below the highest of those that miss something."""
    priority = work.demand.priority
    return bool((priority[work.credit > 0] < priority[rows].max()).any())


def _could_gain(work: Work, rows: Ints, victims: Victims, coming: Ints) -> NDArray[np.bool_]:
    """Which needs have any machine to hope for; most that miss something have none, and equal ones are asked once."""
    demand = work.demand
    priority = demand.priority[rows].astype(np.int64)
    pair = (priority - int(priority.min())) * len(work.fit) + demand.profile[rows]
    distinct, first, place = np.unique(pair, return_index=True, return_inverse=True)
    lowest = np.full(len(work.fleet.kinds), _HIGHEST)
    np.minimum.at(lowest, victims.kind, victims.priority[victims.group])
    hope = np.zeros(len(distinct), np.bool_)
    for number, row in enumerate(rows[first].tolist()):
        fits = work.fit[demand.profile[row]] > 0
        hope[number] = bool((fits & ((lowest < demand.priority[row]) | (coming > 0))).any())
    return hope[place]


def _serve(preemptions: Preemptions, rows: Ints) -> None:
    work = preemptions.work
    profiles = work.demand.profiles.all
    numbers = work.demand.profile[rows].tolist()
    priorities = work.demand.priority[rows].tolist()
    awaits = bool(preemptions.coming.any())
    allotted = Allotted(work)
    too_large = [
        lot
        for lot, size in enumerate(preemptions.victims.size)
        if preemptions.victims.whole[lot] and preemptions.most is not None and size > preemptions.most
    ]
    for row, number, priority in zip(rows.tolist(), numbers, priorities, strict=True):
        profile = profiles[number]
        if profile.same and not profile.by_sum:
            preempt_for_gang(preemptions, row)
            continue
        if not profile.is_plain:
            preempt_one_by_one(preemptions, row, allotted.to(row))
            continue
        rest = int(work.unmet[row])
        if awaits:
            rest -= _await(preemptions, row, rest)
        if preemptions.spares and rest > 0:
            gained = preemptions.use_spares(row, rest)
            work.unmet[row] = max(0, int(work.unmet[row]) - gained)
            rest -= gained
        while rest > 0:
            ranking = preemptions.victims.ranking(work, number, priority, rest, preemptions.most)
            lot = preemptions.victims.following(ranking)
            if lot < 0:
                break
            units = int(ranking.units[lot])
            times = min(preemptions.victims.left[lot], max(1, rest // units))
            gained = preemptions.take(row, lot, times, ranking, rest)
            rest -= times * units
            work.unmet[row] = max(0, int(work.unmet[row]) - gained)
        if rest > 0 and too_large:
            _report_too_large(preemptions, row, too_large)


def _report_too_large(preemptions: Preemptions, row: int, lots: list[int]) -> None:
    """Note the smallest gang that would serve a need if the rail ever let so many go at once."""
    work, victims = preemptions.work, preemptions.victims
    fit, priority = work.fit[work.demand.profile[row]], int(work.demand.priority[row])
    sizes = [
        victims.size[lot]
        for lot in lots
        if int(victims.priority[victims.group[victims.start[lot]]]) < priority
        and (members(victims, lot) * fit).any()
    ]
    preemptions.keep_back(row, min(sizes, default=0), waits=False)


def _await(preemptions: Preemptions, row: int, rest: int) -> int:
    """Count what is about to be reclaimed towards a need, the kinds in their order; the units that will come of it."""
    fit = preemptions.work.fit[preemptions.work.demand.profile[row]]
    found = 0
    for kind in np.flatnonzero((fit > 0) & (preemptions.coming > 0)).tolist():
        units = int(fit[kind])
        number = min(int(preemptions.coming[kind]), -(-(rest - found) // units))
        preemptions.coming[kind] -= number
        found += number * units
        if found >= rest:
            break
    if found:
        preemptions.work.awaited[row] = min(found, rest)
    return found
