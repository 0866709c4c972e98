"""Windows of time: open from a start to the next end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.times import HOUR, MINUTE, parse_instant
from remuda.rules.windows import Window, first_open, is_open

WORKDAYS = Window("0 8 * * MON-FRI", "0 18 * * MON-FRI", "Europe/Berlin")
NIGHTS = Window("0 22 * * *", "0 6 * * *", "Europe/Berlin")
WEEKENDS = Window("0 18 * * FRI", "0 8 * * MON", "America/New_York")
SKIPPED = Window("30 2 * * *", "0 4 * * *", "Europe/Berlin")
REPEATED = Window("15 1 * * *", "45 1 * * *", "America/New_York")


@pytest.mark.parametrize(
    ("window", "at", "opened"),
    [
        pytest.param(WORKDAYS, "2026-01-07T06:59:59Z", False, id="a second before it starts"),
        pytest.param(WORKDAYS, "2026-01-07T07:00:00Z", True, id="the moment it starts"),
        pytest.param(WORKDAYS, "2026-01-07T16:59:59Z", True, id="a second before it ends"),
        pytest.param(WORKDAYS, "2026-01-07T17:00:00Z", False, id="the moment it ends"),
        pytest.param(WORKDAYS, "2026-01-10T10:00:00Z", False, id="a Saturday"),
        pytest.param(WORKDAYS, "2026-07-07T06:00:00Z", True, id="an hour earlier in summer"),
        pytest.param(NIGHTS, "2026-01-07T23:30:00Z", True, id="past midnight"),
        pytest.param(NIGHTS, "2026-01-07T12:00:00Z", False, id="noon"),
        pytest.param(NIGHTS, "2026-03-29T03:59:00Z", True, id="the short night ends by the wall"),
        pytest.param(NIGHTS, "2026-03-29T04:00:00Z", False, id="the short night is over"),
        pytest.param(NIGHTS, "2026-10-25T04:59:00Z", True, id="the long night ends by the wall"),
        pytest.param(NIGHTS, "2026-10-25T05:00:00Z", False, id="the long night is over"),
        pytest.param(WEEKENDS, "2026-01-09T22:59:00Z", False, id="Friday afternoon"),
        pytest.param(WEEKENDS, "2026-01-09T23:00:00Z", True, id="Friday evening"),
        pytest.param(WEEKENDS, "2026-03-09T11:59:00Z", True, id="Monday morning after the jump"),
        pytest.param(WEEKENDS, "2026-03-09T12:00:00Z", False, id="Monday at work after the jump"),
        pytest.param(SKIPPED, "2026-03-29T00:59:00Z", False, id="a start that is skipped, before the jump"),
        pytest.param(SKIPPED, "2026-03-29T01:00:00Z", True, id="a start that is skipped comes with the jump"),
        pytest.param(REPEATED, "2026-11-01T05:30:00Z", True, id="open in the hour that will be repeated"),
        pytest.param(REPEATED, "2026-11-01T06:30:00Z", False, id="not opened again by the repeated hour"),
        pytest.param(
            Window("0 8 * * *", "0 8 * * *", "UTC"), "2026-01-07T12:00:00Z", False, id="start is end"
        ),
        pytest.param(
            Window("0 0 29 2 *", "0 0 1 3 *", "UTC"), "2103-01-01T00:00:00Z", False, id="never started"
        ),
        pytest.param(
            Window("0 0 1 1 *", "0 0 29 2 *", "UTC"), "2103-06-01T00:00:00Z", True, id="never ended"
        ),
    ],
)
def test_a_window_is_open(window: Window, at: str, opened: bool) -> None:
    assert is_open(window, parse_instant(at, 0)) is opened


@pytest.mark.parametrize(
    ("windows", "index"),
    [
        pytest.param((), None, id="none at all"),
        pytest.param((NIGHTS,), None, id="none open"),
        pytest.param((NIGHTS, WORKDAYS), 1, id="the open one"),
        pytest.param((WORKDAYS, Window("0 0 * * *", "59 23 * * *", "UTC")), 0, id="the first of two"),
    ],
)
def test_the_first_open_window_is_found(windows: tuple[Window, ...], index: int | None) -> None:
    assert first_open(windows, parse_instant("2026-01-07T12:00:00Z", 0)) == index


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 48 * 60))
def test_safety_a_daily_window_in_utc_is_plain_arithmetic(start: int, end: int, minutes: int) -> None:
    window = Window(f"0 {start} * * *", f"0 {end} * * *", "UTC")
    hours_since_start = (minutes * MINUTE - start * HOUR) % (24 * HOUR) / HOUR
    assert is_open(window, minutes * MINUTE) is (hours_since_start < (end - start) % 24)
