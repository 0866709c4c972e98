"""The types of the pools loop's records, for whoever reads its ledger."""

from remuda.ledger.record import Kinds
from remuda.model.plans import Operation, Plan
from remuda.pools.decide.model import Memory, Policy, PoolAction, Snapshot

POOL_KINDS: Kinds[Snapshot, Memory, Policy, PoolAction] = Kinds(
    snapshot=Snapshot,
    memory=Memory,
    policy=Policy,
    plan=Plan[PoolAction],
    operation=Operation[PoolAction],
)
