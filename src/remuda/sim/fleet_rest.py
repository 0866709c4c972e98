"""What must hold once faults have stopped and a simulated fleet is at rest: who is served, and what is left over."""

from collections.abc import Iterable, Iterator

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.policy import Policy
from remuda.model.shapes import Shape
from remuda.model.times import Instant
from remuda.model.units import FleetNeed
from remuda.sim.fleet_fits import by_domain, is_met, is_plain, units_on, usable


class Rest:
    """A fleet at rest, by what its shard believes, which a list has just confirmed."""

    def __init__(self, fleet: Fleet, policy: Policy, now: Instant, needs: Iterable[FleetNeed]) -> None:
        self._fleet, self._policy, self._now = fleet, policy, now
        self._needs = list(needs)
        names = fleet.names
        self._gangs = {
            names.need(names.cluster(need.cluster), need.name) for need in self._needs if need.same
        }
        self._counts = fleet.census.by_kind_and_state(len(fleet.kinds))
        self._counts[:, states.ABSENT] = 0
        self._kinds = [kind for kind in range(len(fleet.kinds)) if self._counts[kind].any()]
        self._idle = np.bincount(
            fleet.kind[(fleet.state == states.IDLE) & (fleet.claim < 0)], minlength=len(fleet.kinds)
        )

    def flaws(self) -> Iterator[tuple[str, str]]:
        """What is not as it must be: the rule and what breaks it."""
        yield from self._left_over()
        for need in self._needs:
            held = self._held(need)
            if need.same and 0 < usable(need, held) < (need.count or 1):
                yield (
                    "a gang is whole or not at all",
                    f"{_name(need)} has {usable(need, held)} of {need.count}",
                )
            if is_met(need, held, self._domains(need)):
                continue
            if supply := self._supply(need, held):
                yield "every need is met when supply for it exists", f"{_name(need)}: {supply}"

    def unmet(self) -> int:
        """How many needs are not met."""
        return sum(not is_met(need, self._held(need), self._domains(need)) for need in self._needs)

    def _shape(self, kind: int) -> Shape:
        return self._fleet.kinds.shapes[kind]

    def _held(self, need: FleetNeed) -> list[tuple[Shape, int]]:
        names = self._fleet.names
        cluster = names.known_cluster(need.cluster)
        if cluster < 0:
            return []
        mine = (self._fleet.need == names.need(cluster, need.name)) & (self._fleet.state == states.CONFIGURED)
        shapes = [self._shape(kind) for kind in self._fleet.kind[mine].tolist()]
        return [(shape, units_on(need, shape)) for shape in shapes]

    def _domains(self, need: FleetNeed) -> list[str]:
        """The values of a spread's key under which there is a machine it could use."""
        if need.spread is None:
            return []
        found = {
            self._shape(kind).all_labels()[need.spread.key]
            for kind in self._kinds
            if units_on(need, self._shape(kind))
            and self._counts[kind].sum() > self._counts[kind][states.FAILED]
        }
        return sorted(found)

    def _supply(self, need: FleetNeed, held: list[tuple[Shape, int]]) -> str:
        """What could serve a need further; nothing when there is nothing."""
        fit = {kind: units for kind in self._kinds if (units := units_on(need, self._shape(kind)))}
        if need.same:
            free = [
                (self._shape(kind), units * int(self._idle[kind] + self._makeable(kind, every=True)))
                for kind, units in fit.items()
            ]
            whole = {
                domain: units + by_domain(need.same, held).get(domain, 0)
                for domain, units in by_domain(need.same, free).items()
            }
            return next(
                (
                    f"{units} units in {domain}"
                    for domain, units in whole.items()
                    if units >= (need.count or 1)
                ),
                "",
            )
        domains = self._domains(need)
        for kind, units in fit.items():
            shape = self._shape(kind)
            more = need.count is None or usable(need, [*held, (shape, units)], domains) > usable(
                need, held, domains
            )
            if more and (self._idle[kind] or self._makeable(kind)):
                return f"a machine of {shape.instance_type} in {shape.zone} is idle or could be made"
            if more and is_plain(need) and (victim := self._victim(kind, need.priority)):
                return f"{victim} serves a lower priority"
        return ""

    def _makeable(self, kind: int, *, every: bool = False) -> int:
        """Speculative machines of a kind that no quota or cap forbids: one at a time, or only where none counts them."""
        there = int(self._counts[kind][states.SPECULATIVE])
        shape, rails = self._shape(kind), self._policy.rails
        if not there:
            return 0
        for quota in rails.quotas:
            if not _counts(quota.provider, quota.region, quota.instance_type, shape):
                continue
            counted = [
                k
                for k in self._kinds
                if _counts(quota.provider, quota.region, quota.instance_type, self._shape(k))
            ]
            if every or sum(self._existing(k) for k in counted) + 1 > quota.most:
                return 0
        cap = rails.spending.get(shape.provider)
        if cap is not None:
            mine = [k for k in self._kinds if self._shape(k).provider == shape.provider]
            spent = sum(self._existing(k) * self._shape(k).price for k in mine)
            if every or spent + shape.price > cap:
                return 0
        return there

    def _existing(self, kind: int) -> int:
        return int(self._counts[kind][states.SPECULATIVE + 1 :].sum())

    def _victim(self, kind: int, priority: int) -> str:
        """A machine of a kind that serves a lower priority, and no gang of more machines than may be drained at once."""
        fleet = self._fleet
        lower = (fleet.kind == kind) & (fleet.state == states.CONFIGURED) & (fleet.priority < priority)
        for row in np.flatnonzero(lower).tolist():
            members = np.count_nonzero((fleet.need == fleet.need[row]) & (fleet.state == states.CONFIGURED))
            if int(fleet.need[row]) not in self._gangs or members <= self._most_drained():
                return fleet.ids[row]
        return ""

    def _most_drained(self) -> int:
        """How many machines may be preempted in a minute."""
        percent = self._policy.rails.preempt_percent
        table = self._counts.sum(axis=0)
        made = int(
            table.sum() - table[[states.ABSENT, states.SPECULATIVE, states.DELETING, states.FAILED]].sum()
        )
        return made if percent is None else max(1, made * percent // 100)

    def _left_over(self) -> Iterator[tuple[str, str]]:
        fleet = self._fleet
        asked = {(need.cluster, need.name) for need in self._needs}
        names = fleet.names
        for row in np.flatnonzero(fleet.state == states.CONFIGURED).tolist():
            code = int(fleet.need[row])
            if code < 0 or (names.clusters[names.need_cluster[code]], names.needs[code]) not in asked:
                yield "what no need claims is reclaimed in the end", f"{fleet.ids[row]} for need {code}"
        for row in np.flatnonzero(fleet.state == states.IDLE).tolist():
            hold = self._policy.holds.get(self._shape(int(fleet.kind[row])).capacity_type)
            if hold is not None and self._now - fleet.since[row] > hold:
                yield "what nobody needs is released in the end", fleet.ids[row]


def _counts(provider: str, region: str, instance_type: str, shape: Shape) -> bool:
    same = shape.provider == provider
    return same and region in {"", shape.region} and instance_type in {"", shape.instance_type}


def _name(need: FleetNeed) -> str:
    return f"{need.cluster}/{need.name} of {need.count if need.count is not None else need.total}"
