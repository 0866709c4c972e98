"""A report for people who do not operate it: parts with sentences, tables and charts, in a terminal or on one page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from remuda.model.times import Instant, write_instant
from remuda.output.charts import CHART_STYLE
from remuda.output.pages import Column, page_head, page_table, page_text
from remuda.output.show import Report, Table

_STYLE = (
    """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5c6773; --paper: #fff; --line: #d5dbe1; --first: #f2f6fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #93a0ad; --paper: #161c22; --line: #34404c;
  --first: #1d262f; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 0 0 0.3rem; }
section { margin: 2rem 0; } section.first { background: var(--first); border-radius: 8px; padding: 1rem 1.2rem; }
section h2 + svg, section p + svg { margin-top: 0.6rem; }
p { margin: 0.2rem 0 0.6rem; } .note, header p, footer { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 0.5rem 0; width: 100%; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
td, th { padding: 0.25rem 1.2rem 0.25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; }
thead th { color: var(--soft); font-weight: 500; } tbody th { font-weight: 500; }
""".strip()
    + CHART_STYLE
)


class Wanted(Struct, frozen=True):
    """What a report is to be about: a span of time, prices of a machine-hour by pool, and whether to simulate."""

    since: Instant
    until: Instant
    #: `""` is the price of all others
    prices: dict[str, float] = {}
    simulates: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report. `data` is what a program gets."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    #: drawings, as HTML already
    charts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    data: Any = field(default_factory=dict)
    #: what matters most stands above all others
    comes_first: bool = False


def ordered(sections: Iterable[Section]) -> list[Section]:
    """The sections as they are read."""
    return sorted(sections, key=lambda section: not section.comes_first)


def section_report(sections: Sequence[Section], wanted: Wanted) -> Report:
    """The report for a terminal or a program."""
    tables = []
    for section in sections:
        rows = tuple((line,) for line in (*section.sentences, *section.notes))
        if rows:
            tables.append(Table(("IN SHORT",), rows, title=section.title))
        tables += [table if table.title else _titled(table, section.title) for table in section.tables]
    data = {
        "since": wanted.since,
        "until": wanted.until,
        "sections": [
            {
                "title": section.title,
                "sentences": list(section.sentences),
                "notes": list(section.notes),
                "data": section.data,
            }
            for section in sections
        ],
    }
    return Report(data, tuple(tables))


def _titled(table: Table, title: str) -> Table:
    return Table(table.headings, table.rows, title.lower(), table.note, table.is_list)


def section_page(sections: Sequence[Section], wanted: Wanted, heading: str, made: str) -> str:
    """The report as one page that loads nothing from elsewhere."""
    span = f"{write_instant(wanted.since)} to {write_instant(wanted.until)}"
    return (
        f"{page_head(heading, _STYLE)}<body><header><h1>{page_text(heading)}</h1><p>{page_text(span)}</p></header>"
        f"{''.join(map(_section, sections))}<footer>{page_text(made)}</footer></body></html>\n"
    )


def _section(section: Section) -> str:
    look = ' class="first"' if section.comes_first else ""
    parts = [f"<section{look}><h2>{page_text(section.title)}</h2>"]
    parts += [f"<p>{page_text(line)}</p>" for line in section.sentences]
    parts += section.charts
    parts += [_table(table) for table in section.tables]
    parts += [f'<p class="note">{page_text(line)}</p>' for line in section.notes]
    return "".join([*parts, "</section>"])


def _table(table: Table) -> str:
    if not table.rows:
        return f'<p class="note">{page_text(table.note)}</p>'
    rows = [[page_text(cell) for cell in row] for row in table.rows]
    columns = [Column(heading) for heading in table.headings]
    return page_table(columns, rows, page_text(table.title), has_names=True)
