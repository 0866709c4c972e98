"""
The only place where a finding becomes sentences: what is, what should be, and how to fix it.

A job brings the words of its codes with its reasons, written as theirs: code → (meaning, what is, what should be, fix).
The finding's field is a term, too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remuda.model.findings import Finding
from remuda.output.registry import words_of
from remuda.output.show import Table
from remuda.output.words import fill

#: rows of a table; -o json has all
MOST_ROWS = 200
#: what somebody accepted until a date says so
_ACCEPTED = "[ (accepted by {accepted_by} until {accepted_until}: {accepted_why})]"


class Description(NamedTuple):
    """A finding in words."""

    found: str
    expected: str
    fix: str


def describe(finding: Finding) -> Description:
    """The sentences of a finding; one with a code that is not known is still described by its terms."""
    words = words_of(finding.code)
    if words is None:
        terms = ", ".join(f"{name} {value}" for name, value in sorted(finding.terms.items()))
        return Description(f"{finding.rule} ({terms})" if terms else finding.rule, "", "")
    shown = {
        name: str(value)
        for name, value in {"field": finding.field, **finding.terms}.items()
        if value is not None and value != ""
    }
    _, found, expected, fix = words
    return Description(*(fill(text, shown, shown) for text in (found + _ACCEPTED, expected, fix)))


def findings_table(findings: Sequence[Finding], title: str = "Findings") -> Table:
    """For a terminal: four lines each."""
    rows: list[tuple[str, ...]] = []
    for item in findings[:MOST_ROWS]:
        found, expected, fix = describe(item)
        rows += [
            (item.severity, item.rule, _where(item)),
            ("", "found", found),
            ("", "expected", expected),
            ("", "fix", fix),
        ]
    if len(findings) > MOST_ROWS:
        rows.append(("…", "", f"and {len(findings) - MOST_ROWS:,} more: -o json has all"))
    return Table(("SEVERITY", "RULE", "WHERE"), tuple(rows), title, "no findings")


def findings_page(findings: Iterable[Finding], title: str = "Findings") -> Table:
    """For a page of markdown: a line each."""
    headings = ("Severity", "Rule", "Object", "Field", "Is", "Should be", "Fix")
    rows = tuple(
        (item.severity, f"`{item.rule}`", item.subject, item.field, *describe(item)) for item in findings
    )
    return Table(headings, rows, title, "No findings.")


def _where(item: Finding) -> str:
    place = f" ({item.place.file}:{item.place.line})" if item.place.line else ""
    return " ".join(part for part in (item.subject, item.field) if part) + place
