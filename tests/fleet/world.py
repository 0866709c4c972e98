"""A world that does what plans say: every operation succeeds, at once or when the test lets it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray
from tests.fleet.generate import (
    ALL,
    START,
    Traits,
    by_cluster,
    draw_claims,
    draw_machines,
    draw_needs,
    draw_policy,
)

from remuda.fleet import states
from remuda.fleet.act import begin
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import Engine, choose
from remuda.fleet.demand import Demand
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.plan import Plan
from remuda.fleet.policy import Policy
from remuda.model.shapes import FleetMachine, Shape
from remuda.model.times import SECOND
from remuda.model.units import FleetNeed

STEP = 10 * SECOND

#: Where each operation leads when it is done.
_DONE = {
    states.CREATING: states.IDLE,
    states.CONFIGURING: states.CONFIGURED,
    states.DRAINING: states.IDLE,
    states.DELETING: states.SPECULATIVE,
}


@dataclass(slots=True)
class LivingFleet:
    """A fleet, what is asked of it, and what its decisions remember."""

    fleet: Fleet
    demand: Demand
    policy: Policy = field(default_factory=Policy)
    memory: Memory = field(default_factory=Memory)
    now: int = START
    needs: dict[int, FleetNeed] = field(default_factory=dict)
    #: the reference, unless a test is about the other or the run is
    engine: Engine = field(default_factory=lambda: choose(os.environ.get("FLEET_ENGINE", "numpy")))

    def decide(self) -> Plan:
        """Judge, and remember what the judgement remembers."""
        plan, self.memory = decide(
            self.fleet, self.demand, self.memory, self.policy, self.now, engine=self.engine
        )
        return plan

    def begin(self, plan: Plan) -> None:
        """Begin all that a plan says; nothing may be stale, because nothing came between."""
        assert begin(self.fleet, self.demand, plan, self.now) == 0

    def in_motion(self) -> NDArray[np.int64]:
        """The rows of machines that are on their way to another state."""
        return np.flatnonzero(np.isin(self.fleet.state, list(_DONE)))

    def complete(self, rows: Sequence[int] | NDArray[np.int64] | None = None) -> None:
        """End operations as the provider would report them, all there are unless rows are named."""
        fleet = self.fleet
        mine = self.in_motion() if rows is None else np.array(rows, np.int64)
        for state, after in _DONE.items():
            here = mine[fleet.state[mine] == state]
            if not len(here):
                continue
            if state in {states.CONFIGURING, states.CREATING}:
                fleet.change(here, after, self.now)
            elif state == states.DRAINING:
                fleet.change(here, after, self.now, cluster=-1, need=-1, priority=0)
            else:
                fleet.change(here, after, self.now, cluster=-1, need=-1, priority=0, claim=-1)

    def fail(self, rows: Sequence[int]) -> None:
        """Let operations fail for good: such machines are held for a person."""
        self.fleet.change(np.array(rows, np.int64), states.FAILED, self.now, cluster=-1, need=-1, claim=-1)

    def cycle(self) -> Plan:
        """Decide, begin, let everything happen, and let ten seconds go by."""
        plan = self.decide()
        self.begin(plan)
        self.complete()
        self.now += STEP
        return plan

    def shape(self, row: int) -> Shape:
        """What the machine of a row offers."""
        return self.fleet.kinds.shapes[int(self.fleet.kind[row])]


def world_of(
    machines: Sequence[FleetMachine],
    needs: Sequence[FleetNeed],
    policy: Policy | None = None,
    claims: Mapping[str, tuple[str, str]] | None = None,
    unheard: Sequence[str] = (),
) -> LivingFleet:
    """
    A world of these machines and needs; `claims` say by id which need a machine is meant for.

    Clusters of machines that ask for nothing are heard asking for nothing, unless they are `unheard`.
    """
    fleet = Fleet(Names())
    fleet.upsert(machines)
    demand = Demand(fleet)
    reported = by_cluster(needs)
    for machine in machines:
        if machine.cluster:
            reported.setdefault(machine.cluster, [])
    demand.put_all({cluster: asked for cluster, asked in reported.items() if cluster not in unheard})
    names = fleet.names
    for name, (cluster, need) in (claims or {}).items():
        fleet.claim[fleet.row(name)] = names.need(names.cluster(cluster), need)
    asked = {
        names.need(names.cluster(need.cluster), need.name): need
        for need in needs
        if need.cluster not in unheard
    }
    return LivingFleet(fleet, demand, policy or Policy(), needs=asked)


def draw_world(seed: int, traits: Traits = ALL, *, machines: int = 12, needs: int = 6) -> LivingFleet:
    """A world drawn by chance: needs of all sorts, machines in all states, claims, quotas, caps and back-offs."""
    rng = Random(seed)
    asked = draw_needs(rng, needs, traits)
    there = draw_machines(rng, machines, asked)
    unheard = ("c2",) if rng.random() < 0.2 else ()
    world = world_of(there, asked, draw_policy(rng), draw_claims(rng, there, asked), unheard)
    for row in range(world.fleet.rows):
        if rng.random() < 0.1:
            world.fleet.delay(np.array([row]), world.now + rng.randint(1, 300) * SECOND)
    return world
