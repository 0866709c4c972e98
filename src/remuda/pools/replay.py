"""
Replay: today's rules, or changed objects, on recorded snapshots.

One step each: a recorded cycle goes through today's `decide` by itself, and a difference is not carried on to the
next, because the world went on as it did.
"""

import sqlite3
from collections.abc import Callable, Iterator

from msgspec import Struct

from remuda.ledger.history import cycles_between
from remuda.model.plans import Plan
from remuda.model.times import Instant
from remuda.output.words import number, sentence
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.world import Policy, PoolAction
from remuda.pools.kinds import POOL_KINDS


class Difference(Struct, frozen=True):
    """What one pool was told then and would be told now."""

    at: Instant
    until: Instant
    cycles: int
    pool: str
    then: str
    now: str
    target_then: int
    target_now: int
    actions_then: tuple[str, ...]
    actions_now: tuple[str, ...]


class Replayed(Struct, frozen=True):
    """One step of a replay."""

    cycles: int
    differences: tuple[Difference, ...]


def replay(
    db: sqlite3.Connection,
    since: Instant,
    until: Instant,
    change: Callable[[Policy], Policy] | None,
    damaged: Callable[[str], None],
) -> Iterator[Replayed]:
    """
    Go through the recorded steps of a span, oldest first, with the recorded policy or a changed one.

    A step that cannot be read is left out, and `damaged` is told what it is.
    """
    for cycle in cycles_between(db, LOOP, since, until, POOL_KINDS, damaged):
        policy = change(cycle.policy) if change else cycle.policy
        plan, _ = decide(cycle.snapshot, cycle.memory, policy, cycle.first_at)
        yield Replayed(
            cycle.count, tuple(_differences(cycle.plan, plan, cycle.first_at, cycle.last_at, cycle.count))
        )


def _differences(
    then: Plan[PoolAction], now: Plan[PoolAction], at: Instant, until: Instant, cycles: int
) -> Iterator[Difference]:
    before = {reason.subject: reason for reason in then.reasons}
    acted, acts = _actions(then), _actions(now)
    for reason in now.reasons:
        pool = reason.subject.removeprefix("pool/")
        old = before.get(reason.subject)
        did, does = acted.get(pool, ()), acts.get(pool, ())
        if old is None or (
            old.code == reason.code and _target(old.terms) == _target(reason.terms) and did == does
        ):
            continue
        yield Difference(
            at=at,
            until=until,
            cycles=cycles,
            pool=pool,
            then=sentence(old),
            now=sentence(reason),
            target_then=_target(old.terms),
            target_now=_target(reason.terms),
            actions_then=did,
            actions_now=does,
        )


def _target(terms: dict[str, int | str | None]) -> int:
    return number(terms, "target")


def _actions(plan: Plan[PoolAction]) -> dict[str, tuple[str, ...]]:
    by_pool: dict[str, list[str]] = {}
    for action in plan.actions:
        by_pool.setdefault(action.pool, []).append(f"{type(action).__name__.lower()} {action.target}")
    return {pool: tuple(actions) for pool, actions in by_pool.items()}
