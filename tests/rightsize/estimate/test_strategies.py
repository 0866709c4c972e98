"""Strategies: KRR's rule, and what is told where there is too little to go by."""

import pytest
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR, steady

from remuda.rightsize.estimate.estimator import Amounts, Estimate, estimate_pod
from remuda.rightsize.estimate.strategies import STRATEGIES, quantile
from remuda.rightsize.estimate.usage import Replica, Sample

KRR, VPA = STRATEGIES["krr"], STRATEGIES["vpa"]


def krr(*replicas: Replica) -> Amounts:
    answer = KRR.answer({"main": replicas})
    assert answer.lacking == {}
    return answer.estimates["main"].target


def with_peak(replica: Replica, at: int, cores: float, used: float) -> Replica:
    return Replica([Sample(at, cores), *replica.cpu], [Sample(at, used), *replica.memory])


def test_cpu_is_the_highest_of_the_replicas_percentiles_and_not_of_the_pool() -> None:
    quiet, busy = steady(6 * HOUR, cores=0.1), steady(3 * HOUR + 60, cores=0.7)
    assert krr(*[quiet] * 30, busy).cpu_millicores == 700


def test_cpu_is_the_95th_percentile() -> None:
    rising = [Sample(BEGIN + 120 * n, n / 100) for n in range(101)]
    assert krr(Replica(rising, steady(6 * HOUR).memory)).cpu_millicores == 950


def test_memory_is_the_highest_sample_with_a_buffer_rounded_up_to_megabytes() -> None:
    assert krr(steady(6 * HOUR, used=5e8), steady(6 * HOUR, used=600_000_001.0)).memory_bytes == 691_000_000


def test_a_peak_of_two_weeks_ago_still_rules_memory_and_one_before_does_not() -> None:
    days = steady(14 * DAY, step=300, begin=BEGIN)
    last = days.memory[-1].at
    assert krr(with_peak(days, last - 14 * DAY, 0.5, 8e9)).memory_bytes == 9_200_000_000
    assert krr(with_peak(days, last - 14 * DAY - 1, 0.5, 8e9)).memory_bytes == 575_000_000
    faded = VPA.answer({"main": [with_peak(days, last - 14 * DAY, 0.5, 8e9)]}).estimates["main"]
    assert faded.target.memory_bytes == 587_804_717


def test_little_use_gets_the_minimum() -> None:
    assert krr(steady(6 * HOUR, cores=0.001, used=1e6)) == Amounts(10, 100_000_000)


def test_all_three_numbers_are_the_same() -> None:
    found = KRR.answer({"main": [steady(6 * HOUR)]}).estimates["main"]
    assert found == Estimate(found.target, found.target, found.target)


@pytest.mark.parametrize(
    ("replica", "message"),
    [
        pytest.param(
            Replica(), "krr needs 100 samples of CPU over 3 hours, and there are 0 over 0.0", id="none"
        ),
        pytest.param(steady(60), "there is 1 over 0.0", id="one"),
        pytest.param(steady(99 * 60), "there are 99 over 1.6", id="too few"),
        pytest.param(steady(120 * 60), "there are 120 over 2.0", id="too short"),
        pytest.param(Replica(steady(6 * HOUR).cpu), "100 samples of memory", id="no memory"),
    ],
)
def test_who_has_too_few_samples_is_left_out_and_reported(replica: Replica, message: str) -> None:
    answer = KRR.answer({"main": [replica], "side": [steady(6 * HOUR)]})
    assert list(answer.estimates) == ["side"]
    assert message in answer.lacking["main"]


def test_vpa_answers_at_once_and_tells_who_has_no_samples() -> None:
    pod = {"main": [steady(60)], "side": [Replica()]}
    answer = VPA.answer(pod)
    assert answer.estimates == estimate_pod(pod)
    assert list(answer.lacking) == ["side"]


@pytest.mark.parametrize(
    ("values", "part", "found"),
    [([3.0], 0.95, 3.0), ([1.0, 2.0], 0.5, 1.5), ([4.0, 1.0, 3.0, 2.0], 1.0, 4.0), ([0.0, 10.0], 0.95, 9.5)],
)
def test_a_quantile_lies_between_the_values_beside_its_rank(
    values: list[float], part: float, found: float
) -> None:
    assert quantile(values, part) == pytest.approx(found)
