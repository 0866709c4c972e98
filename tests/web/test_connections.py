"""How many connections there may be, and who keeps one."""

import pytest

from remuda.web.connections import most_connections


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(128, 48), (1_024, 341), (20_000, 512), (-1, 512)],
)
def test_connections_leave_files_for_everything_else(descriptors: int, most: int) -> None:
    assert most_connections(descriptors) == most
