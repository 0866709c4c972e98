"""Decisions that `remuda fleet plan --keep` leaves for the dashboard and `why`: as a shard records its own, in one document."""

from typing import Any

import msgspec
from msgspec import Struct

from remuda.errors import BadInput, NotFound, Unavailable
from remuda.fleet.history.stored import StoredPlan, restore_plan, store_plan
from remuda.fleet.inputs import Inputs
from remuda.fleet.journal import Journal, Record, Restored
from remuda.fleet.policy import Policy
from remuda.fleet.situation import Situation, situation
from remuda.fleet.standing import CountedRecord, Standing
from remuda.fleet.trial import Trial
from remuda.ledger import documents
from remuda.ledger.place import Home
from remuda.ledger.record import decode
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.times import Instant

FAMILY = "fleet-plan"
SCHEMA = "remuda.dev/fleet-plan/v1"
#: letters of what was decided on, in the name of a document
_MOST_LETTERS = 120
_encode = msgspec.msgpack.Encoder().encode


class KeptPlan(Struct, frozen=True, kw_only=True):
    """A decision on files: what it was made on, and what it says."""

    schema: str
    at: Instant
    snapshot: bytes
    plan: bytes
    policy: bytes


def keep_plan(home: Home, trial: Trial, files: tuple[str, ...]) -> None:
    """Keep a decision; `BadInput` or `Unavailable` says why it cannot be kept, and nothing was changed then."""
    kept = KeptPlan(
        schema=SCHEMA,
        at=trial.now,
        snapshot=_encode(Journal(trial.fleet, trial.demand).checkpoint(is_complete=True)),
        plan=_encode(store_plan(trial.plan)),
        policy=_encode(trial.inputs.policy),
    )
    documents.keep(home, f"{FAMILY}/{', '.join(files)[:_MOST_LETTERS]}", trial.now, kept)


def kept_plans(db: Database) -> list[documents.Kept]:
    """Which there are, the newest first."""
    return documents.kept_of_family(db, FAMILY)


def find_plan(db: Database, number: int) -> documents.Kept:
    """One of them; `NotFound` with those there are."""
    known = kept_plans(db)
    for item in known:
        if item.id == number:
            return item
    there = ", ".join(str(item.id) for item in known[:10]) or "none"
    raise NotFound(f"no plan {number} is kept: it may have been forgotten for newer ones; there is: {there}")


def plan_situation(db: Database, item: documents.Kept) -> Situation:
    """A kept decision, counted; `BadInput` or `Unavailable` when it cannot be read."""
    kept = _read(db, item)
    standing = Standing()
    try:
        standing.apply(_part(kept.snapshot, CountedRecord, item))
        return situation(standing, _part(kept.plan, StoredPlan, item), _part(kept.policy, Policy, item))
    except (ValueError, IndexError, KeyError) as error:
        raise BadInput(f"what was kept of {item.kind} cannot be read: {error}; keep it again") from None


def plan_trial(db: Database, item: documents.Kept) -> Trial:
    """A kept decision, to be explained."""
    kept = _read(db, item)
    restored = Restored()
    try:
        restored.apply(_part(kept.snapshot, Record, item))
        plan = restore_plan(_part(kept.plan, StoredPlan, item), restored.fleet.names)
    except (ValueError, IndexError, KeyError) as error:
        raise BadInput(f"what was kept of {item.kind} cannot be read: {error}; keep it again") from None
    inputs = Inputs((), restored.demand.needs(), _part(kept.policy, Policy, item), (), ())
    return Trial(inputs, restored.fleet, restored.demand, plan, kept.at)


def _read(db: Database, item: documents.Kept) -> KeptPlan:
    kept = documents.read(db, item, KeptPlan)
    if kept.schema != SCHEMA:
        raise Unavailable(
            f"what was kept of {item.kind} is {kept.schema}, and this remuda reads {SCHEMA}: keep it again"
        )
    return kept


def _part(data: bytes, kind: Any, item: documents.Kept) -> Any:
    try:
        return decode(data, kind, f"what was kept of {item.kind}")
    except DamagedRow as error:
        raise BadInput(f"{error}; keep it again") from None
