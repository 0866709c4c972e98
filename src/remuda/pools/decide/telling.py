"""One reason per pool and cycle: a code for what holds it, and every number that led there."""

from remuda.model.plans import Reason, Term
from remuda.pools.decide.backoff import FAILING
from remuda.pools.decide.case import Case
from remuda.pools.decide.census import Census
from remuda.pools.decide.moves import Moves

_HELD = frozenset({"max", "surge", "delay", "stale", "concurrency"})


def tell(case: Case, moves: Moves) -> Reason:
    """The pool's reason for what it does, or for doing nothing. What is rarely so is told only then."""
    census, wish, memory, seen = case.census, case.wish, case.memory, case.seen
    terms: dict[str, Term] = {
        "unclaimed": wish.unclaimed,
        "running": wish.running,
        "headroom": wish.headroom,
        "min": wish.min,
        "max": wish.max,
        "bounds_from": wish.bounds_from,
        "bounded": wish.bounded,
        "wanted": wish.wanted,
        "held_by": wish.held_by,
        "max_surge": case.policy.max_surge,
        "ceiling": case.ceiling,
        "limit": case.limit,
        "others": case.others,
        "grant": case.grant,
        "target": case.target,
        "live": census.live,
        "creating": len(census.creating) + census.pending,
        "idle": len(census.idle),
        "busy": len(census.busy),
        "draining": len(census.draining) + len(census.moving),
        "dead": len(census.dead) + len(census.overdue),
        "old": census.old,
        "created": moves.created,
        "closed": moves.closed,
        "deleted": moves.deleted,
        "unconfirmed": moves.unconfirmed,
        "failures": memory.failures,
        "retry_at": memory.retry_at or None,
        "stale_since": seen.need.stale_since if seen.need is not None else None,
    }
    if case.concurrency is not None:
        terms["concurrency"], terms["beyond"] = case.concurrency, wish.beyond
    if memory.failure:
        terms["failure"] = memory.failure
    if seen.blind:
        terms["blind"] = seen.blind
    if (census.creating or census.overdue) and (trouble := _trouble(census)) is not None:
        terms["trouble"] = trouble
    return Reason(_code(case, moves), f"pool/{seen.name}", terms)


def _trouble(census: Census) -> str | None:
    """What keeps the first machine that boots from coming up, if its provider says so."""
    return next(
        (
            f"{machine.name}: {machine.trouble}"
            for machine in (*census.creating, *census.overdue)
            if machine.trouble
        ),
        None,
    )


def _code(case: Case, moves: Moves) -> str:
    seen, policy, census, wish = case.seen, case.policy, case.census, case.wish
    if seen.blind:
        return "pool.provider-silent"
    if seen.override.paused:
        return "pool.paused" if policy.template else "pool.broken"
    if seen.override.draining:
        return "pool.draining" if census.taking_room else "pool.drained"
    if policy.template == "":
        return "pool.removed"
    if seen.need is None:
        return "pool.source-silent"
    failures = case.memory.failures
    if failures >= FAILING and wish.wanted > census.ready:
        return "pool.failing"
    if failures and wish.wanted > census.live + moves.created:
        return "pool.backing-off"
    if case.limit is not None and case.busy_under_ceiling > case.limit and census.busy:
        return "pool.over-ceiling"
    if case.grant is not None and case.grant < wish.wanted:
        return "pool.held-by-ceiling"
    if case.target > census.live + moves.created:
        return "pool.waiting-for-room"
    if moves.created:
        return "pool.growing"
    if moves.surplus:
        return _surplus_code(case, moves)
    if wish.held_by in _HELD:
        return f"pool.held-by-{wish.held_by}"
    if census.old:
        return "pool.rolling"
    return "pool.steady"


def _surplus_code(case: Case, moves: Moves) -> str:
    if moves.closed:
        return "pool.shrinking"
    if case.policy.natural:
        return "pool.surplus-natural"
    if moves.unconfirmed:
        return "pool.surplus-unconfirmed"
    if len(case.census.busy) <= case.target and case.census.booting:
        return "pool.surplus-booting"
    return "pool.surplus-busy"
