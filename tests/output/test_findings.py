"""Findings in words, and as tables."""

import pytest

from remuda.model.findings import SEVERITIES, Finding, Place, Severity, count_severities, is_any
from remuda.output.findings import describe, findings_table, row_of
from remuda.output.registry import add_codes
from remuda.output.show import MOST_ROWS

WORDS = {
    "toy.too-many": (
        "There are too many.",
        "{number:toy}[ of {owner}][, more than the {most} of {owner}]",
        "at most {most}, see toys[].max",
        "give {number} away, [ask {owner}||and change {field}]",
    )
}


@pytest.fixture(autouse=True)
def words() -> None:
    add_codes(("toy",), lambda: WORDS)


def found(severity: Severity = "error", **terms: int | str | None) -> Finding:
    return Finding("toy.too-many", severity, "Box red", "spec.toys", terms, place=Place("box.yaml", 3))


def test_terms_stand_in_the_sentences() -> None:
    assert describe(found(number=3, most=2, owner="ada")) == (
        "3 toys of ada, more than the 2 of ada",
        "at most 2, see toys[].max",
        "give 3 away, ask ada",
    )


@pytest.mark.parametrize("owner", ["", None])
def test_a_part_whose_terms_say_nothing_is_left_out(owner: str | None) -> None:
    assert describe(found(number=1, most=0, owner=owner)).found == "1 toy"


def test_a_term_may_only_let_its_part_be_said() -> None:
    add_codes(
        ("toy",), lambda: {"toy.old": ("", "[{broken:?}does not turn||turns]", "", "[{broken:?}mend it]")}
    )
    assert describe(Finding("toy.old", "info", "", terms={"broken": 1})) == ("does not turn", "", "mend it")
    assert describe(Finding("toy.old", "info", "")) == ("turns", "", "")


def test_a_term_that_is_missing_outside_of_a_part_is_a_dash() -> None:
    assert describe(found(number=1)).expected == "at most -, see toys[].max"


def test_a_code_that_is_not_known_is_described_by_its_terms() -> None:
    assert describe(Finding("toy.new", "info", "", terms={"b": 2, "a": "x"})).found == "new (a x, b 2)"
    assert describe(Finding("other.new", "info", "")) == ("new", "", "")


def test_a_table_has_four_lines_for_each_and_says_where_it_was_read() -> None:
    table = findings_table([found(number=1, most=0)], "table", row_of)
    assert table.rows == (
        ("error", "too-many", "Box red spec.toys (box.yaml:3)"),
        ("", "found", "1 toy"),
        ("", "expected", "at most 0, see toys[].max"),
        ("", "fix", "give 1 away, and change spec.toys"),
    )
    assert len(findings_table([found()] * MOST_ROWS, "table", row_of).rows) == 4 * MOST_ROWS
    many = findings_table([found()] * (MOST_ROWS + 2), "table", row_of)
    assert many.rows[-1] == ("…", "", "and 2 more: -o json has all")


def test_a_page_has_a_line_for_each() -> None:
    (row,) = findings_table([found(number=1, most=0)], "markdown", row_of).rows
    assert row[:4] == ("error", "`too-many`", "Box red", "spec.toys")


@pytest.mark.parametrize("least", SEVERITIES)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_what_is_at_least_so_severe_counts(least: Severity, severity: Severity) -> None:
    assert is_any([found(severity)], least) == (SEVERITIES.index(severity) <= SEVERITIES.index(least))
    assert count_severities([found(severity)])[severity] == 1
