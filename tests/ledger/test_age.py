"""Which time history ages by, when the wall clock cannot be believed."""

import pytest

from remuda.ledger.age import AgeClock, newest_record
from remuda.ledger.store import InlineStore
from remuda.model.times import DAY, HOUR, MINUTE, SECOND

NEWEST = 1_000 * DAY


class Hands:
    """A clock whose hands a test sets."""

    def __init__(self, wall: int) -> None:
        self.wall, self.at = wall, 0.0

    def now(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.at

    def wait(self, length: int) -> None:
        self.wall, self.at = self.wall + length, self.at + length / SECOND


@pytest.mark.parametrize(
    ("newest", "wall", "now"),
    [
        pytest.param(None, NEWEST + 8 * DAY, NEWEST + 8 * DAY, id="an empty store believes the clock"),
        pytest.param(NEWEST, NEWEST + HOUR, NEWEST + HOUR, id="a short absence is believed"),
        pytest.param(
            NEWEST, NEWEST + 8 * DAY, NEWEST, id="eight days ahead of the newest record are doubted"
        ),
        pytest.param(NEWEST, NEWEST + 12 * HOUR, NEWEST + 12 * HOUR, id="so are twelve hours"),
        pytest.param(NEWEST, NEWEST + 12 * HOUR + 1, NEWEST, id="and not a moment more"),
        pytest.param(NEWEST, NEWEST - 8 * DAY, NEWEST - 8 * DAY, id="a clock set back deletes nothing"),
    ],
)
def test_at_a_start_the_newest_record_is_compared(newest: int | None, wall: int, now: int) -> None:
    assert AgeClock(Hands(wall), newest, lambda _: None).now() == now


def test_a_jump_is_distrusted_for_a_day_reported_once_and_then_believed() -> None:
    hands, jumps = Hands(NEWEST), list[int]()
    age = AgeClock(hands, NEWEST, jumps.append)
    hands.wait(MINUTE)
    assert age.now() == NEWEST + MINUTE
    hands.wall += 8 * DAY
    for minute in range(2, 60):
        hands.wait(MINUTE)
        assert age.now() == NEWEST + minute * MINUTE
    assert jumps == [8 * DAY]
    hands.wait(DAY)
    assert age.now() == hands.wall


@pytest.mark.parametrize(("waited", "is_believed"), [(DAY - SECOND, False), (DAY, True)])
def test_a_jump_is_believed_when_a_day_has_gone_by_and_not_before(waited: int, is_believed: bool) -> None:
    hands = Hands(NEWEST + 8 * DAY)
    age = AgeClock(hands, NEWEST, lambda _: None)
    assert age.now() == NEWEST
    hands.wait(waited)
    assert age.now() == (hands.wall if is_believed else NEWEST + waited)


def test_a_clock_that_is_set_right_again_is_believed_at_once() -> None:
    hands = Hands(NEWEST + 8 * DAY)
    age = AgeClock(hands, NEWEST, lambda _: None)
    assert age.now() == NEWEST
    hands.wait(MINUTE)
    hands.wall -= 8 * DAY
    assert age.now() == NEWEST + MINUTE


def test_an_empty_store_has_no_newest_record() -> None:
    assert InlineStore().read(newest_record) is None
