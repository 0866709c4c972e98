"""
Pages of HTML that are one file: they load nothing from anywhere, which their own policy forbids, too.

What others wrote gets onto a page through `page_text` alone.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import NamedTuple

from remuda.output.show import one_line


def page_text(text: str) -> str:
    """Text that is only shown, whatever it holds."""
    return escape(one_line(text))


def page_head(title: str, style: str, script: str = "") -> str:
    """The beginning of a page up to its body; it may have this style, and run this script and no other."""
    runs = f"script-src '{_hash(script)}'; " if script else ""
    policy = f"default-src 'none'; style-src '{_hash(style)}'; {runs}base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{page_text(title)}</title><style>{style}</style></head>\n"
    )


class Column(NamedTuple):
    """A column of a table: its heading, and the class of its cells in the style of the page."""

    heading: str = ""
    look: str = ""


def page_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    *,
    name: str = "",
    has_names: bool = False,
) -> str:
    """
    A table of cells that are HTML already, as its caption is; with `has_names` the first cell of a row is its heading.

    Ends of cells and rows are left out, as HTML allows, since a page has thousands of them.
    """
    parts = [f'<div class="wide"><table{_attribute("id", name)}>']
    if caption:
        parts.append(f"<caption>{caption}</caption>")
    if any(column.heading for column in columns):
        parts += ["<thead><tr>", *(f"<th{_look(each)}>{page_text(each.heading)}" for each in columns)]
    opened = [f"<td{_look(column)}>" for column in columns]
    if has_names:
        opened[0] = "<th>"
    parts.append("<tbody>")
    for row in rows:
        parts += ["<tr>", *(begin + cell for begin, cell in zip(opened, row, strict=True))]
    return "".join([*parts, "</table></div>"])


def _look(column: Column) -> str:
    return _attribute("class", column.look)


def _attribute(name: str, value: str) -> str:
    return f' {name}="{value}"' if value else ""


def badge(text: str, look: str = "") -> str:
    """A word that stands out, in one of the looks of the page."""
    return f'<span class="tag{" " if look else ""}{look}">{page_text(text)}</span>'


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
