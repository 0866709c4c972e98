"""A report for people who do not operate it: parts with sentences, tables and charts; `remuda.web.report` makes a page of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from remuda.model.times import Instant
from remuda.output.show import Report, Table


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
    #: what a page draws: each a `remuda.web.chart.Chart`
    charts: tuple[Any, ...] = ()
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
