"""Where a condition changes, against a look at every number."""

import pytest

from remuda.fleet.decide.searching import greatest, smallest


@pytest.mark.parametrize("limit", range(9))
def test_the_number_where_a_condition_changes_is_found_and_nothing_beyond_the_limit_is_asked(
    limit: int,
) -> None:
    for last in range(10):
        asked: list[int] = []

        def holds(number: int, last: int = last, asked: list[int] = asked) -> bool:
            asked.append(number)
            return number <= last

        assert greatest(limit, holds) == max(n for n in range(limit + 1) if n <= last)
        assert smallest(limit, lambda n: not holds(n)) == min(last + 1, limit)
        assert all(0 <= number <= limit for number in asked)
