"""Note in the fleet what a plan has begun, before the world answers."""

import numpy as np

from remuda.fleet import states
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.plan import EXPECTS, Block, Op, Plan
from remuda.model.times import Instant


def begin(fleet: Fleet, demand: Demand, plan: Plan, now: Instant) -> int:
    """
    Bring every machine of a plan into the state its action leads through; how many were no longer as expected.

    Those are left as they are: the plan is stale for them.
    """
    return sum(begin_block(fleet, demand, block, now) for block in plan.blocks)


def begin_block(fleet: Fleet, demand: Demand, block: Block, now: Instant) -> int:
    """The same for one sort of action."""
    state = fleet.state[block.rows]
    fresh = state == EXPECTS[block.op]
    if block.op is Op.ADOPT:
        fresh |= state == states.CONFIGURING
    rows, need = block.rows[fresh], block.needs[fresh]
    place = demand.row_of()[need] if len(need) else need
    priority = demand.priority[place] if len(demand) else np.zeros(len(rows), np.int32)
    match block.op:
        case Op.ADOPT:
            fleet.restamp(rows, need, priority)
        case Op.ASSIGN:
            cluster = demand.cluster[place]
            fleet.change(
                rows, states.CONFIGURING, now, cluster=cluster, need=need, priority=priority, claim=-1
            )
        case Op.CREATE:
            fleet.change(rows, states.CREATING, now, claim=need)
        case Op.PREEMPT:
            fleet.change(rows, states.DRAINING, now, claim=need)
        case Op.RECLAIM:
            fleet.change(rows, states.DRAINING, now, claim=-1)
        case Op.RELEASE:
            fleet.change(rows, states.DELETING, now, claim=-1)
    return int(len(fresh) - fresh.sum())
