"""
The numbers of a fleet as people and programs write them, read exactly.

Each type has `parse`, which raises `ValueError` with a sentence that says what is right. What is finer than a
micro-dollar or a millionth is rounded up: what has a price is never free, and what may be interrupted may be.
"""

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any, ClassVar, Self

from remuda.model.shapes import DOLLAR, HIGHEST_PRICE, MILLION
from remuda.model.times import Instant, parse_instant
from remuda.model.units import HIGHEST_PENALTY, PINNED
from remuda.objects.problems import quoted

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_DIGITS = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
_INT32 = 1 << 31
#: the last instant of the year 9999
_LAST: Instant = 253_402_300_799_999


class Money(int):
    """Micro-dollars, written in dollars: a number, or text like "0.0035"."""

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "minimum": 0,
        "maximum": HIGHEST_PRICE // DOLLAR,
        "pattern": f"^{_DIGITS}$",
    }
    example: ClassVar[str] = "0.34"
    most: ClassVar[int] = HIGHEST_PRICE

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read dollars of 0 to the most there may be."""
        dollars = _decimal(text, "an amount of dollars", cls.example)
        if dollars < 0:
            raise ValueError(f"{shown(text)} is below zero: nothing costs less than nothing")
        if dollars > cls.most // DOLLAR:
            raise ValueError(f"{shown(text)} is more than {cls.most // DOLLAR:,} dollars, the most it can be")
        return cls(_up(dollars * DOLLAR))

    def __str__(self) -> str:
        return format(Decimal(int(self)).scaleb(-6).normalize(), "f")


class Rate(Money):
    """Micro-dollars for each of something there may be many of."""

    most: ClassVar[int] = 100 * DOLLAR
    json_schema: ClassVar[dict[str, Any]] = {**Money.json_schema, "maximum": 100}
    example: ClassVar[str] = "0.001"


class Penalty(int):
    """Micro-dollars, or more than any sum: written in dollars, or `pinned`."""

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "minimum": 0,
        "pattern": f"^({_DIGITS}|pinned)$",
    }
    example: ClassVar[str] = "25 or pinned"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read dollars or `pinned`; more than the highest penalty is pinned too."""
        if isinstance(text, str) and text.lower() == "pinned":
            return cls(PINNED)
        dollars = _decimal(text, "a penalty", cls.example)
        if dollars < 0:
            raise ValueError(f"{shown(text)} is below zero: a penalty is what something costs")
        return cls(PINNED if dollars > HIGHEST_PENALTY // DOLLAR else _up(dollars * DOLLAR))


class Chance(int):
    """Parts per million, written as a number of 0 to 1."""

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "minimum": 0,
        "maximum": 1,
        "pattern": f"^{_DIGITS}$",
    }
    example: ClassVar[str] = "0.05"
    called: ClassVar[str] = "probability"

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a probability."""
        chance = _decimal(text, f"a {cls.called}", cls.example)
        if not 0 <= chance <= 1:
            raise ValueError(
                f"{shown(text)} is no {cls.called}: write a number of 0 to 1, like {cls.example}"
            )
        return cls(_up(chance * MILLION))


class Factor(Chance):
    """Parts per million of a sum of money."""

    example: ClassVar[str] = "0.5"
    called: ClassVar[str] = "factor"

    def __str__(self) -> str:
        return format(Decimal(int(self)).scaleb(-6).normalize(), "f")


def read_integer(value: object, least: int, most: int) -> int:
    """A whole number within bounds, also where a program wrote it as 3.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{shown(value)} is no whole number: write one of {least:,} to {most:,}")  # noqa: TRY004
    if not least <= value <= most:
        raise ValueError(f"{shown(value)} is not within {least:,} to {most:,}")
    return value


def read_priority(value: object) -> int:
    """A whole number of 32 bits."""
    return read_integer(value, -_INT32, _INT32 - 1)


def read_moment(value: object, now: Instant) -> Instant:
    """A time, or how long before `now`; a whole number is milliseconds since 1970."""
    if isinstance(value, str) and len(value) <= 64:
        at = parse_instant(value, now)
        if 0 <= at <= _LAST:
            return at
        raise ValueError(f"{shown(value)} is not between 1970 and 9999")
    if isinstance(value, str):
        raise ValueError(f"{shown(value)} is no time: write one like 2026-01-31T14:05:00Z")  # noqa: TRY004
    return read_integer(value, 0, _LAST)


def shown(value: object) -> str:
    """What was written, short and on one line."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if -(10**30) < value < 10**30 else "a number of more than 30 digits"
    if isinstance(value, float):
        return str(value)
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list | tuple) else "this"


def _decimal(value: object, what: str, example: str) -> Decimal:
    """The exact number that was written; a float is what its shortest form says."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = repr(value) if isinstance(value, float) else shown(value)
    else:
        text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{shown(value)} is not {what}: write it like {example}")
    return Decimal(text)


def _up(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_CEILING))
