"""Charts: axes with round numbers and units, whatever the values are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.times import DAY, HOUR, MINUTE
from remuda.output.charts import Series, chart, round_ticks

#: 2026-01-31T14:00:00Z
NOON = 1_769_868_000_000


def texts(drawn: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


@pytest.mark.parametrize(
    ("highest", "scale", "ticks"),
    [
        pytest.param(1_310, 1, [0, 500, 1_000, 1_500], id="not 327, 655 and 982"),
        pytest.param(1, 1, [0, 1], id="next to nothing"),
        pytest.param(10, 1, [0, 2, 4, 6, 8, 10], id="exactly at the top"),
        pytest.param(11, 1, [0, 5, 10, 15], id="just above it"),
        pytest.param(137, 100, [0, 50, 100, 150], id="dollars of cents"),
        pytest.param(3_600 * 7, 3_600, [0, 7_200, 14_400, 21_600, 28_800], id="hours of seconds"),
    ],
)
def test_marks_are_round(highest: int, scale: int, ticks: list[int]) -> None:
    assert round_ticks(highest, scale) == ticks


@given(st.integers(1, 10**15), st.sampled_from([1, 100, 1_000]))
def test_safety_marks_reach_the_highest_value_and_are_few(highest: int, scale: int) -> None:
    ticks = round_ticks(highest, scale)
    assert ticks[0] == 0
    assert ticks[-1] >= highest
    assert ticks[-2] < highest
    assert 2 <= len(ticks) <= 6


def test_values_carry_their_unit() -> None:
    one = [Series("a", 0, [0, 80])]
    assert "80%" in texts(chart("t", "c", [0, HOUR], one, unit="%"))
    assert "$0.20" in texts(chart("t", "c", [0, HOUR], [Series("a", 0, [0, 80])], unit="$", scale=100))
    assert "100 h" in texts(chart("t", "c", [0, HOUR], [Series("a", 0, [0, 95])], unit=" h"))


@pytest.mark.parametrize(
    ("first", "last", "dated", "shown"),
    [
        pytest.param(
            0, 47 * MINUTE, False, ["0:00", "0:10", "0:20", "0:30", "0:40"], id="minutes since the beginning"
        ),
        pytest.param(0, 5 * HOUR, False, ["0:00", "1:00", "2:00", "3:00", "4:00", "5:00"], id="hours"),
        pytest.param(
            NOON + 1, NOON + 11 * HOUR, True, ["16:00", "18:00", "20:00", "22:00", "1 Feb"], id="a night"
        ),
        pytest.param(NOON, NOON + 5 * DAY, True, ["1 Feb", "2 Feb", "3 Feb", "4 Feb", "5 Feb"], id="days"),
        pytest.param(NOON, NOON, True, ["14:00"], id="a moment"),
    ],
)
def test_times_are_round(first: int, last: int, dated: bool, shown: list[str]) -> None:
    drawn = chart("t", "c", [first, last], [Series("a", 0, [0, 1])], dated=dated)
    found = [text for text in texts(drawn) if ":" in text or "Feb" in text]
    assert found == shown


def test_years_have_few_marks() -> None:
    drawn = chart("t", "c", [0, 3_000 * DAY], [Series("a", 0, [0, 1])], dated=True)
    assert 3 <= len([text for text in texts(drawn) if text[-1].isalpha()]) <= 8


def test_a_chart_of_nothing_is_drawn() -> None:
    assert "<svg" in chart("t", "c", [], [Series("a", 0, [])], stacked=True)
