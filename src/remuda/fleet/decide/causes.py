"""Why a need is not met: the first cause that applies, from what can never be to what only takes time."""

from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from remuda.fleet import states
from remuda.fleet.decide import domains
from remuda.fleet.decide.work import SPECULATIVE, Work
from remuda.fleet.plan import Op
from remuda.fleet.profiles import Profile
from remuda.model.labels import Operator, Requirement
from remuda.model.plans import Term

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: A code and the numbers behind it.
Why: TypeAlias = tuple[str, dict[str, Term]]
_ABSENCE = (Operator.NOT_IN, Operator.DOES_NOT_EXIST)


class Supply:
    """What there is of each kind and who has it, found when it is first asked for."""

    def __init__(self, work: Work) -> None:
        self.work = work

    @cached_property
    def by_state(self) -> Ints:
        """Kind × state."""
        return self.work.fleet.census.by_kind_and_state(len(self.work.fleet.kinds))

    @cached_property
    def standing(self) -> Ints:
        """Machines of each kind that have not failed."""
        found: Ints = self.by_state[:, states.SPECULATIVE : states.FAILED].sum(axis=1)
        return found

    @cached_property
    def backing_off(self) -> Ints:
        """Machines of each kind that no need has and that are not tried yet, because something failed on them."""
        return np.bincount(self.work.fleet.kind[self._backing], minlength=len(self.work.fleet.kinds))

    def backing_units(self) -> Ints:
        """Units by profile that those would give."""
        return self.work.fit @ self.backing_off

    def tried_again(self, fits: Mask) -> int:
        """When the first of those is tried again that a need could use."""
        rows = self._backing[fits[self.work.fleet.kind[self._backing]]]
        return int(self.work.fleet.not_before[rows].min())

    def held(self, fits: Mask, priority: int) -> int:
        """Machines of some kinds that a priority at least as high has, or gets by this decision."""
        kind, held_by, number = self._holders
        return int(number[fits[kind] & (held_by >= priority)].sum())

    @cached_property
    def _backing(self) -> Ints:
        fleet = self.work.fleet
        loose = (fleet.state == states.IDLE) | (fleet.state == states.SPECULATIVE)
        loose &= fleet.not_before > self.work.now
        loose[self.work.held.rows] = False
        return np.flatnonzero(loose)

    @cached_property
    def _holders(self) -> tuple[Ints, Ints, Ints]:
        """Distinct (kind, priority) of machines that someone has, and how many there are."""
        work = self.work
        fleet, demand = work.fleet, work.demand
        busy = (fleet.state == states.CONFIGURED) | (fleet.state == states.CONFIGURING)
        priority = fleet.priority.astype(np.int64)
        busy[work.held.rows] = True
        priority[work.held.rows] = demand.priority[work.held.need]
        for block in work.blocks:
            if block.op in {Op.ADOPT, Op.ASSIGN, Op.CREATE, Op.PREEMPT}:
                busy[block.rows] = True
                priority[block.rows] = demand.priority[demand.row_of()[block.needs]]
        rows = np.flatnonzero(busy)
        distinct, place = np.unique(priority[rows], return_inverse=True)
        kinds = len(fleet.kinds)
        keys, number = np.unique(place * kinds + fleet.kind[rows], return_counts=True)
        return keys % kinds, distinct[keys // kinds], number


def why(supply: Supply, row: int) -> Why:
    """Why one need is not met, and all that are like it."""
    work = supply.work
    number = int(work.demand.profile[row])
    profile = work.demand.profiles.all[number]
    fits = work.fit[number] > 0
    matching = int(supply.standing[fits].sum())
    return (
        _unknown_key(supply, profile)
        or (None if matching else _nothing_matches(supply, number, profile))
        or _waiting(work, row)
        or _bought_out(work, fits)
        or _capped_by_rail(work, row)
        or _too_small(supply, row, profile)
        or _taken(supply, row, number, profile, matching)
    )


def _unknown_key(supply: Supply, profile: Profile) -> Why | None:
    asked = [("requirement", one.key) for one in profile.requirements if one.operator not in _ABSENCE]
    asked.append(("same", profile.same))
    asked.append(("spread", profile.spread.key if profile.spread else ""))
    asked.append(("separation", profile.separation.key if profile.separation else ""))
    there = supply.by_state[:, states.SPECULATIVE :].sum(axis=1) > 0
    if not there.any():
        return None
    for where, key in asked:
        if key and not (supply.work.fleet.kinds.domains(key)[0][there] >= 0).any():
            return "need.unknown-key", {"key": key, "where": where}
    return None


def _nothing_matches(supply: Supply, number: int, profile: Profile) -> Why:
    """
    No machine that has not failed will do: which one requirement, left out, would let most machines do.

    Where machines meet all requirements and are only too small, it is the resource of which they lack most.
    """
    work = supply.work
    profiles, kinds = work.demand.profiles, work.fleet.kinds
    standing = supply.standing
    unit = profiles.unit[number]
    large = (kinds.allocatable >= unit).all(axis=1)
    tests = _tests(work, profile)
    meets = np.ones(len(kinds), np.bool_)
    for _, mask in tests:
        meets &= mask
    terms: dict[str, Term] = {
        "machines": int(standing.sum()),
        "matching": int(standing[meets].sum()),
        "failed": int(supply.by_state[work.fit[number] > 0, states.FAILED].sum()),
    }
    if terms["matching"]:
        there = meets & (standing > 0)
        most = kinds.allocatable[there].max(axis=0)
        short = np.array(
            [standing[there & (kinds.allocatable[:, place] < used)].sum() for place, used in enumerate(unit)]
        )
        worst = int(np.argmax(short))
        terms |= {"resource": kinds.resources[worst], "unit": int(unit[worst]), "largest": int(most[worst])}
        return "need.nothing-matches", terms
    best, name = 0, None
    for place, (requirement, _) in enumerate(tests):
        others = large.copy()
        for other, (_, mask) in enumerate(tests):
            if other != place:
                others &= mask
        count = int(standing[others].sum())
        if count > best:
            best, name = count, requirement
    return "need.nothing-matches", {**terms, "requirement": name, "without": best}


def _tests(work: Work, profile: Profile) -> list[tuple[str, Mask]]:
    """Everything a machine must be besides large enough, as text and as the kinds that are."""
    kinds = work.fleet.kinds
    found = [(str(one), kinds.matching(one)) for one in profile.requirements]
    keys = {
        profile.same,
        profile.spread.key if profile.spread else "",
        profile.separation.key if profile.separation else "",
    }
    for key in sorted(keys - {""}):
        exists = Requirement(key, Operator.EXISTS)
        found.append((str(exists), kinds.matching(exists)))
    return found


def _waiting(work: Work, row: int) -> Why | None:
    coming = work.awaited.get(row, 0)
    return ("need.waiting", {"coming": coming}) if coming >= int(work.unmet[row]) else None


def _bought_out(work: Work, fits: Mask) -> Why | None:
    """Machines it could use are for sale, but a quota or a spending cap is in the way."""
    limits, rails, kinds = work.limits, work.policy.rails, work.fleet.kinds
    for_sale = fits & (work.free[SPECULATIVE] > 0)
    if not for_sale.any():
        return None
    for number in np.flatnonzero(limits.quota_bites).tolist():
        if (limits.counts[number] & for_sale).any():
            quota = rails.quotas[number]
            return "need.capped-by-quota", {
                "provider": quota.provider,
                "region": quota.region,
                "instance_type": quota.instance_type,
                "most": quota.most,
            }
    for number in np.flatnonzero(limits.money_bites).tolist():
        if (for_sale & (kinds.provider == number)).any():
            provider = kinds.providers[number]
            return "need.capped-by-spending", {"provider": provider, "cap": rails.spending[provider]}
    return None


def _capped_by_rail(work: Work, row: int) -> Why | None:
    if row not in work.withheld:
        return None
    return "need.capped-by-rail", {
        "machines": work.withheld[row],
        "percent": work.policy.rails.preempt_percent,
    }


def _too_small(supply: Supply, row: int, profile: Profile) -> Why | None:
    """All machines there are, whoever has them, would not do as they lie."""
    work = supply.work
    if profile.by_sum:
        return None
    count = int(work.demand.count[row])
    if profile.same:
        best, name, _ = _largest(work, row, profile.same, supply.standing)
        if best < count:
            return "need.domain-too-small", {
                "key": profile.same,
                "domain": name,
                "units": best,
                "wanted": count,
            }
        return None
    key = profile.spread.key if profile.spread else profile.separation.key if profile.separation else ""
    if not key:
        return None
    layout = domains.layout_of(work, row)
    usable = layout.usable(supply.standing)
    if usable >= count:
        return None
    caps = layout.caps(supply.standing)
    place = int(np.argmin(caps)) if layout.skew is not None else int(np.argmax(caps))
    codes, values = work.fleet.kinds.domains(key)
    name = values[int(codes[np.flatnonzero(layout.domain == place)[0]])]
    return "need.domain-too-small", {"key": key, "domain": name, "units": int(caps[place]), "usable": usable, "wanted": count}  # fmt: skip


def _taken(supply: Supply, row: int, number: int, profile: Profile, matching: int) -> Why:
    """Machines that would do are there, and somebody has them, or they lie badly, or cannot be tried yet."""
    work = supply.work
    fits = work.fit[number] > 0
    unmet, priority = int(work.unmet[row]), int(work.demand.priority[row])
    terms: dict[str, Term] = {"matching": matching, "held": supply.held(fits, priority), "priority": priority}
    if not profile.is_plain and not profile.by_sum:
        free = work.free.sum(axis=0)
        units = int((free * work.fit[number]).sum())
        key = profile.same or (profile.spread.key if profile.spread else "")
        if units >= unmet and key:
            best, name, _ = _largest(work, row, key, free)
            return "need.fragmented", {"free": units, "key": key, "domain": name, "largest": best, "wanted": unmet}  # fmt: skip
    if supply.backing_off[fits].any():
        until = supply.tried_again(fits)
        if unmet <= int(supply.backing_units()[number]):
            terms |= {"backing_off": int(supply.backing_off[fits].sum()), "until": until}
            return "need.backing-off", terms
    return "need.held-by-priority", terms


def _largest(work: Work, row: int, key: str, machines: Ints) -> tuple[int, str, int]:
    """The domain in which machines by kind give a need most units: how many, its name and its number."""
    codes, values = work.fleet.kinds.domains(key)
    units = machines * work.fit[work.demand.profile[row]]
    found = np.zeros(len(values), np.int64)
    np.add.at(found, codes[codes >= 0], units[codes >= 0])
    best = int(np.argmax(found))
    return int(found[best]), values[best], best
