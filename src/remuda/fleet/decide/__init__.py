"""
The judgement of a fleet, phase by phase: keep, adopt, assign, preempt, reclaim and release, and say what is missing.

`decide` is a pure function of its arguments, equal to the byte on every machine; it reads the fleet and the demand and
writes neither.
"""

import numpy as np

from remuda.fleet.columns import Fleet
from remuda.fleet.decide import gangs, specials
from remuda.fleet.decide.assign import adopt, assign
from remuda.fleet.decide.engine import Engine, fitting
from remuda.fleet.decide.keep import keep
from remuda.fleet.decide.limits import limits_of, report_limits
from remuda.fleet.decide.preempt import preempt
from remuda.fleet.decide.rails import recall
from remuda.fleet.decide.reclaim import reclaim
from remuda.fleet.decide.serve import in_order
from remuda.fleet.decide.shortfalls import shortfalls
from remuda.fleet.decide.work import TIERS, Holdings, Work
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory, Settled
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy
from remuda.model.times import DAY, Instant

__all__ = ["decide"]


def decide(
    fleet: Fleet,
    demand: Demand,
    memory: Memory,
    policy: Policy,
    now: Instant,
    *,
    engine: Engine | None = None,
) -> tuple[Plan, Memory]:
    """
    What to do about a fleet now, and what to remember.

    When nothing changed since a decision that found nothing to do, and nothing has fallen due, it says so at once.
    """
    settled = memory.settled
    if (
        settled is not None
        and settled.incarnation == fleet.incarnation
        and settled.fleet == fleet.revision
        and settled.demand == demand.revision
        and settled.policy == policy
        and settled.since <= now < settled.until
    ):
        return settled.plan, memory
    engine = engine or fitting(fleet.rows, len(demand) * len(fleet.kinds))
    work = _observe(fleet, demand, recall(fleet, memory, now), policy, now, engine)
    specials.credit(work)
    adopt(work, engine)
    short = np.flatnonzero(work.unmet > 0)
    work.order = in_order(demand, short, specials.begun_gangs(work))
    assign(work, engine)
    preempt(work)
    gangs.repair(work)
    reclaim(work)
    since = shortfalls(work)
    report_limits(work)
    return _conclude(work, since)


def _observe(
    fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: Instant, engine: Engine
) -> Work:
    """The scratch table as it is before anything is given away."""
    demand.profiles.tables()
    fleet.kinds.columns()
    kept = keep(fleet, demand, engine, now - policy.gang_patience)
    unmet = np.maximum(demand.count - kept.credit, 0)
    fit = demand.profiles.fit
    short = np.bincount(demand.profile[unmet > 0], minlength=len(fit))
    kinds = len(fleet.kinds)
    return Work(
        fleet=fleet,
        demand=demand,
        memory=memory,
        policy=policy,
        now=now,
        fit=fit,
        credit=kept.credit,
        unmet=unmet,
        free=np.zeros((TIERS, kinds), np.int64),
        contenders=short @ (fit > 0) if len(fit) else np.zeros(kinds, np.int64),
        limits=limits_of(fleet, policy.rails),
        held=Holdings(kept.rows, kept.need, kept.fit),
        order=np.zeros(0, np.int64),
        surplus=kept.orphans,
        held_back=np.zeros(kinds, np.int64),
    )


def _conclude(work: Work, since: tuple[np.ndarray, np.ndarray]) -> tuple[Plan, Memory]:
    """The plan and the memory that the scratch table amounts to."""
    blocks = tuple(block for block in work.blocks if len(block))
    paused = work.policy.rails.paused
    plan = Plan(
        () if paused else blocks,
        tuple(work.shortfalls),
        tuple(work.rails),
        tuple(work.notes),
        withheld=sum(map(len, blocks)) if paused else 0,
        asked=int(work.demand.count.sum()),
        missing=int(work.unmet.sum()),
    )
    settled = None
    if not plan.blocks:
        due = [instant for instant in work.due if instant > work.now]
        settled = Settled(
            work.fleet.incarnation,
            work.fleet.revision,
            work.demand.revision,
            work.policy,
            work.now,
            min([*due, work.now + DAY]),
            plan,
        )
    return plan, Memory(settled, *since, work.reclaimed, work.preempted, work.broken, written=True)
