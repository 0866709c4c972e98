"""Decaying histograms: buckets as Go finds them, weights that fade, percentiles as ends of buckets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.rightsize.estimate.histogram import CPU, MEMORY, Buckets, Histogram, rounded_reference

AMOUNTS = st.integers(0, 2 * 10**12)
TIMES = st.integers(BEGIN, BEGIN + 8 * DAY)
SAMPLES = st.lists(st.tuples(AMOUNTS, TIMES), max_size=30)


def histogram(*samples: tuple[int, int], buckets: Buckets = MEMORY) -> Histogram:
    made = Histogram(buckets)
    for amount, at in samples:
        made.add(amount, 1.0, at)
    return made


@pytest.mark.parametrize(
    ("buckets", "amount", "bucket"),
    [
        pytest.param(CPU, 0, 0, id="nothing"),
        pytest.param(CPU, 9, 0, id="under the first bucket's end"),
        pytest.param(CPU, 10, 1, id="at its end"),
        pytest.param(CPU, 20, 1, id="20 of 20.5 millicores"),
        pytest.param(CPU, 21, 2, id="21 of 20.5 millicores"),
        pytest.param(CPU, 10**14, 175, id="beyond the last"),
        pytest.param(MEMORY, 9_999_999, 0, id="memory under the first bucket's end"),
        pytest.param(MEMORY, 20_500_000, 1, id="Go's logarithm puts 20.5 MB below the edge it is on"),
        pytest.param(MEMORY, 20_500_001, 2, id="and a byte more above it"),
        pytest.param(MEMORY, 43_101_250, 4, id="the edge of a bucket that ends elsewhere"),
        pytest.param(MEMORY, 2 * 10**12, 175, id="memory beyond the last"),
    ],
)
def test_an_amount_is_in_the_bucket_where_go_puts_it(buckets: Buckets, amount: int, bucket: int) -> None:
    assert buckets.find(amount) == bucket


def test_there_are_176_buckets_that_follow_each_other() -> None:
    for buckets in (CPU, MEMORY):
        assert len(buckets.firsts) == len(buckets.answers) == 176
        assert list(buckets.firsts) == sorted(set(buckets.firsts))
        assert list(buckets.answers[:-1]) == sorted(set(buckets.answers[:-1]))


def test_the_end_of_a_bucket_is_cut_from_go_s_power() -> None:
    assert MEMORY.answers[3] == 43_101_249
    assert int(1e7 * (1.05**4 - 1) / (1.05 - 1)) == 43_101_250, "the C library's is a byte more"


def test_the_last_bucket_answers_its_beginning() -> None:
    assert CPU.answers[175] == CPU.answers[174] == 1_021_109


@pytest.mark.parametrize(
    ("samples", "part", "answer"),
    [
        pytest.param([], 0.9, 0, id="no samples"),
        pytest.param([(0, BEGIN)], 0.9, 10_000_000, id="one of nothing"),
        pytest.param([(15_000_000, BEGIN)], 0.5, 20_499_999, id="one"),
        pytest.param([(0, BEGIN), (15_000_000, BEGIN)], 0.5, 10_000_000, id="half of two is enough"),
        pytest.param([(0, BEGIN), (15_000_000, BEGIN)], 0.51, 20_499_999, id="more than half"),
        pytest.param([(0, BEGIN), (15_000_000, BEGIN + DAY)], 0.34, 20_499_999, id="the newer counts twice"),
        pytest.param([(0, BEGIN), (15_000_000, BEGIN + DAY)], 0.33, 10_000_000, id="the older once"),
        pytest.param([(10**13, BEGIN)], 0.5, 1_021_109_408_904, id="more than there are buckets for"),
    ],
)
def test_a_percentile_is_the_end_of_the_bucket_that_reaches_it(
    samples: list[tuple[int, int]], part: float, answer: int
) -> None:
    assert histogram(*samples).percentile(part) == answer


def test_what_weighs_less_than_epsilon_is_not_there() -> None:
    old, new = (0, BEGIN), (15_000_000, BEGIN + 14 * DAY)
    assert histogram(new, old).percentile(0.0) == 20_499_999, "2 to the power of -14 is too little"
    assert histogram(old, new).percentile(0.0) == 10_000_000, "the first sample counts in full"
    faint = Histogram(MEMORY)
    faint.add(15_000_000, 0.00009, BEGIN)
    assert faint.is_empty
    assert faint.percentile(0.5) == 0


def test_a_sample_is_taken_back() -> None:
    made = histogram((15_000_000, BEGIN), (0, BEGIN))
    made.subtract(15_000_000, 1.0, BEGIN)
    assert made.percentile(1.0) == 10_000_000
    made.subtract(0, 1.0, BEGIN)
    assert made.is_empty
    assert made.total == 0.0


def test_after_a_hundred_half_lives_the_reference_moves_and_old_weights_vanish() -> None:
    made = histogram((15_000_000, BEGIN))
    made.add(0, 1.0, BEGIN + 100 * DAY)
    assert made.reference == BEGIN
    made.add(0, 1.0, BEGIN + 100 * DAY + 1)
    assert made.reference == BEGIN + 100 * DAY
    assert made.percentile(1.0) == 10_000_000


@pytest.mark.parametrize(
    ("at", "reference"),
    [
        pytest.param(BEGIN, BEGIN, id="midnight"),
        pytest.param(BEGIN + DAY // 2 - 1, BEGIN, id="before noon"),
        pytest.param(BEGIN + DAY // 2, BEGIN + DAY, id="noon is nearer to what comes"),
    ],
)
def test_a_reference_is_the_nearest_midnight(at: int, reference: int) -> None:
    assert rounded_reference(at) == reference


@given(SAMPLES, SAMPLES, st.sampled_from([0.0, 0.5, 0.9, 0.95, 1.0]))
def test_merged_histograms_say_what_one_of_all_samples_says(
    one: list[tuple[int, int]], two: list[tuple[int, int]], part: float
) -> None:
    merged, other = histogram(*one), histogram(*two)
    before = list(other.weights)
    merged.merge(other)
    assert other.weights == before
    assert merged.total == pytest.approx(histogram(*one, *two).total / scale(one, two))
    assert merged.percentile(part) == histogram(*one, *two).percentile(part)


def scale(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> float:
    """By how much the weights of both differ: a merge takes the later of the two references."""
    references = [rounded_reference(samples[0][1]) for samples in (one, two) if samples]
    first = rounded_reference([*one, *two][0][1]) if references else 0
    return float(2.0 ** ((max(references, default=0) - first) // DAY))


@given(SAMPLES, st.integers(-300, 300))
def test_moving_all_samples_by_whole_days_changes_nothing(samples: list[tuple[int, int]], days: int) -> None:
    moved = [(amount, at + days * DAY) for amount, at in samples]
    assert histogram(*moved).weights == histogram(*samples).weights


@given(SAMPLES, AMOUNTS, TIMES)
def test_a_sample_that_is_taken_back_leaves_what_was_there(
    samples: list[tuple[int, int]], amount: int, at: int
) -> None:
    made = histogram(*samples)
    made.add(amount, 1.0, at)
    made.subtract(amount, 1.0, at)
    assert made.weights == pytest.approx(histogram(*samples).weights, abs=2e-4)
