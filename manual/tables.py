"""Markdown that holds whatever text it is given."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing when there are no rows."""
    lines = [_row(row) for row in rows]
    if not lines:
        return ""
    return "\n".join((_row(heads), "|" + "---|" * len(heads), *lines)) + "\n"


def code(text: str) -> str:
    """As code in a sentence or a cell; nothing stays nothing."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """Text in which nothing outside of code is taken for HTML or for the edge of a cell."""
    parts = text.split("`")
    return "`".join(
        part if n % 2 else part.replace("<", "&lt;").replace("|", "&#124;") for n, part in enumerate(parts)
    )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
