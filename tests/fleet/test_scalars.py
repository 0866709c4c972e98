"""The numbers of a fleet as they are written: read exactly, or refused with what is right."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.fleet.scalars import (
    Chance,
    Factor,
    Money,
    Penalty,
    Rate,
    read_integer,
    read_moment,
    read_priority,
    shown,
)
from remuda.model.shapes import DOLLAR, HIGHEST_PRICE
from remuda.model.times import MINUTE
from remuda.model.units import HIGHEST_PENALTY, PINNED


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        pytest.param(0, 0, id="nothing"),
        pytest.param(3, 3 * DOLLAR, id="whole"),
        pytest.param(0.1, 100_000, id="a float is what it says"),
        pytest.param("0.0035", 3_500, id="text"),
        pytest.param(" 12.5 ", 12_500_000, id="spaces"),
        pytest.param("1e-3", 1_000, id="an exponent"),
        pytest.param("0.0000001", 1, id="what has a price is never free"),
        pytest.param("1e-999", 1, id="however small"),
        pytest.param(1_000_000, HIGHEST_PRICE, id="the most"),
    ],
)
def test_money_is_read_to_the_micro_dollar(text: object, micros: int) -> None:
    assert Money.parse(text) == micros


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(-0.01, "-0.01 is below zero", id="negative"),
        pytest.param(float("nan"), "nan is not an amount of dollars: write it like 0.34", id="not a number"),
        pytest.param(float("inf"), "inf is not an amount", id="infinite"),
        pytest.param("NaN", '"NaN" is not an amount', id="not a number as text"),
        pytest.param("sNaN", '"sNaN" is not an amount', id="nor this"),
        pytest.param("$3", '"$3" is not an amount', id="a sign"),
        pytest.param("1_000", '"1_000" is not an amount', id="what only Python reads"),
        pytest.param("٣", "is not an amount", id="other digits"),
        pytest.param(1_000_001, "1000001 is more than 1,000,000 dollars, the most it can be", id="too much"),
        pytest.param("1e999", '"1e999" is more than', id="far too much"),
        pytest.param(10**5_000, "a number of more than 30 digits is not an amount", id="a long number"),
        pytest.param(True, "true is not an amount", id="a bool"),
        pytest.param(None, "nothing is not an amount", id="nothing"),
        pytest.param([1], "a list is not an amount", id="a list"),
        pytest.param("", '"" is not an amount', id="empty"),
    ],
)
def test_what_is_no_price_is_refused_with_what_is(text: object, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Money.parse(text)


@given(st.integers(0, HIGHEST_PRICE))
def test_money_is_written_as_it_is_read(micros: int) -> None:
    assert Money.parse(str(Money(micros))) == micros


@pytest.mark.parametrize(
    ("text", "ppm"), [(0, 0), (1, 1_000_000), ("0.05", 50_000), (0.05, 50_000), ("1e-9", 1), (0.0000005, 1)]
)
def test_a_chance_is_parts_per_million_and_never_rounded_away(text: object, ppm: int) -> None:
    assert Chance.parse(text) == ppm


@pytest.mark.parametrize("text", [-0.0001, 1.0001, "1e9", float("nan"), "often", True, {}])
def test_what_is_no_chance_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="probability"):
        Chance.parse(text)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param("25.50", 25_500_000, id="a sum"),
        pytest.param("pinned", PINNED, id="pinned"),
        pytest.param("PINNED", PINNED, id="in any case"),
        pytest.param(HIGHEST_PENALTY // DOLLAR, HIGHEST_PENALTY, id="the highest sum"),
        pytest.param(HIGHEST_PENALTY // DOLLAR + 1, PINNED, id="above it"),
        pytest.param("1e300", PINNED, id="far above it"),
    ],
)
def test_a_penalty_above_the_highest_sum_is_pinned(text: object, micros: int) -> None:
    assert Penalty.parse(text) == micros


@pytest.mark.parametrize("text", [-1, "-0.5", "a lot", float("nan"), float("inf"), None])
def test_what_is_no_penalty_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is"):
        Penalty.parse(text)


@pytest.mark.parametrize(("read", "text"), [(Factor, 1.01), (Factor, -1), (Rate, 100.01), (Rate, -1)])
def test_weights_stay_small_enough_to_be_multiplied(read: type[Factor | Rate], text: object) -> None:
    with pytest.raises(ValueError, match="is"):
        read.parse(text)
    assert str(Factor.parse("0.5")) == "0.5"
    assert str(Rate.parse("0.001")) == "0.001"


@pytest.mark.parametrize(("value", "read"), [(3, 3), (3.0, 3)])
def test_a_whole_number_may_be_written_by_a_program(value: object, read: int) -> None:
    assert read_integer(value, 1, 10) == read


@pytest.mark.parametrize("value", [0, 11, 2.5, "3", True, None, float("nan"), float("inf"), 10**40])
def test_other_numbers_are_not_whole_or_not_within_bounds(value: object) -> None:
    with pytest.raises(ValueError, match=r"no whole number|is not within"):
        read_integer(value, 1, 10)


def test_a_priority_has_32_bits() -> None:
    assert read_priority(-(2**31)) == -(2**31)
    assert read_priority(2**31 - 1) == 2**31 - 1
    for value in (2**31, -(2**31) - 1):
        with pytest.raises(ValueError, match="is not within -2,147,483,648 to 2,147,483,647"):
            read_priority(value)


def test_a_moment_is_a_time_a_while_ago_or_milliseconds() -> None:
    assert read_moment("1970-01-01T00:01:00Z", 0) == MINUTE
    assert read_moment("10m", 20 * MINUTE) == 10 * MINUTE
    assert read_moment(1_000, 0) == 1_000


@pytest.mark.parametrize("value", ["noon", "10m", "1" * 100, -1, 2**63, 1.5, True, "9999999-01-01", []])
def test_what_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is n"):
        read_moment(value, 0)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_what_is_shown_is_short_and_on_one_line(value: object) -> None:
    assert len(shown(value)) <= 300
    assert shown(value).isprintable()
