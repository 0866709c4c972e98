"""Charts of sizes: what is drawn of a container, and what is kept of its use."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR
from tests.rightsize.report.reviews import MI, sample_review, size

from remuda.rightsize.evidence import OomKill, Series
from remuda.rightsize.report.figures import RESOURCES
from remuda.rightsize.report.size_charts import Span, size_chart, with_few_points, with_fewer_points
from remuda.rightsize.review import ContainerReview
from remuda.rightsize.snapshot import Size
from remuda.web.chart import Chart

END = BEGIN + 8 * DAY
SPAN = Span(BEGIN * 1000, END * 1000)


def container(series: Series | None, kills: tuple[OomKill, ...] = ()) -> ContainerReview:
    found = sample_review().workloads[0].containers[0]
    assert found.evidence is not None
    evidence = msgspec.structs.replace(found.evidence, series=series, kills=kills)
    return msgspec.structs.replace(found, evidence=evidence)


def hourly(*amounts: int | None, begin: int = BEGIN, step: int = HOUR) -> Series:
    return Series(begin, step, amounts, amounts)


def values(drawn: Chart) -> list[int | float | None]:
    (line,) = drawn.series
    return [None if value is None else value * drawn.scale for value in line.values]


def test_use_is_drawn_at_its_times_and_a_gap_is_a_gap() -> None:
    amounts = [100] * 20 + [None] * 10 + [200]
    drawn = size_chart("cpu", container(hourly(*amounts)), SPAN, 200)
    assert list(drawn.times[:2]) == [BEGIN * 1000, (BEGIN + HOUR) * 1000]
    assert len(drawn.times) == 31
    assert values(drawn) == amounts
    assert drawn.span == SPAN


def test_the_highest_of_many_points_is_drawn() -> None:
    amounts = [10] * 11_520
    amounts[5_000] = 1_000
    drawn = size_chart("cpu", container(hourly(*amounts, step=60)), SPAN, 200)
    assert len(drawn.times) == 199
    assert max(value for value in values(drawn) if value is not None) == 1_000
    assert drawn.summary.startswith("CPU of app: used up to 1;")


def test_large_amounts_are_sent_with_few_digits_that_are_nearly_right() -> None:
    drawn = size_chart("memory", container(hourly(*[300 * MI + n for n in range(90)])), SPAN, 200)
    (line,) = drawn.series
    assert all(value is not None and value < 4_096 for value in line.values)
    assert values(drawn) == pytest.approx([300 * MI] * 90, rel=0.001)


def test_without_samples_the_chart_is_empty_and_its_words_have_the_levels() -> None:
    drawn = size_chart("memory", container(None), SPAN, 200)
    assert drawn.is_empty
    assert drawn.summary == "Memory of app: no use to draw; request and limit 512Mi; advised 816Mi"


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        pytest.param(size(), size(), [], id="nothing at all"),
        pytest.param(size(memory=512, memory_limit=1024), size(memory=512, memory_limit=1024),
                     ["request 512", "limit 1024"], id="what is kept is named once"),
        pytest.param(size(memory=512, memory_limit=512), size(memory=640, memory_limit=768),
                     ["request and limit 512", "advised request 640", "advised limit 768"], id="both"),
        pytest.param(size(), size(memory=768, memory_limit=768), ["advised 768"], id="none before"),
        pytest.param(size(memory_limit=1024), size(memory=300, memory_limit=1024),
                     ["advised request 300", "limit 1024"], id="a limit that stays"),
        pytest.param(size(memory=300), size(memory=400), ["request 300", "advised 400"], id="no limit"),
    ],
)  # fmt: skip
def test_what_is_set_and_what_is_advised_are_levels(now: Size, then: Size, message: list[str]) -> None:
    item = msgspec.structs.replace(container(hourly(300 * MI)), now=now, recommended=then)
    drawn = size_chart("memory", item, SPAN, 200)
    assert sorted(f"{each.name} {int(each.value) // MI}" for each in drawn.levels) == sorted(message)


def test_requests_are_dashed_and_what_is_advised_has_a_colour_of_its_own() -> None:
    item = msgspec.structs.replace(
        container(hourly(300 * MI)),
        now=size(memory=300, memory_limit=500),
        recommended=size(memory=400, memory_limit=600),
    )
    levels = {each.name: (each.colour, each.is_dashed) for each in size_chart("memory", item, SPAN, 9).levels}
    assert levels == {
        "limit": ("ink", False),
        "request": ("ink", True),
        "advised limit": ("demand", False),
        "advised request": ("demand", True),
    }


def test_what_is_far_above_everything_is_named_and_flattens_nothing() -> None:
    item = msgspec.structs.replace(
        container(hourly(*[300 * MI] * 192)),
        now=size(memory=320, memory_limit=320),
        recommended=size(memory=350, memory_limit=95 * 2**20),
    )
    drawn = size_chart("memory", item, SPAN, 200)
    assert [each.name for each in drawn.levels] == ["request and limit", "advised request"]
    assert "advised limit 95Ti, far above what is drawn" in drawn.summary


def test_kills_are_marked_where_they_were_and_counted() -> None:
    kills = (OomKill(BEGIN + 4 * DAY, 1), OomKill(BEGIN + 6 * DAY, 1), OomKill(BEGIN - DAY, 1))
    drawn = size_chart("memory", container(hourly(5), kills), SPAN, 200)
    assert drawn.marks == ((BEGIN + 4 * DAY) * 1000, (BEGIN + 6 * DAY) * 1000)
    assert drawn.summary.endswith("; OOM-killed 2 times")
    assert size_chart("cpu", container(hourly(5), kills), SPAN, 200).marks == ()


AMOUNTS = st.one_of(st.none(), st.integers(0, 10**14))


@given(amounts=st.lists(AMOUNTS, max_size=60), most=st.integers(1, 70))
def test_safety_fewer_points_never_hide_a_peak_and_cover_the_same_time(
    amounts: list[int | None], most: int
) -> None:
    before = Series(BEGIN, 60, tuple(amounts), tuple(amounts[::-1]))
    after = with_fewer_points(before, most)
    assert len(after.cpu_millicores) <= most
    assert len(after.cpu_millicores) == len(after.memory_bytes)
    for old, new in (
        (before.cpu_millicores, after.cpu_millicores),
        (before.memory_bytes, after.memory_bytes),
    ):
        assert max((each for each in old if each is not None), default=None) == max(
            (each for each in new if each is not None), default=None
        )
    assert len(after.cpu_millicores) * after.step >= len(amounts) * 60
    assert after.begin == BEGIN


@given(
    amounts=st.lists(AMOUNTS, max_size=30),
    sizes=st.lists(st.one_of(st.none(), st.integers(0, 2**43)), min_size=8, max_size=8),
)
def test_safety_whatever_is_known_becomes_a_chart_in_the_order_of_time(
    amounts: list[int | None], sizes: list[int | None]
) -> None:
    item = msgspec.structs.replace(
        container(hourly(*amounts)), now=size(*sizes[:4]), recommended=size(*sizes[4:])
    )
    for resource in RESOURCES:
        drawn = size_chart(resource, item, SPAN, 10)
        assert all(before < after for before, after in pairwise(drawn.times))
        assert all(len(line.values) == len(drawn.times) for line in drawn.series)
        assert drawn.is_empty == (not any(amount is not None for amount in amounts))


def test_points_of_many_containers_are_few_together() -> None:
    review = sample_review()
    few = with_few_points(review, 200, 8 * 30)
    counts = [
        len(item.evidence.series.memory_bytes)
        for workload in few.workloads
        for item in workload.containers
        if item.evidence and item.evidence.series
    ]
    assert max(counts) == 28, "192 hours in steps of 7"
    assert with_few_points(review, 200, 400_000) == review


def test_a_review_with_few_points_has_everything_else() -> None:
    before, after = sample_review(), with_few_points(sample_review(), 10, 400_000)
    assert len(msgspec.json.encode(after)) < len(msgspec.json.encode(before))
    for old, new in zip(before.workloads, after.workloads, strict=True):
        for item, small in zip(old.containers, new.containers, strict=True):
            if item.evidence is None or small.evidence is None:
                assert item == small
                continue
            without = [msgspec.structs.replace(each, series=None) for each in (item.evidence, small.evidence)]
            assert without[0] == without[1]
            assert small.evidence.series is not None
