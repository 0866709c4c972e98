"""What the shard's loop hands from step to step: what was observed, and a plan whose actions are batches of machines."""

from dataclasses import dataclass

from msgspec import Struct

from remuda.fleet import answers
from remuda.fleet.columns import Fleet
from remuda.fleet.demand import Demand
from remuda.fleet.plan import EXPECTS, Block, Plan
from remuda.fleet.states import STATES
from remuda.model import plans
from remuda.model.plans import Action, Reason
from remuda.model.times import Instant

LOOP = answers.LOOP


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    The fleet and its demand as they are known now.

    The columns are the shard's own and change between cycles, never in one: half a million rows are not copied for each.
    """

    fleet: Fleet
    demand: Demand
    #: every provider was read since the shard started; nothing is decided before
    is_complete: bool


class Batch(Action, frozen=True, kw_only=True):
    """
    One sort of action for many machines at once, with one reason.

    Which machines is in the columns of the plan it was recorded with. `block` is those columns, in the process that
    decided them and in no other.
    """

    op: str
    machines: int
    block: Block | None = None


class FleetPlan(plans.Plan[Batch], frozen=True):
    """A plan of batches, with the columns they come from."""

    columns: Plan = Plan()


class StoredBatch(Struct, frozen=True, kw_only=True, tag_field="type", tag="batch"):
    """A batch as it is stored with the operations."""

    target: str
    expects: str
    reason: Reason
    op: str
    machines: int


def plan_of(columns: Plan, now: Instant) -> FleetPlan:
    """The batches of a decision, and every reason it gives for doing no more."""
    batches = []
    for place, block in enumerate(columns.blocks):
        op = block.op.name.lower()
        batches.append(
            Batch(
                target=f"{now}/{place}",
                expects=str(STATES[EXPECTS[block.op]]),
                reason=Reason(block.code, "fleet", {"machines": len(block)}),
                op=op,
                machines=len(block),
                block=block,
            )
        )
    reasons = (*(each.reason for each in columns.shortfalls), *columns.rails, *columns.notes)
    return FleetPlan(tuple(batches), reasons, columns)
