"""Evidence says of samples what a plain walk through them says, and tells leaks from restarts."""

from collections.abc import Callable, Sequence
from math import ceil
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR, memory, replicas, steady
from tests.rightsize.estimate.test_engine import PODS

from remuda.rightsize.estimate.cells import MOST_STEPS, grid
from remuda.rightsize.estimate.columns import columns_of
from remuda.rightsize.estimate.estimator import Amounts, Estimate, confidence, estimate_pod, usage_of
from remuda.rightsize.estimate.strategies import STRATEGIES, Answer, Krr, quantile
from remuda.rightsize.estimate.summaries import summarize
from remuda.rightsize.estimate.usage import Pod, Replica, Sample
from remuda.rightsize.evidence import Evidence, Floor, OomKill, Series

NOW = BEGIN + 8 * DAY


def evidence(*given: Replica, now: int = NOW, since: int = BEGIN) -> Evidence:
    return summarize(columns_of([{"main": given}]), "samples here", since=since, now=now)[0]


def pooled(given: list[Replica], resource: str) -> list[Sample]:
    return [sample for replica in given for sample in getattr(replica, resource)]


def plotted(samples: list[Sample], found: Series, whole: Callable[[float], int]) -> list[int | None]:
    """The highest sample of each step of the plot that was made."""
    made: list[int | None] = [None] * len(found.cpu_millicores)
    for at, value in samples:
        if BEGIN <= at <= NOW:
            step = min((at - found.begin) // found.step, len(made) - 1)
            made[step] = max(made[step] or 0, whole(value))
    return made


def walked(samples: Sequence[Sample], step: int) -> Floor | None:
    """What a replica never fell below in each step, but for its first hour."""
    within = [sample for sample in samples if BEGIN <= sample.at < NOW]
    begun = min((sample.at for sample in within), default=0)
    low: dict[int, float] = {}
    for at, value in within:
        number = at // step
        if min(sample.at for sample in within if sample.at // step == number) >= begun + 3600:
            low[number] = min(value, low.get(number, value))
    if not low:
        return None
    first = min(low)
    least = [ceil(low[n]) if n in low else None for n in range(first, max(low) + 1)]
    return Floor(first * step, step, tuple(least))


@pytest.mark.slow
@examples(80)
@given(PODS)
def test_evidence_says_what_a_walk_through_the_samples_says(pods: list[Pod]) -> None:
    found = summarize(columns_of(pods), "samples here", since=BEGIN, now=NOW)
    containers = [list(some) for pod in pods for some in pod.values()]
    assert [each.estimate for each in found] == [one for pod in pods for one in estimate_pod(pod).values()]
    for replicas_, each in zip(containers, found, strict=True):
        cpu, used = pooled(replicas_, "cpu"), pooled(replicas_, "memory")
        times = [sample.at for sample in (*cpu, *used)]
        counted = usage_of(replicas_)
        assert (each.cpu_samples, each.memory_samples) == (len(cpu), len(used))
        assert each.replicas == sum(bool(one.cpu or one.memory) for one in replicas_)
        assert (each.first, each.last) == (min(times, default=None), max(times, default=None))
        assert each.confidence == confidence(counted.first, counted.last, counted.count)
        assert each.cpu_p99 == (round(quantile([s.value for s in cpu], 0.99) * 1000) if cpu else 0)
        assert each.cpu_peak == round(max((s.value for s in cpu), default=0.0) * 1000)
        assert each.memory_p99 == ceil(quantile([s.value for s in used], 0.99) if used else 0)
        peak = max((s.value for s in used), default=0.0)
        assert each.memory_peak == ceil(peak)
        assert each.memory_peak_at == max((s.at for s in used if s.value == peak), default=None)
        kills = sorted((s.at, ceil(s.value)) for s in pooled(replicas_, "oom"))
        assert each.kills == tuple(OomKill(*kill) for kill in kills)
        if all(list(one.memory) == sorted(one.memory, key=lambda sample: sample.at) for one in replicas_):
            of_each = [walked(one.memory, 1800) for one in replicas_]
            assert all(floor in of_each for floor in each.floors)
            assert len(each.floors) == sum(
                floor is not None and len([least for least in floor.least if least is not None]) >= 4
                for floor in of_each
            )
        if each.series is None:
            assert not any(BEGIN <= at <= NOW for at in times)
        else:
            assert list(each.series.memory_bytes) == plotted(used, each.series, ceil)
            assert list(each.series.cpu_millicores) == plotted(cpu, each.series, lambda v: round(v * 1000))


@pytest.mark.slow
@given(st.lists(st.one_of(replicas(kills=False), replicas(days=40, ordered=False)), max_size=3))
def test_the_krr_of_evidence_is_the_strategy_s_for_any_samples(given: list[Replica]) -> None:
    from remuda.rightsize.estimate import cells, summaries

    columns = columns_of([{"main": given}])
    for now in (NOW, BEGIN + 16 * DAY):
        krr = Krr(least_samples=2, least_span_s=1, until=now)
        found = summaries._measure(columns, 0, 1, cells.grid(BEGIN, now), krr)[0].krr
        assert found == krr.answer({"main": given}).estimates.get("main")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([steady(6 * HOUR, cores=0.7), steady(5 * HOUR, cores=0.2, used=7e8)], id="replicas"),
        pytest.param([steady(2 * HOUR)], id="too few"),
        pytest.param([steady(6 * HOUR), Replica()], id="one without samples"),
        pytest.param([steady(16 * DAY, step=600, begin=NOW - 16 * DAY), steady(HOUR, 9.0, 9e9, 60, NOW - 15 * DAY)], id="older than its window"),
        pytest.param([Replica(steady(6 * HOUR).cpu)], id="no memory"),
    ],
)  # fmt: skip
def test_the_krr_of_evidence_is_the_strategy_s(given: list[Replica]) -> None:
    assert evidence(*given).krr == Krr(until=NOW).answer({"main": given}).estimates.get("main")


@pytest.mark.parametrize("count", [200, 201, 250, 301])
def test_percentiles_of_many_samples_are_those_of_all_in_order(count: int) -> None:
    random = Random(count)
    values = [random.lognormvariate(0, 1) for _ in range(count)]
    one = Replica(
        [Sample(BEGIN + 120 * n, value) for n, value in enumerate(values)],
        [Sample(BEGIN + 120 * n, value * 1e9) for n, value in enumerate(values)],
    )
    found = evidence(one)
    assert found.cpu_p99 == round(quantile(values, 0.99) * 1000)
    assert found.memory_p99 == ceil(quantile([value * 1e9 for value in values], 0.99))
    assert found.krr == Krr(until=NOW).answer({"main": [one]}).estimates["main"]


@given(st.integers(0, 4_000_000_000), st.integers(-10, 2_000_000_000))
def test_a_plot_has_at_most_400_steps_that_reach_from_the_beginning_to_the_end(
    since: int, length: int
) -> None:
    found = grid(since, since + length)
    assert 1 <= found.count <= MOST_STEPS
    assert found.begin <= since
    assert found.begin + found.count * found.step >= since + length
    assert found.begin % found.step == 0
    assert 86_400 % found.step == 0 or found.step % 86_400 == 0


def test_eight_days_are_plotted_in_half_hours_with_gaps() -> None:
    found = evidence(steady(DAY), steady(DAY, begin=BEGIN + 2 * DAY, cores=0.1), steady(DAY, used=6e8)).series
    assert found is not None
    assert (found.begin, found.step) == (BEGIN, 1800)
    assert found.cpu_millicores == (500,) * 48 + (None,) * 48 + (100,) * 48 + (None,) * 240
    assert found.memory_bytes == (600_000_000,) * 48 + (None,) * 48 + (500_000_000,) * 48 + (None,) * 240


def test_samples_that_are_an_hour_apart_make_no_gaps() -> None:
    found = evidence(steady(8 * DAY, step=HOUR)).series
    assert found is not None
    assert found.step == 2 * HOUR
    assert found.memory_bytes == (500_000_000,) * 96


def test_the_last_second_of_the_window_is_in_the_last_step() -> None:
    found = evidence(memory((0, 1e9), (60, 1e9), (120, 1e9), (8 * DAY, 2e9))).series
    assert found is not None
    assert found.memory_bytes == (1_000_000_000, *[None] * 382, 2_000_000_000)


def test_what_is_beside_the_window_is_not_plotted() -> None:
    assert evidence(memory((-DAY, 1e9), (9 * DAY, 1e9))).series is None


def test_without_samples_there_is_only_the_floor() -> None:
    found = evidence(Replica())
    assert found.estimate == estimate_pod({"main": [Replica()]})["main"]
    assert (found.replicas, found.first, found.memory_peak_at, found.krr, found.series) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert (found.days, found.confidence) == ((), 0.0)
    assert found.memory is not None
    assert found.memory.target.bucket == -1


def test_nothing_at_all_has_no_evidence() -> None:
    assert summarize(columns_of([]), "", since=BEGIN, now=NOW) == []


def leasts(*given: Replica) -> list[int]:
    return [day.least // 10**6 for day in evidence(*given).days]


def run(begin_h: float, end_h: float, *levels: float) -> Replica:
    """Memory every ten minutes between these hours: these megabytes in turn, again and again."""
    times = range(int(begin_h * HOUR), int(end_h * HOUR), 600)
    return memory(*((at, levels[n % len(levels)] * 1e6) for n, at in enumerate(times)))


LEASTS = [
    pytest.param([run(0, 72, 300, 500)], [300, 300, 300], id="the lowest of one"),
    pytest.param([run(0, 72, 300), run(0, 72, 500)], [500, 500, 500], id="of two, the higher one's"),
    pytest.param(
        [run(0, 72, 300, 900, 900), run(0, 72, 900, 300, 900)], [300] * 3, id="collected in turns is collected"
    ),
    pytest.param([run(0, 72, 300), run(30, 33, 900)], [300, 300, 300], id="who is there for hours does not count"),
    pytest.param([run(0, 30, 600), run(30, 72, 400)], [600, 400, 400], id="who is replaced early"),
    pytest.param([run(0, 42, 600), run(42, 72, 400)], [600, 600, 400], id="who is replaced late"),
    pytest.param([memory((0, 1e7), (600, 1e8)), run(1, 72, 500)], [500] * 3, id="a short start"),
    pytest.param(
        [memory(*((at, 1e7 if at < HOUR else 5e8) for at in range(0, 3 * DAY, 600)))],
        [500] * 3,
        id="filling does not count",
    ),
    pytest.param([run(0, 5, 300)], [300], id="less than half a day, if it is all"),
    pytest.param([run(20, 72, 300)], [300, 300], id="less than half a day is left out"),
    pytest.param([run(0, 24, 300), run(48, 72, 400)], [300, 400], id="a day without samples"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), LEASTS)
def test_the_least_of_a_day_is_what_no_leak_can_hide(given: list[Replica], wanted: list[int]) -> None:
    assert leasts(*given) == wanted


@pytest.mark.parametrize(("given", "wanted"), LEASTS)
def test_days_do_not_depend_on_the_order_of_samples(given: list[Replica], wanted: list[int]) -> None:
    assert leasts(*(Replica((), list(reversed(each.memory))) for each in reversed(given))) == wanted


def test_a_day_s_peak_is_the_highest_of_all_replicas_however_short() -> None:
    days = evidence(run(0, 48, 300), run(30, 31, 900)).days
    assert [(day.at, day.peak) for day in days] == [(BEGIN, 300_000_000), (BEGIN + DAY, 900_000_000)]


class Half:
    """A strategy of another package."""

    def __init__(self) -> None:
        self.asked: list[Pod] = []

    def answer(self, pod: Pod) -> Answer:
        self.asked.append(pod)
        amounts = Amounts(1, 2)
        return Answer({name: Estimate(amounts, amounts, amounts) for name in pod if pod[name][0].cpu}, {})


def test_a_strategy_of_another_package_is_asked_about_each_container() -> None:
    half = Half()
    pod: Pod = {"one": [steady(HOUR)], "two": [memory((0, 1e9))]}
    found = summarize(columns_of([pod]), "", since=BEGIN, now=NOW, strategy=half)
    assert [each.other is not None for each in found] == [True, False]
    asked = [[len(replica.memory) for replica in asked["main"]] for asked in half.asked]
    assert asked == [[60], [1]]


@pytest.mark.parametrize("name", ["vpa", "krr"])
def test_what_is_reported_anyway_is_not_reported_twice(name: str) -> None:
    found = summarize(
        columns_of([{"a": [steady(HOUR)]}]), "", since=BEGIN, now=NOW, strategy=STRATEGIES[name]
    )
    assert found[0].other is None


def test_what_is_odd_or_partial_is_kept_with_its_container() -> None:
    pods: list[Pod] = [{"a": [steady(HOUR)], "b": [steady(HOUR)]}]
    found = summarize(
        columns_of(pods),
        "x",
        since=BEGIN,
        now=NOW,
        anomalies=[(), ("3 values were NaN",)],
        partial=[True, False],
    )
    assert [(each.anomalies, each.is_partial) for each in found] == [
        ((), True),
        (("3 values were NaN",), False),
    ]


def test_evidence_is_read_back_as_it_was_written_even_without_confidence() -> None:
    for replica in (steady(6 * HOUR), memory((0, 5e8)), Replica()):
        found = evidence(replica)
        assert msgspec.json.decode(msgspec.json.encode(found), type=Evidence) == found
