"""Values as HCL, laid out as `terraform fmt` does."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from remuda.rightsize.patches.texts import code, comments, quoted

#: text, or an object
Value: TypeAlias = "str | Mapping[str, Value]"

_BARE = re.compile(r"[a-z_][a-z0-9_]*")
#: `{ for … }` is an expression, and the others are values
_WORDS = frozenset({"for", "if", "in", "null", "true", "false"})
#: by its code, since not every reader of HCL knows a doubled one without an end
_TEMPLATE = re.compile(r"[$%](?=\{)")


def text(value: str) -> str:
    """A quoted string that means exactly the value: nothing in it is a template."""
    return _TEMPLATE.sub(lambda found: code(found[0]), quoted(value))


def key(name: str) -> str:
    """A name in an object; bare where that is the same."""
    return name if _BARE.fullmatch(name) and name not in _WORDS else text(name)


def attribute(
    name: str, value: Value, indent: int = 0, notes: Mapping[str, Iterable[str]] | None = None
) -> str:
    """`name = value` on lines of its own; `notes` are comments above keys of the value."""
    return _lines(key(name), value, indent, notes or {})


def _lines(name: str, value: Value, indent: int, notes: Mapping[str, Iterable[str]]) -> str:
    space = " " * indent
    if isinstance(value, str):
        return f"{space}{name} = {text(value)}\n"
    if not value:
        return f"{space}{name} = {{}}\n"
    width = max(len(key(each)) for each in value) if all(isinstance(v, str) for v in value.values()) else 0
    inner = "".join(
        (comments(notes.get(each, ()), indent + 2)) + _lines(key(each).ljust(width), child, indent + 2, {})
        for each, child in value.items()
    )
    return f"{space}{name} = {{\n{inner}{space}}}\n"
