"""
The only place where a finding becomes sentences: what is, what should be, and how to fix it.

A job brings the words of its codes with its reasons: code → (meaning, what is, what should be, fix). A part in square
brackets, `[; the decision ended on {until}]`, is said only where all terms in it have something to say, and what stands
behind `||` in them otherwise. The finding's field is a term, too.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remuda.model.findings import Finding
from remuda.model.plans import Term
from remuda.output.show import Table
from remuda.output.words import Word, words_of

#: rows of a table; -o json has all
MOST_ROWS = 200
_PART = re.compile(r"\[([^\[\]]*\{[^\[\]]*)\]")
_TERM = re.compile(r"\{(\w+)")
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
    known: dict[str, Term] = {"field": finding.field, **finding.terms}
    said = {name: Word(value) for name, value in known.items() if value is not None and value != ""}
    _, found, expected, fix = words
    return Description(*(_say(text, said) for text in (found + _ACCEPTED, expected, fix)))


def _say(text: str, terms: dict[str, Word]) -> str:
    def part(match: re.Match[str]) -> str:
        text, _, otherwise = match[1].partition("||")
        return text if all(name in terms for name in _TERM.findall(text)) else otherwise

    return _PART.sub(part, text).format_map(_Terms(terms))


class _Terms(dict[str, Word]):
    def __missing__(self, name: str) -> Word:
        return Word("-")


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
