"""Values and blocks as HCL, laid out as `terraform fmt` does."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from remuda.output.texts import code, comments, quoted

#: text, a number, a truth, a list or an object
Value: TypeAlias = "str | int | bool | Sequence[Value] | Mapping[str, Value]"

_BARE = re.compile(r"[a-z_][A-Za-z0-9_]*")
#: `{ for … }` is an expression, and the others are values
_WORDS = frozenset({"for", "if", "in", "null", "true", "false"})
#: by its code, since not every reader of HCL knows a doubled one without an end
_TEMPLATE = re.compile(r"[$%](?=\{)")


class Reference(str):
    """What is written as it is: the name of something elsewhere."""

    __slots__ = ()


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
    return f"{' ' * indent}{key(name)} = {_written(value, indent, notes or {})}\n"


def attributes(
    values: Mapping[str, Value], indent: int = 0, notes: Mapping[str, Iterable[str]] | None = None
) -> str:
    """Several of them; those of one line that follow each other are aligned. `notes` are comments above names."""
    made = ""
    chain: list[tuple[str, str]] = []

    def aligned() -> str:
        width = max((len(name) for name, _ in chain), default=0)
        lines = "".join(f"{' ' * indent}{name.ljust(width)} = {value}\n" for name, value in chain)
        chain.clear()
        return lines

    for name, value in values.items():
        remarks = comments((notes or {}).get(name, ()), indent)
        written = _written(value, indent, {})
        if remarks or "\n" in written:
            made += aligned() + remarks
        chain.append((key(name), written))
        if "\n" in written:
            made += aligned()
    return made + aligned()


def block(header: str, inner: str, indent: int = 0) -> str:
    """A block around lines that are indented already."""
    return f"{' ' * indent}{header} {{\n{inner}{' ' * indent}}}\n"


def _written(value: Value, indent: int, notes: Mapping[str, Iterable[str]]) -> str:
    match value:
        case Reference():
            return str(value)
        case str():
            return text(value)
        case bool() | int():
            return str(value).lower()
        case Mapping():
            inner = attributes(value, indent + 2, notes)
            return f"{{\n{inner}{' ' * indent}}}" if inner else "{}"
    items = [_written(each, indent + 2, {}) for each in value]
    if not any("\n" in each for each in items):
        return f"[{', '.join(items)}]"
    space = " " * (indent + 2)
    return "[\n" + "".join(f"{space}{each},\n" for each in items) + f"{' ' * indent}]"
