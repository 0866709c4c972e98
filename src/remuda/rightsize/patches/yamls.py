"""Values as YAML that every reader takes for the same, the one of Go with its floats and the one of Python with its `yes`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from remuda.output.texts import quoted

Value: TypeAlias = "str | Mapping[str, Value] | Sequence[Mapping[str, Value]] | None"

#: a word that begins with a letter, or a quantity with a suffix
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*|[0-9]{1,18}(?:m|[KMGTPE]i)")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"})


def dump(value: Mapping[str, Value]) -> str:
    """The value in block style, keys in their order."""
    return "".join(f"{line}\n" for line in _lines(value)) or "{}\n"


def _lines(value: Mapping[str, Value]) -> Iterator[str]:
    for key, child in value.items():
        if child is None or isinstance(child, str):
            yield f"{_text(key)}: {'null' if child is None else _text(child)}"
        elif not child:
            yield f"{_text(key)}: {'{}' if isinstance(child, Mapping) else '[]'}"
        elif isinstance(child, Mapping):
            yield f"{_text(key)}:"
            yield from (f"  {line}" for line in _lines(child))
        else:
            yield f"{_text(key)}:"
            for item in child:
                yield from (f"{'  ' if n else '- '}{line}" for n, line in enumerate(_lines(item)))


def _text(value: str) -> str:
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else quoted(value)
