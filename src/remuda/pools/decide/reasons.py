"""One reason per pool and cycle: a code for what holds it, and every number that led there."""

from remuda.model.plans import Reason, Term
from remuda.model.times import Instant
from remuda.pools.decide.backoff import FAILING
from remuda.pools.decide.census import Census
from remuda.pools.decide.moves import Moves
from remuda.pools.decide.pool_decision import PoolDecision
from remuda.pools.decide.possibly_busy import ends_at

#: every term that is always there, in its order; a copy of it is filled in faster than a new one grows
_QUIET: dict[str, Term] = {
    "unclaimed": None,
    "running": None,
    "headroom": 0,
    "min": None,
    "max": None,
    "bounds_from": "pool",
    "bounded": None,
    "wanted": None,
    "held_by": "demand",
    "max_surge": None,
    "ceiling": None,
    "limit": None,
    "others": 0,
    "grant": None,
    "target": None,
    "live": None,
    "creating": 0,
    "idle": None,
    "busy": None,
    "draining": 0,
    "dead": 0,
    "old": 0,
    "created": 0,
    "closed": 0,
    "deleted": 0,
    "unconfirmed": 0,
    "failures": 0,
    "retry_at": None,
    "stale_since": None,
}
_HELD = frozenset({"max", "surge", "delay", "stale", "concurrency"})


def reason_for(case: PoolDecision, moves: Moves, now: Instant) -> Reason:
    """The pool's reason for what it does, or for doing nothing. What is rarely so is there only then."""
    census, wish, memory, seen = case.census, case.wish, case.memory, case.seen
    terms = _QUIET.copy()
    terms["unclaimed"] = wish.unclaimed
    terms["running"] = wish.running
    if seen.need is not None and seen.need.elsewhere:
        terms["elsewhere"] = seen.need.elsewhere
    if wish.headroom:
        terms["headroom"] = wish.headroom
    terms["min"] = wish.min
    terms["max"] = wish.max
    terms["bounds_from"] = wish.bounds_from
    terms["bounded"] = wish.bounded
    terms["wanted"] = wish.wanted
    terms["held_by"] = wish.held_by
    if case.policy.max_surge is not None:
        terms["max_surge"] = case.policy.max_surge
    if (room := case.room) is not None:
        terms["ceiling"] = room.ceiling
        terms["limit"] = room.limit
        terms["others"] = room.taken - census.taking_room
        terms["grant"] = case.grant
    terms["target"] = case.target
    terms["live"] = census.live
    terms["idle"] = len(census.idle) - census.unsure
    terms["busy"] = len(census.busy)
    if census.unsure:
        terms["unknown"] = census.unsure
    if case.possibly_busy:
        draining = sum(machine.drains for machine in case.possibly_busy)
        terms["doubtful"], terms["undrainable"] = draining, len(case.possibly_busy) - draining
        terms["powers_off_at"] = ends_at(memory, case.policy)
    if moves.undrainable and not case.possibly_busy and (undrainable := _undrainable(case, moves)):
        terms["undrainable"] = undrainable
    if census.old:
        terms["old"] = census.old
    if moves.actions:
        terms["created"] = moves.created
        terms["closed"] = moves.closed
        terms["deleted"] = moves.deleted
    if retiring := census.retiring + moves.retired:
        terms["retiring"] = retiring
    if moves.unconfirmed:
        terms["unconfirmed"] = moves.unconfirmed
    if seen.need is not None and seen.need.stale_since is not None:
        terms["stale_since"] = seen.need.stale_since
    if wish.firm < wish.wanted:
        terms["kept"] = wish.wanted - wish.firm
    if case.concurrency is not None:
        terms["concurrency"], terms["beyond"] = case.concurrency, wish.beyond
    if memory.failures:
        terms["failures"] = memory.failures
        terms["retry_at"] = memory.retry_at if memory.retry_at > now else None
        if memory.failure:
            terms["failure"] = memory.failure
    if seen.blind:
        terms["blind"] = seen.blind
    if not census.settled:
        terms["creating"] = census.booting
        terms["draining"] = len(census.draining) + len(census.moving)
        terms["dead"] = len(census.dead) + len(census.overdue) + len(census.unheard)
        if (trouble := _trouble(census)) is not None:
            terms["trouble"] = trouble
    return Reason(_code(case, moves, now), f"pool/{seen.name}", terms)


def _undrainable(case: PoolDecision, moves: Moves) -> int:
    """Idle machines that would go if they could: all of them where there is a surplus, else those of old templates."""
    if moves.surplus:
        return moves.undrainable
    return sum(one.abrupt and one.template != case.policy.template for one in case.census.idle)


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


def _code(case: PoolDecision, moves: Moves, now: Instant) -> str:
    seen, census, wish = case.seen, case.census, case.wish
    if seen.blind:
        return "pool.provider-silent"
    if seen.override.paused:
        return "pool.paused" if case.policy.template else "pool.broken"
    if seen.override.draining:
        return "pool.draining" if census.taking_room else "pool.drained"
    if not case.policy.template:
        return "pool.removed"
    if seen.need is None:
        return "pool.source-silent"
    if failures := case.memory.failures:
        # Once the wait is over and nothing is tried, something else holds it.
        is_waiting = case.memory.retry_at > now
        is_tried = census.booting or moves.created
        if failures >= FAILING and wish.wanted > census.ready and (is_waiting or is_tried):
            return "pool.failing"
        if is_waiting and case.target > census.live + moves.created:
            return "pool.backing-off"
    if (room := case.room) is not None:
        if room.busy > room.limit and census.busy:
            return "pool.over-ceiling"
        if case.grant < wish.wanted:
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


def _surplus_code(case: PoolDecision, moves: Moves) -> str:
    if moves.closed:
        return "pool.shrinking"
    if case.policy.natural:
        return "pool.surplus-natural"
    if moves.unconfirmed:
        return "pool.surplus-unconfirmed"
    if moves.undrainable:
        return "pool.surplus-undrainable"
    if len(case.census.busy) <= case.target and case.census.booting:
        return "pool.surplus-booting"
    return "pool.surplus-busy"
