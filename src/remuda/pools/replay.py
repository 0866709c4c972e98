"""
Replay: today's rules, or changed objects, on recorded snapshots.

One step each: a recorded cycle goes through today's `decide` by itself, and a difference is not carried on to the
next, because the world went on as it did.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from remuda.ledger.history import cycles_between
from remuda.ledger.replay import Difference as LoopDifference
from remuda.ledger.replay import Step
from remuda.ledger.sql import Database
from remuda.model.plans import Plan
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.output.moments import age, clock_time
from remuda.output.words import number, sentence
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Policy, PoolAction
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.policy import EXACT_SOURCES, change


class Difference(Struct, frozen=True):
    """What was decided for one pool then, and would be now."""

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
    db: Database,
    since: Instant,
    until: Instant,
    changed: Callable[[Policy], Policy] | None,
    damaged: Callable[[str], None],
) -> Iterator[Replayed]:
    """
    Go through the recorded steps of a span, oldest first, with the recorded policy or a changed one.

    A step that cannot be read is left out, and `damaged` is told what it is.
    """
    for cycle in cycles_between(db, LOOP, since, until, POOL_KINDS, damaged):
        policy = changed(cycle.policy) if changed else cycle.policy
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


class PoolsReplay:
    """Pools for `remuda replay`."""

    def __init__(self, changed: Objects | None, now: Instant) -> None:
        self._changed = changed
        self._now = now
        self._known = {"RunnerPool": set[str](), "Ceiling": set[str]()}

    def steps(
        self, db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]
    ) -> Iterator[Step]:
        """Every step, with what would be decided otherwise."""
        for step in replay(db, since, until, self._policy, damaged):
            yield Step(
                step.cycles,
                tuple(LoopDifference(item, self._lines(item)) for item in step.differences),
            )

    def known(self) -> dict[str, set[str]]:
        """Pools and ceilings of the steps that were read."""
        return self._known

    def used(self) -> Iterator[tuple[str, str]]:
        """Ceilings that a changed pool is put under."""
        for item in self._changed or ():
            if item.kind == "RunnerPool" and item.name in self._known["RunnerPool"]:
                yield "Ceiling", str(item.spec.ceiling)

    def _policy(self, recorded: Policy) -> Policy:
        self._known["RunnerPool"].update(recorded.pools)
        self._known["Ceiling"].update(recorded.ceilings)
        return change(recorded, self._changed, EXACT_SOURCES) if self._changed else recorded

    def _lines(self, item: Difference) -> tuple[str, ...]:
        when, lasted = clock_time(item.at, self._now), age(item.until - item.at)
        return (
            f"{when}  pool {item.pool}   ({item.cycles} cycles, {lasted})",
            f"  then {item.target_then:>3}  {item.then}" + _listed(item.actions_then),
            f"  now  {item.target_now:>3}  {item.now}" + _listed(item.actions_now),
        )


def _listed(actions: tuple[str, ...]) -> str:
    return f"   [{', '.join(actions)}]" if actions else ""
