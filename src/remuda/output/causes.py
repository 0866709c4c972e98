"""Findings of one cause together, for pages and for terminals: a rule that a hundred objects break is one thing to understand."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from remuda.model.findings import Finding, Severity
from remuda.output.findings import describe
from remuda.output.registry import words_of
from remuda.output.show import Table

#: cases of a cause that are shown
MOST_CASES = 10
_MOST_LISTED = 5


class FindingCase(Struct, frozen=True):
    """One finding in words."""

    subject: str
    field: str
    found: str
    expected: str
    fix: str


class FindingCause(Struct, frozen=True):
    """Findings of one rule and severity."""

    rule: str
    severity: Severity
    means: str
    count: int
    cases: tuple[FindingCase, ...]


def causes(findings: Iterable[Finding], most: int = MOST_CASES) -> Iterator[FindingCause]:
    """Findings of one rule and severity together, in the order of the first of each."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for item in findings:
        found.setdefault((item.severity, item.code), []).append(item)
    for (_, code), items in found.items():
        cases = [FindingCase(item.subject, item.field, *describe(item)) for item in items[:most]]
        words = words_of(code)
        yield FindingCause(
            items[0].rule, items[0].severity, words[0] if words else "", len(items), tuple(cases)
        )


def causes_table(findings: Iterable[Finding], title: str = "Findings by cause") -> Table:
    """For a terminal: what each rule means, a few of those that break it, and how to fix it."""
    rows: list[tuple[str, str, str]] = []
    for cause in causes(findings, _MOST_LISTED):
        rows.append((cause.severity, cause.rule, cause.means))
        rows += [
            ("", "found", f"{f'{case.subject} {case.field}'.strip()}: {case.found}") for case in cause.cases
        ]
        if cause.count > len(cause.cases):
            rows.append(("", "", f"and {cause.count - len(cause.cases):,} more: -o json has all"))
        rows.append(("", "expected", cause.cases[0].expected))
        rows.append(("", "fix", cause.cases[0].fix))
    return Table(("SEVERITY", "RULE", "WHAT"), tuple(rows), title, "no findings")
