"""What was worked out lately is not worked out again; what nobody asked for lately is forgotten, and failures are not kept."""

import pytest

from remuda.capacity.remembered import Remembered


class Counting:
    """Makes what is asked for, and knows how often."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def make(self, key: str) -> str:
        self.made.append(key)
        return key.upper()


def test_the_last_ones_are_made_once_and_older_ones_again() -> None:
    remembered, counting = Remembered[str](2), Counting()
    for key in ("a", "b", "a", "c", "a", "b"):
        assert remembered.get(key, lambda key=key: counting.make(key)) == key.upper()  # type: ignore[misc]
    assert counting.made == ["a", "b", "c", "b"]


def test_what_cannot_be_made_is_tried_again() -> None:
    remembered = Remembered[int](2)
    with pytest.raises(ZeroDivisionError):
        remembered.get("a", lambda: 1 // 0)
    assert remembered.get("a", lambda: 7) == 7
