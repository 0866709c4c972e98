"""Which machines are made, closed and deleted, once it is settled how many a pool may have."""

from msgspec import Struct

from remuda.model.machines import Machine, State
from remuda.model.plans import Reason, Term
from remuda.model.times import Instant
from remuda.pools.decide.census import Census, identity_of
from remuda.pools.decide.model import Close, Create, Delete, PoolAction, PoolPolicy
from remuda.pools.decide.pool_decision import PoolDecision
from remuda.pools.decide.possibly_busy import ends_at


class Moves(Struct, gc=False):
    """The actions of one pool, and how many surplus machines cannot go and why not."""

    surplus: int
    actions: list[PoolAction] = []
    created: int = 0
    #: idle machines that are told to take no more work, and busy ones
    closed: int = 0
    retired: int = 0
    deleted: int = 0
    #: idle machines that are surplus but were not idle long enough to be sure
    unconfirmed: int = 0
    #: idle machines that cannot be let go: they may get a job at any moment, and would not end it
    undrainable: int = 0


#: nothing to do; shared, so never written to
_STILL = Moves(0)


def moves_of(case: PoolDecision, now: Instant) -> Moves:
    """Clean up what is over, then let surplus go, roll old templates, and make what is lacking."""
    census = case.census
    surplus = census.live - case.target if census.live > case.target else 0
    if census.settled and not (surplus or census.old or case.may_create):
        return _STILL
    moves = Moves(surplus)
    if case.seen.override.paused:
        if not case.seen.blind:
            _release(moves, case.policy, census)
        return moves
    if not census.settled:
        _clean_up(moves, case.policy, census)
    if moves.surplus or census.old:
        _shed(moves, case, now)
    if case.may_create > 0:
        _make(moves, case)
    return moves


def _shed(moves: Moves, case: PoolDecision, now: Instant) -> None:
    """
    Let go what is surplus or of an old template, as far as it is known to be idle or was ordered to go.

    Who must go and may as well be busy is powered off gently in the end.
    """
    census, need = case.census, case.seen.need
    ordered = census.old and case.seen.override.finish_rollout == case.policy.template
    if ordered and _finish_rollout(moves, case):
        return  # what is left is judged once these are on their way
    if census.idle and _may_close(case):
        _let_go(moves, case, now)
    elif moves.surplus and need is not None and need.unsure_since is not None:
        moves.unconfirmed = len(census.idle)
    if case.policy.reused and _is_fresh(case):
        _retire(moves, case)
    if case.possibly_busy and ends_at(case.memory, case.policy) <= now:
        _power_off(moves, case)


def _power_off(moves: Moves, case: PoolDecision) -> None:
    since = case.memory.unsure_since
    for machine in case.possibly_busy:
        if machine.drains and machine.name not in case.census.occupied:
            _delete(moves, case.policy, machine, "machine.powered-off", gently=True, unsure_since=since)


def _may_close(case: PoolDecision) -> bool:
    """Only on fresh knowledge of who is idle; where machines leave by themselves alone, only to drain the pool."""
    return _is_fresh(case) and (not case.policy.natural or case.seen.override.draining)


def _is_fresh(case: PoolDecision) -> bool:
    """The source answers, and says who is idle."""
    need = case.seen.need
    return need is not None and need.stale_since is None and need.unsure_since is None


def _release(moves: Moves, policy: PoolPolicy, census: Census) -> None:
    """Let go what ended because it was told to: whoever deleted a VM by hand waits for that, also while paused."""
    for machine in census.dead:
        if (
            machine.name not in census.occupied
            and machine.ended is not None
            and machine.ended.code == "closed"
        ):
            _delete(moves, policy, machine, "machine.closed", detail=machine.ended.detail)


def _clean_up(moves: Moves, policy: PoolPolicy, census: Census) -> None:
    if census.unheard and not census.moving:
        _power_off_unheard(moves, policy, census)
    for machine in (*census.dead, *census.overdue, *census.draining):
        if machine.name in census.occupied or (machine.abrupt and machine.ended is None):
            continue
        if machine.ended is not None:
            _delete(moves, policy, machine, f"machine.{machine.ended.code}", detail=machine.ended.detail)
        elif machine.state is State.FAILED:
            _delete(moves, policy, machine, "machine.failed", detail="")
        elif machine.state is State.DRAINING:
            # One that takes a single job and had it may be seen before it has ended by itself.
            is_done = machine.uses > 0 and not policy.reused
            _delete(moves, policy, machine, "machine.finished" if is_done else "machine.drained")
        elif machine.trouble:
            timeout, trouble = policy.boot_timeout, machine.trouble
            _delete(moves, policy, machine, "machine.boot-trouble", timeout=timeout, detail=trouble)
        else:
            _delete(moves, policy, machine, "machine.boot-timeout", timeout=policy.boot_timeout)


def _power_off_unheard(moves: Moves, policy: PoolPolicy, census: Census) -> None:
    """
    Let one machine go that is up and that its source never listed, in the way that lets it end a job.

    One at a time: where it is the source that errs, that costs a machine now and then and not the pool.
    """
    for machine in census.unheard:
        if machine.drains and machine.name not in census.occupied:
            since = census.unheard_since[identity_of(machine)]
            _delete(moves, policy, machine, "machine.unheard", gently=True, unheard_since=since)
            return


def _finish_rollout(moves: Moves, case: PoolDecision) -> bool:
    """Let all machines go that the order was about, busy or not; False when there is none left to be told."""
    census, override = case.census, case.seen.override
    old = [
        machine
        for machine in (*census.creating, *census.idle, *census.busy)
        if override.removes(machine) and machine.name not in census.occupied
    ]
    for machine in old:
        _delete(moves, case.policy, machine, "machine.rollout-now", even_busy=True, job=machine.job)
    return bool(old)


def _let_go(moves: Moves, case: PoolDecision, now: Instant) -> None:
    census, policy = case.census, case.policy
    idle_since = case.memory.idle_since
    sure = [
        machine
        for machine in census.idle
        if machine.name not in census.occupied
        and not machine.unsure
        and not machine.abrupt
        and (not policy.idle_window or idle_since[machine.name] + policy.idle_window <= now)
    ]
    moves.undrainable = sum(machine.abrupt for machine in census.idle)
    moves.unconfirmed = len(census.idle) - len(sure) - moves.undrainable
    # Old templates first, then whoever has waited longest; names settle the rest.
    sure.sort(key=lambda machine: (machine.template == policy.template, machine.since, machine.name))
    gives_way = case.room is not None and case.grant < case.wish.wanted
    code = "machine.gives-way" if gives_way else "machine.surplus"
    ceiling = case.room.ceiling if case.room is not None else None
    for machine in sure[: moves.surplus]:
        _close(moves, policy, machine, code, target=case.target, live=census.live, ceiling=ceiling)
    if census.old and census.live >= case.target:
        _roll(moves, case, sure[moves.surplus :])


def _roll(moves: Moves, case: PoolDecision, sure: list[Machine]) -> None:
    """
    Replace idle machines of old templates, a small batch at a time.

    Nothing goes while the pool lacks machines, so a template that cannot boot costs one batch and not the pool.
    """
    census, policy = case.census, case.policy
    in_motion = census.booting + len(census.draining) + len(census.moving) + moves.closed
    batch = max(0, max(1, case.target // 10) - in_motion)
    stale = [machine for machine in sure if machine.template != policy.template]
    for machine in stale[:batch]:
        _close(moves, policy, machine, "machine.old-template", template=policy.template, had=machine.template)


def _retire(moves: Moves, case: PoolDecision) -> None:
    """
    Let busy machines that are reused end after their job, or they take the next one before they count as idle.

    These are all beyond what the pool may have, and then those of old templates, a small batch at a time and only when
    no idle one is left to be replaced.
    """
    census, policy = case.census, case.policy
    beyond = max(0, len(census.busy) - census.retiring - case.target)
    batch = 0
    if census.old and census.live >= case.target and not policy.natural:
        in_motion = census.booting + len(census.draining) + len(census.moving) + moves.closed
        in_motion += census.retiring + beyond
        is_idle_left = any(machine.template != policy.template for machine in census.idle)
        batch = 0 if is_idle_left else max(0, max(1, case.target // 10) - in_motion)
    if not beyond and not batch:
        return
    busy = [m for m in census.busy if m.state is not State.DRAINING and m.name not in census.occupied]
    busy.sort(key=lambda machine: (machine.template == policy.template, machine.since, machine.name))
    ceiling = case.room.ceiling if case.room is not None and case.grant < case.wish.wanted else None
    for machine in busy[:beyond]:
        terms: dict[str, Term] = {"busy": len(census.busy), "target": case.target, "ceiling": ceiling}
        _close(moves, policy, machine, "machine.retires", **terms)
    stale = [machine for machine in busy[beyond:] if machine.template != policy.template]
    for machine in stale[:batch]:
        _close(moves, policy, machine, "machine.old-template", template=policy.template, had=machine.template)


def _make(moves: Moves, case: PoolDecision) -> None:
    name, occupied = case.policy.name, case.census.occupied
    lacking = case.target - case.census.live
    slot = 0
    for _ in range(case.may_create):
        slot += 1
        while f"{name}/new-{slot}" in occupied:
            slot += 1
        reason = Reason("machine.wanted", f"pool/{name}", {"target": case.target, "lacking": lacking})
        moves.actions.append(
            Create(target=f"{name}/new-{slot}", expects=case.policy.template, reason=reason, pool=name)
        )
        moves.created += 1


def _close(moves: Moves, policy: PoolPolicy, machine: Machine, code: str, **terms: Term) -> None:
    reason = Reason(code, f"machine/{machine.name}", terms)
    moves.actions.append(Close(target=machine.name, expects=machine.state, reason=reason, pool=policy.name))
    if machine.state is State.IDLE:
        moves.closed += 1
    else:
        moves.retired += 1


def _delete(
    moves: Moves,
    policy: PoolPolicy,
    machine: Machine,
    code: str,
    *,
    even_busy: bool = False,
    gently: bool = False,
    **terms: Term,
) -> None:
    reason = Reason(code, f"machine/{machine.name}", terms)
    moves.actions.append(
        Delete(
            target=machine.name,
            expects=machine.identity,
            reason=reason,
            pool=policy.name,
            even_busy=even_busy,
            gently=gently,
        )
    )
    moves.deleted += 1
