"""
Kubernetes quantities with exact integers inside.

A `Quantity` is a whole number of nano-units (`500m` is 500,000,000), so that memory and processor shares add and
compare as integers. As in Kubernetes, what is finer than a nano-unit is rounded up. Unlike there, what is below zero
or above 2⁶³−1 is refused instead of capped: here a quantity is always an amount of something.
"""

import re
from typing import Any, ClassVar, Literal, Self, TypeAlias

#: How a quantity is written: decimal suffixes, binary suffixes or an exponent.
Form: TypeAlias = Literal["decimal", "binary", "exponent"]

NANO = 1_000_000_000
_LARGEST = (2**63 - 1) * NANO
_DECIMAL = {"n": 1, "u": 10**3, "m": 10**6, "": 10**9, "k": 10**12, "M": 10**15} | {
    "G": 10**18, "T": 10**21, "P": 10**24, "E": 10**27
}  # fmt: skip
_BINARY = {suffix: NANO * 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_SHAPE = re.compile(
    r"\+?(?P<whole>[0-9]{0,40})(?:\.(?P<part>[0-9]{0,40}))?(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<power>[+-]?[0-9]{1,3}))?"
)
_SLIP = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgtpe])(i?)b?", re.IGNORECASE)


class Quantity(int):
    """An amount in nano-units, written as in `512Mi`, `2`, `500m` or `1e3`. Equal amounts are equal, however written."""

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "minimum": 0,
        "pattern": r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$",
        "x-kubernetes-int-or-string": True,
    }
    example: ClassVar[str] = "512Mi, 2 or 500m"

    form: Form

    def __new__(cls, nano: int = 0, form: Form = "decimal") -> Self:
        """Make one from nano-units; `parse` reads the written form."""
        made = super().__new__(cls, nano)
        made.form = form
        return made

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read the written form or a whole number; raise `ValueError` with the right form when it is something else."""
        if isinstance(text, int) and not isinstance(text, bool):
            text = str(text)
        read = _SHAPE.fullmatch(text) if isinstance(text, str) else None
        if read is None or not (read["whole"] or read["part"]):
            raise ValueError(f"{text!r:.60} is not a quantity: {_advice(text)}")
        part = read["part"] or ""
        suffix = read["suffix"] or ""
        scale = _BINARY.get(suffix) or _DECIMAL[suffix]
        power = int(read["power"] or 0) - len(part)
        number = int(read["whole"] + part) * scale * 10 ** max(power, 0)
        nano = -(-number // 10 ** max(-power, 0))
        if nano > _LARGEST:
            raise ValueError(f"{text!r:.60} is too large: the most is 2⁶³−1, just under 8Ei")
        return cls(nano, "exponent" if read["power"] else "binary" if suffix in _BINARY else "decimal")

    @property
    def bytes(self) -> int:
        """Whole units, as memory and disk are counted in, rounded up."""
        return -(-int(self) // NANO)

    @property
    def milli(self) -> int:
        """Thousandths, rounded up: the millicores of a processor share."""
        return -(-int(self) // (NANO // 1_000))

    def __str__(self) -> str:
        """The canonical form, as Kubernetes writes it: no fraction, and the largest suffix that allows that."""
        nano = int(self)
        if nano == 0:
            return "0"
        if self.form == "binary" and nano >= 1024 * NANO and nano % NANO == 0:
            whole, power = nano // NANO, 0
            while whole % 1024 == 0 and power < len(_BINARY):
                whole, power = whole // 1024, power + 1
            return f"{whole}{('', *_BINARY)[power]}"
        power = -9
        while nano % 1_000 == 0 and power < 18:
            nano, power = nano // 1_000, power + 3
        if self.form == "exponent":
            return f"{nano}e{power}" if power else str(nano)
        return f"{nano}{tuple(_DECIMAL)[power // 3 + 3]}"


def _advice(text: object) -> str:
    if isinstance(text, float):
        return f'put it in quotes, "{text!r}", or write a whole number with a suffix, like 500m'
    if isinstance(text, str) and text.startswith("-"):
        return "it cannot be below zero"
    slip = _SLIP.fullmatch(text.strip()) if isinstance(text, str) else None
    if slip is None:
        return f"write a number with or without a suffix, like {Quantity.example}"
    number, letter = slip[1], slip[2].upper()
    if slip[3]:
        return f"did you mean {number}{letter}i?"
    return f"did you mean {number}{letter}i or {number}{'k' if letter == 'K' else letter}?"
