"""Seeded histories of a fleet in virtual time: every rule holds at every step, and in the end all come to rest."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from functools import partial

import numpy as np
import pytest
from msgspec.structs import replace

from remuda.errors import InvariantError
from remuda.fleet import states
from remuda.fleet.columns import COLUMNS, Fleet, Rows
from remuda.fleet.decide import decide
from remuda.fleet.decide.engine import choose
from remuda.fleet.demand import Demand
from remuda.fleet.history.replay import cycles_between, replay
from remuda.fleet.memory import Memory
from remuda.fleet.plan import Block, Op, Plan
from remuda.fleet.policy import Policy
from remuda.fleet.ports import Call, Changes, Provider
from remuda.fleet.shard import CYCLE
from remuda.model.times import HOUR, MINUTE
from remuda.sim.fleet_faults import Fault
from remuda.sim.fleet_history import FleetHistory, simulate
from remuda.sim.fleet_process import WatchedShard
from remuda.sim.fleet_scenario import Request
from remuda.sim.fleet_situations import Situations

#: are lived wholly: together they show every situation that 240 of them show (`python -m tests.sim.choose`), and every kind of fault
CHOSEN = (168, 167, 41, 24, 177, 48, 141, 213, 221, 151, 228, 176, 14, 138, 178, 154, 134, 234, 7)
#: for as long as they show something new
OTHERS = [seed for seed in range(500) if seed not in CHOSEN]


def hostile(seed: int) -> Request:
    """What `remuda simulate fleet --seed` lives through."""
    return Request(seed)


def test_a_hostile_history_has_two_hundred_machines_and_half_an_hour() -> None:
    assert hostile(1).machines >= 200
    assert hostile(1).length >= 30 * MINUTE
    assert hostile(1).faults == "hostile"


@pytest.mark.slow
def test_hostile_histories_break_no_rule_and_every_kind_of_fault_happens_in_them() -> None:
    """
    `InvariantError` says the seed, the step and the rule; `remuda simulate fleet --seed` goes through all of it.

    The chosen ones are lived wholly, and all kinds of faults must be among theirs: seeds in which nothing goes wrong would prove
    nothing. Another one ends its faults when it shows nothing that an earlier one did not show, and no more are lived when a
    dozen in succession did not.
    """
    situations = Situations(wholly=len(CHOSEN))
    faults: Counter[str] = Counter()
    rails: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    restarts = 0
    for seed in CHOSEN:
        summary = simulate(hostile(seed), situations=situations)
        faults.update(summary.faults)
        rails.update(summary.rail_trips)
        actions.update(summary.actions)
        restarts += summary.restarts
    for seed in OTHERS:
        simulate(hostile(seed), situations=situations)
        if situations.is_exhausted:
            break
    assert {fault.value for fault in Fault} == set(faults)
    assert restarts >= len(CHOSEN) // 2
    assert set(actions) == {op.name.lower() for op in Op}
    assert {"rail.reclaims", "rail.preemptions", "rail.rollup", "rail.unheard", "rail.paused"} <= set(rails)


@pytest.mark.slow
def test_a_gang_is_not_bought_in_part_when_a_higher_priority_takes_the_rest() -> None:
    """The search for the best way to share ran out of steps where a gang had one machine that completes nothing."""
    simulate(hostile(223))


@pytest.mark.slow
def test_the_same_request_gives_the_same_history_whatever_the_hash_seed_and_the_engine() -> None:
    request = Request(8, hours=0.2)
    script = (
        "from remuda.sim.fleet_history import *; from remuda.sim.fleet_scenario import *;"
        "print(simulate(Request(8, hours=0.2)).digest)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "99")
    }
    assert printed == {simulate(request).digest}
    assert simulate(request, partial(decide, engine=choose("numpy"))).digest in printed
    assert simulate(Request(9, hours=0.2)).digest not in printed


@pytest.mark.slow
def test_a_world_in_which_nothing_goes_wrong_serves_everyone_for_no_less_than_the_bound() -> None:
    for seed in range(3):
        summary = simulate(Request(seed, hours=0.25, faults="none"))
        assert summary.faults == {}
        assert summary.restarts == 0
        assert summary.units_bound > 100
        assert 0 < summary.bind_p50_s <= summary.bind_p99_s
        assert summary.cost_per_hour >= summary.bound_per_hour > 0


@pytest.mark.slow
def test_at_rest_nothing_is_said_for_days() -> None:
    """Constant demand and supply: the engine has nothing more to say, not even after its holds and windows are over."""
    with FleetHistory(Request(5)) as history:
        history.live()
        busy, cycles = history.watch.busy_at, history.process.cycles
        history.queue.run(history.queue.now + 30 * HOUR)
        assert history.watch.busy_at == busy
        assert history.process.cycles - cycles >= 30 * HOUR // CYCLE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_recorded_cycle_of_a_hostile_history_replays_to_the_same_plan(seed: int) -> None:
    """What a checkpoint and the changes after it restore is what was decided on, to the byte."""
    damaged: list[str] = []
    with FleetHistory(hostile(seed)) as history:
        history.live()
        steps = history.process.store.read(lambda db: list(replay(db, 0, 1 << 60, None, damaged.append)))
        last = history.process.store.read(lambda db: [*cycles_between(db, 0, 1 << 60, damaged.append)][-1])
        fleet = history.process.shard.fleet
        assert last.fleet.ids == fleet.ids
        assert all((getattr(last.fleet, name) == getattr(fleet, name)).all() for name in COLUMNS)
    assert len(steps) > 100
    assert any(step.actions_then for step in steps)
    assert [step for step in steps if not step.is_same] == []
    assert damaged == []


Wrong = tuple[Plan, Memory]
IN_THE_END = "what .* in the end|every need is met when supply for it exists|the world converges"


def never_gives_back(fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int) -> Wrong:
    plan, after = decide(fleet, demand, memory, policy, now)
    kept = tuple(block for block in plan.blocks if block.op is not Op.RELEASE)
    return Plan(kept, plan.shortfalls, plan.rails), after


def never_takes_back(fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int) -> Wrong:
    plan, after = decide(fleet, demand, memory, policy, now)
    kept = tuple(block for block in plan.blocks if block.op is not Op.RECLAIM)
    return Plan(kept, plan.shortfalls, plan.rails), after


def never_makes(fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int) -> Wrong:
    plan, after = decide(fleet, demand, memory, policy, now)
    kept = tuple(block for block in plan.blocks if block.op is not Op.CREATE)
    return Plan(kept, plan.shortfalls, plan.rails), after


def forgets_its_rails(fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int) -> Wrong:
    plan, after = decide(fleet, demand, memory, policy, now)
    return plan, Memory(after.settled, after.unmet, after.unmet_since)


def does_not_stop_when_asked_to(
    fleet: Fleet, demand: Demand, memory: Memory, policy: Policy, now: int
) -> Wrong:
    return decide(fleet, demand, memory, replace(policy, rails=replace(policy.rails, paused=False)), now)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (never_gives_back, IN_THE_END),
        (never_takes_back, IN_THE_END),
        (never_makes, IN_THE_END),
        (forgets_its_rails, "reclaims a minute|preemptions a minute"),
        (does_not_stop_when_asked_to, "nothing is done while paused"),
    ],
)
def test_an_engine_that_is_wrong_is_found_out(wrong: object, rule: str) -> None:
    with pytest.raises(InvariantError, match=rf"^seed \d+, step \d+ at [0-9hms]+: ({rule}): "):
        for seed in range(30):
            simulate(Request(seed, 80, 2, 0.2), wrong)  # type: ignore[arg-type]


class DrainsOneMore(WatchedShard):
    """Has a provider drain a machine that no plan names."""

    def _calls_of(self, block: Block) -> list[tuple[int, Call]]:
        calls = super()._calls_of(block)
        others = np.setdiff1d(np.flatnonzero(self.fleet.state == states.CONFIGURED), block.rows)
        if block.op is Op.RECLAIM and calls and len(others):
            row = int(others[0])
            calls.append(
                (row, replace(calls[0][1], machine=self.fleet.ids[row], token=calls[-1][1].token + 1))
            )
            self._sequence += 1
        return calls


class DrainsAgainAfterARestart(WatchedShard):
    """Carries on what another process began, although nobody knows what became of it."""

    def _take_answers(self) -> None:
        super()._take_answers()
        old = np.flatnonzero(
            (self.fleet.state == states.CONFIGURED) & (self.fleet.since < self._clock.now() - MINUTE)
        )
        if self.epoch > 1 and len(old) and not self._calls:
            self._sequence += 1
            call = Call(Op.RECLAIM, self.fleet.ids[int(old[0])], (self.epoch << 40) + self._sequence)
            self._calls[-1] = [(int(old[0]), call)]
            asyncio.get_running_loop().create_task(self._call_all(iter(self._calls.pop(-1)), {}))


class BelievesOldLists(WatchedShard):
    """Takes a list although it was read before the last one."""

    def _take(self, provider: Provider, changes: Changes) -> None:
        self._read_at.pop(provider.name, None)
        super()._take(provider, changes)


class BeginsItsTokensAnew(WatchedShard):
    """Calls with the tokens of the process before it."""

    def _calls_of(self, block: Block) -> list[tuple[int, Call]]:
        return [(row, replace(call, token=call.token % (1 << 40))) for row, call in super()._calls_of(block)]


class ForgetsNothing(WatchedShard):
    """Keeps machines that a provider does not list any more."""

    def _forget(self, rows: Rows) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (DrainsOneMore, "nothing drains without an order"),
        (DrainsAgainAfterARestart, "nothing drains without an order"),
        (BelievesOldLists, "an old list is passed over"),
        (BeginsItsTokensAnew, "tokens grow"),
        (ForgetsNothing, f"what a provider forgets is forgotten|{IN_THE_END}"),
    ],
)
def test_a_shard_that_is_wrong_is_found_out(wrong: type[WatchedShard], rule: str) -> None:
    with pytest.raises(InvariantError, match=rf"^seed \d+, step \d+ at [0-9hms]+: ({rule}): "):
        for seed in range(10):
            with FleetHistory(Request(seed, 80, 2, 0.2), shard=wrong) as history:
                history.live()
