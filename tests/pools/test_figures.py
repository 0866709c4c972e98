"""Sums of recorded times: waiting, use, limits, and who waited for whom."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.jobs import Attempt, Job, JobSpec, JobState
from remuda.model.plans import Reason
from remuda.model.times import HOUR, MINUTE
from remuda.pools.decide.model import Bounds, Policy, PoolPolicy
from remuda.pools.figures import _hours, _parts, add_up, at_share, wait_of, waits_of
from remuda.pools.past import Span

#: 2026-01-05T00:00:00Z
T0 = 1_767_571_200_000
POLICY = Policy(
    {name: PoolPolicy(name, f"c/{name}", "t", Bounds(0, 9), ceiling="lap") for name in ("a", "b", "c")},
    {"lap": 4},
)


def reason(pool: str, code: str = "pool.steady", **terms: Any) -> Reason:
    numbers = {
        "live": 0,
        "busy": 0,
        "unclaimed": 0,
        "running": 0,
        "creating": 0,
        "wanted": 0,
        "grant": 0,
        "limit": 4,
    }
    return Reason(code, f"pool/{pool}", {**numbers, "ceiling": "lap", "bounds_from": "pool", **terms})


def span(minutes: int, *reasons: Reason, at: int = 0, policy: Policy = POLICY) -> Span:
    return Span(T0 + at * MINUTE, T0 + (at + minutes) * MINUTE, reasons, policy)


def test_machines_and_waiting_are_counted_by_how_long_they_were_so() -> None:
    found = add_up(
        [
            span(30, reason("a", live=2, busy=1, unclaimed=3)),
            span(60, reason("a", live=4, busy=4, creating=1), at=30),
        ],
        T0,
        T0 + 90 * MINUTE,
    )
    mine = found.pools["a"]
    assert mine.machine_ms == (2 * 30 + 4 * 60) * MINUTE
    assert mine.busy_ms == (30 + 4 * 60) * MINUTE
    assert mine.booting_ms == HOUR
    assert mine.waiting_ms == 90 * MINUTE
    assert (mine.peak, mine.job_class) == (4, "c/a")
    assert found.covered_ms == 90 * MINUTE
    assert mine.waiting_by_hour[0] == 90 * MINUTE
    assert mine.time_by_hour[:2] == [HOUR, 30 * MINUTE]
    assert sum(found.waiting) == 90 * MINUTE
    assert sum(found.times) == 90 * MINUTE


def test_who_waits_under_a_ceiling_waits_for_those_who_have_machines() -> None:
    held = reason("a", "pool.held-by-ceiling", live=1, busy=1, unclaimed=5, wanted=3, grant=1)
    found = add_up([span(60, held, reason("b", live=2), reason("c", live=1))], T0, T0 + HOUR)
    ceiling = found.ceilings["lap"]
    assert (ceiling.limit, ceiling.peak, ceiling.held_ms) == (4, 4, HOUR)
    assert ceiling.waiting_ms == 2 * HOUR
    assert found.waited_for == {("a", "b"): 2 * HOUR * 2 // 3, ("a", "c"): 2 * HOUR // 3}
    assert found.pools["a"].held_ms == {"ceiling": HOUR}
    assert found.pools["a"].held_waiting_ms == {"ceiling": 5 * HOUR}


def test_other_limits_are_counted_by_pool_and_hands_and_changes_are_noted() -> None:
    other = Policy(POLICY.pools, {"lap": 5})
    found = add_up(
        [
            span(10, reason("a", "pool.held-by-max", unclaimed=1)),
            span(10, reason("a", "pool.paused"), reason("b", bounds_from="override"), at=10, policy=other),
        ],
        T0,
        T0 + HOUR,
    )
    assert found.pools["a"].held_ms == {"max": 10 * MINUTE}
    assert found.by_hand == {"a", "b"}
    assert found.changes_of_policy == 1
    assert found.ceilings["lap"].held_ms == 0


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 200))
def test_safety_parts_and_hours_add_up_to_the_whole(begin: int, length: int, whole: int, count: int) -> None:
    end = min(begin + length, whole)
    parts = list(_parts(begin, end, whole, count))
    assert sum(part for _, part in parts) == max(0, end - begin)
    assert all(0 <= point < count and part > 0 for point, part in parts)
    assert sum(part for _, part in _hours(T0 + begin, T0 + begin + length)) == length


def job(number: int, waited: int | None, state: JobState = JobState.SUCCEEDED, job_class: str = "c/a") -> Job:
    attempts = () if waited is None else (Attempt(1, "m", T0 + waited * MINUTE, T0 + HOUR, "exited", 0),)
    return Job(number, job_class, state, 0, 0, JobSpec(("x",)), T0, T0 + 40 * MINUTE, attempts=attempts)


@pytest.mark.parametrize(
    ("found", "waited"),
    [
        pytest.param(job(1, 3), 3, id="until it first ran"),
        pytest.param(job(1, None, JobState.WAITING), 60, id="so far"),
        pytest.param(job(1, None, JobState.CANCELLED), 40, id="until it was cancelled"),
    ],
)
def test_a_job_waits_until_it_first_runs(found: Job, waited: int) -> None:
    assert wait_of(found, T0 + HOUR) == waited * MINUTE


def test_waits_are_told_by_class_and_the_worst_comes_first() -> None:
    jobs = [job(n, n) for n in range(1, 21)] + [
        job(21, None, JobState.WAITING, "c/b"),
        job(22, 1, job_class="c/c"),
    ]
    first, second, third = waits_of(jobs, T0 + 10 * HOUR)
    assert (first.job_class, first.still, first.longest) == ("c/b", 1, 10 * HOUR)
    assert (second.jobs, second.p50, second.p95, second.longest, second.mean) == (
        20, 10 * MINUTE, 19 * MINUTE, 20 * MINUTE, 21 * MINUTE // 2,
    )  # fmt: skip
    assert third.job_class == "c/c"


def test_shares_of_few_values() -> None:
    assert at_share([], 50) == 0
    assert at_share([7], 50) == at_share([7], 95) == 7
    assert at_share([1, 2], 50) == 1
