"""Which days can be compared: an hour may be missing at either edge, and not a second more."""

import pytest
from tests.rightsize.decide.builders import days, evidence
from tests.rightsize.estimate.builders import BEGIN, DAY, HOUR

from remuda.rightsize.decide.days import midnight, peak_of_day, whole_days
from remuda.rightsize.evidence import Day


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [
        pytest.param(BEGIN, BEGIN + 3 * DAY, [0, 1, 2], id="all of them"),
        pytest.param(BEGIN + HOUR, BEGIN + 3 * DAY - HOUR, [0, 1, 2], id="an hour is missing at both ends"),
        pytest.param(BEGIN + HOUR + 1, BEGIN + 3 * DAY, [1, 2], id="a second more at the beginning"),
        pytest.param(BEGIN, BEGIN + 3 * DAY - HOUR - 1, [0, 1], id="a second more at the end"),
        pytest.param(None, BEGIN + 1, [0, 1, 2], id="the first sample is not known"),
        pytest.param(BEGIN + 2 * DAY, None, [0, 1, 2], id="the last sample is not known"),
    ],
)
def test_whole_are_the_days_of_which_at_most_an_hour_is_missing_at_an_edge(
    first: int | None, last: int | None, whole: list[int]
) -> None:
    known = evidence(days=days([1, 2, 3])[::-1], first=first, last=last)
    assert [(day.at - BEGIN) // DAY for day in whole_days(known)] == whole


def test_a_day_counts_once_and_its_peak_is_that_of_any_moment_of_it() -> None:
    noon = Day(BEGIN + DAY // 2, 7, 1)
    assert whole_days(evidence(days=(Day(BEGIN, 5, 1), noon))) == (noon,)
    some = (Day(BEGIN, 5, 1), noon, Day(BEGIN + DAY, 9, 1))
    assert [peak_of_day(some, BEGIN + at) for at in (0, DAY - 1, DAY, 2 * DAY)] == [7, 7, 9, 0]
    assert [midnight(BEGIN + at) - BEGIN for at in (-1, 0, DAY - 1)] == [-DAY, 0, 0]
