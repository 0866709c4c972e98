"""Instants and ages for people."""

import time
from collections.abc import Iterator

import pytest

from remuda.model.times import DAY, HOUR, MINUTE, SECOND
from remuda.output.moments import age, clock_time

NOW = 1_767_614_400_000  # 2026-01-05T12:00:00Z


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (999, "0s"),
        (SECOND, "1s"),
        (59_999, "59s"),
        (MINUTE, "1m"),
        (3 * MINUTE + 40 * SECOND, "3m40s"),
        (HOUR, "1h"),
        (2 * HOUR + 5 * MINUTE + 59 * SECOND, "2h5m"),
        (HOUR + 59 * SECOND, "1h"),
        (4 * DAY, "4d"),
        (4 * DAY + 5 * HOUR, "4d5h"),
        (400 * DAY, "400d"),
    ],
)
def test_an_age_has_at_most_two_units(ms: int, text: str) -> None:
    assert age(ms) == text


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("tokyo")
@pytest.mark.parametrize(
    ("at", "text"),
    [
        pytest.param(NOW, "21:00:00", id="now, where the person is"),
        pytest.param(NOW - DAY + 1, "21:00:00", id="within a day"),
        pytest.param(NOW - DAY, "2026-01-04 21:00:00", id="a day ago"),
        pytest.param(NOW + 2 * DAY, "2026-01-07 21:00:00", id="days ahead"),
    ],
)
def test_the_time_of_day_has_a_date_when_it_is_not_near(at: int, text: str) -> None:
    assert clock_time(at, NOW) == text
