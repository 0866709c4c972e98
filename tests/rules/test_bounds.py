"""The bounds of a pool that says nothing of them."""

import pytest

from remuda.rules.bounds import DEFAULT_MIN, default_min


@pytest.mark.parametrize(
    ("most", "has_ceiling", "least"),
    [(10, False, DEFAULT_MIN), (2, False, 2), (0, False, 0), (10, True, 0)],
)
def test_some_are_kept_warm_but_never_more_than_the_maximum(most: int, has_ceiling: bool, least: int) -> None:
    assert default_min(most, has_ceiling=has_ceiling) == least
