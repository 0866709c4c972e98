"""Replay of tiers: today's rules, or changed policies, on recorded snapshots, a step each."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remuda.ledger.history import Cycle, cycle_at, cycles_between
from remuda.ledger.replay import Difference, Step
from remuda.ledger.sql import Database
from remuda.model.plans import Reason
from remuda.model.times import Instant
from remuda.objects.load import Objects
from remuda.output.moments import age, clock_time
from remuda.output.words import sentence
from remuda.tiers.controller import LOOP, TIER_KINDS
from remuda.tiers.decide.changes import decide
from remuda.tiers.decide.model import Memory, Policies, Snapshot, TierAction
from remuda.tiers.policies import policies_of

TierCycle = Cycle[Snapshot, Memory, Policies, TierAction]


def last_reason(db: Database, subject: str, until: Instant = 2**53) -> Reason | None:
    """What the loop last said of a namespace, a node or an object, as `namespace/web`; None when it never judged it."""
    cycle = cycle_at(db, LOOP, until, TIER_KINDS)
    reasons = cycle.plan.reasons if cycle else ()
    return next((reason for reason in reasons if reason.subject == subject), None)


class TiersReplay:
    """Tiers for `remuda replay`."""

    def __init__(self, changed: Objects | None, now: Instant) -> None:
        self._changed = policies_of(changed).policies if changed else ()
        self._now = now
        self._known: set[str] = set()

    def steps(
        self, db: Database, since: Instant, until: Instant, damaged: Callable[[str], None]
    ) -> Iterator[Step]:
        """Every step, with what would be decided otherwise."""
        for cycle in cycles_between(db, LOOP, since, until, TIER_KINDS, damaged):
            self._known.update(policy.name for policy in cycle.policy.policies)
            plan, _ = decide(cycle.snapshot, cycle.memory, self._policies(cycle.policy), cycle.first_at)
            then = {reason.subject: reason for reason in cycle.plan.reasons}
            now = {reason.subject: reason for reason in plan.reasons}
            subjects = [
                subject for subject in {**then, **now} if _differs(then.get(subject), now.get(subject))
            ]
            yield Step(
                cycle.count,
                tuple(self._difference(cycle, then.get(subject), now.get(subject)) for subject in subjects),
            )

    def _policies(self, recorded: Policies) -> Policies:
        """What was recorded, with changed policies in the place of those of their names."""
        changed = {policy.name: policy for policy in self._changed}
        return Policies(
            tuple(changed.get(policy.name, policy) for policy in recorded.policies), recorded.broken
        )

    def known(self) -> dict[str, set[str]]:
        """Policies of the steps that were read."""
        return {"TierPolicy": self._known}

    def used(self) -> Iterable[tuple[str, str]]:
        """No policy matters that was not there."""
        return ()

    def _difference(self, cycle: TierCycle, then: Reason | None, now: Reason | None) -> Difference:
        subject = (then or now or Reason("", "")).subject
        when, lasted = clock_time(cycle.first_at, self._now), age(cycle.last_at - cycle.first_at)
        data: dict[str, Any] = {
            "at": cycle.first_at,
            "until": cycle.last_at,
            "cycles": cycle.count,
            "subject": subject,
            "then": sentence(then) if then else "",
            "now": sentence(now) if now else "",
        }
        lines = (
            f"{when}  {subject}   ({cycle.count} cycles, {lasted})",
            f"  then  {data['then'] or 'nothing was said of it'}",
            f"  now   {data['now'] or 'nothing would be said of it'}",
        )
        return Difference(data, lines)


def _differs(then: Reason | None, now: Reason | None) -> bool:
    return then is None or now is None or (then.code, then.terms) != (now.code, now.terms)
