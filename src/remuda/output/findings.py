"""
The only place where a finding becomes sentences: what is, what should be, and how to fix it.

A job brings the words of its codes with its reasons, written as theirs: code → (meaning, what is, what should be, fix).
The finding's field is a term, too.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from remuda.model.findings import Finding, Severity
from remuda.output.registry import words_of
from remuda.output.show import MOST_ROWS, Table
from remuda.output.words import fill

T = TypeVar("T")
#: what somebody accepted until a date says so
_ACCEPTED = "[ (accepted by {accepted_by} until {accepted_until}: {accepted_why})]"


class Description(NamedTuple):
    """A finding in words."""

    found: str
    expected: str
    fix: str


class Row(NamedTuple):
    """A finding as tables have it."""

    severity: Severity
    rule: str
    subject: str
    field: str
    description: Description
    place: str = ""


def row_of(item: Finding) -> Row:
    """How a finding stands in a table."""
    place = f" ({item.place.file}:{item.place.line})" if item.place.line else ""
    return Row(item.severity, item.rule, item.subject, item.field, describe(item), place)


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


def findings_table(
    findings: Sequence[T], form: str, row: Callable[[T], Row], title: str = "Findings"
) -> Table:
    """For a terminal four lines each, and no more than a person reads; for a page of markdown all of them, a line each."""
    if form == "markdown":
        headings = ("Severity", "Rule", "Object", "Field", "Is", "Should be", "Fix")
        lines = tuple(
            (each.severity, f"`{each.rule}`", each.subject, each.field, *each.description)
            for each in map(row, findings)
        )
        return Table(headings, lines, title, "No findings.")
    rows: list[tuple[str, ...]] = []
    for each in map(row, findings[:MOST_ROWS]):
        rows.append((each.severity, each.rule, f"{each.subject} {each.field}".strip() + each.place))
        rows += [("", *pair) for pair in zip(("found", "expected", "fix"), each.description, strict=True)]
    if len(findings) > MOST_ROWS:
        rows.append(("…", "", f"and {len(findings) - MOST_ROWS:,} more: -o json has all"))
    return Table(("SEVERITY", "RULE", "WHERE"), tuple(rows), title, "no findings")
