"""A line that rises: when it comes to an amount."""

import pytest
from tests.rightsize.estimate.builders import BEGIN, DAY

from remuda.rightsize.decide.rises import Rise, median


@pytest.mark.parametrize(
    ("amount", "ceiling", "after"),
    [
        pytest.param(1000, None, 0, id="it is there"),
        pytest.param(999, None, 0, id="it is above it since before the end"),
        pytest.param(1001, None, DAY // 4, id="one more, at four a day"),
        pytest.param(1010, None, 5 * DAY // 2, id="ten more"),
        pytest.param(1010, 1010, 5 * DAY // 2, id="it comes to rest just there"),
        pytest.param(1010, 1009, None, id="it comes to rest before"),
        pytest.param(900, 899, None, id="it comes to rest before, whatever it is at"),
    ],
)
def test_a_line_reaches_an_amount_at_its_pace_or_is_there_at_its_end(
    amount: int, ceiling: int | None, after: int | None
) -> None:
    rise = Rise(BEGIN, BEGIN + 8 * DAY, 8, 28, 28, bytes_a_day=4, level=1000, ceiling=ceiling)
    at = rise.reaches(amount)
    assert (None if at is None else at - rise.last) == after


def test_a_rise_has_no_restarts_unless_it_says_so() -> None:
    rise = Rise(BEGIN, BEGIN, 8, 28, 28, 4, 1000)
    assert (rise.restarts, rise.killed, rise.ceiling) == (0, 0, None)


def test_the_median_is_the_middle_or_between_the_two_that_are() -> None:
    assert [median(some) for some in ([7], [9, 1], [5, 1, 3], [1, 4, 2, 100])] == [7, 5, 3, 3]
