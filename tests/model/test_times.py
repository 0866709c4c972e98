import re
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.model.times import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Duration,
    is_go_duration,
    parse_instant,
    read_instant,
    write_duration,
    write_instant,
)

NOW = 1_770_000_000_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        pytest.param("90s", 90 * SECOND, id="seconds"),
        pytest.param("1h30m", 90 * MINUTE, id="parts add up"),
        pytest.param("500ms", 500, id="milliseconds are not minutes"),
        pytest.param("1d", DAY, id="days"),
        pytest.param("0s", 0, id="zero with a unit"),
        pytest.param("0", 0, id="zero without"),
        pytest.param(0, 0, id="zero as a number"),
    ],
)
def test_a_duration_is_read(text: object, ms: int) -> None:
    assert Duration.parse(text) == ms


@pytest.mark.parametrize(
    "text", ["10 minutes", "", "10", 10, "s", "1.5h", "-1s", "1h 30m", "1s\n", False, None, "1y", "٣h"]
)
def test_what_is_no_duration_is_refused_with_the_right_form(text: object) -> None:
    with pytest.raises(ValueError, match=re.escape("like 90s, 10m or 1h30m")):
        Duration.parse(text)


def test_a_duration_over_ten_years_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than ten years"):
        Duration.parse("99999d")


@given(st.integers(0, 3_660 * DAY))
def test_a_duration_is_written_as_it_is_read(ms: int) -> None:
    text = str(Duration(ms))
    assert Duration.parse(text) == ms
    assert re.fullmatch(Duration.json_schema["pattern"].strip("^$"), text)


def test_a_duration_is_written_largest_unit_first() -> None:
    assert write_duration(DAY + 2 * HOUR + 5 * SECOND + 7) == "1d2h5s7ms"
    assert write_duration(0) == "0s"
    assert write_duration(-90 * SECOND) == "-1m30s"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("10m", NOW - 10 * MINUTE, id="a duration is that long ago"),
        pytest.param("1970-01-02T00:00:00Z", DAY, id="RFC 3339"),
        pytest.param("1970-01-02T00:00:00", DAY, id="no zone is UTC"),
        pytest.param("1970-01-02T01:00:00+01:00", DAY, id="an offset is honoured"),
        pytest.param("1970-01-02", DAY, id="a day is its midnight"),
        pytest.param("1970-01-01T00:00:00.250Z", 250, id="milliseconds are kept"),
    ],
)
def test_an_instant_is_read(text: str, at: int) -> None:
    assert parse_instant(text, NOW) == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("1970-01-20T12:00:00", "1970-01-20T10:00:00Z", id="no zone is the one given"),
        pytest.param("1970-01-20 12:00:00", "1970-01-20T10:00:00Z", id="as a time is shown"),
        pytest.param("1970-01-20T12:00:00Z", "1970-01-20T12:00:00Z", id="a zone is honoured"),
        pytest.param("15:30:01", "1970-01-20T13:30:01Z", id="a time of today"),
        pytest.param("15:30", "1970-01-20T13:30:00Z", id="without seconds"),
        pytest.param("16:00:00", "1970-01-20T14:00:00Z", id="just now"),
        pytest.param("16:00:01", "1970-01-19T14:00:01Z", id="what is still to come today was yesterday"),
        pytest.param("00:30:00", "1970-01-19T22:30:00Z", id="after midnight there"),
    ],
)
def test_a_time_without_a_zone_is_in_the_reader_s(text: str, at: str) -> None:
    two_hours_east = timezone(timedelta(hours=2))
    now = parse_instant("1970-01-20T14:00:00Z", 0)
    found = parse_instant(text, now, lambda read: read.replace(tzinfo=two_hours_east))
    assert write_instant(found) == at


@pytest.mark.parametrize(
    "text", ["", "yesterday", "25:00", "2026-13-01", "12345", "12:60", "12:", "0001-01-01T00:00:00x", "١٢:٠٠"]
)
def test_what_is_no_instant_is_refused_with_the_right_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_instant(text, NOW)


@given(st.integers(0, 4_000_000_000))
def test_a_written_instant_reads_back_to_the_second(seconds: int) -> None:
    assert parse_instant(write_instant(seconds * SECOND), NOW) == seconds * SECOND


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        pytest.param("1970-01-01T00:00:01Z", 1_000, id="in UTC"),
        pytest.param("1970-01-01T01:00:01.500+01:00", 1_500, id="in a zone, with a fraction"),
        pytest.param("1970-01-01T00:00:01", 1_000, id="without a zone it is UTC"),
    ],
)
def test_a_time_of_another_program_is_read(text: str, instant: int) -> None:
    assert read_instant(text) == instant


@pytest.mark.parametrize("text", ["", "yesterday", "14:05", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_instant(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("5m", True), ("1.5h30s", True), ("", False), ("1d", False), ("5 m", False), ("5", False)],
)
def test_a_duration_of_go_is_known(text: str, is_one: bool) -> None:
    assert is_go_duration(text) is is_one
