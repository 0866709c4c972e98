"""What holds of every estimate, by the reference and by both engines: order, replicas, age and amount of samples."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.rightsize.estimate.builders import BEGIN, DAY, replicas

from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.engine import estimate_columns
from remuda.rightsize.estimate.estimator import PARTS, Estimate, estimate_pod, usage_of
from remuda.rightsize.estimate.usage import Replica, Sample

#: what each of some containers, alone in its pod, needs
Say: TypeAlias = Callable[[Sequence[Sequence[Replica]]], list[Estimate]]


def by_reference(containers: Sequence[Sequence[Replica]]) -> list[Estimate]:
    return [estimate_pod({"main": each})["main"] for each in containers]


def by(engine: str) -> Say:
    return lambda containers: estimate_columns(
        columns_of([{"main": each} for each in containers]), engine, workers=1
    )


EVERY_WAY = pytest.mark.parametrize(
    "say",
    [
        pytest.param(by_reference, id="reference"),
        pytest.param(by("numpy"), id="numpy", marks=pytest.mark.slow),
        pytest.param(by("numba"), id="numba", marks=pytest.mark.slow),
    ],
)
RANDOMS = st.randoms(use_true_random=False)
#: without what arrays leave to the reference, so that they have to answer themselves
PLAIN = replicas(kills=False)
ANY = st.one_of(PLAIN, replicas())
POSITIVE = st.one_of(replicas(least=1.0, kills=False), replicas(least=1.0))


def amounts(found: Estimate) -> list[int]:
    return [
        value
        for each in (found.target, found.lower_bound, found.upper_bound)
        for value in (each.cpu_millicores, each.memory_bytes)
    ]


def is_settled(replicas: Sequence[Replica]) -> bool:
    """
    Whether no percentile falls on the very edge of a bucket.

    There the last bit of a sum decides, and sums are made in the order of the samples, as the recommender makes them.
    """
    usage = usage_of(replicas)
    for histogram in (usage.cpu, usage.memory):
        reached = 0.0
        for weight in histogram.weights:
            reached += weight
            if weight and any(
                abs(reached - part * histogram.total) < 1e-9 * histogram.total for part in PARTS
            ):
                return False
    return True


def moved(samples: Sequence[Sample], seconds: int) -> list[Sample]:
    return [Sample(at + seconds, value) for at, value in samples]


@EVERY_WAY
@examples(60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10**11)), min_size=1, max_size=20), RANDOMS)
def test_memory_of_equal_time_may_come_in_any_order(
    say: Say, samples: list[tuple[int, int]], random: Random
) -> None:
    ordered = [Sample(BEGIN + half * DAY // 2, float(value)) for half, value in sorted(samples)]
    shuffled = list(ordered)
    random.shuffle(shuffled)
    shuffled.sort(key=lambda sample: sample.at)
    assume(is_settled([Replica((), ordered)]))
    one, other = say([[Replica((), ordered)], [Replica((), shuffled)]])
    assert one == other


@EVERY_WAY
@examples(60)
@given(st.lists(st.tuples(st.integers(0, 8), st.floats(0, 40)), min_size=1, max_size=12), RANDOMS)
def test_cpu_of_equal_time_may_come_from_replicas_in_any_order(
    say: Say, samples: list[tuple[int, float]], random: Random
) -> None:
    each = [Replica([Sample(BEGIN + half * DAY // 2, value)]) for half, value in samples]
    assume(is_settled(each))
    shuffled = list(each)
    random.shuffle(shuffled)
    one, other = say([each, shuffled])
    assert one == other


@EVERY_WAY
@examples(60)
@given(st.lists(ANY, max_size=4), RANDOMS)
def test_replicas_may_come_in_any_order(say: Say, some: list[Replica], random: Random) -> None:
    assume(is_settled(some))
    shuffled = list(some)
    random.shuffle(shuffled)
    one, other = say([some, shuffled])
    assert one == other


@EVERY_WAY
@examples(60)
@given(st.lists(PLAIN, max_size=2), st.integers(0, 9))
def test_a_replica_says_the_same_in_two_parts(say: Say, some: list[Replica], days: int) -> None:
    """Its CPU may be cut anywhere, its memory where a day of its own begins: there a window ends in any case."""
    parted = []
    for replica in some:
        half = len(replica.cpu) // 2
        begun = replica.memory[0].at if replica.memory else 0
        cut = begun + days * DAY
        # The later part counts its days from its first sample, which must be where a day began.
        marked = [*replica.memory, Sample(cut, 1.0)] if replica.memory else []
        marked.sort(key=lambda sample: sample.at)
        early, late = [s for s in marked if s.at < cut], [s for s in marked if s.at >= cut]
        parted.append(
            (
                [Replica(replica.cpu, marked)],
                [Replica(replica.cpu[:half], early), Replica(replica.cpu[half:], late)],
            )
        )
    whole = [part for parts, _ in parted for part in parts]
    assume(is_settled(whole))
    one, other = say([whole, [part for _, parts in parted for part in parts]])
    assert one == other


@EVERY_WAY
@examples(60)
@given(st.lists(ANY, min_size=1, max_size=3), st.integers(-300, 300))
def test_only_the_age_of_samples_counts(say: Say, some: list[Replica], days: int) -> None:
    later = [Replica(*(moved(each, days * DAY) for each in (r.cpu, r.memory, r.oom))) for r in some]
    one, other = say([some, later])
    assert one == other


EIGHTHS = st.integers(0, 7 * 8).map(lambda eighths: BEGIN + eighths * DAY // 8)
SAMPLES: Any = st.lists(st.builds(Sample, EIGHTHS, st.floats(1.0, 1e9)), min_size=1, max_size=12)


@EVERY_WAY
@examples(60)
@given(SAMPLES, st.builds(Sample, EIGHTHS, st.floats(1.0, 1e9)))
def test_a_sample_counts_as_two_that_are_a_day_older(say: Say, others: list[Sample], sample: Sample) -> None:
    newer = Sample(sample.at + DAY, sample.value)

    def with_these(samples: list[Sample]) -> list[Replica]:
        """A replica for each, so that none is left out and none hides another; cores are as many as hundreds of MB."""
        return [Replica([Sample(s.at, s.value / 1e8)], [s]) for s in [*others, *samples]]

    assume(is_settled(with_these([newer])))
    one, other = say([with_these([sample, sample]), with_these([newer])])
    assert one.target == other.target


@EVERY_WAY
@examples(60)
@given(SAMPLES, st.lists(EIGHTHS, min_size=2, max_size=2).map(sorted))
def test_a_peak_says_less_the_older_it_is(say: Say, others: list[Sample], times: list[int]) -> None:
    def with_peak(at: int) -> list[Replica]:
        return [Replica([Sample(s.at, s.value / 1e8)], [s]) for s in [*others, Sample(at, 5e9)]]

    older, newer = say([with_peak(at) for at in times])
    assert older.target.memory_bytes <= newer.target.memory_bytes
    assert older.target.cpu_millicores <= newer.target.cpu_millicores


@EVERY_WAY
@examples(60)
@given(st.lists(POSITIVE, min_size=1, max_size=3), st.floats(1.0, 50.0))
def test_who_uses_more_always_gets_no_less(say: Say, some: list[Replica], factor: float) -> None:
    def more(samples: Sequence[Sample]) -> list[Sample]:
        return [Sample(at, value * factor) for at, value in samples]

    raised = [Replica(more(r.cpu), more(r.memory), more(r.oom)) for r in some]
    one, other = say([some, raised])
    assert all(before <= after for before, after in zip(amounts(one), amounts(other), strict=True))


@EVERY_WAY
@examples(60)
@given(st.lists(POSITIVE, min_size=1, max_size=3), RANDOMS, st.floats(1.0, 50.0))
def test_who_uses_more_now_and_then_gets_no_less(
    say: Say, some: list[Replica], random: Random, factor: float
) -> None:
    def more(samples: Sequence[Sample]) -> list[Sample]:
        return [Sample(at, value * (factor if random.random() < 0.3 else 1.0)) for at, value in samples]

    raised = [Replica(more(r.cpu), more(r.memory), more(r.oom)) for r in some]
    one, other = say([some, raised])
    assert all(before <= after for before, after in zip(amounts(one), amounts(other), strict=True))
