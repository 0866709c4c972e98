"""Plots: what is where, whatever is drawn."""

import re
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR
from tests.rightsize.report.reviews import GI, MI, sample_review, size

from remuda.output.plots import BASE, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Window, axis
from remuda.rightsize.evidence import OomKill, Series
from remuda.rightsize.report.plots import plot
from remuda.rightsize.review import ContainerReview

END = BEGIN + 8 * DAY
WINDOW = Window(BEGIN, END)
_NUMBER = re.compile(r"-?\d+")


def container(series: Series | None, kills: tuple[OomKill, ...] = ()) -> ContainerReview:
    found = sample_review().workloads[0].containers[0]
    assert found.evidence is not None
    evidence = msgspec.structs.replace(found.evidence, series=series, kills=kills)
    return msgspec.structs.replace(found, evidence=evidence)


def hourly(*amounts: int | None, begin: int = BEGIN, step: int = HOUR) -> Series:
    return Series(begin, step, amounts, amounts)


def area(drawn: str) -> list[list[tuple[int, int]]]:
    """The corners of each part of the area, in absolute numbers."""
    found = re.search(r'class="u" d="([^"]*)"', drawn)
    runs = []
    for piece in re.findall(r"M[^M]*", found[1]) if found else ():
        start, up, moves = re.fullmatch(r"M(\d+) \d+V(-?\d+)l(.*)V\d+z", piece).groups()  # type: ignore[union-attr]
        x, y = int(start), int(up)
        points = [(x, y)]
        numbers = [int(each) for each in _NUMBER.findall(moves)]
        for across, down in zip(numbers[::2], numbers[1::2], strict=True):
            x, y = x + across, y + down
            points.append((x, y))
        runs.append(points)
    return runs


def labels(drawn: str) -> dict[str, int]:
    end = WIDTH - RIGHT + 18
    return {name: int(y) - 7 for y, name in re.findall(rf'x="{end}" y="(-?\d+)">([^<]*)<', drawn)}


def test_a_gap_parts_the_area_and_a_lone_point_can_be_seen() -> None:
    amounts = [100] * 20 + [None] * 10 + [200] + [None] * 10 + [100] * 20
    first, lone, last = area(plot("cpu", container(hourly(*amounts)), WINDOW))
    assert first[0][0] == LEFT
    assert len(lone) == 2
    assert lone[1][0] > lone[0][0]
    assert first[-1][0] < lone[0][0] < last[0][0]


def test_a_gap_that_is_too_narrow_to_see_parts_nothing() -> None:
    amounts = [100 if n % 7 else None for n in range(8 * 24 * 60)]
    (run,) = area(plot("cpu", container(hourly(*amounts, step=60)), WINDOW))
    assert run[0][0] == LEFT


def test_the_highest_of_many_points_is_drawn() -> None:
    amounts = [10] * 11_520
    amounts[5_000] = 1_000
    drawn = plot("cpu", container(hourly(*amounts, step=60)), WINDOW)
    assert min(y for run in area(drawn) for _, y in run) == BASE - 1_000 * (BASE - TOP) // 1_062
    assert "use, to 1</text>" in drawn


def test_a_level_line_takes_two_points() -> None:
    (run,) = area(plot("cpu", container(hourly(*[100] * 192)), WINDOW))
    assert len(run) == 2


def test_points_outside_the_window_are_left_out() -> None:
    assert area(plot("cpu", container(hourly(5, 5, begin=END + HOUR)), WINDOW)) == []
    (run,) = area(plot("cpu", container(hourly(*[5] * 48, begin=BEGIN - DAY)), WINDOW))
    assert run[0][0] == LEFT


def test_without_samples_the_bounds_are_still_drawn() -> None:
    drawn = plot("memory", container(None), WINDOW)
    assert "no samples to plot" in drawn
    assert set(labels(drawn)) == {"now 512Mi", "advised 816Mi"}


@pytest.mark.parametrize(
    ("now", "then", "message"),
    [
        pytest.param(size(), size(), [], id="nothing at all"),
        pytest.param(size(memory=512, memory_limit=1024), size(memory=512, memory_limit=1024),
                     ["request 512Mi", "limit 1Gi"], id="what is kept is named once"),
        pytest.param(size(memory=512, memory_limit=512), size(memory=640, memory_limit=768),
                     ["now 512Mi", "adv. request 640Mi", "adv. limit 768Mi"], id="both"),
        pytest.param(size(), size(memory=768, memory_limit=768), ["advised 768Mi"], id="none before"),
        pytest.param(size(memory_limit=1024), size(memory=300, memory_limit=1024),
                     ["adv. request 300Mi", "limit 1Gi"], id="a limit that stays"),
    ],
)  # fmt: skip
def test_lines_are_named_at_their_ends(now: object, then: object, message: list[str]) -> None:
    item = msgspec.structs.replace(container(None), now=now, recommended=then)
    assert sorted(labels(plot("memory", item, WINDOW))) == sorted(message)


def test_what_is_far_above_everything_is_named_at_the_top_and_flattens_nothing() -> None:
    item = msgspec.structs.replace(
        container(hourly(*[300 * MI] * 192)),
        now=size(memory=320, memory_limit=320),
        recommended=size(memory=350, memory_limit=95 * 2**20),
    )
    drawn = plot("memory", item, WINDOW)
    assert "↑ adv. limit 95Ti" in labels(drawn)
    assert area(drawn)[0][0][1] < (TOP + BASE) // 2


def test_kills_are_marked_where_they_were_and_counted() -> None:
    kills = (OomKill(BEGIN + 4 * DAY, 1), OomKill(BEGIN + 6 * DAY, 1), OomKill(BEGIN - DAY, 1))
    drawn = plot("memory", container(hourly(5), kills), WINDOW)
    middle = LEFT + (WIDTH - LEFT - RIGHT) // 2
    assert f"M{middle} {BASE}V{TOP}" in drawn
    assert ">2 OOM kills<" in drawn
    assert "OOM-killed 2 times" in drawn
    assert "OOM" not in plot("cpu", container(hourly(5), kills), WINDOW)


@pytest.mark.parametrize(
    ("days", "first", "count"), [(8, "1 Jan", 8), (1, "1 Jan", 5), (90, "1 Jan", 9), (30, "1 Jan", 8)]
)
def test_the_axis_has_days_and_never_too_many(days: int, first: str, count: int) -> None:
    texts = re.findall(r">([^<]+)</text>", axis(Window(BEGIN, BEGIN + days * DAY)))
    assert texts[0] == first
    assert len(texts) <= count
    assert len(texts) >= 3


def test_the_month_is_reported_where_it_is_a_new_one() -> None:
    texts = re.findall(r">([^<]+)</text>", axis(Window(BEGIN - 4 * DAY, BEGIN + 4 * DAY)))
    assert texts == ["28 Dec", "29", "30", "31", "1 Jan", "2", "3", "4"]


AMOUNTS = st.one_of(st.none(), st.integers(0, 10**14), st.integers(0, 2 * GI))
ASKS = st.one_of(st.none(), st.integers(0, 2**43))


@pytest.mark.slow
@given(
    amounts=st.lists(AMOUNTS, max_size=30),
    step=st.integers(1, DAY),
    begin=st.integers(BEGIN - DAY, END),
    sizes=st.lists(ASKS, min_size=8, max_size=8),
    kills=st.lists(st.integers(BEGIN - DAY, END + DAY), max_size=3),
)
def test_everything_is_within_the_drawing(
    amounts: list[int | None], step: int, begin: int, sizes: list[int | None], kills: list[int]
) -> None:
    item = msgspec.structs.replace(
        container(Series(begin, step, tuple(amounts), tuple(amounts)), tuple(OomKill(at, 1) for at in kills)),
        now=size(*sizes[:4]),
        recommended=size(*sizes[4:]),
    )
    for resource in ("cpu", "memory"):
        drawn = plot(resource, item, WINDOW)
        for run in area(drawn):
            assert all(LEFT <= x <= WIDTH - RIGHT + 3 and TOP <= y <= BASE for x, y in run)
            assert [x for x, _ in run] == sorted({x for x, _ in run})
        places = sorted(labels(drawn).values())
        assert all(0 < place < HEIGHT for place in places)
        assert all(after - before >= 20 for before, after in pairwise(places))
        for x, y in re.findall(r'<text[^>]* x="(-?\d+)" y="(-?\d+)"', drawn):
            assert 0 <= int(x) <= WIDTH
            assert 0 <= int(y) <= HEIGHT
        assert "nan" not in drawn.lower()
