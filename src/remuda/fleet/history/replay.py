"""Recorded cycles of a fleet again: what was seen, remembered and set, and what was decided; and today's rules on them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from remuda.errors import NotFound
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.demand import Demand
from remuda.fleet.history.packing import CHECKPOINT, unpack_record
from remuda.fleet.history.stored import StoredMemory, StoredPlan, restore_memory, restore_plan
from remuda.fleet.inputs import Inputs
from remuda.fleet.journal import Restored
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy
from remuda.fleet.snapshot import LOOP
from remuda.fleet.trial import Trial
from remuda.ledger.dialects import one_by_one
from remuda.ledger.record import unpack
from remuda.ledger.replay import Difference, Step
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.output.moments import age, clock_time

_CYCLE = "SELECT id, first_at, last_at, count, snapshot, memory, policy, plan FROM cycles"


class _CheckpointGone(DamagedRow):
    """The history is kept from a later cycle on than the one a snapshot builds upon."""


@dataclass(frozen=True, slots=True)
class FleetCycle:
    """One recorded step. The fleet and the demand are those of the last cycle that was read: look before reading on."""

    id: int
    first_at: Instant
    last_at: Instant
    count: int
    fleet: Fleet
    demand: Demand
    #: False while some provider had not been read yet, and nothing was decided
    is_complete: bool
    memory: Memory
    policy: Policy
    plan: Plan


class Replayed(Struct, frozen=True):
    """What was decided then and would be now: actions of each sort, and what each need misses."""

    at: Instant
    until: Instant
    cycles: int
    is_same: bool
    actions_then: dict[str, int]
    actions_now: dict[str, int]
    #: need → units that it missed then and would miss now, where the two differ
    missing: dict[str, tuple[int, int]]


def cycle_at(db: Database, at: Instant) -> FleetCycle | None:
    """
    The cycle in force at an instant: the last recorded one that began by then.

    `NotFound` when its checkpoint is no longer kept, `DamagedRow` when it cannot be read.
    """
    row = db.execute(
        f"{_CYCLE} WHERE loop || '' = ? AND first_at <= ? ORDER BY id DESC LIMIT 1", (LOOP, at)
    ).fetchone()
    if row is None:
        return None
    restored = Restored()
    try:
        _advance(db, restored, 0, row[0])
    except _CheckpointGone as error:
        raise NotFound(f"{error}; ask for a later time") from None
    return _cycle(db, row, restored)


def cycles_between(
    db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]
) -> Iterator[FleetCycle]:
    """
    Recorded cycles that were in force in the span, in the order of recording, read one by one.

    One that cannot be read is left out, and `damaged` is called with what it is.
    """
    rows = one_by_one(
        db, f"{_CYCLE} WHERE loop = ? AND last_at >= ? AND first_at <= ? ORDER BY id", (LOOP, since, until)
    )
    restored, last = Restored(), 0
    for row in rows:
        try:
            if row[4][:1] == CHECKPOINT or not last:
                restored = Restored()
                last = 0
            _advance(db, restored, last, row[0])
            last = row[0]
            cycle = _cycle(db, row, restored)
        except DamagedRow as error:
            last = 0
            damaged(str(error))
        else:
            yield cycle


def replay(
    db: Database,
    since: Instant,
    until: Instant,
    change: Callable[[Policy], Policy] | None,
    damaged: Callable[[str], None],
) -> Iterator[Replayed]:
    """Each recorded step of a span through today's rules, with the recorded policy or a changed one; nothing is carried on."""
    for cycle in cycles_between(db, since, until, damaged):
        if not cycle.is_complete:
            continue
        policy = change(cycle.policy) if change else cycle.policy
        plan, _ = decide(cycle.fleet, cycle.demand, cycle.memory, policy, cycle.first_at)
        yield _compared(cycle, plan)


def _compared(cycle: FleetCycle, now: Plan) -> Replayed:
    then, subject = cycle.plan, cycle.fleet.names.subject
    missed = {each.need: each.units for each in then.shortfalls}
    misses = {each.need: each.units for each in now.shortfalls}
    return Replayed(
        cycle.first_at,
        cycle.last_at,
        cycle.count,
        then.digest() == now.digest(),
        _actions(then),
        _actions(now),
        {
            subject(need).removeprefix("need/"): (missed.get(need, 0), misses.get(need, 0))
            for need in sorted(missed.keys() | misses.keys())
            if missed.get(need, 0) != misses.get(need, 0)
        },
    )


def _actions(plan: Plan) -> dict[str, int]:
    return {op.name.lower(): number for op in Op if (number := plan.count(op))}


def _advance(db: Database, restored: Restored, last: int, to: int) -> None:
    """Apply the records after cycle `last` up to cycle `to`; from the checkpoint before it when there is no last."""
    first = last + 1
    if not last:
        row = db.execute(
            "SELECT max(id) FROM cycles WHERE loop = ? AND id <= ? AND substr(snapshot, 1, 1) = ?",
            (LOOP, to, CHECKPOINT),
        ).fetchone()
        if row[0] is None:
            raise _CheckpointGone(
                f"the snapshot of cycle {to} cannot be read: its checkpoint is no longer kept"
            )
        first = row[0]
    rows = one_by_one(
        db,
        "SELECT id, snapshot FROM cycles WHERE loop = ? AND id BETWEEN ? AND ? ORDER BY id",
        (LOOP, first, to),
    )
    for number, data in rows:
        restored.apply(unpack_record(data, f"the snapshot of cycle {number}"))


def _cycle(db: Database, row: tuple[Any, ...], restored: Restored) -> FleetCycle:
    number, first_at, last_at, count, _, memory, policy, plan = row
    what = f"of cycle {number}"
    found = db.execute("SELECT data FROM policies WHERE digest = ?", (policy,)).fetchone()
    if found is None:
        raise DamagedRow(f"the policy {what} is not there")
    names = restored.fleet.names
    stored_memory: StoredMemory = unpack(memory, StoredMemory, f"the memory {what}")
    stored_plan: StoredPlan = unpack(plan, StoredPlan, f"the plan {what}")
    return FleetCycle(
        number,
        first_at,
        last_at,
        count,
        restored.fleet,
        restored.demand,
        restored.is_complete,
        restore_memory(stored_memory, names),
        unpack(found[0], Policy, f"the policy {what}"),
        restore_plan(stored_plan, names),
    )


class FleetReplay:
    """The fleet for `remuda replay`, by the policies of then."""

    def __init__(self, changed: Objects | None, now: Instant) -> None:
        del changed  # no cluster keeps a kind of the fleet's
        self._now = now

    def steps(
        self, db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]
    ) -> Iterator[Step]:
        """Every step, with what would be decided otherwise."""
        for item in replay(db, since, until, None, damaged):
            yield Step(item.cycles, () if item.is_same else (Difference(item, self._lines(item)),))

    def known(self) -> dict[str, set[str]]:
        """Nothing that a file could change."""
        return {}

    def used(self) -> tuple[tuple[str, str], ...]:
        """Nothing that a file could change."""
        return ()

    def _lines(self, item: Replayed) -> tuple[str, ...]:
        missing = (f"  {need} misses {then} then and {now} now" for need, (then, now) in item.missing.items())
        return (
            f"{clock_time(item.at, self._now)}  fleet   ({item.cycles} cycles, {age(item.until - item.at)})",
            f"  then {_listed(item.actions_then)}",
            f"  now  {_listed(item.actions_now)}",
            *missing,
        )


def _listed(actions: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in actions.items()) or "nothing"


def recorded_trial(cycle: FleetCycle) -> Trial:
    """What a recorded cycle decided on, and what came of it."""
    inputs = Inputs((), cycle.demand.needs(), cycle.policy, (), ())
    return Trial(inputs, cycle.fleet, cycle.demand, cycle.plan, cycle.first_at)
