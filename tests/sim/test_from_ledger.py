"""The closed loop over what is recorded: with the settings of then it comes out as it did, with others it does not."""

import random
from itertools import pairwise

import pytest
from msgspec import structs

from remuda.model.jobs import Attempt, Job, JobSpec, JobState
from remuda.model.times import DAY, HOUR, MINUTE, SECOND
from remuda.pools.decide.model import Bounds, Policy, PoolPolicy
from remuda.pools.figures import Figures, PoolFigures
from remuda.sim.from_ledger import Outcome, Recorded, choose, live_again, recorded_waits
from remuda.sim.what_if import (
    Change,
    Effect,
    best,
    bounds_of,
    busy_hours,
    candidates,
    ceiling_of,
    savings,
    try_out,
)

#: a Monday
T0 = 1_767_571_200_000


def policy(ceiling: int = 2, low: int = 1, high: int = 5) -> Policy:
    pools = {
        name: PoolPolicy(name, f"c/{name}", "t", Bounds(low, high), ceiling="lap", source="queue")
        for name in ("a", "b")
    }
    return Policy(pools, {"lap": ceiling})


def job(
    number: int, at: int, seconds: int, job_class: str = "c/a", waited: int = 0, priority: int = 0
) -> Job:
    begun = T0 + at * SECOND + waited
    attempt = Attempt(1, "m", begun, begun + seconds * SECOND, "exited", 0)
    return Job(
        number,
        job_class,
        JobState.SUCCEEDED,
        priority,
        0,
        JobSpec(("x",)),
        T0 + at * SECOND,
        begun,
        attempts=(attempt,),
    )


def recorded(*jobs: Job, policies: tuple[tuple[int, Policy], ...] = ((T0, policy()),)) -> Recorded:
    return Recorded(T0, T0 + HOUR, policies, jobs, {"a": [2_000], "b": [2_000]})


def test_a_free_machine_takes_a_job_at_once_and_a_taken_one_when_it_is_done() -> None:
    found = live_again(recorded(job(1, 60, 100), job(2, 70, 10)))
    assert found.waits["c/a"][0] < 200
    # A pool of single-task machines may have one of the two that the ceiling gives: the other pool keeps its minimum.
    assert 90_000 <= found.waits["c/a"][1] <= 105_000
    assert found.busy_ms == pytest.approx(110_000, abs=500)


def test_the_same_input_gives_the_same_outcome() -> None:
    dice = random.Random(3)
    jobs = [
        job(n, dice.randrange(3_000), dice.randrange(1, 90), dice.choice(["c/a", "c/b"]))
        for n in range(1, 60)
    ]
    chosen, _ = choose(jobs, ((T0, policy()),))
    assert live_again(recorded(*chosen)) == live_again(recorded(*chosen))


def test_what_a_simulation_recorded_comes_out_again_when_it_is_fed_with_it() -> None:
    dice = random.Random(5)
    jobs = [
        job(n, dice.randrange(3_000), dice.randrange(5, 60), dice.choice(["c/a", "c/b"]))
        for n in range(1, 80)
    ]
    chosen, _ = choose(jobs, ((T0, policy()),))
    first = live_again(recorded(*chosen))
    again = live_again(recorded(*chosen), lambda each: structs.replace(each, ceilings={"lap": 2}))
    assert again.all_waits == first.all_waits
    assert sum(map(len, first.waits.values())) == len(chosen)


def test_a_higher_ceiling_shortens_waits_and_settings_of_then_hold_from_then_on() -> None:
    jobs = [job(n, 60 + n, 60) for n in range(1, 9)]
    slow = live_again(recorded(*jobs))
    quick = live_again(recorded(*jobs), ceiling_of("lap", 2, 9).apply)
    assert quick.waiting_ms < slow.waiting_ms // 2
    raised = recorded(*jobs, policies=((T0, policy()), (T0 + 120 * SECOND, policy(9))))
    assert quick.waiting_ms < live_again(raised).waiting_ms < slow.waiting_ms


def test_a_job_of_higher_priority_comes_first() -> None:
    jobs = [job(1, 60, 100), job(2, 70, 10), job(3, 71, 10, priority=5)]
    found = live_again(recorded(*jobs))
    before, after = sorted(found.waits["c/a"])[1:]
    assert after - before == pytest.approx(13_000, abs=4_000)


def test_schedules_go_by_the_clock_of_then() -> None:
    pool = policy(9, 0).pools["a"]
    mine = PoolFigures("a", waiting_ms=HOUR)
    mine.waiting_by_hour[0] = HOUR
    mine.load_by_hour[0], mine.time_by_hour[0] = 3 * HOUR, HOUR
    change = busy_hours(pool, mine)
    assert change is not None
    assert change.words == "pool a: a schedule with min 3 from 00:00 to 01:00 UTC, else 0"
    fed = recorded(job(1, 60, 10), policies=((T0, policy(9, 0)),))
    assert live_again(fed, change.apply).waits["c/a"][0] < 200 < live_again(fed).waits["c/a"][0]


def test_jobs_that_cannot_be_simulated_are_left_out_and_said_why() -> None:
    cancelled = structs.replace(job(2, 1, 1), state=JobState.CANCELLED, attempts=())
    chosen, left_out = choose(
        [job(3, 9, 1), job(1, 5, 1), cancelled, job(4, 1, 1, "c/none")], ((T0, policy()),), most=1
    )
    assert [each.id for each in chosen] == [3]
    assert left_out == {
        "cancelled before they ran": 1,
        "no pool serves their class any more": 1,
        "older than the newest 1": 1,
    }


def test_a_job_that_has_not_run_runs_as_long_as_others_do() -> None:
    waiting = structs.replace(job(2, 90, 1), state=JobState.WAITING, attempts=())
    found = live_again(recorded(job(1, 60, 30), waiting))
    assert found.busy_ms == pytest.approx(60_000, abs=500)
    assert recorded_waits(recorded(job(1, 60, 30, waited=7_000))).all_waits == [7_000]


def figures(**waiting: int) -> Figures:
    found = Figures(T0, T0 + DAY)
    for name, waited in waiting.items():
        mine = found.pools[name] = PoolFigures(
            name, f"c/{name}", machine_ms=10 * HOUR, busy_ms=HOUR, waiting_ms=waited
        )
        mine.held_ms["max"] = waited
    return found


def test_what_waited_most_is_varied_and_idle_minimums_are_lowered() -> None:
    words = [change.words for change in candidates(policy(), figures(a=HOUR, b=0))]
    assert words == ["pool a: max 5 → 7", "pool a: min 1 → 2", "pool a: min 1 → 0", "pool b: min 1 → 0"]
    assert list(candidates(policy(low=0, high=0), figures(a=0))) == []


def test_a_changed_bound_holds_in_schedules_too_and_a_minimum_lifts_the_maximum() -> None:
    pool = policy(high=1).pools["a"]
    changed = bounds_of(pool, "min", 3).apply(policy(high=1)).pools["a"]
    assert changed.bounds == Bounds(3, 3)
    assert bounds_of(pool, "min", 3).apply(Policy()) == Policy()
    assert ceiling_of("none", 1, 2).apply(policy()) == policy()


def test_the_changes_that_save_most_waiting_per_machine_hour_come_first() -> None:
    jobs = [job(n, 60 + 7 * n, 60) for n in range(1, 30)]
    heard: list[str] = []
    changes = [
        ceiling_of("lap", 2, 3),
        bounds_of(policy().pools["b"], "min", 0),
        Change("nothing", lambda each: each),
    ]
    before, effects = try_out(recorded(*jobs), changes, heard.append)
    assert len(heard) == 4
    assert before.waiting_ms > 0
    assert all(one.worth >= other.worth for one, other in pairwise(effects))
    assert {effect.change.words for effect in best(before, effects)} >= {"ceiling lap: 2 → 3 machines"}
    assert "nothing" not in {effect.change.words for effect in best(before, effects)}


def test_fewer_machines_are_a_saving_only_where_nobody_waits_longer() -> None:
    before = Outcome({"c": [10 * MINUTE]}, 10 * HOUR, HOUR)

    def effect(words: str, saved: int, added: int) -> Effect:
        return Effect(Change(words, lambda each: each), before, saved, added)

    found = savings(before, [effect("a", 0, -HOUR), effect("b", -HOUR, -2 * HOUR), effect("c", 0, -3 * HOUR)])
    assert [each.change.words for each in found] == ["c", "a"]
