"""The estimator's rules one by one, and what holds of every estimate."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR, memory, replicas, steady

from remuda.rightsize.estimate.estimator import (
    Amounts,
    Estimate,
    Peaks,
    estimate,
    estimate_pod,
    usage_of,
    whole,
)
from remuda.rightsize.estimate.usage import Pod, Replica, Sample

MIB = 1024 * 1024
FLOOR = 250 * MIB


def estimate_one(*given: Replica) -> Estimate:
    return estimate_pod({"main": given})["main"]


@pytest.mark.parametrize(
    ("seconds", "upper"),
    [
        pytest.param(5 * 60, 211_907, id="5 minutes"),
        pytest.param(HOUR, 14_913, id="an hour"),
        pytest.param(12 * HOUR, 1_762, id="12 hours"),
        pytest.param(DAY, 1_174, id="a day"),
        pytest.param(3 * DAY, 782, id="3 days"),
        pytest.param(7 * DAY, 670, id="7 days"),
        pytest.param(8 * DAY, 660, id="8 days"),
    ],
)
def test_the_target_is_there_at_once_and_only_the_bounds_narrow(seconds: int, upper: int) -> None:
    found = estimate_one(steady(seconds))
    assert found.target == Amounts(587, 587_804_717)
    assert found.upper_bound.cpu_millicores == upper


def test_memory_alone_gives_no_confidence_and_the_ceiling_as_upper_bound() -> None:
    found = estimate_one(memory((0, 5e8), (10 * DAY, 5e8)))
    assert found.target == Amounts(25, 587_804_717)
    assert found.upper_bound == Amounts(25, 10**14)
    assert found.lower_bound == Amounts(25, FLOOR)


def test_without_confidence_nothing_times_infinity_is_the_floor() -> None:
    found = estimate_one(Replica([Sample(BEGIN, 0.5)]))
    assert found.target.cpu_millicores == 587
    assert found.upper_bound == Amounts(10**14, FLOOR)
    assert found.lower_bound == Amounts(25, FLOOR)


@pytest.mark.parametrize(
    ("containers", "floor"),
    [(1, Amounts(25, 262_144_000)), (2, Amounts(12, 131_072_000)), (3, Amounts(8, 87_381_333))],
)
def test_containers_share_the_floor_of_their_pod(containers: int, floor: Amounts) -> None:
    found = estimate_pod({f"c{n}": [] for n in range(containers)})
    assert found == {f"c{n}": Estimate(floor, floor, floor) for n in range(containers)}


@pytest.mark.parametrize(
    ("samples", "peaks"),
    [
        pytest.param([(0, 1e9), (DAY - 1, 2e9)], [2e9], id="a higher one replaces the peak"),
        pytest.param([(0, 2e9), (DAY - 1, 1e9)], [2e9], id="a lower one does not"),
        pytest.param([(0, 2e9), (DAY, 1e9)], [2e9, 1e9], id="a day later is another window"),
        pytest.param([(0, 0.0), (1, 2e9)], [0.0], id="nothing replaces a zero"),
        pytest.param([(0, 0.9), (1, 2e9)], [0.0], id="nor less than a byte"),
        pytest.param(
            [(0, 1e9), (3 * DAY + 5, 2e9), (3 * DAY + 9, 3e9)], [1e9, None, None, 3e9], id="after a gap"
        ),
        pytest.param([(0, 2e9), (0, 3e9)], [3e9], id="times may repeat"),
        pytest.param([(9, 1e9), (3, 2e9)], [1e9], id="what goes back is left out"),
    ],
)
def test_a_window_of_24_hours_has_one_peak_counted_at_its_end(
    samples: list[tuple[int, float]], peaks: list[float | None]
) -> None:
    found = usage_of([memory(*samples)]).memory
    wanted = usage_of([]).memory
    begin = BEGIN + samples[0][0]
    for day, peak in enumerate(peaks, 1):
        if peak is not None:
            wanted.add(int(peak), 1.0, begin + day * DAY)
    assert found.weights == wanted.weights


@pytest.mark.parametrize(
    ("replica", "peak"),
    [
        pytest.param(memory((0, 1e8), oom=[(9, 512 * MIB)]), 512 * MIB * 1.2, id="a fifth more"),
        pytest.param(memory((0, 1e8), oom=[(9, 2e8)]), 2e8 + 100 * MIB, id="at least 100 MiB more"),
        pytest.param(memory((0, 1e9), oom=[(9, 2e8)]), 1.2e9, id="more than was used"),
        pytest.param(memory((0, 1e9), oom=[(9, 1.0), (10, 1.0)]), 1.2e9, id="a second one does not add up"),
        pytest.param(memory((0, 1e9), oom=[(10, 1.0), (9, 2e9)]), 2.4e9, id="in the order of time"),
        pytest.param(memory((0, 1e9), (5, 3e9), oom=[(5, 1.0)]), 3.6e9, id="after the sample of its second"),
        pytest.param(memory(oom=[(0, 512 * MIB)]), 512 * MIB * 1.2, id="alone"),
    ],
)
def test_a_kill_counts_as_more_than_was_used(replica: Replica, peak: float) -> None:
    wanted = usage_of([]).memory
    wanted.add(int(peak), 1.0, BEGIN + DAY)
    assert usage_of([replica]).memory.weights == wanted.weights


@pytest.mark.parametrize(
    ("at", "is_counted"),
    [pytest.param(-DAY, True, id="a day late"), pytest.param(-DAY - 1, False, id="more than a day late")],
)
def test_a_kill_that_is_reported_too_late_is_left_out(at: int, is_counted: bool) -> None:
    usage = usage_of([])
    peaks = Peaks(usage)
    peaks.add(10**9, BEGIN)
    peaks.add_oom(2 * 10**9, BEGIN + at)
    assert (usage.memory.percentile(1.0) > 2 * 10**9) == is_counted


def test_one_kill_at_512_mib_gives_a_target_of_764_mb() -> None:
    assert estimate_one(memory(oom=[(0, 512 * MIB)])).target.memory_bytes // 10**6 == 764


def test_cpu_samples_that_are_not_later_than_the_one_before_are_left_out() -> None:
    odd = Replica(
        [Sample(BEGIN + 60, 1.0), Sample(BEGIN + 60, 9.0), Sample(BEGIN, 9.0), Sample(BEGIN + 61, 1.0)]
    )
    plain = Replica([Sample(BEGIN + 60, 1.0), Sample(BEGIN + 61, 1.0)])
    assert estimate_one(odd) == estimate_one(plain)


@pytest.mark.parametrize(
    ("amount", "cut"),
    [
        (1.9, 1),
        (0.0, 0),
        (-3.0, 0),
        (1e14, 10**14),
        (1e30, 10**14),
        (float("inf"), 10**14),
        (float("nan"), -(2**63)),
    ],
)
def test_amounts_are_cut_towards_zero_and_held_by_the_ceiling(amount: float, cut: int) -> None:
    assert whole(amount) == cut


def test_an_estimate_is_written_with_the_recommenders_names() -> None:
    message = msgspec.to_builtins(estimate_one())
    assert list(message) == ["target", "lowerBound", "upperBound"]
    assert list(message["target"]) == ["cpu_millicores", "memory_bytes"]


POSITIVE = st.lists(replicas(least=1.0), min_size=1, max_size=3)


@given(st.lists(replicas(), max_size=3), st.lists(replicas(), max_size=3))
def test_replicas_counted_apart_and_merged_say_the_same(one: list[Replica], two: list[Replica]) -> None:
    merged = usage_of(one)
    merged.merge(usage_of(two))
    assert estimate({"main": merged}) == estimate_pod({"main": [*one, *two]})


@given(st.lists(replicas(), max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_replicas_does_not_matter(some: list[Replica], random: st.DataObject) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert estimate_pod({"main": shuffled}) == estimate_pod({"main": some})


@given(
    st.lists(st.tuples(st.integers(0, 4 * DAY), st.integers(1, 10**11)), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
def test_the_order_of_samples_of_equal_time_does_not_matter(
    samples: list[tuple[int, int]], random: st.DataObject
) -> None:
    ordered = sorted((at // DAY * DAY, float(value)) for at, value in samples)
    shuffled = list(ordered)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    shuffled.sort(key=lambda sample: sample[0])
    assert estimate_one(memory(*shuffled)) == estimate_one(memory(*ordered))


@given(st.lists(replicas(), min_size=1, max_size=3), st.integers(-300, 300))
def test_only_the_age_of_samples_counts_not_their_date(some: list[Replica], days: int) -> None:
    def moved(samples: list[Sample]) -> list[Sample]:
        return [Sample(at + days * DAY, value) for at, value in samples]

    later = [Replica(moved([*r.cpu]), moved([*r.memory]), moved([*r.oom])) for r in some]
    assert estimate_pod({"main": later}) == estimate_pod({"main": some})


def test_what_was_used_long_ago_fades() -> None:
    def weeks_after(peak: float) -> Replica:
        return Replica(
            (), [Sample(BEGIN, peak), *(Sample(BEGIN + day * DAY, 5e8) for day in range(1, 22))], ()
        )

    assert estimate_one(weeks_after(8e9)).target == estimate_one(weeks_after(5e8)).target
    fresh = Replica((), [Sample(BEGIN, 5e8), Sample(BEGIN + DAY, 8e9)])
    assert estimate_one(fresh).target.memory_bytes > 8e9


@given(POSITIVE, st.floats(1.0, 50.0))
def test_who_uses_more_gets_no_less(some: list[Replica], factor: float) -> None:
    def more(samples: list[Sample]) -> list[Sample]:
        return [Sample(at, value * factor) for at, value in samples]

    raised = [Replica(more([*r.cpu]), more([*r.memory]), more([*r.oom])) for r in some]
    before, after = estimate_one(*some), estimate_one(*raised)
    for least, most in zip(amounts(before), amounts(after), strict=True):
        assert least <= most


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(replicas(), max_size=2), min_size=1))
def test_the_bounds_are_around_the_target_and_above_the_floor(pod: Pod) -> None:
    for found in estimate_pod(pod).values():
        for low, middle, high in zip(
            (found.lower_bound.cpu_millicores, found.lower_bound.memory_bytes),
            (found.target.cpu_millicores, found.target.memory_bytes),
            (found.upper_bound.cpu_millicores, found.upper_bound.memory_bytes),
            strict=True,
        ):
            assert 0 < low <= middle <= high <= 10**14


def amounts(found: Estimate) -> list[int]:
    return [
        value
        for each in (found.target, found.lower_bound, found.upper_bound)
        for value in (each.cpu_millicores, each.memory_bytes)
    ]
