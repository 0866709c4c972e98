"""How often somebody may ask."""

import pytest
from tests.web.clock import SetClock

from remuda.web.limits import Acquainted, Limiter, Pace, neighbourhood


def test_a_burst_goes_through_and_then_a_steady_pace() -> None:
    clock = SetClock()
    limiter = Limiter(Pace(burst=3, per_second=2.0), clock)
    assert [limiter.wait_s("a") for _ in range(3)] == [0, 0, 0]
    assert limiter.wait_s("a") == pytest.approx(0.5)
    clock.at += 500
    assert limiter.wait_s("a") == 0
    assert limiter.wait_s("a") > 0


def test_one_address_does_not_slow_another() -> None:
    limiter = Limiter(Pace(burst=1, per_second=1.0), SetClock())
    assert limiter.wait_s("a") == 0
    assert limiter.wait_s("a") > 0
    assert limiter.wait_s("b") == 0


def test_a_refused_request_costs_nothing_and_rest_fills_no_more_than_the_burst() -> None:
    clock = SetClock()
    limiter = Limiter(Pace(burst=2, per_second=1.0), clock)
    for _ in range(10):
        limiter.wait_s("a")
    clock.at += 3_600_000
    assert [limiter.wait_s("a") > 0 for _ in range(3)] == [False, False, True]


def test_a_million_addresses_are_not_all_remembered() -> None:
    limiter = Limiter(Pace(burst=1, per_second=1.0), SetClock())
    for number in range(10_000):
        limiter.wait_s(str(number))
    assert len(limiter._left) <= 4_096


def test_whether_it_is_used_up_can_be_asked_without_being_counted() -> None:
    clock = SetClock()
    limiter = Limiter(Pace(burst=1, per_second=1.0), clock)
    assert [limiter.is_used_up("a") for _ in range(3)] == [False] * 3
    limiter.wait_s("a")
    assert limiter.is_used_up("a")
    clock.at += 1_000
    assert not limiter.is_used_up("a")


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", ""),
        ("a socket", "a socket"),
    ],
)
def test_strangers_are_counted_by_the_network_that_one_of_them_has(peer: str, expected: str) -> None:
    assert neighbourhood(peer) == expected


def test_a_million_acquaintances_are_not_all_remembered() -> None:
    known = Acquainted()
    for number in range(10_000):
        known.add("a", str(number))
    assert ("a", "9999") in known
    assert ("a", "0") not in known
