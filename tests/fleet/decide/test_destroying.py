"""What takes machines away keeps its bounds over any history: random fleets, demands, faults and clocks that jump."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fleet.builders import NOW
from tests.fleet.generate import ALL, draw_needs, draw_shapes

from remuda.fleet import states
from remuda.fleet.act import begin
from remuda.fleet.columns import Fleet
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import NUMPY
from remuda.fleet.demand import Demand
from remuda.fleet.kinds import CAPACITY_TYPES
from remuda.fleet.memory import Memory
from remuda.fleet.names import Names
from remuda.fleet.observe.rollups import offer
from remuda.fleet.plan import Op, Plan
from remuda.fleet.policy import Policy, Rails
from remuda.model.machines import State
from remuda.model.shapes import FleetMachine
from remuda.model.times import HOUR, MINUTE, SECOND

CLUSTERS = ("c0", "c1", "c2")
COUNTED = (states.CREATING, states.IDLE, states.CONFIGURING, states.CONFIGURED, states.DRAINING)
DONE = {
    states.CREATING: states.IDLE,
    states.CONFIGURING: states.CONFIGURED,
    states.DRAINING: states.IDLE,
    states.DELETING: states.SPECULATIVE,
}


def grace_of(policy: Policy, gap: int) -> int:
    """How long a victim has by the words of the policy, the widest gap first."""
    return next((grace for above, grace in policy.graces if gap > above), policy.grace)


class History:
    """A fleet that is acted on, and an account of its own of what went in the last minute."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.fleet = Fleet(Names())
        shapes = draw_shapes(rng, 6)
        number = rng.choice([rng.randint(4, 40), rng.randint(100, 260)])
        self.fleet.upsert([self._machine(place, rng.choice(shapes)) for place in range(number)])
        self.demand = Demand(self.fleet)
        self.memory = Memory()
        self.policy = Policy(
            rails=Rails(
                reclaim_percent=rng.choice([1, 5, 5, 30]),
                preempt_percent=rng.choice([1, 2, 2, 20]),
                paused=rng.random() < 0.05,
            )
        )
        self.now = NOW
        self.preempted: list[tuple[int, int]] = []
        self.reclaimed: dict[int, list[tuple[int, int]]] = {}
        self.counts = dict.fromkeys(Op, 0)

    def _machine(self, place: int, shape: object) -> FleetMachine:
        rng = self.rng
        state = rng.choices(
            [State.CONFIGURED, State.IDLE, State.SPECULATIVE, State.CONFIGURING, State.DRAINING],
            [6, 2, 1, 1, 1],
        )[0]
        busy = state not in {State.IDLE, State.SPECULATIVE}
        return FleetMachine(
            f"m{place}",
            state,
            shape,  # type: ignore[arg-type]
            rng.choice(CLUSTERS) if busy else "",
            f"n{rng.randrange(6)}" if busy else "",
            rng.choice([0, 100, 1_000]) if busy else 0,
            NOW - rng.randrange(20 * MINUTE),
        )

    def step(self) -> None:
        """Something happens, then a decision is made, judged and begun."""
        rng = self.rng
        self.now += rng.choice(
            [1, SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 3 * HOUR, -MINUTE, -HOUR]
        )
        for cluster in CLUSTERS:
            if rng.random() < 0.4:
                needs = [one for one in draw_needs(rng, 6, ALL, (cluster,)) if rng.random() < 0.8]
                offer(self.demand, self.fleet, cluster, needs, self.policy, confirmed=rng.random() < 0.5)
        for before, after in DONE.items():
            rows = np.flatnonzero((self.fleet.state == before) & (rng.random() < 0.7))
            if len(rows):
                cleared = -1 if after in {states.IDLE, states.SPECULATIVE} else None
                self.fleet.change(rows, after, self.now, cluster=cleared, need=cleared)
        if rng.random() < 0.3:
            row = rng.randrange(self.fleet.rows)
            self.fleet.delay(np.array([row]), self.now + MINUTE)
        plan, self.memory = decide(self.fleet, self.demand, self.memory, self.policy, self.now, engine=NUMPY)
        self._check(plan)
        begin(self.fleet, self.demand, plan, self.now)

    def _check(self, plan: Plan) -> None:
        rows = [row for block in plan.blocks for row in block.rows.tolist()]
        assert len(rows) == len(set(rows)), "one machine, one action"
        for op in Op:
            self.counts[op] += plan.count(op)
        self._check_victims(plan)
        self._check_preemptions(plan)
        self._check_reclaims(plan)
        self._check_releases(plan)

    def _check_victims(self, plan: Plan) -> None:
        fleet, demand = self.fleet, self.demand
        row_of = demand.row_of()
        for block in plan.blocks:
            if block.op is not Op.PREEMPT:
                continue
            for place, (row, code) in enumerate(zip(block.rows.tolist(), block.needs.tolist(), strict=True)):
                assert fleet.state[row] == states.CONFIGURED
                assert fleet.not_before[row] <= self.now
                holder = row_of[fleet.need[row]]
                held_by = int(fleet.priority[row] if holder < 0 else demand.priority[holder])
                gap = int(demand.priority[row_of[code]]) - held_by
                assert gap > 0, "strictly lower priorities only"
                assert block.terms_at(place)["gap"] == gap
                assert block.grace[place] == grace_of(self.policy, gap)
            victims = {int(fleet.need[row]) for row in block.rows.tolist()}
            for code in victims:
                if row_of[code] >= 0 and demand.profiles.all[demand.profile[row_of[code]]].same:
                    mine = np.flatnonzero((fleet.need == code) & (fleet.state == states.CONFIGURED))
                    others = set(mine.tolist()) - set(block.rows.tolist())
                    assert others <= set(plan.rows(Op.RECLAIM).tolist()) | self._spared(code), (
                        "gangs go whole"
                    )

    def _spared(self, code: int) -> set[int]:
        """Machines a gang has too many of, or that do not fit it any more: they are no part of it."""
        fleet, demand = self.fleet, self.demand
        fit = demand.profiles.fit[demand.profile[demand.row_of()[code]]]
        return {
            row
            for row in np.flatnonzero(fleet.need == code).tolist()
            if not fit[fleet.kind[row]] or code in self._oversized()
        }

    def _oversized(self) -> set[int]:
        fleet, demand = self.fleet, self.demand
        row_of = demand.row_of()
        found = set()
        for row in range(len(demand)):
            fit = demand.profiles.fit[demand.profile[row]]
            mine = np.flatnonzero(row_of[fleet.need] == row)
            if int(fit[fleet.kind[mine]].sum()) > int(demand.count[row]):
                found.add(int(demand.code[row]))
        return found

    def _check_preemptions(self, plan: Plan) -> None:
        self.preempted = [(min(at, self.now), n) for at, n in self.preempted if self.now - at < MINUTE]
        machines = int(np.isin(self.fleet.state, COUNTED).sum())
        percent = self.policy.rails.preempt_percent
        assert percent is not None
        number = plan.count(Op.PREEMPT)
        spent = sum(n for _, n in self.preempted)
        assert number == 0 or spent + number <= max(1, machines * percent // 100)
        self.preempted.append((self.now, number))

    def _check_reclaims(self, plan: Plan) -> None:
        fleet = self.fleet
        percent = self.policy.rails.reclaim_percent
        assert percent is not None
        gone = fleet.cluster[plan.rows(Op.RECLAIM)]
        for cluster in range(len(fleet.names.clusters)):
            window = [
                (min(at, self.now), n) for at, n in self.reclaimed.get(cluster, []) if self.now - at < MINUTE
            ]
            spent = sum(n for _, n in window)
            number = int((gone == cluster).sum())
            configured = int(((fleet.cluster == cluster) & (fleet.state == states.CONFIGURED)).sum())
            assert number == 0 or spent + number <= max(1, (configured + spent) * percent // 100)
            if number:
                assert cluster in self.demand.heard
                assert cluster not in self.demand.held
            self.reclaimed[cluster] = [*window, (self.now, number)]

    def _check_releases(self, plan: Plan) -> None:
        fleet = self.fleet
        row_of = self.demand.row_of()
        for row in plan.rows(Op.RELEASE).tolist():
            hold = self.policy.holds[CAPACITY_TYPES[fleet.kinds.capacity[fleet.kind[row]]]]
            assert hold is not None
            assert self.now - fleet.since[row] >= hold
            assert fleet.not_before[row] <= self.now
            claim = int(row_of[fleet.claim[row]])
            if claim >= 0 and self.demand.profiles.plain[self.demand.profile[claim]]:
                others = np.flatnonzero(row_of[fleet.need] == claim)
                claimed = np.flatnonzero(row_of[fleet.claim] == claim)
                fit = self.demand.profiles.fit[self.demand.profile[claim]]
                enough = int(fit[fleet.kind[others]].sum() + fit[fleet.kind[claimed]].sum())
                assert fit[fleet.kind[row]] == 0 or enough > self.demand.count[claim], (
                    "a claim that is needed"
                )


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 10**9))
def test_no_history_takes_more_than_the_rails_or_from_whom_it_may_not(seed: int) -> None:
    history = History(seed)
    for _ in range(8):
        history.step()


@pytest.mark.slow
def test_histories_do_take_machines_away() -> None:
    total = dict.fromkeys(Op, 0)
    for seed in range(15):
        history = History(seed)
        for _ in range(10):
            history.step()
        for op, number in history.counts.items():
            total[op] += number
    assert all(total.values()), total
