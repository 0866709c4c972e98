"""
The only place where a reason becomes a sentence, with the words that its job brings.

Code → (what it means, the sentence). `{live:machine}` is `1 machine` or `3 machines`, `{live:is|are}` is `1 is` or
`3 are`, `{waiting+running:task}` a sum of terms. A part in square brackets, `[; one more is tried at {retry_at}]`, is
said only where all terms in it have something to say, and what stands behind `||` in it otherwise; `{leaking:?}` is not
said itself, and only lets its part be said. Codes never change their meaning; one that nobody knows (from a newer Remuda's
ledger) is still described, with its terms.
"""

import re
from collections.abc import Collection, Mapping

from remuda.model.plans import Reason, Term
from remuda.model.times import write_duration
from remuda.model.units import PINNED
from remuda.output.moments import age, clock_time
from remuda.output.registry import words_of

_PART = re.compile(r"\[([^\[\]]*\{[^\[\]]*)\]")
_SIGNED = re.compile(r"([+-]?)(\w+)")
_TERM = re.compile(r"\{(\w+)")


def sentence(reason: Reason) -> str:
    """The reason in words, beginning with its subject's name."""
    name = reason.subject.partition("/")[2] or reason.subject
    words = words_of(reason.code)
    if words is None:
        terms = ", ".join(
            f"{key} {value}" for key, value in sorted(reason.terms.items()) if value is not None
        )
        return f"{name}: {reason.code}" + (f" ({terms})" if terms else "")
    written = {key: write_term(key, value) for key, value in reason.terms.items()}
    text = fill(words[1], written, [key for key, value in reason.terms.items() if value])
    trouble = reason.terms.get("trouble")
    return f"{name} {text}" + (f"; {trouble}" if trouble else "")


def fill(text: str, terms: Mapping[str, str], present: Collection[str]) -> str:
    """A text with its terms; parts in brackets where all their terms are among those that have something to say."""

    def part(match: re.Match[str]) -> str:
        inside, _, otherwise = match[1].partition("||")
        return inside if all(name in present for name in _TERM.findall(inside)) else otherwise

    words = _Words((name, _Word(term)) for name, term in terms.items())
    return _PART.sub(part, text).format_map(words)


class _Word(str):
    """A term as text; `{live:machine}` is `1 machine` or `3 machines`, `{live:is|are}` is `1 is` or `3 are`, `{live:?}` nothing."""

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        if noun in {"", "?"}:
            return "" if noun else str(self)
        one, _, more = noun.partition("|")
        return f"{self} {one if self == '1' else more or f'{one}s'}"


class _Words(dict[str, _Word]):
    """Terms as text; what is missing is a dash, and `waiting+running-beyond` the sum of three terms."""

    def __missing__(self, name: str) -> _Word:
        parts = _SIGNED.findall(name)
        if len(parts) < 2:
            return _Word("-")
        return _Word(sum(int(f"{sign}{self[term]}") for sign, term in parts if self[term].isdecimal()))


#: terms that are sums of micro-dollars
_SUMS = frozenset({"cap", "cost", "left", "price", "spent"})
_DURATIONS = frozenset({"grace", "hold", "timeout"})


def write_term(name: str, value: Term) -> str:
    """A term as text: instants, durations and sums, which its name shows, are written out; nothing is a dash."""
    if value is None or value == "":
        return "-"
    if isinstance(value, int) and name in {"retry_at", "until"}:
        return clock_time(value, value)  # minutes from when it is said
    if isinstance(value, int) and name.endswith(("_at", "_since")):
        return clock_time(value, 0)  # with its date
    if isinstance(value, int) and name in _DURATIONS:
        return write_duration(value)
    if isinstance(value, int) and name == "idle_for":
        return age(value)
    if isinstance(value, int) and name in _SUMS:
        return _sum(name, value)
    return str(value)


def _sum(name: str, micros: int) -> str:
    """A sum as it stands in a sentence; what something costs is by the hour."""
    if name != "cost":
        return dollars(micros)
    return "a cost that nothing outweighs" if micros >= PINNED else f"{dollars(micros)} an hour"


def dollars(micros: int) -> str:
    """A sum of micro-dollars: `$0.34`, `$1,250.00`, `$0.0035`; what nothing outweighs is `pinned`."""
    if micros >= PINNED:
        return "pinned"
    whole, part = divmod(abs(micros), 1_000_000)
    cents = f"{part:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if micros < 0 else ''}${whole:,}.{cents}"


def number(terms: Mapping[str, Term], name: str) -> int:
    """A term that is a number; 0 when it is missing."""
    value = terms.get(name)
    return value if isinstance(value, int) else 0
