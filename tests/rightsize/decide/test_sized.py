"""What counts as requested, what is near, and what is not lowered."""

import pytest

from remuda.rightsize.decide.sized import Sized, is_near, not_lowered


@pytest.mark.parametrize(
    ("request_now", "limit", "requested"), [(None, None, 0), (None, 5, 5), (3, 5, 3), (0, 5, 0)]
)
def test_a_limit_alone_counts_as_request(request_now: int | None, limit: int | None, requested: int) -> None:
    assert Sized(request_now, limit).requested == requested


@pytest.mark.parametrize(
    ("now", "then", "near"),
    [
        (None, 100, False),
        (100, 109, True),
        (100, 110, False),
        (100, 91, True),
        (100, 90, False),
        (0, 0, False),
    ],
)
def test_near_is_less_than_a_tenth_of_what_it_is(now: int | None, then: int, near: bool) -> None:
    assert is_near(now, then) is near


@pytest.mark.parametrize(
    ("now", "then", "made"),
    [
        pytest.param(Sized(10, 20), Sized(5, 30), Sized(10, 30), id="the higher of both"),
        pytest.param(Sized(5, 30), Sized(10, 20), Sized(10, 30), id="the other way round"),
        pytest.param(Sized(None, 20), Sized(5, 10), Sized(20, 20), id="a limit alone is the request"),
        pytest.param(Sized(40, 20), Sized(5, 10), Sized(40, 40), id="a limit is not below the request"),
        pytest.param(Sized(10, None), Sized(5, 30), Sized(10, None), id="no limit stays none"),
        pytest.param(Sized(10, 20), Sized(None, None), Sized(10, None), id="a limit that goes"),
        pytest.param(Sized(None, None), Sized(None, None), Sized(0, None), id="nothing is set"),
    ],
)
def test_nothing_is_lowered(now: Sized, then: Sized, made: Sized) -> None:
    assert not_lowered(now, then) == made
    held = Sized(then.request, then.limit, is_held=True, is_leaking=True, need=7)
    assert not_lowered(now, held) == Sized(made.request, made.limit, is_held=True, is_leaking=True, need=7)
