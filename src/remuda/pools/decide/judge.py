"""
The whole decision, in four steps.

1. census    who is where, and what is already under way
2. wish      what each pool wants by itself, of the tasks that its organisation may run
3. ceiling   what pools that share a ceiling get of it, and how many they may make now
4. moves     which machines are made, closed and deleted

Safety: a `Close` is only for an idle machine that was idle a window long, or for a busy one that would take more jobs
and then ends after the one it has; a `Delete` only for one that is over, never became ready, was closed and has no
work, or ends its work before it goes; machines made never exceed bounds, surge or ceiling.
"""

from collections import defaultdict

from msgspec import structs

from remuda.model.plans import Operation, Plan
from remuda.model.times import Instant
from remuda.pools.decide.backoff import FAILING, may_create, remember_failures
from remuda.pools.decide.ceiling import share_ceilings
from remuda.pools.decide.census import Census, take_census
from remuda.pools.decide.concurrency import beyond_concurrency
from remuda.pools.decide.model import (
    Bounds,
    Memory,
    Override,
    Policy,
    PoolAction,
    PoolMemory,
    PoolPolicy,
    PoolSeen,
    Snapshot,
)
from remuda.pools.decide.moves import moves_of
from remuda.pools.decide.pool_decision import PoolDecision
from remuda.pools.decide.possibly_busy import possibly_busy, possibly_busy_since
from remuda.pools.decide.reasons import reason_for
from remuda.pools.decide.target import Wish, falling_steps, give_way, wish

_NOTHING = PoolMemory()


def decide(seen: Snapshot, memory: Memory, policy: Policy, now: Instant) -> tuple[Plan[PoolAction], Memory]:
    """Judge all pools together, because ceilings need them together."""
    under_way = _by_pool(seen.operations)
    beyond = beyond_concurrency(seen, policy)
    cases = [
        _begin_decision(pool, memory, policy, under_way.get(pool.name), beyond.get(pool.name, 0), now)
        for pool in seen.pools
    ]
    share_ceilings(cases, policy)

    actions: list[PoolAction] = []
    reasons = []
    remembered = {}
    for case in cases:
        moves = moves_of(case, now)
        actions += moves.actions
        reasons.append(reason_for(case, moves, now))
        after, had = case.memory, case.census.live + moves.created
        if after.wanted and had < after.wanted[-1][1]:
            after = _held(case, memory.pools.get(case.seen.name, _NOTHING), had, now)
        elif case.room and after.wanted and case.grant < min(case.wish.wanted, after.wanted[0][1]):
            # What gave way must not come back for the delay's sake.
            after = structs.replace(after, wanted=give_way(after.wanted, case.grant))
        if after != _NOTHING:
            remembered[case.seen.name] = after
    return Plan(tuple(actions), tuple(reasons)), Memory(remembered)


def _by_pool(operations: tuple[Operation[PoolAction], ...]) -> dict[str, list[Operation[PoolAction]]]:
    by_pool: dict[str, list[Operation[PoolAction]]] = defaultdict(list)
    for operation in operations:
        by_pool[operation.action.pool].append(operation)
    return by_pool


def _begin_decision(
    seen: PoolSeen,
    memory: Memory,
    policy: Policy,
    under_way: list[Operation[PoolAction]] | None,
    beyond: int,
    now: Instant,
) -> PoolDecision:
    """Steps 1 and 2. A pool that is no longer configured drains away, whatever was set by hand before."""
    mine = policy.pools.get(seen.name)
    if mine is None:
        mine = PoolPolicy(name=seen.name, job_class="", template="", bounds=Bounds(0, 0))
        left_alone = Override(paused=seen.name in policy.broken)
        seen = PoolSeen(seen.name, seen.need, seen.machines, left_alone)
    if seen.blind:
        seen = structs.replace(seen, override=structs.replace(seen.override, paused=True))
    before = memory.pools.get(seen.name, _NOTHING)
    census = take_census(seen, mine, before, under_way, now)
    wanted = wish(mine, seen.need, seen.override, before, census, beyond, now)
    may_work = possibly_busy(seen, mine, census)
    kept = before.idle_since or before.failures or before.failed or before.unheard_since
    quiet = census.settled and not (mine.idle_window or kept)
    after = before  # what a quiet pool remembers does not change
    if not quiet or may_work or before.unsure_since or wanted.steps is not before.wanted:
        unsure_since = possibly_busy_since(before, now) if may_work else 0
        after = _remember(mine, before, census, wanted, unsure_since, now)
    asks = wanted.wanted
    makes = 0
    if asks > census.live:
        booting = census.booting - census.lingering
        makes = may_create(after.failures, after.retry_at, now, asks - census.live, booting)
        if after.failures >= FAILING:
            # What it cannot make it does not keep from the others, except what it was promised.
            asks = min(asks, max(census.live + makes, wanted.promised))
        makes = max(0, min(makes, wanted.max - census.taking_room))
    elif asks < census.live and not mine.reused:
        asks = max(asks, len(census.busy))  # these never give way
    firm = min(asks, max(wanted.firm, 0 if mine.reused else len(census.busy)))
    bound = policy.concurrency.get(mine.organisation) if mine.organisation else None
    return PoolDecision(seen, mine, census, wanted, after, asks, firm, wanted.wanted, makes, bound, may_work)


def _remember(
    policy: PoolPolicy, before: PoolMemory, census: Census, wanted: Wish, unsure_since: Instant, now: Instant
) -> PoolMemory:
    failures = failed_at = retry_at = 0
    if before.failures or census.failures:
        failures, failed_at, retry_at = remember_failures(before, census, now)
    idle_since = _idle_readings(before, census, now) if policy.idle_window else {}
    failure = (census.failure if census.failures else before.failure) if failures else ""
    return PoolMemory(
        wanted.steps,
        idle_since,
        failures,
        failed_at,
        retry_at,
        census.failed,
        failure,
        unsure_since,
        census.unheard_since,
    )


def _held(case: PoolDecision, before: PoolMemory, had: int, now: Instant) -> PoolMemory:
    """What the delay holds is what the pool had or makes: not what it was never let have, which would be growth."""
    there = case.census.live - case.census.pending
    steps = falling_steps(before.wanted, had, there, now, case.policy.scale_down_delay)
    return structs.replace(case.memory, wanted=steps)


def _idle_readings(before: PoolMemory, census: Census, now: Instant) -> dict[str, Instant]:
    """The first of the idle readings in a row, for each machine that is idle now."""
    readings = {}
    for machine in census.idle:
        first = min(before.idle_since.get(machine.name, now), now)
        # A reading older than the machine was of another one that had its name.
        readings[machine.name] = first if first >= machine.created_at else now
    return readings
