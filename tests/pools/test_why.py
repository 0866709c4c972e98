"""What an answer says of what is set by hand."""

import pytest

from remuda.pools.decide.model import Override
from remuda.pools.why import clearing


@pytest.mark.parametrize(
    ("override", "commands"),
    [
        pytest.param(Override(max=2), "remuda pools scale a --clear", id="bounds"),
        pytest.param(Override(paused=True), "remuda pools resume a", id="a pause"),
        pytest.param(Override(draining=True), "remuda pools resume a", id="a drain"),
        pytest.param(Override(finish_rollout="t"), "remuda pools resume a", id="a rollout at once"),
        pytest.param(
            Override(min=0, paused=True),
            "remuda pools scale a --clear, remuda pools resume a",
            id="two things",
        ),
    ],
)
def test_the_commands_that_clear_what_is_set_name_the_pool(override: Override, commands: str) -> None:
    assert clearing(override, "a") == commands
