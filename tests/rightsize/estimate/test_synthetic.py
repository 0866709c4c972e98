"""The synthetic fleet is what it claims to be: what is checked against it would else prove nothing."""

from itertools import pairwise
from statistics import fmean, pstdev

import numpy as np
import pytest
from tests.rightsize.estimate.builders import DAY
from tests.rightsize.estimate.synthetic import NOW, Fleet, Known, fleet

from remuda.rightsize.evidence import Evidence

pytestmark = pytest.mark.slow
SHAPES = (
    "steady", "daily", "bursty", "leaking", "ooming", "idle", "restarted", "scaled", "old-peak", "weekly", "young",
    "gpu", "many", "gaps",
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[Known, Evidence]]]:
    """Shape → its containers, with what is known of them before."""
    made = fleet()
    evidence = made.evidence()
    return {
        shape: [(each, evidence[each.workload, each.container]) for each in made.of(shape)]
        for shape in SHAPES
    }


def limit_of(made: Fleet, known: Known) -> int:
    workload = next(each for each in made.snapshot.workloads if each.id == known.workload)
    size = next(each.size for each in workload.containers if each.name == known.container)
    assert size.limits.memory_bytes is not None
    return size.limits.memory_bytes


def test_it_is_the_same_every_time_and_every_shape_is_there() -> None:
    made, again = fleet(), fleet.__wrapped__()
    for one, other in zip(
        (made.columns.cpu, made.columns.memory, made.columns.oom),
        (again.columns.cpu, again.columns.memory, again.columns.oom),
        strict=True,
    ):
        assert np.array_equal(one.times, other.times)
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.starts, other.starts)
    assert made.snapshot == again.snapshot
    assert {each.shape for each in made.known} == set(SHAPES)
    assert len(made.columns) == len(made.known)


def test_the_week_after_is_a_sample_a_minute() -> None:
    for known in fleet().known:
        lengths = [len(each) for each in known.used]
        assert lengths == [len(each) for each in known.cores]
        assert max(lengths) <= 7 * 1440
        assert sum(lengths) > 6.5 * 1440


def test_only_what_leaks_grows(found: dict[str, list[tuple[Known, Evidence]]]) -> None:
    for shape, each in found.items():
        for known, evidence in each:
            leasts = [day.least for day in evidence.days[3:]]
            rises = [after - before for before, after in pairwise(leasts)]
            is_rising = bool(rises) and min(rises) > 0.02 * max(leasts)
            assert is_rising == (shape == "leaking"), (known.workload, leasts)


def test_a_leak_reaches_its_limit_within_a_quarter_and_not_within_a_week(
    found: dict[str, list[tuple[Known, Evidence]]],
) -> None:
    for known, evidence in found["leaking"]:
        limit = limit_of(fleet(), known)
        a_day = (evidence.days[-1].least - evidence.days[-3].least) / 2
        assert not known.would_oom(limit)
        assert evidence.days[-1].least + 90 * a_day > limit


def test_who_is_killed_is_so_by_its_limit_and_will_be_again(
    found: dict[str, list[tuple[Known, Evidence]]],
) -> None:
    made = fleet()
    for known, evidence in found["ooming"]:
        limit = limit_of(made, known)
        kills = [kill for kill in made.snapshot.kills if kill.workload == known.workload]
        assert len(evidence.kills) == len(kills) > 8
        assert all(kill.requested_bytes == limit for kill in evidence.kills)
        assert evidence.memory_peak <= limit
        assert known.would_oom(limit)
    assert sum(len(evidence.kills) for each in found.values() for _, evidence in each) == len(
        made.snapshot.kills
    )


@pytest.mark.parametrize("shape", ["old-peak", "weekly"])
def test_an_old_peak_is_forgotten_by_the_estimate_and_not_by_krr(
    shape: str, found: dict[str, list[tuple[Known, Evidence]]]
) -> None:
    for known, evidence in found[shape]:
        assert evidence.krr is not None
        assert evidence.memory_peak_at is not None
        assert NOW - evidence.memory_peak_at > 3 * DAY
        assert evidence.estimate.upper_bound.memory_bytes * 1.3 < evidence.memory_peak
        assert evidence.memory_peak < evidence.krr.target.memory_bytes
        assert known.would_oom(int(evidence.estimate.upper_bound.memory_bytes * 1.3)) == (shape == "weekly")


def test_there_is_one_of_each_trouble(found: dict[str, list[tuple[Known, Evidence]]]) -> None:
    (_, young), (_, many), (_, gaps), (_, scaled), (_, restarted) = (
        found[shape][0] for shape in ("young", "many", "gaps", "scaled", "restarted")
    )
    assert young.confidence < 1
    assert many.replicas == 40
    assert gaps.series is not None
    assert gaps.series.memory_bytes.count(None) > 48
    assert scaled.replicas > 6
    assert restarted.replicas == 3
    unevenness = [
        pstdev([day.peak for day in evidence.days]) / fmean(day.peak for day in evidence.days)
        for _, evidence in found["bursty"]
    ]
    assert min(unevenness) < 0.25 < max(unevenness)


def test_the_highest_of_what_was_used_and_the_upper_bound_is_enough_for_the_week_after(
    found: dict[str, list[tuple[Known, Evidence]]],
) -> None:
    for shape, each in found.items():
        for known, evidence in each:
            enough = max(evidence.memory_peak, int(evidence.estimate.upper_bound.memory_bytes * 1.2))
            assert not known.would_oom(enough), shape
