"""
What no plan of a simulated fleet may do, worked out from the fleet the shard believes in and the demand it was reported.

Each rule yields what breaks it. None of them asks the engine.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.plan import EXPECTS, Op, Plan
from remuda.fleet.policy import Policy
from remuda.model.shapes import Shape
from remuda.model.times import Instant
from remuda.model.units import FleetNeed
from remuda.sim.fleet_fits import by_domain, is_met, is_plain, label, units_on, usable

_SERVES = (states.CONFIGURED, states.CONFIGURING)
_COMES = (states.CREATING, states.IDLE, states.DRAINING)
#: gap of priorities above → grace
_GRACES = ((900_000, 10_000), (500_000, 30_000), (100_000, 120_000))


@dataclass
class Seen:
    """A plan, and what was known when it was made. `reported` is what was believed of each cluster's reports, by name."""

    fleet: Fleet
    plan: Plan
    policy: Policy
    now: Instant
    reported: Mapping[str, Mapping[str, FleetNeed]]
    units: Callable[[FleetNeed, Shape], int] = units_on
    #: rows and needs of each sort of action
    acts: dict[Op, list[tuple[int, int, int]]] = field(default_factory=dict)
    _after: dict[int, list[int]] | None = None

    def __post_init__(self) -> None:
        for block in self.plan.blocks:
            rows = zip(block.rows.tolist(), block.needs.tolist(), block.grace.tolist(), strict=True)
            self.acts.setdefault(block.op, []).extend(rows)

    def of(self, *ops: Op) -> Iterator[tuple[Op, int, int, int]]:
        """The actions of some sorts: sort, row, need and grace."""
        for op in ops:
            for row, code, grace in self.acts.get(op, ()):
                yield op, row, code, grace

    def need(self, code: int) -> FleetNeed | None:
        """A need that is asked for, by its number."""
        names = self.fleet.names
        if code < 0:
            return None
        return self.reported.get(names.clusters[names.need_cluster[code]], {}).get(names.needs[code])

    def shape(self, row: int) -> Shape:
        """What a machine offers."""
        return self.fleet.kinds.shapes[int(self.fleet.kind[row])]

    def held(self, code: int) -> list[tuple[Shape, int]]:
        """Shapes and units of what a need has or will have, the plan included."""
        need = self.need(code)
        if need is None:
            return []
        shapes = [self.shape(row) for row in self.after().get(code, ())]
        return [(shape, self.units(need, shape)) for shape in shapes]

    def held_now(self, code: int, without: int) -> list[tuple[Shape, int]]:
        """The same before the plan, without one machine."""
        fleet, need = self.fleet, self.need(code)
        serves = np.isin(fleet.state, _SERVES) & (fleet.need == code)
        comes = np.isin(fleet.state, _COMES) & (fleet.claim == code)
        shapes = [self.shape(row) for row in np.flatnonzero(serves | comes).tolist() if row != without]
        return [(shape, self.units(need, shape)) for shape in shapes] if need else []

    def domains(self, need: FleetNeed) -> list[str]:
        """The values of a spread's key under which there is a machine that the need could use."""
        if need.spread is None:
            return []
        there = np.unique(self.fleet.kind[~np.isin(self.fleet.state, (states.ABSENT, states.FAILED))])
        shapes = [self.fleet.kinds.shapes[kind] for kind in there.tolist()]
        return sorted({label(shape, need.spread.key) or "" for shape in shapes if self.units(need, shape)})

    def after(self) -> dict[int, list[int]]:
        """By need that the plan or its machines name: the rows that serve it or are meant for it once all is begun."""
        if self._after is None:
            fleet = self.fleet
            whose = np.where(np.isin(fleet.state, _SERVES), fleet.need, -1)
            whose = np.where(np.isin(fleet.state, _COMES), fleet.claim, whose)
            # Nobody waits for ever for a machine that is idle and meant for someone.
            lapsed = (fleet.state == states.IDLE) & (fleet.since <= self.now - self.policy.gang_patience)
            whose[lapsed] = -1
            named: set[int] = set()
            for op, row, code, _ in self.of(*Op):
                named |= {code, int(fleet.need[row]), int(fleet.claim[row])}
                whose[row] = -1 if op in {Op.RECLAIM, Op.RELEASE} else code
            rows = np.flatnonzero(np.isin(whose, sorted(named - {-1})))
            self._after = {}
            for row, code in zip(rows.tolist(), whose[rows].tolist(), strict=True):
                self._after.setdefault(code, []).append(row)
        return self._after

    def name(self, row: int) -> str:
        """How a machine is called."""
        return f"{self.fleet.ids[row]} ({states.STATES[int(self.fleet.state[row])]})"

    def subject(self, code: int) -> str:
        """How a need is called."""
        return self.fleet.names.subject(code) if code >= 0 else "no need"


Rule: TypeAlias = Callable[[Seen], Iterator[str]]


def is_in_place(seen: Seen) -> Iterator[str]:
    """One action a machine, in the state it is for, and none on one that is waiting after a failure."""
    fleet, done = seen.fleet, set()
    for op, row, _, _ in seen.of(*Op):
        if row in done:
            yield f"{seen.name(row)} is in the plan twice"
        done.add(row)
        state = fleet.state[row]
        if state != EXPECTS[op] and not (op is Op.ADOPT and state == states.CONFIGURING):
            yield f"{op.name} of {seen.name(row)}"
        if op is not Op.ADOPT and fleet.not_before[row] > seen.now:
            yield f"{op.name} of {seen.name(row)}, which waits until {fleet.not_before[row]}"


def is_asked_for(seen: Seen) -> Iterator[str]:
    """What is given to a need fits it, and the need is asked for; what is adopted stays in its cluster."""
    names = seen.fleet.names
    for op, row, code, _ in seen.of(Op.ADOPT, Op.ASSIGN, Op.CREATE, Op.PREEMPT):
        need = seen.need(code)
        if need is None:
            yield f"{op.name} of {seen.name(row)} for {seen.subject(code)}, which nobody asks for"
        elif not seen.units(need, seen.shape(row)) and not (op is Op.PREEMPT and _is_in_gang(seen, row)):
            yield f"{op.name} of {seen.name(row)} for {seen.subject(code)}, whose units do not fit on it"
        if op is Op.ADOPT and names.need_cluster[code] != seen.fleet.cluster[row]:
            yield f"{seen.name(row)} of another cluster is adopted by {seen.subject(code)}"


def _is_in_gang(seen: Seen, row: int) -> bool:
    """Whether a machine serves a gang, of which all are taken or none."""
    serves = seen.need(int(seen.fleet.need[row]))
    return serves is not None and bool(serves.same)


def is_for_higher_priority(seen: Seen) -> Iterator[str]:
    """No machine is drained for an equal or lower priority, and each has its time."""
    for _, row, code, grace in seen.of(Op.PREEMPT):
        need, victim = seen.need(code), seen.need(int(seen.fleet.need[row]))
        if need is None:
            continue
        lower = max(int(seen.fleet.priority[row]), victim.priority if victim else -(1 << 31))
        if lower >= need.priority:
            yield f"{seen.name(row)} of priority {lower} is drained for {seen.subject(code)} of {need.priority}"
        gap = need.priority - int(seen.fleet.priority[row])
        right = next((grace for above, grace in _GRACES if gap > above), 600_000)
        if grace != right:
            yield f"{seen.name(row)} has {grace} ms to drain and not {right} for a gap of {gap}"


def is_a_complete_gang(seen: Seen) -> Iterator[str]:
    """Of a gang, all machines that can be are taken, or so that it is whole without them."""
    taken = {row for _, row, _, _ in seen.of(Op.PREEMPT)}
    for code in sorted({int(seen.fleet.need[row]) for row in taken}):
        need = seen.need(code)
        if need is not None and need.same:
            mine = (seen.fleet.need == code) & (seen.fleet.state == states.CONFIGURED)
            mine &= seen.fleet.not_before <= seen.now
            left = [row for row in np.flatnonzero(mine).tolist() if row not in taken]
            units = [(seen.shape(row), seen.units(need, seen.shape(row))) for row in left]
            if left and usable(need, units) < (need.count or 1):
                yield f"of the gang {seen.subject(code)} {seen.name(left[0])} is left"


def is_within_limits(seen: Seen) -> Iterator[str]:
    """Nothing is made beyond a quota or a spending cap."""
    rails = seen.policy.rails
    made = Counter(int(seen.fleet.kind[row]) for _, row, _, _ in seen.of(Op.CREATE))
    if not made or not (rails.quotas or rails.spending):
        return
    fleet = seen.fleet
    exists = (fleet.state != states.ABSENT) & (fleet.state != states.SPECULATIVE)
    there = np.bincount(fleet.kind[exists], minlength=len(fleet.kinds)).tolist()
    shapes = fleet.kinds.shapes
    for quota in rails.quotas:
        counted = [
            kind
            for kind, shape in enumerate(shapes)
            if shape.provider == quota.provider
            and (not quota.region or quota.region == shape.region)
            and (not quota.instance_type or quota.instance_type == shape.instance_type)
        ]
        new = sum(made[kind] for kind in counted)
        old = sum(there[kind] for kind in counted)
        if new and new + old > quota.most:
            yield f"{new} machines are made where {old} of {quota} are there"
    for provider, cap in rails.spending.items():
        mine = [kind for kind, shape in enumerate(shapes) if shape.provider == provider]
        new = sum(made[kind] * shapes[kind].price for kind in mine)
        old = sum(there[kind] * shapes[kind].price for kind in mine)
        if new and new + old > cap:
            yield f"{new} micro-dollars an hour more of {provider}, which runs {old} of {cap}"


def is_a_gang_that_can_be(seen: Seen) -> Iterator[str]:
    """Where a machine is made, given or taken for a gang, all of it is there or in the plan."""
    added: dict[int, set[tuple[str, bool]]] = {}
    for op, row, code, _ in seen.of(Op.ASSIGN, Op.CREATE, Op.PREEMPT):
        need = seen.need(code)
        if need is not None and need.same:
            domain = label(seen.shape(row), need.same) or ""
            added.setdefault(code, set()).add((domain, op is Op.PREEMPT or seen.fleet.claim[row] == code))
    for code, domains in added.items():
        need = seen.need(code)
        assert need is not None
        units = by_domain(need.same, seen.held(code))
        lacks = {}
        for domain, preempts in sorted(domains):
            lacks[domain] = (need.count or 1) - units.get(domain, 0)
            if lacks[domain] > 0:
                lacks[domain] -= _free(seen, need, domain, preempts=preempts)
        # Of a gang that is taken whole, some machines may lie where they are of no use.
        strays = any(_is_in_gang(seen, row) for _, row, whose, _ in seen.of(Op.PREEMPT) if whose == code)
        if (min if strays else max)(lacks.values()) > 0:
            yield f"{seen.subject(code)} of {need.count} units is started where some are missing: {lacks}"


def _free(seen: Seen, need: FleetNeed, domain: str, *, preempts: bool) -> int:
    """
    Units in a domain on machines that nobody is meant to have: those that are idle, or will be without anyone's doing.

    What could be made waits for a gang that preempts, until its victims are gone.
    """
    fleet = seen.fleet
    here = [
        kind
        for kind, shape in enumerate(fleet.kinds.shapes)
        if label(shape, need.same) == domain and seen.units(need, shape)
    ]
    rows = np.flatnonzero(np.isin(fleet.kind, here) & (fleet.state != states.ABSENT))
    waiting = (states.IDLE, states.CREATING, states.DRAINING, *((states.SPECULATIVE,) if preempts else ()))
    acts = {row: op for op, row, _, _ in seen.of(*Op)}
    lapsed = seen.now - seen.policy.gang_patience
    found = 0
    for row in rows.tolist():
        state, own, claim = int(fleet.state[row]), int(fleet.need[row]), int(fleet.claim[row])
        if row in acts:
            free = acts[row] is Op.RECLAIM
        elif state in _SERVES:
            free = _is_spare(seen, own, row)
        else:
            nobody = claim < 0 or (state == states.IDLE and fleet.since[row] <= lapsed)
            free = state in waiting and (nobody or _is_spare(seen, claim, row))
        found += seen.units(need, seen.shape(row)) if free else 0
    return found


def _is_spare(seen: Seen, code: int, row: int) -> bool:
    """Whether the need that a machine serves or is meant for can do without it."""
    need = seen.need(code)
    return need is None or is_met(need, seen.held_now(code, row), seen.domains(need))


def is_not_needed(seen: Seen) -> Iterator[str]:
    """Nothing is taken back or given back that a need claims, or that one still lacks."""
    for _, row, _, _ in seen.of(Op.RECLAIM):
        code = int(seen.fleet.need[row])
        need = seen.need(code)
        units = seen.units(need, seen.shape(row)) if need else 0
        if need is None or not units:
            continue
        held, domains = seen.held(code), seen.domains(need)
        if is_met(need, held, domains):
            continue
        with_it = usable(need, [*held, (seen.shape(row), units)], domains)
        broken = need.same and with_it < (need.count or 1)
        useless = need.count is not None and with_it == usable(need, held, domains)
        if not broken and not useless:
            yield f"{seen.name(row)} is taken back from {seen.subject(code)}, which lacks it"
    for _, row, _, _ in seen.of(Op.RELEASE):
        shape = seen.shape(row)
        code = int(seen.fleet.claim[row])
        lapsed = seen.fleet.since[row] <= seen.now - seen.policy.gang_patience
        claiming = None if lapsed else seen.need(code)
        if claiming is not None and seen.units(claiming, shape) and not _is_met(seen, claiming, code):
            yield f"{seen.name(row)} is given back although {seen.subject(code)} claims it"
        hold = seen.policy.holds.get(shape.capacity_type)
        if hold is None or seen.now - seen.fleet.since[row] < hold:
            yield f"{seen.name(row)} is given back before its hold of {hold} ms is over"


def _is_met(seen: Seen, need: FleetNeed, code: int) -> bool:
    return is_met(need, seen.held(code), seen.domains(need))


def is_not_bought_twice(seen: Seen) -> Iterator[str]:
    """A plain need that has or awaits all it asks for gets nothing new."""
    fleet = seen.fleet
    new: dict[int, list[int]] = {}
    for _, row, code, _ in seen.of(Op.ASSIGN, Op.CREATE):
        need = seen.need(code)
        if need is not None and is_plain(need) and fleet.claim[row] != code:
            new.setdefault(code, []).append(row)
    for code, rows in new.items():
        need = seen.need(code)
        assert need is not None
        drained = {row for _, row, _, _ in seen.of(Op.PREEMPT)}
        before = [seen.shape(row) for row in seen.after().get(code, ()) if row not in {*rows, *drained}]
        units = sum(seen.units(need, shape) for shape in before)
        if units >= (need.count or 0):
            yield f"{seen.subject(code)} of {need.count} units has {units} and gets {seen.name(rows[0])}"


RULES: dict[str, Rule] = {
    "an action finds what it expects": is_in_place,
    "what is given is asked for and fits": is_asked_for,
    "no machine is drained for an equal or lower priority": is_for_higher_priority,
    "gangs are preempted whole": is_a_complete_gang,
    "no quota and no cap is exceeded": is_within_limits,
    "no gang is started that cannot be completed": is_a_gang_that_can_be,
    "nothing is deleted that some need claims": is_not_needed,
    "nothing is bought twice": is_not_bought_twice,
}
