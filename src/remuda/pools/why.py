"""Why: what was recorded of a pool, a machine or a pool's past, put together for an answer."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from remuda.errors import NotFound
from remuda.ledger.dialects import one_by_one
from remuda.ledger.history import Done, Line, operation, operations_on, story
from remuda.ledger.record import unpack
from remuda.ledger.sql import Database
from remuda.ledger.store import DamagedRow
from remuda.model.machines import Machine
from remuda.model.needs import Need
from remuda.model.plans import Reason, Term
from remuda.model.times import Instant
from remuda.objects.problems import did_you_mean
from remuda.output.moments import clock_time
from remuda.output.steps import Step
from remuda.output.words import number, sentence
from remuda.pools.arithmetic import demand, pool_lines
from remuda.pools.controller import LOOP
from remuda.pools.decide import decide
from remuda.pools.decide.model import Override, PoolPolicy
from remuda.pools.kinds import POOL_KINDS
from remuda.pools.views import PoolCycle, last_cycle

#: recorded cycles that are looked at to find out since when something is so
_FAR_BACK = 1_000
#: members of a ceiling that are named one by one
_MOST_HOLDERS = 3


class Event(Struct, frozen=True):
    """Something that happened, and why."""

    at: Instant
    code: str
    text: str


class Why(Struct, frozen=True):
    """An answer: a headline that holds since an instant, the arithmetic behind it, and what came before."""

    subject: str
    headline: str
    code: str
    #: when the pool came to be so; for a machine or a job, when it last changed
    since: Instant
    #: the moment the answer is about
    at: Instant
    #: how often the very same was found
    cycles: int
    steps: tuple[Step, ...] = ()
    history: tuple[Event, ...] = ()
    reason: Reason | None = None


def why_pool(db: Database, name: str, at: Instant) -> Why:
    """Why a pool has as many machines as it has, at an instant."""
    cycle = last_cycle(db, at)
    if cycle is None:
        raise NotFound("nothing was recorded by then; the history begins later or was forgotten")
    reason = next((item for item in cycle.plan.reasons if item.subject == f"pool/{name}"), None)
    if reason is None:
        known = ", ".join(seen.name for seen in cycle.snapshot.pools) or "none"
        raise NotFound(f"there was no pool {name} then; there was: {known}")
    since, cycles = _unchanged(db, reason, cycle)
    steps = [Step(*line) for line in pool_lines(reason)]
    steps = [_with_holders(step, cycle, reason) if step.label == "ceiling" else step for step in steps]
    policy = cycle.policy.pools.get(name)
    if policy is not None and policy.source:
        remarks = filter(None, (f"source {policy.source}", steps[0].remark))
        steps[0] = structs.replace(steps[0], remark="; ".join(remarks))
    override = next(seen.override for seen in cycle.snapshot.pools if seen.name == name)
    if override != Override():
        steps.append(
            Step("override", describe_override(override), f"until cleared: {clearing(override, name)}")
        )
    changes = what_would_change(cycle, name)
    if changes:
        steps.append(Step("changes", "; ".join(changes)))
    return Why(
        subject=reason.subject,
        headline=sentence(reason),
        code=reason.code,
        since=since,
        at=min(at, cycle.last_at),
        cycles=cycles,
        steps=tuple(steps),
        history=tuple(_event(line) for line in story(db, LOOP, reason.subject, at)),
        reason=reason,
    )


def describe_override(override: Override) -> str:
    """What an operator set, in words."""
    parts = []
    if override.paused:
        parts.append("paused")
    if override.draining:
        parts.append("draining")
    if override.min is not None:
        parts.append(f"min {override.min}")
    if override.max is not None:
        parts.append(f"max {override.max}")
    if override.finish_rollout is not None:
        parts.append(f"rollout to template {override.finish_rollout} at once")
    return ", ".join(parts)


def clearing(override: Override, pool: str) -> str:
    """The commands that clear what is set."""
    has_bounds = override.min is not None or override.max is not None
    is_steered = override.paused or override.draining or override.finish_rollout is not None
    commands = [f"remuda pools scale {pool} --clear"] * has_bounds + [
        f"remuda pools resume {pool}"
    ] * is_steered
    return ", ".join(commands)


def _unchanged(db: Database, reason: Reason, last: PoolCycle) -> tuple[Instant, int]:
    """Since when, and in how many cycles, the very same was found."""
    headline, since, cycles = sentence(reason), last.first_at, last.count
    rows = one_by_one(
        db,
        "SELECT first_at, count, plan FROM cycles WHERE loop = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (LOOP, last.id, _FAR_BACK),
    )
    for first_at, count, data in rows:
        try:
            reasons = unpack(data, POOL_KINDS.plan, "a plan").reasons
        except DamagedRow:
            break  # what was before it is not known to be the same
        before = next((item for item in reasons if item.subject == reason.subject), None)
        if before is None or sentence(before) != headline:
            break
        since, cycles = first_at, cycles + count
    return since, cycles


def _with_holders(step: Step, cycle: PoolCycle, reason: Reason) -> Step:
    """The ceiling's line with who else has how much of it."""
    holders = []
    for name, terms in _holders(cycle, reason)[:_MOST_HOLDERS]:
        guaranteed = cycle.policy.pools[name].guaranteed
        parts = [f"{name} holds {number(terms, 'live')}"]
        parts += [f"{number(terms, 'busy')} busy"] if number(terms, "busy") else []
        parts += [f"{retiring} of them for the last job"] if (retiring := number(terms, "retiring")) else []
        parts += [_delayed(terms)] if number(terms, "kept") else []
        parts += [f"guaranteed {guaranteed}"] if guaranteed else []
        holders.append(", ".join(parts))
    rest = _holders(cycle, reason)[_MOST_HOLDERS:]
    if rest:
        holders.append(f"{len(rest)} more hold {sum(number(terms, 'live') for _, terms in rest)}")
    text, _, others = step.text.partition("; ")
    return Step(step.label, "; ".join([text, *(holders or [others])]), step.remark)


def _delayed(terms: dict[str, Term]) -> str:
    """What another pool keeps for its scale-down delay alone, and whether that is on its way out."""
    kept = min(number(terms, "kept"), number(terms, "live"))
    closed = number(terms, "closed")
    return f"{kept} only by its scaleDownDelay" + (f", {closed} giving way now" if closed else "")


def _holders(cycle: PoolCycle, reason: Reason) -> list[tuple[str, dict[str, Term]]]:
    """Other pools that have machines under the same ceiling, those with most first."""
    found = [
        (item.subject.removeprefix("pool/"), item.terms)
        for item in cycle.plan.reasons
        if item.subject != reason.subject
        and item.terms.get("ceiling") == reason.terms.get("ceiling")
        and number(item.terms, "live")
    ]
    return sorted(
        ((name, terms) for name, terms in found if name in cycle.policy.pools),
        key=lambda item: (-number(item[1], "live"), item[0]),
    )


def _event(line: Line) -> Event:
    return Event(line.at, line.reason.code, sentence(line.reason))


def why_machine(db: Database, name: str, at: Instant) -> Why:
    """Why a machine was made, and why it went or is still there."""
    cycle = last_cycle(db, at)
    machines = {m.name: m for seen in cycle.snapshot.pools for m in seen.machines} if cycle else {}
    machine = machines.get(name)
    made = _creation(db, name)
    events = [_operation_event(item) for item in operations_on(db, LOOP, name, at)]
    if machine is not None:
        # Names are used again.
        events = [
            structs.replace(event, text=f"{event.text} (an earlier machine of this name)")
            if event.at < machine.created_at
            else event
            for event in events
        ]
    if made is not None and made.started_at <= at:
        events.insert(0, _operation_event(made, name))
    if not events and machine is None:
        raise NotFound(f"nothing is recorded of a machine {name} by then{did_you_mean(name, machines)}")
    if machine is None:
        headline, since = f"{name} is gone", events[-1].at
    else:
        doing = f"runs job {machine.job}" if machine.job else f"is {machine.state}"
        headline, since = f"{name} {doing}", machine.since
    return Why(
        subject=f"machine/{name}",
        headline=headline,
        code=events[-1].code if events else "machine.wanted",
        since=since,
        at=min(at, cycle.last_at) if cycle else at,
        cycles=cycle.count if cycle else 0,
        steps=_machine_steps(db, made, at) or (() if machine is None else (_of_its_pool(machine),)),
        history=tuple(events),
    )


def _of_its_pool(machine: Machine) -> Step:
    """Where to ask on: a VM's name does not tell which order it was made for."""
    return Step("pool", machine.pool, f"why it has as many: remuda why pool {machine.pool}")


def _creation(db: Database, name: str) -> Done | None:
    pool, _, number_text = name.rpartition("-")
    if not number_text.isdecimal() or len(number_text) > 18:
        return None
    found = operation(db, int(number_text))
    return found if found and found.kind == "create" and found.target.startswith(f"{pool}/") else None


def _machine_steps(db: Database, made: Done | None, at: Instant) -> tuple[Step, ...]:
    """Why the pool wanted it when it was made."""
    cycle = last_cycle(db, made.started_at) if made and made.started_at <= at else None
    if made is None or cycle is None:
        return ()
    pool = made.reason.subject
    reason = next((item for item in cycle.plan.reasons if item.subject == pool), None)
    if reason is None:
        return ()
    then = Step("made", clock_time(made.started_at, 0), f"how {pool.removeprefix('pool/')} stood then:")
    return (then, *(Step(*line) for line in pool_lines(reason)))


def _operation_event(done: Done, machine: str | None = None) -> Event:
    message = sentence(done.reason)
    if machine is not None:
        message = f"{machine} was made: {message}"
    if done.outcome is None:
        message += " (under way)"
    elif done.outcome.status != "done":
        message += f" ({done.outcome.status}: {done.outcome.detail})"
    return Event(done.started_at, done.reason.code, message)


def what_would_change(cycle: PoolCycle, name: str) -> list[str]:
    """What single setting, changed by how much, gives the pool more: found by asking `decide` itself."""
    now = cycle.last_at
    policy = cycle.policy.pools.get(name)
    terms = _terms(cycle, name, now)
    if policy is None or terms is None:
        return []
    target, changes = number(terms, "target"), []
    wanted, limit = number(terms, "wanted"), number(terms, "limit")
    if policy.ceiling is not None and number(terms, "grant") < wanted:
        most = limit + 2 * sum(number(reason.terms, "wanted") for reason in cycle.plan.reasons)

        def with_limit(value: int) -> int:
            ceilings = {**cycle.policy.ceilings, str(policy.ceiling): value}
            return _target(
                structs.replace(cycle, policy=structs.replace(cycle.policy, ceilings=ceilings)), name, now
            )

        enough = _least(with_limit, limit + 1, most, wanted)
        if enough is not None:
            changes.append(f"ceiling {policy.ceiling} ≥ {enough} gives {wanted}")
        changes += _without_holders(cycle, name, target)
    if terms.get("held_by") == "max":
        asked = demand(terms)
        got = _target(_with_pool(cycle, name, policy, asked), name, now)
        if got > target:
            changes.append(f"max ≥ {asked} gives {got}")
    got = _target(_seen_otherwise(cycle, name, override=Override()), name, now)
    if got > target:
        changes.append(f"clearing what is set by hand gives {got}")
    return changes


def _without_holders(cycle: PoolCycle, name: str, target: int) -> list[str]:
    """What the pool would get if another one under its ceiling had no work any more."""
    reason = next(item for item in cycle.plan.reasons if item.subject == f"pool/{name}")
    changes = []
    for other, terms in _holders(cycle, reason)[:_MOST_HOLDERS]:
        busy = number(terms, "busy")
        without = _seen_otherwise(cycle, other, need=Need(0, 0), machines=())
        got = _target(without, name, cycle.last_at) if busy else target
        if got > target:
            jobs = "its job" if busy == 1 else f"its {busy} jobs"
            changes.append(f"{other} ending {jobs} with none waiting gives {got}")
    return changes


def _seen_otherwise(cycle: PoolCycle, name: str, **changes: Any) -> PoolCycle:
    """The cycle as if one pool had been seen otherwise."""
    pools = tuple(
        structs.replace(seen, **changes) if seen.name == name else seen for seen in cycle.snapshot.pools
    )
    return structs.replace(cycle, snapshot=structs.replace(cycle.snapshot, pools=pools))


def _with_pool(cycle: PoolCycle, name: str, policy: PoolPolicy, high: int) -> PoolCycle:
    raised = structs.replace(
        policy,
        bounds=structs.replace(policy.bounds, max=high),
        hours=tuple(
            structs.replace(item, bounds=structs.replace(item.bounds, max=high)) for item in policy.hours
        ),
    )
    pools = {**cycle.policy.pools, name: raised}
    return structs.replace(cycle, policy=structs.replace(cycle.policy, pools=pools))


def _terms(cycle: PoolCycle, name: str, now: Instant) -> dict[str, int | str | None] | None:
    plan, _ = decide(cycle.snapshot, cycle.memory, cycle.policy, now)
    return next((reason.terms for reason in plan.reasons if reason.subject == f"pool/{name}"), None)


def _target(cycle: PoolCycle, name: str, now: Instant) -> int:
    return number(_terms(cycle, name, now) or {}, "target")


def _least(gives: Callable[[int], int], low: int, high: int, wanted: int) -> int | None:
    """The least setting that gives what is wanted; more never gives less."""
    if gives(high) < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if gives(middle) >= wanted else (middle + 1, high)
    return low
