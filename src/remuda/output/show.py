"""
Print data: as a table for a person, as JSON, YAML, CSV or markdown for a program.

`Report` is data plus how it looks as a table. Everything a command prints goes through here.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

#: rows of a table for people
MOST_ROWS = 200
FORMATS = ("table", "json", "yaml", "csv", "markdown")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; `note` is said when there are none."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str = ""
    #: its first column names things, and is all that `--quiet` prints
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """`data` is what a program gets; `tables` and `lines` are what a person reads."""

    data: Any
    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()
    #: `data` as JSON, where that is large and made piece by piece
    text: Iterable[str] | None = None


def show(
    report: Report, form: str, *, quiet: bool = False, out: TextIO | None = None, columns: int | None = None
) -> None:
    """
    Print a report in one of `FORMATS`. `quiet` leaves out headings and notes of tables, and of a list all but the names.

    Tables stay within `columns`, where a terminal has so many; else they are as wide as their cells.
    """
    stream = out or sys.stdout
    match form:
        case "json":
            stream.writelines([_json(report.data)] if report.text is None else report.text)
        case "yaml":
            stream.write(_yaml(report.data))
        case "csv":
            _write_csv(report, stream, quiet=quiet)
        case "markdown":
            stream.write(_markdown(report))
        case _:
            _print_tables(report, stream, columns, quiet=quiet)


def shortened(table: Table, most: int = MOST_ROWS, column: int = 1) -> Table:
    """A table with no more rows than a person reads, and then a last one that says, in `column`, how many are left out."""
    more = len(table.rows) - most
    if more <= 0:
        return table
    last = ["…", *[""] * (len(table.headings) - 1)]
    last[column] = f"and {more:,} more rows: -o json has all"
    return replace(table, rows=(*table.rows[:most], tuple(last)))


def one_line(text: str) -> str:
    """Text as one line that a terminal only shows: nothing in it can move the cursor or change a colour."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)
    )


def _print_tables(report: Report, stream: TextIO, columns: int | None, *, quiet: bool) -> None:
    stream.writelines(_harmless(line) + "\n" for line in report.lines)
    for index, table in enumerate(report.tables):
        if table.title and not quiet:
            stream.write(("\n" if index or report.lines else "") + one_line(table.title) + "\n")
        if not table.rows:
            if table.note and not quiet:
                stream.write(table.note + "\n")
            continue
        headings = table.headings[:1] if quiet and table.is_list else table.headings
        rows = [
            tuple(_harmless(cell).replace("\n", " ") for cell in row[: len(headings)]) for row in table.rows
        ]
        if not quiet:
            rows.insert(0, headings)
        widths = [max(len(row[column]) for row in rows) for column in range(len(headings))]
        if columns and sum(widths) + _GAP * (len(widths) - 1) > columns and not quiet:
            stream.writelines(_narrow(rows, widths, columns))
            continue
        stream.writelines(
            "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
            for row in rows
        )


_GAP = 3
#: what a column of sentences needs at least
_LEAST = 30


def _narrow(rows: Sequence[tuple[str, ...]], widths: Sequence[int], columns: int) -> Iterator[str]:
    """A table that is wider than the terminal: its last column in several lines, or else each row as a list of its cells."""
    begin = sum(widths[:-1]) + _GAP * (len(widths) - 1)
    if begin + _LEAST <= columns:
        for row in rows:
            head = "".join(
                cell.ljust(width + _GAP) for cell, width in zip(row[:-1], widths[:-1], strict=True)
            )
            lines = textwrap.wrap(row[-1], columns - begin, break_long_words=False) or [""]
            yield (head + lines[0]).rstrip() + "\n"
            yield from (" " * begin + line + "\n" for line in lines[1:])
        return
    headings, *records = rows
    begin = max(map(len, headings)) + _GAP
    for number, row in enumerate(records):
        yield "\n" if number else ""
        for heading, cell in zip(headings, row, strict=True):
            lines = textwrap.wrap(cell, max(_LEAST, columns - begin), break_long_words=False) or [""]
            yield (heading.ljust(begin) + lines[0]).rstrip() + "\n"
            yield from (" " * begin + line + "\n" for line in lines[1:])


#: what makes text run the other way, and so read as something else than it is
_BIDI = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
#: a job's command or output must not be able to steer the terminal
_CONTROL = dict.fromkeys((*range(32), *range(127, 160), *_BIDI), "\N{REPLACEMENT CHARACTER}") | {
    ord("\n"): "\n",
    ord("\t"): " ",
    ord("\r"): "",
    0x2028: " ",
    0x2029: " ",
}


def _harmless(text: str) -> str:
    return text.translate(_CONTROL)


def _markdown(report: Report) -> str:
    parts = ["\n".join(map(_only_text, report.lines))] if report.lines else []
    for table in report.tables:
        if table.title:
            parts.append(f"### {_only_text(one_line(table.title))}")
        if not table.rows:
            parts.append(table.note)
            continue
        lines = [_markdown_row(table.headings), "|" + " --- |" * len(table.headings)]
        lines += [_markdown_row(row) for row in table.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return (
        "| "
        + " | ".join(
            _only_text(cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")) for cell in cells
        )
        + " |"
    )


def _only_text(text: str) -> str:
    """Text of markdown without HTML, and without links and pictures, which would load something."""
    escaped = _harmless(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("](", "]\\(")


#: what a spreadsheet takes for the beginning of a formula, unless all of it is a number or a lone sign
_FORMULA = re.compile(r"[=+\-@\t\r](?!$)")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _write_csv(report: Report, stream: TextIO, *, quiet: bool) -> None:
    """The first table that has rows, by RFC 4180: CSV knows only one. Without any table, the lines."""
    import csv  # noqa: PLC0415 - only who asks for CSV pays for it

    writer = csv.writer(stream)
    if not report.tables:
        writer.writerows([_inert(line)] for line in report.lines)
        return
    table = next((table for table in report.tables if table.rows), report.tables[0])
    if not quiet:
        writer.writerow(table.headings)
    writer.writerows([_inert(cell) for cell in row] for row in table.rows)


def _inert(cell: str) -> str:
    """A cell that a spreadsheet shows and does not compute: text that would be a formula gets an apostrophe."""
    text = cell.translate(_CONTROL | {ord("\t"): "\t"})
    is_formula = any(_FORMULA.match(each) for each in (cell, text)) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def _json(data: Any) -> str:
    from msgspec import json  # noqa: PLC0415 - help texts should not pay for it

    return json.format(json.encode(data, enc_hook=str), indent=2).decode() + "\n"


def _yaml(data: Any) -> str:
    import yaml  # noqa: PLC0415 - only who asks for YAML pays for it
    from msgspec import json  # noqa: PLC0415

    plain = json.decode(json.encode(data, enc_hook=str))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=False))
