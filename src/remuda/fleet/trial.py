"""One decision to be explained: on what files say, with an empty memory, or as it was recorded."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.demand import Demand
from remuda.fleet.inputs import Inputs
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.plan import Block, Plan, Shortfall
from remuda.fleet.policy import Policy
from remuda.model.times import Instant
from remuda.model.units import FleetNeed

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """What was decided on, and what came of it."""

    inputs: Inputs
    fleet: Fleet
    demand: Demand
    plan: Plan
    now: Instant

    @cached_property
    def needs(self) -> dict[int, FleetNeed]:
        """The needs by number."""
        names = self.fleet.names
        return {
            names.need(names.cluster(cluster), need.name): need
            for cluster, asked in self.inputs.needs.items()
            for need in asked
        }

    @cached_property
    def shortfalls(self) -> dict[int, Shortfall]:
        """What is missing, by need."""
        return {shortfall.need: shortfall for shortfall in self.plan.shortfalls}

    @cached_property
    def parts(self) -> dict[int, list[tuple[Block, Ints]]]:
        """The actions for each need: blocks with the places in them."""
        found: dict[int, list[tuple[Block, Ints]]] = {}
        for block in self.plan.blocks:
            order = np.argsort(block.needs, kind="stable")
            codes, starts = np.unique(block.needs[order], return_index=True)
            for code, places in zip(codes.tolist(), np.split(order, starts[1:]), strict=True):
                found.setdefault(code, []).append((block, places))
        return found

    @cached_property
    def touched(self) -> NDArray[np.bool_]:
        """The machines that something is done to."""
        mask = np.zeros(self.fleet.rows, np.bool_)
        for block in self.plan.blocks:
            mask[block.rows] = True
        return mask


def try_out(inputs: Inputs, now: Instant) -> Trial:
    """Decide once. What files say is believed at once, however much less it asks for than the machines now serve."""
    fleet = Fleet(Names())
    fleet.upsert(inputs.machines)
    demand = Demand(fleet)
    demand.put_all(inputs.needs)
    plan, _ = decide(fleet, demand, Memory(), inputs.policy, now)
    return Trial(inputs, fleet, demand, plan, now)


def missing_with(
    trial: Trial, code: int, *, need: FleetNeed | None = None, policy: Policy | None = None
) -> int:
    """How much a need would miss if it, or the policy, were another."""
    demand = trial.demand
    if need is not None:
        demand = Demand(trial.fleet)
        demand.put_all(
            {
                cluster: [
                    need if (need.cluster, need.name) == (each.cluster, each.name) else each for each in asked
                ]
                for cluster, asked in trial.inputs.needs.items()
            }
        )
    plan, _ = decide(trial.fleet, demand, Memory(), policy or trial.inputs.policy, trial.now)
    return next((shortfall.units for shortfall in plan.shortfalls if shortfall.need == code), 0)
