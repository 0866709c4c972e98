"""What becomes of each value, by itself."""

import pytest

from remuda.rightsize.decide.verdicts import directions_of, verdict_of
from remuda.rightsize.snapshot import Ask, Size


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        pytest.param(Size(Ask(1, 2), Ask(3, 4)), Size(Ask(1, 2), Ask(3, 4)), {}, id="nothing changes"),
        pytest.param(
            Size(Ask(100, 32), Ask(None, 80)),
            Size(Ask(50, 50), Ask(None, 64)),
            {"requests.cpu": "lower", "requests.memory": "raise", "limits.memory": "lower"},
            id="a request goes up beside a limit that goes down",
        ),
        pytest.param(
            Size(Ask(None, 32), Ask(9, None)),
            Size(Ask(50, None), Ask(None, 64)),
            {
                "requests.cpu": "set",
                "limits.cpu": "remove",
                "requests.memory": "remove",
                "limits.memory": "set",
            },
            id="what is not set is set, and what is set is removed",
        ),
    ],
)
def test_each_value_that_changes_has_a_direction(now: Size, then: Size, expected: dict[str, str]) -> None:
    assert directions_of(now, then) == expected


@pytest.mark.parametrize(
    ("now", "then", "verdict"),
    [
        pytest.param(Size(), Size(Ask(1)), "raise", id="a request where there was none, be it of one"),
        pytest.param(Size(Ask(1)), Size(), "lower", id="a request of one that goes"),
        pytest.param(Size(Ask(9, 9)), Size(Ask(8, 10)), "raise", id="one up, one down"),
        pytest.param(
            Size(Ask(9), Ask(9, 9)), Size(Ask(9), Ask(None, 9)), "raise", id="a CPU limit that goes"
        ),
        pytest.param(Size(Ask(9), Ask(9, 9)), Size(Ask(8), Ask(None, 9)), "lower", id="and has no say"),
        pytest.param(Size(Ask(), Ask(None, 9)), Size(), "raise", id="a memory limit that goes"),
        pytest.param(Size(Ask(9)), Size(Ask(9)), "keep", id="nothing changes"),
    ],
)
def test_a_verdict_is_one_word_for_all_values(now: Size, then: Size, verdict: str) -> None:
    assert verdict_of(now, then, is_held=False) == verdict
    assert verdict_of(now, then, is_held=True) == ("leave" if verdict == "keep" else verdict)
