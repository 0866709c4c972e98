"""The bounds of a pool that says nothing of them, as the documentation states them."""

import pytest

from remuda.rules.bounds import DEFAULT_MAX, default_min


@pytest.mark.parametrize(
    ("most", "has_ceiling", "least"),
    [
        pytest.param(DEFAULT_MAX, False, 3, id="three are kept warm"),
        pytest.param(2, False, 2, id="never more than the maximum"),
        pytest.param(0, False, 0, id="none of none"),
        pytest.param(DEFAULT_MAX, True, 0, id="under a ceiling none that was not asked for"),
    ],
)
def test_a_pool_without_bounds_keeps_a_few_machines(most: int, has_ceiling: bool, least: int) -> None:
    assert default_min(most, has_ceiling=has_ceiling) == least
    assert DEFAULT_MAX == 10
