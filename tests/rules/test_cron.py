"""Cron expressions: what is understood, what is refused and how, and when they fired last."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from remuda.model.times import DAY, MINUTE, Instant, parse_instant, write_instant
from remuda.rules.cron import parse_cron

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def last_fire(text: str, at: str, zone: str = "UTC") -> str | None:
    fired = parse_cron(text).last_fire(parse_instant(at, 0), zone)
    return None if fired is None else write_instant(fired)


@pytest.mark.parametrize(
    ("text", "at", "fired"),
    [
        pytest.param("* * * * *", "2026-01-07T12:34:56Z", "2026-01-07T12:34:00Z", id="every minute"),
        pytest.param("*/15 * * * *", "2026-01-07T12:44:00Z", "2026-01-07T12:30:00Z", id="a step"),
        pytest.param(
            "5-20/5 * * * *", "2026-01-07T12:59:00Z", "2026-01-07T12:20:00Z", id="a range with a step"
        ),
        pytest.param(
            "0 8 * * *", "2026-01-07T08:00:00Z", "2026-01-07T08:00:00Z", id="the very minute counts"
        ),
        pytest.param(
            "0 8 * * *", "2026-01-07T07:59:59Z", "2026-01-06T08:00:00Z", id="a second early is yesterday"
        ),
        pytest.param("30 8,17 * * *", "2026-01-07T09:00:00Z", "2026-01-07T08:30:00Z", id="a list"),
        pytest.param(
            "0 0 1 * *", "2026-03-31T00:00:00Z", "2026-03-01T00:00:00Z", id="the first of the month"
        ),
        pytest.param(
            "0 0 31 * *", "2026-04-30T00:00:00Z", "2026-03-31T00:00:00Z", id="short months are passed over"
        ),
        pytest.param("0 0 1 JAN *", "2026-12-31T00:00:00Z", "2026-01-01T00:00:00Z", id="a named month"),
        pytest.param(
            "0 0 1 jan,Dec *", "2026-12-31T00:00:00Z", "2026-12-01T00:00:00Z", id="names in any case"
        ),
        pytest.param("0 0 29 2 *", "2026-01-01T00:00:00Z", "2024-02-29T00:00:00Z", id="a leap day"),
        pytest.param(
            "0 0 29 2 *", "2101-03-05T00:00:00Z", "2096-02-29T00:00:00Z", id="a leap day five years ago"
        ),
        pytest.param("0 0 29 2 *", "2101-03-06T00:00:00Z", None, id="a leap day too long ago"),
        pytest.param(
            "0 0 * * MON-FRI", "2026-01-11T12:00:00Z", "2026-01-09T00:00:00Z", id="a weekend is passed over"
        ),
        pytest.param("0 0 * * 7", "2026-01-14T00:00:00Z", "2026-01-11T00:00:00Z", id="7 is Sunday"),
        pytest.param("0 0 * * 0", "2026-01-14T00:00:00Z", "2026-01-11T00:00:00Z", id="0 is Sunday"),
        pytest.param("0 0 * * SUN", "2026-01-14T00:00:00Z", "2026-01-11T00:00:00Z", id="SUN is Sunday"),
        pytest.param(
            "0 0 * * FRI-SUN", "2026-01-14T00:00:00Z", "2026-01-11T00:00:00Z", id="a range may end on SUN"
        ),
        pytest.param(
            "0 0 * * SUN-MON", "2026-01-14T00:00:00Z", "2026-01-12T00:00:00Z", id="a range may begin on SUN"
        ),
        pytest.param(
            "0 0 13 * FRI", "2026-01-14T00:00:00Z", "2026-01-13T00:00:00Z", id="either day: the 13th"
        ),
        pytest.param(
            "0 0 13 * FRI", "2026-01-12T00:00:00Z", "2026-01-09T00:00:00Z", id="either day: a Friday"
        ),
        pytest.param(
            "0 0 */2 * FRI", "2026-01-23T00:00:00Z", "2026-01-23T00:00:00Z", id="a star step needs both days"
        ),
        pytest.param(
            "0 0 */2 * FRI", "2026-01-22T00:00:00Z", "2026-01-09T00:00:00Z", id="both days, the last time"
        ),
        pytest.param(
            "0 0 31 2 MON", "2026-02-04T00:00:00Z", "2026-02-02T00:00:00Z", id="no 31st, but a Monday"
        ),
        pytest.param(
            "0  8\t* * *", "2026-01-07T08:00:00Z", "2026-01-07T08:00:00Z", id="any blanks between fields"
        ),
        pytest.param("0 8 * * *", "1970-01-01T00:00:00Z", "1969-12-31T08:00:00Z", id="before 1970"),
    ],
)
def test_it_fired_last(text: str, at: str, fired: str | None) -> None:
    assert last_fire(text, at) == fired


@pytest.mark.parametrize(
    ("zone", "text", "at", "fired"),
    [
        pytest.param(
            BERLIN, "0 8 * * *", "2026-01-07T07:00:00Z", "2026-01-07T07:00:00Z", id="winter in Berlin"
        ),
        pytest.param(
            BERLIN, "0 8 * * *", "2026-07-07T06:00:00Z", "2026-07-07T06:00:00Z", id="summer in Berlin"
        ),
        # Berlin leaps from 02:00 to 03:00 at 01:00 UTC on 29 March
        pytest.param(
            BERLIN,
            "30 2 * * *",
            "2026-03-29T12:00:00Z",
            "2026-03-29T01:00:00Z",
            id="a skipped time fires at the jump",
        ),
        pytest.param(
            BERLIN, "30 2 * * *", "2026-03-29T00:59:59Z", "2026-03-28T01:30:00Z", id="but not before the jump"
        ),
        pytest.param(
            BERLIN,
            "*/20 2 * * *",
            "2026-03-29T23:00:00Z",
            "2026-03-29T01:00:00Z",
            id="all skipped times fire at once",
        ),
        pytest.param(
            BERLIN,
            "0 3 * * *",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:00:00Z",
            id="the first time after the jump",
        ),
        pytest.param(
            BERLIN,
            "59 1 * * *",
            "2026-03-29T01:00:00Z",
            "2026-03-29T00:59:00Z",
            id="the last time before the jump",
        ),
        # Berlin goes back from 03:00 to 02:00 at 01:00 UTC on 25 October
        pytest.param(
            BERLIN,
            "30 2 * * *",
            "2026-10-25T00:30:00Z",
            "2026-10-25T00:30:00Z",
            id="a repeated time fires first",
        ),
        pytest.param(
            BERLIN,
            "30 2 * * *",
            "2026-10-25T01:30:00Z",
            "2026-10-25T00:30:00Z",
            id="and not again the second time",
        ),
        pytest.param(
            BERLIN,
            "45 2 * * *",
            "2026-10-25T01:10:00Z",
            "2026-10-25T00:45:00Z",
            id="what is ahead on the wall has fired",
        ),
        pytest.param(
            BERLIN,
            "* * * * *",
            "2026-10-25T01:59:00Z",
            "2026-10-25T00:59:00Z",
            id="no minute fires a second time",
        ),
        pytest.param(
            BERLIN,
            "0 3 * * *",
            "2026-10-25T02:00:00Z",
            "2026-10-25T02:00:00Z",
            id="the first time after the repeat",
        ),
        pytest.param(
            BERLIN,
            "0 3 * * *",
            "2026-10-25T01:00:00Z",
            "2026-10-24T01:00:00Z",
            id="the end of the repeat is not yet",
        ),
        # New York leaps at 07:00 UTC on 8 March and goes back at 06:00 UTC on 1 November
        pytest.param(
            NEW_YORK,
            "15 2 * * *",
            "2026-03-08T20:00:00Z",
            "2026-03-08T07:00:00Z",
            id="New York skips at the jump",
        ),
        pytest.param(
            NEW_YORK, "15 1 * * *", "2026-11-01T06:30:00Z", "2026-11-01T05:15:00Z", id="New York repeats once"
        ),
        pytest.param(
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-04T00:00:00Z",
            "2026-10-03T15:30:00Z",
            id="a jump of 30 min",
        ),
        pytest.param(
            "Pacific/Apia",
            "0 12 30 12 *",
            "2012-01-05T00:00:00Z",
            "2011-12-30T10:00:00Z",
            id="a whole day skipped",
        ),
    ],
)
def test_clocks_that_are_changed(zone: str, text: str, at: str, fired: str) -> None:
    assert last_fire(text, at, zone) == fired


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "five fields", id="nothing"),
        pytest.param("@daily", "five fields", id="a macro"),
        pytest.param("* * * *", "five fields", id="four fields"),
        pytest.param("0 0 * * * *", "five fields", id="six fields"),
        pytest.param("every day", "five fields", id="prose"),
        pytest.param("60 * * * *", "minute 60 is out of range: use 0 to 59", id="minute 60"),
        pytest.param("* 24 * * *", "hour 24 is out of range: use 0 to 23", id="hour 24"),
        pytest.param("* * 0 * *", "day of month 0 is out of range: use 1 to 31", id="day 0"),
        pytest.param("* * * 13 *", "month 13 is out of range: use 1 to 12, or JAN to DEC", id="month 13"),
        pytest.param("* * * * 8", "day of week 8 is out of range: use 0 to 7, or SUN to SAT", id="weekday 8"),
        pytest.param(
            "* * * MON *", "month 'MON' is not a number: use 1 to 12, or JAN to DEC", id="a day as a month"
        ),
        pytest.param("x * * * *", "minute 'x' is not a number: use 0 to 59", id="a letter"),
        pytest.param("-1 * * * *", "minute '-1' is not understood", id="a negative"),
        pytest.param("1,,2 * * * *", "minute '' is not understood", id="a hole in a list"),
        pytest.param("* * ? * *", "day of month '\\?' is not understood", id="a question mark"),
        pytest.param("* * * * MON#1", "day of week 'MON#1' is not understood", id="the first Monday"),
        pytest.param("٣ * * * *", "minute '٣' is not understood", id="digits of another script"),
        pytest.param("\0 * * * *", r"minute '\\x00' is not understood", id="a null byte"),
        pytest.param("* 17-9 * * *", "hour '17-9' runs backwards", id="a range backwards"),
        pytest.param("* * * * 5-0", "day of week '5-0' runs backwards", id="a week backwards"),
        pytest.param(
            "*/0 * * * *", "minute '\\*/0' has a step out of range: use 1 to 59", id="a step of zero"
        ),
        pytest.param(
            "*/90 * * * *", "minute '\\*/90' has a step out of range", id="a step longer than the hour"
        ),
        pytest.param(
            "5/15 * * * *", "minute '5/15' steps from a single value: write 5-59/15", id="a step from a value"
        ),
        pytest.param("0 0 30 2 *", "day of month '30' never comes in month '2'", id="30 February"),
        pytest.param("0 0 31 4,6,NOV *", "never comes in month '4,6,NOV'", id="the 31st of short months"),
        pytest.param("0 0 31 2 */2", "never comes in month '2'", id="31 February on some days"),
        pytest.param("0," * 300 + "0 * * * *", "of 609 characters is too long", id="endless"),
    ],
)
def test_garbage_is_refused_in_one_sentence_that_names_the_field(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        parse_cron(text)
    assert "\n" not in str(refused.value)


class Fields(Struct, frozen=True):
    """An expression whose sets are known without parsing it; None is a star."""

    sets: tuple[frozenset[int] | None, ...]

    @property
    def text(self) -> str:
        return " ".join("*" if values is None else ",".join(map(str, sorted(values))) for values in self.sets)

    def match(self, wall: datetime) -> bool:
        minutes, hours, days, months, weekdays = self.sets
        if minutes is not None and wall.minute not in minutes:
            return False
        if hours is not None and wall.hour not in hours:
            return False
        if months is not None and wall.month not in months:
            return False
        hits = [
            known
            for known in (
                None if days is None else wall.day in days,
                None if weekdays is None else (wall.weekday() + 1) % 7 in {day % 7 for day in weekdays},
            )
            if known is not None
        ]
        return any(hits) if hits else True


def some(low: int, high: int, most: int) -> st.SearchStrategy[frozenset[int] | None]:
    return st.none() | st.frozensets(st.integers(low, high), min_size=1, max_size=most)


expressions = st.tuples(some(0, 59, 4), some(0, 5, 3), some(1, 28, 9), some(3, 11, 7), some(0, 7, 3)).map(
    Fields
)
changes = [
    (zone, parse_instant(at, 0))
    for zone, at in (
        (BERLIN, "2026-03-29T01:00:00Z"),
        (BERLIN, "2026-10-25T01:00:00Z"),
        (NEW_YORK, "2026-03-08T07:00:00Z"),
        (NEW_YORK, "2026-11-01T06:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
        ("Asia/Kolkata", "2026-06-01T00:00:00Z"),
    )
]


def naive_last_fire(fields: Fields, at: Instant, zone: str, back: int) -> Instant | None:
    """Walk back minute by minute in UTC and look at the wall: new times fire, times seen before do not."""
    place = ZoneInfo(zone)
    minute = at // MINUTE * MINUTE
    for fired in range(minute, minute - back, -MINUTE):
        wall = datetime.fromtimestamp(fired // 1_000, UTC).astimezone(place)
        earlier = datetime.fromtimestamp((fired - MINUTE) // 1_000, UTC).astimezone(place)
        step = earlier.replace(tzinfo=None, fold=0) + timedelta(minutes=1)
        new = [] if wall.fold else [wall]
        while step < wall.replace(tzinfo=None, fold=0):
            new.append(step)
            step += timedelta(minutes=1)
        if any(map(fields.match, new)):
            return fired
    return None


@given(expressions, st.sampled_from(changes), st.integers(-3 * 60, 24 * 60), st.integers(0, MINUTE - 1))
def test_safety_it_agrees_with_a_walk_minute_by_minute(
    fields: Fields, change: tuple[str, Instant], minutes: int, rest: int
) -> None:
    zone, at = change[0], change[1] + minutes * MINUTE + rest
    back = DAY + 3 * 60 * MINUTE
    fired = parse_cron(fields.text).last_fire(at, zone)
    expected = naive_last_fire(fields, at, zone, back)
    if expected is None:
        assert fired is None or fired <= at - back
    else:
        assert fired == expected


@given(st.text("0123456789*/-,? MONJAN@\0\n٣", max_size=30))
def test_safety_any_text_is_understood_or_refused(text: str) -> None:
    try:
        cron = parse_cron(text)
    except ValueError:
        return
    fired = cron.last_fire(1_790_000_000_000, BERLIN)
    assert fired is None or fired <= 1_790_000_000_000
